/* workspace.h - the memory of one thread's tile, in one block. All vectors hold one value per lane (a unit).
 *
 * Shapes: M members, C outcomes, K gates. Arrays of M x C are [m][c]. */

typedef struct tile {
    const vg_kernel_job *job;
    size_t M, C, K;
    vd *p; /* [M][C] probabilities, unless `fused` */
    /* [C][pitch] float probabilities as in the input, where `fused`: a class's members side by side, 0 after an odd
     * last one */
    vh *x;
    size_t pitch;                   /* even; half of it odd, so that classes do not share sets of the cache */
    vh *chunk;                      /* [chunk_members(C)][C] some members before they are moved to x */
    vd *log;                        /* [M][C] log p, logits input only */
    vd *plog;                       /* [M][C] p log(p/mu), for the gated sums */
    vd *mu, *variance, *low, *high; /* [C] mean, population variance, smallest and largest member */
    vd *sigma;                      /* [C] the variance's root */
    vd *phi, *psi;                  /* [C] means over members of the two Bregman terms against mu */
    vd *gamma;                      /* [K][C] the gates */
    vd *z, *omega, *weight;         /* [K][M] Z_m/Zbar - 1, Zbar/Z_m - 1, and 1/Z_m */
    vd *inverse_zbar, *psi_z;       /* [K] 1 over sum_c Gamma mu; mean of psi(Z_m/Zbar - 1) */
    vd *weight_low, *weight_high;   /* [K] extremes of 1/Z_m */
    vd *shift, *cross;              /* [K][C] means over members of omega p and of omega p log(p/mu) */
    vd *gmean;                      /* [K][C] mean gated distribution */
    vd *gmean64; /* [K][C] the same where cross terms weigh it; gmean, unless the double forms correct the float ones */
    vd *columns; /* members of one class in the integral: [M + 4], or as floats two per vector */
    /* floats, two members per vector, rows of `pairs` vectors */
    size_t pairs; /* (M + 1) / 2 */
    /* rows of weights32 and of scaled32: pairs made even, 4 or 8 for few members; 0 after the last member */
    size_t vectors;
    vf *weights32, *omega32, *over32; /* [K] 1/Z_m over its largest (js32.h: or the root), omega, 1 + omega */
    vf *plog32, *scaled32;            /* p log(p/mu) of one class, and p over its largest (or the root) */
    const vf *members32;              /* the current class */
    vh *mu_high, *mu_low;             /* [C] mu in two floats */
    vf *squares;                      /* [C] squared deviations of the latest members */
    vh *gamma32;                      /* [C][K] the gates as floats */
    vd *over_mu;                      /* [C] 1/mu, 0 where mu is too small to count */
    /* [1 + K / 2][2 vectors] for few members: 1/Z_m of two sets, a member by itself */
    vf *pairs32;
    vh *few;          /* [C][few_pitch] for few members: the wide form of the integral for every set */
    size_t few_pitch; /* even, at least 1 + K + 3 */
    vh *weight_ratio; /* [1 + K] smallest 1/Z_m over the largest; 1 for the ungated set */
    vd *weight_share; /* [1 + K] Zbar over the smallest Z_m, inverted */
    vd *wide;         /* [1 + K + 3] for many members: the wide form for every set of a class */
    vd *js;           /* [1 + K] EPJS of the ungated set and of every gated one */
    /* [1 + K] for few members: of its marked classes the values and the largest members */
    vd *js_marked, *js_reach;
    vd *results;  /* [SET_RESULTS][K] finished results */
    vd total_lse; /* logits: sum over members of logsumexp */
    /* lanes that the double forms write (psi: the second result); all, except when they correct the float ones */
    vl write, write_psi;
    size_t first, count;     /* the units in the lanes */
    const char *prefetch_at; /* the next tile's first sample, to be prefetched, or NULL */
    ptrdiff_t prefetch_stride;
    size_t prefetch_bytes;
    bool fused; /* float32 probabilities that need no conversion: the float forms of class32.h are used */
} tile;

/* Whether more is requested than the moments give. */
INLINE bool beyond_moments(const tile *t) {
    const vg_kernel_job *job = t->job;
    return job->need_logs || job->need_gated || job->out.tu || job->out.epjs;
}

#define CHUNK 8 /* members loaded at once */
/* Members transposed at once: few where there are many classes, so that the cache holds them. */
INLINE size_t chunk_members(size_t C) { return C > 64 ? CHUNK / 2 : C > 16 ? CHUNK : 2 * CHUNK; }
#define FEW_MEMBERS 8 /* the most members that js32_small.h takes */
#define SET_RESULTS 6 /* TU AU EU EPCE EPKL EPJS */

INLINE bool carve_one(char *base, size_t *used, vd **out, size_t a, size_t b) {
    size_t count, bytes, end;
    if (!vg_base__mul(&count, a, b) || !vg_base__mul(&bytes, count, sizeof(vd)) || !vg_base__add(&end, *used, bytes))
        return false;
    *out = base ? (vd *)(void *)(base + *used) : NULL;
    *used = end;
    return true;
}

/* Shapes that follow from the job alone. */
static void measure_tile(tile *t, const vg_kernel_job *job) {
    memset(t, 0, sizeof *t);
    t->job = job;
    t->M = job->m;
    t->C = job->c;
    t->K = job->need_gated ? job->k : 0;
    t->fused = job->single_precision && !job->options.logits && !job->labels && !job->options.renormalise &&
               job->options.floor_form == VG_FLOOR_MAX;
    t->pairs = t->M / 2 + t->M % 2;
    bool few = t->M <= FEW_MEMBERS;
    t->vectors = few ? FEW_MEMBERS / 2 : t->pairs + t->pairs % 2;
    t->few_pitch = few ? (4 + t->K + 1) / 2 * 2 : 0;
    t->pitch = 2 * (t->pairs | 1);
    t->write = t->write_psi = ~(vl){0};
}

