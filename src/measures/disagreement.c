/* disagreement.c - the most probable class of every member, and the pairs that differ. */
#include "measures/disagreement.h"

#include <stdbool.h>

#include "measures/kernel.h"

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

/* tops[m] of a sample's members, classes `step` apart. Where they lie side by side, the largest value of a stretch is
 * found first, in several independent lanes, and its place only where it is larger than all before: one search is a
 * chain of dependent comparisons. */
enum { STRETCH = 64, LANES = 16 };
#define TOPS(NAME, TYPE, KEY, ORDER)                                                                                   \
    static KEY NAME##_most(const TYPE *x) {                                                                            \
        KEY best[LANES];                                                                                               \
        for (int i = 0; i < LANES; i++)                                                                                \
            best[i] = ORDER(x[i]);                                                                                     \
        for (int c = LANES; c < STRETCH; c += LANES)                                                                   \
            for (int i = 0; i < LANES; i++)                                                                            \
                best[i] = ORDER(x[c + i]) > best[i] ? ORDER(x[c + i]) : best[i];                                       \
        for (int half = LANES / 2; half > 0; half /= 2)                                                                \
            for (int i = 0; i < half; i++)                                                                             \
                best[i] = best[i + half] > best[i] ? best[i + half] : best[i];                                         \
        return best[0];                                                                                                \
    }                                                                                                                  \
    static void NAME(uint32_t *tops, const TYPE *x, const vg_predictions *in, ptrdiff_t step) {                        \
        for (size_t m = 0; m < in->m; m++, x += in->stride_m) {                                                        \
            KEY best = ORDER(x[0]);                                                                                    \
            size_t c = 0;                                                                                              \
            tops[m] = 0;                                                                                               \
            while (c < in->c) {                                                                                        \
                size_t stop = in->c - c < STRETCH ? in->c : c + STRETCH;                                               \
                if (step == 1 && stop - c == STRETCH && !(NAME##_most(x + c) > best)) {                                \
                    c = stop;                                                                                          \
                    continue;                                                                                          \
                }                                                                                                      \
                for (; c < stop; c++)                                                                                  \
                    if (ORDER(x[(ptrdiff_t)c * step]) > best) {                                                        \
                        best = ORDER(x[(ptrdiff_t)c * step]);                                                          \
                        tops[m] = (uint32_t)c;                                                                         \
                    }                                                                                                  \
            }                                                                                                          \
        }                                                                                                              \
    }
TOPS(tops_f32, float, float, AS_IS)
TOPS(tops_f64, double, double, AS_IS)
TOPS(tops_half, uint16_t, int32_t, half_order)

double vg_disagreement__sample(const vg_predictions *in, size_t n, uint32_t *work) {
    uint32_t *tops = work, *named = work + in->m; /* M; C, zero between calls */
    ptrdiff_t at = (ptrdiff_t)n * in->stride_n;
    double agree = 0, members = (double)in->m;
    if (in->m < 2)
        return 0;
    switch (in->dtype) {
    case VG_F32:
        tops_f32(tops, (const float *)in->data + at, in, in->stride_c);
        break;
    case VG_F64: tops_f64(tops, (const double *)in->data + at, in, in->stride_c); break;
    default: /* float16 and bfloat16; other types were refused before this */
        tops_half(tops, (const uint16_t *)in->data + at, in, in->stride_c);
    }
    for (size_t m = 0; m < in->m; m++)
        agree += named[tops[m]]++; /* pairs with the members before that name the same class */
    for (size_t m = 0; m < in->m; m++)
        named[tops[m]] = 0;
    return 1 - agree / (0.5 * members * (members - 1));
}

double vg_disagreement__label(const vg_predictions *in, size_t n, size_t label, double half) {
    double above = 0, members = (double)in->m;
    if (in->m < 2)
        return 0;
    for (size_t m = 0; m < in->m; m++)
        above += vg_measures__value(in, n, m, label) > half;
    return 2 * above * (members - above) / (members * (members - 1));
}
