/* score_lanes.h - groups of lanes: the form of the kernel for few members, and for many classes. Compiles as CUDA
 * and as plain C.
 *
 * A group of `lanes` lanes of a warp (a power of two) takes a tile of consecutive classes of one sample, lane l the
 * classes l, l + lanes, ... of it: members are the inner loop, and nothing is shared between lanes but sums. Where a
 * sample has few classes its tile is the whole sample and 32 / lanes samples lie side by side in a warp; where it
 * has many, several warps have a tile each, and sums over tiles pass through device memory.
 *
 * A step is a function of one lane. Between steps the group adds what its lanes have, by exchanges at distance 1,
 * 2, 4, ...: the order is fixed and every lane has the same bits. On the host the lanes of a group run one after
 * another through a step, and their states lie in an array; on the device each has its own. */
#ifndef VG_MEASURES_SCORE_LANES_H
#define VG_MEASURES_SCORE_LANES_H

#include "measures/cuda/score_input.h"
#include "measures/cuda/score_moments.h"

enum {
    LANE_ROWS = 4,    /* members whose rows are summed at a time */
    LANE_ROW_SUMS = 8 /* of a row: p, Gamma (p - mu) of every gate, 0, Gamma p of every gate */
};

#ifdef __CUDA_ARCH__
enum { LANE_STATES = 1 };
#define FOR_LANES(v, lane) for (int lane = (v)->lane, once_ = 1; once_; once_ = 0)
#else
enum { LANE_STATES = 32 };
#define FOR_LANES(v, lane) for (int lane = 0; lane < (v)->lanes; lane++)
#endif

/* A lane's sums of a set over its classes, which are few: floats but for the part of the entropy that lies in the
 * logarithms' exponents, and sum q (score_terms.h: add_entropy). */
typedef struct lane_set_sums {
    double exponents, all;
    float rest, eu, reverse, js;
} lane_set_sums;

/* What a lane has of its classes, and after a sum over the group every lane of all classes. */
typedef struct lane_state {
    double first[LANE_FIRST];
    leading lead;
    float least;                                         /* smallest probability */
    float rows[SCORE_FEW * LANE_ROW_SUMS];               /* of all members, or of LANE_ROWS */
    double totals[LANE_ROW_SUMS];                        /* of a row over tiles */
    double psi[SCORE_GATES];                             /* sum over members of psi(z) */
    float over_low[SCORE_GATES], over_high[SCORE_GATES]; /* extremes of Zbar/Z_m */
    int large;                                           /* this form cannot score the sample accurately */
    lane_set_sums own[SCORE_GATES + 1];
    double sets[SCORE_GATES + 1][LANE_SUMS]; /* entropy, EU, reverse divergence, EPJS or its sum over pairs */
} lane_state;

/* A group and its tile. Shapes: M members, W = score_job.padded, R = rounds. */
typedef struct lane_view {
    const score_job *job;
    const float *p; /* the sample's first element */
    long long n;    /* the sample; where `idle`, another one, whose results are not written */
    bool idle;
    int lane, lanes, rounds;
    int base;                         /* the tile's first class */
    int slot;                         /* of the group's first lane in the warp */
    float *info;                      /* [2][R][32 slots][4]: mu in two floats, variance, low; gates, high */
    float *weights;                   /* [W][8]: omega of every gate and 0; 1 and Zbar/Z_m, 0 from member M on */
    double inverse_zbar[SCORE_GATES]; /* 1 / Zbar */
    float gates[SCORE_GATES];
} lane_view;

SCORE_FN lane_state *lane_at(lane_state *states, int lane) {
#ifdef __CUDA_ARCH__
    (void)lane;
    return states;
#else
    return states + lane;
#endif
}

/* What the lanes at distance `apart` have. `values`: in the state of lane 0, the next state LANE_STRIDE bytes
 * further. */
#ifdef __CUDA_ARCH__
#define LANE_EXCHANGE(TYPE, NAME, COMBINE)                                                                             \
    SCORE_FN void NAME(const lane_view *v, TYPE *values, const int count) {                                            \
        SCORE_ROLLED                                                                                                   \
        for (int apart = 1; apart < v->lanes; apart *= 2) {                                                            \
            SCORE_UNROLL                                                                                               \
            for (int i = 0; i < count; i++) {                                                                          \
                TYPE a = values[i], b = __shfl_xor_sync(0xffffffffu, a, apart);                                        \
                values[i] = COMBINE;                                                                                   \
            }                                                                                                          \
        }                                                                                                              \
    }
#else
#define LANE_EXCHANGE(TYPE, NAME, COMBINE)                                                                             \
    SCORE_FN void NAME(const lane_view *v, TYPE *values, const int count) {                                            \
        for (int apart = 1; apart < v->lanes; apart *= 2)                                                              \
            for (int i = 0; i < count; i++) {                                                                          \
                TYPE old[32];                                                                                          \
                for (int lane = 0; lane < v->lanes; lane++)                                                            \
                    old[lane] = *(TYPE *)(void *)((char *)(values + i) + (size_t)lane * sizeof(lane_state));           \
                for (int lane = 0; lane < v->lanes; lane++) {                                                          \
                    TYPE a = old[lane], b = old[lane ^ apart];                                                         \
                    *(TYPE *)(void *)((char *)(values + i) + (size_t)lane * sizeof(lane_state)) = COMBINE;             \
                }                                                                                                      \
            }                                                                                                          \
    }
