/* disagreement.c - the most probable class of every member, and the pairs that differ. */
#include "measures/disagreement.h"

#include <math.h>
#include <stdbool.h>

#include "measures/kernel.h"

/* Up to FEW_CLASSES, and from MANY_CLASSES on, the tier's own kernels search faster. */
enum { FEW_CLASSES = 16, MANY_CLASSES = 32 };
enum { BASE_MOST = 512, BASE_LEAST = 128, BASE_ELEMENTS = 1 << 18 };

size_t vg_disagreement__base(size_t m, size_t c) {
    size_t base = BASE_MOST;
    while (base > BASE_LEAST && m > BASE_ELEMENTS / c / base)
        base /= 2;
    return base;
}

unsigned long long vg_disagreement__next(unsigned long long index, size_t base, double *weight) {
    unsigned shift = 0;
    while (index >> shift >= base)
        shift++;
    unsigned long long step = 1ULL << shift;
    *weight = (double)step; /* the next level begins on a multiple of this step, with twice the weight */
    unsigned long long next = (index + step - 1) & ~(step - 1);
    if (next >> shift >= base)
        *weight *= 2;
    return next;
}

bool vg_disagreement__room(size_t *room, size_t m, size_t c) { return vg_base__add(room, m, c); }

/* An order-preserving integer of a float16 or bfloat16: both zeros are 0. */
static inline int32_t half_order(uint16_t bits) {
    int32_t size = bits & 0x7fff;
    return bits & 0x8000 ? -size : size;
}
#define AS_IS(x) (x)

/* tops[m] of a sample's members, classes `step` apart. Four members at a time, because one search is a chain of
 * dependent comparisons. */
#define TOPS(NAME, TYPE, KEY, ORDER)                                                                                   \
    static inline void NAME(uint32_t *tops, const TYPE *x, const vg_predictions *in, ptrdiff_t step) {                 \
        ptrdiff_t row = in->stride_m;                                                                                  \
        size_t m = 0, C = in->c;                                                                                       \
        for (; m + 4 <= in->m; m += 4, x += 4 * row) {                                                                 \
            KEY best[4];                                                                                               \
            uint32_t at[4] = {0, 0, 0, 0};                                                                             \
            for (int i = 0; i < 4; i++)                                                                                \
                best[i] = ORDER(x[i * row]);                                                                           \
            for (size_t c = 1; c < C; c++)                                                                             \
                for (int i = 0; i < 4; i++) {                                                                          \
                    KEY next = ORDER(x[i * row + (ptrdiff_t)c * step]);                                                \
                    bool more = next > best[i];                                                                        \
                    best[i] = more ? next : best[i];                                                                   \
                    at[i] = more ? (uint32_t)c : at[i];                                                                \
                }                                                                                                      \
            for (int i = 0; i < 4; i++)                                                                                \
                tops[m + (size_t)i] = at[i];                                                                           \
        }                                                                                                              \
        for (; m < in->m; m++, x += row) {                                                                             \
            KEY best = ORDER(x[0]);                                                                                    \
            tops[m] = 0;                                                                                               \
            for (size_t c = 1; c < C; c++)                                                                             \
                if (ORDER(x[(ptrdiff_t)c * step]) > best) {                                                            \
                    best = ORDER(x[(ptrdiff_t)c * step]);                                                              \
                    tops[m] = (uint32_t)c;                                                                             \
                }                                                                                                      \
        }                                                                                                              \
    }
TOPS(tops_f32, float, float, AS_IS)
TOPS(tops_f64, double, double, AS_IS)
TOPS(tops_half, uint16_t, int32_t, half_order)

/* The most probable class of each member of sample n. */
static void find_tops(uint32_t *tops, const vg_predictions *in, size_t n) {
    ptrdiff_t at = (ptrdiff_t)n * in->stride_n;
    const vg_kernel_tier *tier = vg_measures__tier();
    switch (in->dtype) {
    case VG_F32:
        if (in->stride_c == 1 && in->c >= MANY_CLASSES)
            for (size_t m = 0; m < in->m; m++)
                tops[m] = tier->top((const float *)in->data + at + (ptrdiff_t)m * in->stride_m, in->c);
        else if (in->stride_c == 1 && in->c <= FEW_CLASSES && tier->tops)
            tier->tops(tops, (const float *)in->data + at, in->stride_m, in->m, in->c);
        else if (in->stride_c == 1) /* the usual case, compiled for it */
            tops_f32(tops, (const float *)in->data + at, in, 1);
        else
            tops_f32(tops, (const float *)in->data + at, in, in->stride_c);
        break;
    case VG_F64: tops_f64(tops, (const double *)in->data + at, in, in->stride_c); break;
    default: /* float16 and bfloat16; other types were refused before this */
        tops_half(tops, (const uint16_t *)in->data + at, in, in->stride_c);
    }
}

double vg_disagreement__of_tops(const uint32_t *tops, size_t members, uint32_t *named) {
    double agree = 0, count = (double)members;
    if (members < 2)
        return 0;
    for (size_t m = 0; m < members; m++)
        agree += named[tops[m]]++; /* pairs with earlier members that name the same class */
    for (size_t m = 0; m < members; m++)
        named[tops[m]] = 0;
    return 1 - agree / (0.5 * count * (count - 1));
}

double vg_disagreement__sample(const vg_predictions *in, size_t n, uint32_t *work) {
    if (in->m < 2)
        return 0;
    find_tops(work, in, n);
    return vg_disagreement__of_tops(work, in->m, work + in->m);
}

double vg_disagreement__label(const vg_predictions *in, size_t n, size_t label, double half) {
    double above = 0, members = (double)in->m;
    if (in->m < 2)
        return 0;
    for (size_t m = 0; m < in->m; m++)
        above += vg_measures__value(in, n, m, label) > half;
    return 2 * above * (members - above) / (members * (members - 1));
}

/* The most members that name one class. `named`: C, zero between calls. */
static uint32_t most_named(const uint32_t *tops, size_t members, size_t classes, uint32_t *named) {
    uint32_t most = 0;
    if (members < 16 && classes <= 16) { /* counts of four bits, in one register */
        uint64_t counts = 0, here;
        for (size_t m = 0; m < members; m++) {
            counts += (uint64_t)1 << 4 * tops[m];
            here = counts >> 4 * tops[m] & 15;
            most = here > most ? (uint32_t)here : most;
        }
        return most;
    }
    for (size_t m = 0; m < members; m++)
        most = ++named[tops[m]] > most ? named[tops[m]] : most;
    for (size_t m = 0; m < members; m++)
        named[tops[m]] = 0;
    return most;
}

void vg_disagreement__votes(double *votes, const vg_predictions *in, size_t first, size_t count, uint32_t *work) {
    double members = (double)in->m;
    for (size_t i = 0; i < count; i++) {
        find_tops(work, in, first + i);
        votes[i] = (members - most_named(work, in->m, in->c, work + in->m)) / members;
    }
}

double vg_disagreement__label_votes(const vg_predictions *in, size_t n, size_t label, double half) {
    size_t above = 0;
    for (size_t m = 0; m < in->m; m++)
        above += vg_measures__value(in, n, m, label) > half;
    return fmin((double)above, (double)(in->m - above)) / (double)in->m;
}