/* Arrays over members, classes and gates in double. */
static bool carve_doubles(tile *t, char *b, size_t *used) {
    size_t M = t->M, C = t->C, K = t->K;
    bool logs = t->job->options.logits, gated_logs = t->job->need_gated_logs;
    bool ok = carve_one(b, used, &t->p, t->fused ? 0 : M, C) && carve_one(b, used, &t->log, logs ? M : 0, C) &&
              carve_one(b, used, &t->plog, gated_logs ? M : 0, C);
    vd **per_class[] = {&t->mu, &t->variance, &t->sigma, &t->low, &t->high, &t->phi, &t->psi, &t->over_mu};
    for (size_t i = 0; ok && i < sizeof per_class / sizeof *per_class; i++)
        ok = carve_one(b, used, per_class[i], C, 1);
    vd **per_gate_class[] = {&t->gamma, &t->shift, &t->cross, &t->gmean, &t->gmean64};
    for (size_t i = 0; ok && i < sizeof per_gate_class / sizeof *per_gate_class; i++)
        ok = carve_one(b, used, per_gate_class[i], K, C);
    vd **per_gate_member[] = {&t->z, &t->omega, &t->weight};
    for (size_t i = 0; ok && i < sizeof per_gate_member / sizeof *per_gate_member; i++)
        ok = carve_one(b, used, per_gate_member[i], K, M);
    vd **per_gate[] = {&t->inverse_zbar, &t->psi_z, &t->weight_low, &t->weight_high};
    for (size_t i = 0; ok && i < sizeof per_gate / sizeof *per_gate; i++)
        ok = carve_one(b, used, per_gate[i], K, 1);
    return ok;
}

/* Arrays of floats, two in the space of a double. */
static bool carve_floats(tile *t, char *b, size_t *used) {
    size_t C = t->C, K = t->K, half = t->pairs, even = t->vectors, fused = t->fused ? 1 : 0;
    vd *packed[9] = {0};
    size_t rows[9] = {K, K, K * fused, 1, 1, fused, fused, fused, fused},
           lengths[9] = {even, half, half, half, even, C, C, C, C};
    if (fused && !vg_base__mul(&lengths[7], C, K))
        return false;
    for (size_t i = 0; i < sizeof packed / sizeof *packed; i++)
        if (!carve_one(b, used, &packed[i], rows[i], lengths[i]))
            return false;
    t->weights32 = (vf *)packed[0];
    t->omega32 = (vf *)packed[1];
    t->over32 = (vf *)packed[2];
    t->plog32 = (vf *)packed[3];
    t->scaled32 = (vf *)packed[4];
    t->mu_high = (vh *)packed[5];
    t->mu_low = (vh *)packed[6];
    t->gamma32 = (vh *)packed[7];
    t->squares = (vf *)packed[8];
    return true;
}

/* Arrays of the integrals and of the results. */
static bool carve_sets(tile *t, char *b, size_t *used) {
    size_t M = t->M, C = t->C, K = t->K;
    vd *ratio = NULL, *wide = NULL, *pairs = NULL;
    bool ok = carve_one(b, used, &t->columns, M + 4, 1) && carve_one(b, used, &t->js, 1 + K, 1) &&
              carve_one(b, used, &wide, t->few_pitch / 2, C) &&
              carve_one(b, used, &pairs, M <= FEW_MEMBERS ? 2 + K / 2 : 0, 2 * t->vectors) &&
              carve_one(b, used, &t->js_marked, 1 + K, 1) && carve_one(b, used, &t->js_reach, 1 + K, 1) &&
              carve_one(b, used, &t->results, K, SET_RESULTS) && carve_one(b, used, &ratio, 1 + K, 1) &&
              carve_one(b, used, &t->wide, 4 + K, 1) && carve_one(b, used, &t->weight_share, 1 + K, 1);
    t->weight_ratio = (vh *)ratio;
    t->few = (vh *)wide;
    t->pairs32 = (vf *)pairs;
    return ok;
}

/* Lays the arrays out from `base`, or only counts the bytes when it is NULL. */
static bool carve(tile *t, const vg_kernel_job *job, void *base, size_t *bytes) {
    size_t used = 0;
    vd *floats = NULL, *chunk = NULL;
    measure_tile(t, job);
    bool ok = carve_one(base, &used, &floats, t->fused ? t->pitch / 2 : 0, t->C) &&
              carve_one(base, &used, &chunk, t->fused ? chunk_members(t->C) / 2 : 0, t->C) &&
              carve_doubles(t, base, &used) && carve_floats(t, base, &used) && carve_sets(t, base, &used);
    t->x = (vh *)floats;
    t->chunk = (vh *)chunk;
    *bytes = used;
    return ok;
}

/* A class's members as floats. */
INLINE const vh *class_at(const tile *t, size_t c) { return t->x + c * t->pitch; }
/* Member m of class c in double. Where the loop is hot `fused` is a constant. */
INLINE vd value_at(const tile *t, bool fused, size_t m, size_t c) {
    return fused ? vd_from(class_at(t, c)[m]) : t->p[m * t->C + c];
}
/* 1/Z_m at gate k. */
INLINE vd weight_at(const tile *t, size_t k, size_t m) {
    if (!t->fused)
        return t->weight[k * t->M + m];
    return t->inverse_zbar[k] * vd_from(((const vh *)(t->over32 + k * t->pairs))[m]);
}