#endif
LANE_EXCHANGE(double, lanes_sum, a + b)
LANE_EXCHANGE(float, lanes_sum32, a + b)
LANE_EXCHANGE(float, lanes_least32, score_least32(a, b))
LANE_EXCHANGE(float, lanes_most32, score_most32(a, b))
LANE_EXCHANGE(int, lanes_any, a | b)

/* Whether class c1 of mean mu1 comes before class c2 of mean mu2: ties go to the lower index. */
SCORE_FN bool lead_before(double mu1, int c1, double mu2, int c2) { return mu1 > mu2 || (mu1 == mu2 && c1 < c2); }

/* The two leading classes of both. */
SCORE_FN leading lead_merge(const leading *a, const leading *b) {
    bool swap = lead_before(b->mu1, b->first, a->mu1, a->first);
    const leading front = swap ? *b : *a, back = swap ? *a : *b;
    leading out = front;
    if (lead_before(back.mu1, back.first, front.mu2, front.second)) {
        out.mu2 = back.mu1;
        out.var2 = back.var1;
        out.second = back.first;
    }
    return out;
}

#ifdef __CUDA_ARCH__
SCORE_FN void lanes_lead(const lane_view *v, leading *mine) {
    SCORE_ROLLED
    for (int apart = 1; apart < v->lanes; apart *= 2) {
        leading other;
        other.mu1 = __shfl_xor_sync(0xffffffffu, mine->mu1, apart);
        other.mu2 = __shfl_xor_sync(0xffffffffu, mine->mu2, apart);
        other.var1 = __shfl_xor_sync(0xffffffffu, mine->var1, apart);
        other.var2 = __shfl_xor_sync(0xffffffffu, mine->var2, apart);
        other.first = __shfl_xor_sync(0xffffffffu, mine->first, apart);
        other.second = __shfl_xor_sync(0xffffffffu, mine->second, apart);
        *mine = lead_merge(mine, &other);
    }
}
#else
SCORE_FN void lanes_lead(const lane_view *v, leading *mine) {
    lane_state *states = (lane_state *)(void *)((char *)mine - offsetof(lane_state, lead));
    leading all = mine[0];
    for (int lane = 1; lane < v->lanes; lane++)
        all = lead_merge(&all, &states[lane].lead);
    for (int lane = 0; lane < v->lanes; lane++)
        states[lane].lead = all;
}
#endif

/* Sums of 32 values over the 32 lanes of a tile's group, of which lane l gets the l-th, into values[0]. */
#ifdef __CUDA_ARCH__
SCORE_FN void scatter_step(const lane_view *v, float *values, const int half) {
    bool upper = v->lane & half;
    SCORE_UNROLL
    for (int i = 0; i < half; i++) {
        float keep = upper ? values[i + half] : values[i], send = upper ? values[i] : values[i + half];
        values[i] = keep + __shfl_xor_sync(0xffffffffu, send, half);
    }
}
SCORE_FN void lanes_scatter(const lane_view *v, float *values) {
    scatter_step(v, values, 16);
    scatter_step(v, values, 8);
    scatter_step(v, values, 4);
    scatter_step(v, values, 2);
    scatter_step(v, values, 1);
}
#else
SCORE_FN void lanes_scatter(const lane_view *v, float *values) {
    lanes_sum32(v, values, 32);
    for (int lane = 0; lane < v->lanes; lane++) {
        float *own = (float *)(void *)((char *)values + (size_t)lane * sizeof(lane_state));
        own[0] = own[lane];
    }
}
#endif

/* Orders what lanes of the group wrote before what they read. */
SCORE_FN void lanes_wait(void) {
#ifdef __CUDA_ARCH__
    __syncwarp();
#endif
}

/* The class of a lane in round r, and member m of a class. */
SCORE_FN int lane_class(const lane_view *v, int lane, int r) { return v->base + r * v->lanes + lane; }
SCORE_FN float lane_value(const lane_view *v, int m, int c) {
#ifdef __CUDA_ARCH__
    return __ldg(v->p + (m * (int)v->job->stride_m + c));
#else
    return v->p[m * v->job->stride_m + c];
#endif
}

/* Four floats of the class of round r: half 0 or 1. */
SCORE_FN float *lane_info(const lane_view *v, int lane, int r, int half) {
    return v->info + ((half * v->rounds + r) * 32 + v->slot + lane) * 4;
}
SCORE_FN void put4(float *array, const float *values) {
#ifdef __CUDA_ARCH__
    *(float4 *)array = make_float4(values[0], values[1], values[2], values[3]);
#else
    memcpy(array, values, 4 * sizeof *values);
#endif
}

#endif
