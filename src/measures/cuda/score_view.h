/* score_view.h - a block's arrays as pointers, and how its phases read and write them. Compiles as CUDA and as plain C.
 *
 * `wide` (a compile-time constant in every hot loop): arrays of type R hold doubles, otherwise floats. Every thread of
 * the block runs a phase: thread tid of `threads` takes items tid, tid + threads, ...; the block synchronises between
 * phases. No phase reads what another thread writes in the same phase, and sums have a fixed order, so results have the
 * same bits every time. */
#ifndef VG_MEASURES_SCORE_VIEW_H
#define VG_MEASURES_SCORE_VIEW_H

#include "measures/cuda/score_job.h"
#include "measures/cuda/score_math.h"

typedef struct score_view {
    const score_job *job;
    int samples;           /* S; fewer in the last block */
    long long first;       /* the block's first sample, or its first index in the list */
    const void *p;         /* R [S][M][row] */
    void *own;             /* p where the block has its own copy; NULL: the phases read the input itself */
    double *mu, *variance; /* [S][C] */
    float *halves;         /* [S][C][2] mu as the sum of two floats */
    void *low, *high;      /* R [S][C] */
    void *gamma;           /* R [S][C][groups] */
    void *omega;           /* R [S][M][groups] Zbar/Z_m - 1 */
    void *weight;          /* R [S][padded M][gated + 1] 1, then Zbar/Z_m of every gate; 0 past M */
    void *partial;         /* sums over parts of the members */
    double *leads;         /* [S][R][6] the two leading classes of a part */
    double *pass;          /* parts of sums over classes or members */
    double *zbar;          /* [S][gated][2] sum_c Gamma mu and its inverse */
    double *psi_mean;      /* [S][gated] mean of psi(Z_m/Zbar - 1) */
    double *bounds;        /* [S][gated][2] least and largest Zbar/Z_m */
    void *terms;           /* R [S][gated + 1][SCORE_SUMS][C] */
    double *offset;        /* [S][M] logits: log of the sum of exponentials */
    int *large;            /* [S] samples that this kernel cannot score accurately */
} score_view;

SCORE_FN double get(const void *array, int i, const int wide) {
    return wide ? ((const double *)array)[i] : (double)((const float *)array)[i];
}
SCORE_FN void put(void *array, int i, double value, const int wide) {
    if (wide)
        ((double *)array)[i] = value;
    else
        ((float *)array)[i] = (float)value;
}

/* A value as two elements, `apart` elements from each other: as exact as a double where the array holds floats. */
SCORE_FN void put_pieces(void *array, int i, int apart, double value, const int wide) {
    put(array, i, value, wide);
    put(array, i + apart, wide ? 0.0 : value - (double)(float)value, wide);
}
SCORE_FN double get_pieces(const void *array, int i, int apart, const int wide) {
    return get(array, i, wide) + get(array, i + apart, wide);
}

/* Four floats, aligned to 16 bytes. */
SCORE_FN void get4(float *out, const float *array) {
#ifdef __CUDA_ARCH__
    float4 v = *(const float4 *)array;
    out[0] = v.x, out[1] = v.y, out[2] = v.z, out[3] = v.w;
#else
    memcpy(out, array, 4 * sizeof *out);
#endif
}

/* Sets a flag that other threads may set at the same time. */
SCORE_FN void raise_flag(int *flag) {
#ifdef __CUDA_ARCH__
    atomicOr(flag, 1);
#else
    *flag |= 1;
#endif
}

/* Index of the block's sample s. */
SCORE_FN long long sample_of(const score_view *v, int s) {
    return v->job->list ? (long long)v->job->list[v->first + s] : v->first + s;
}

SCORE_FN int padded_members(const score_job *job) { return (job->m + 7) / 8 * 8; }
/* The members of part f of F, and the elements of part r of SCORE_PARTS. */
SCORE_FN int part_from(int count, int part, int parts) { return count * part / parts; }

/* Parts of the moments lie in `partial` one after another: sums, squares and rests in double, then extremes. */
SCORE_FN double *moment_sums(const score_view *v, int which) {
    const score_job *job = v->job;
    return (double *)v->partial + which * job->samples * job->split * job->c;
}
SCORE_FN void *moment_extremes(const score_view *v, int which, const int wide) {
    const score_job *job = v->job;
    int each = job->samples * job->split * job->c;
    char *at = (char *)(moment_sums(v, 3));
    return wide ? (void *)((double *)(void *)at + which * each) : (void *)((float *)(void *)at + which * each);
}

/* One element of the input. */
SCORE_FN double input_value(const score_job *job, long long at) {
    switch (job->dtype) {
    case VG_F64: return ((const double *)job->in)[at];
    case VG_F16: return (double)score_half(((const uint16_t *)job->in)[at]);
    case VG_BF16: return (double)score_bfloat(((const uint16_t *)job->in)[at]);
    default: return (double)((const float *)job->in)[at];
    }
}

/* The block's arrays from `base`, for the block that begins at sample `first` of `count`. `p`: where the probabilities
 * lie; NULL: in the input itself. */
SCORE_FN score_view score_view_of(const score_job *job, long long first, long long count, char *base, char *p,
                                  const int own) {
    score_view v;
    v.job = job;
    v.first = first;
    v.samples = count - first < job->samples ? (int)(count - first) : job->samples;
    v.own = own ? p : NULL;
    if (own)
        v.p = p;
    else
        v.p = (const char *)job->in + (size_t)first * (size_t)job->m * (size_t)job->c * (job->dtype == VG_F64 ? 8 : 4);
    v.mu = (double *)(void *)(base + job->mu);
    v.halves = (float *)(void *)(base + job->halves);
    v.variance = (double *)(void *)(base + job->variance);
    v.low = base + job->low;
    v.high = base + job->high;
    v.gamma = base + job->gamma;
    v.omega = base + job->omega;
    v.weight = base + job->weight;
    v.partial = base + job->partial;
    v.leads = (double *)(void *)(base + job->leads);
    v.pass = (double *)(void *)(base + job->pass);
    v.zbar = (double *)(void *)(base + job->zbar);
    v.psi_mean = (double *)(void *)(base + job->psi_mean);
    v.bounds = (double *)(void *)(base + job->weight_bounds);
    v.terms = base + job->terms;
    v.offset = (double *)(void *)(base + job->offset);
    v.large = (int *)(void *)(base + job->large);
    return v;
}

#endif
