/* pinned.h - figures that must stay as they are. A case draws its inputs and options from a seed, adds every number of
 * the results to a checksum, and compares that with the one stored in pinned_values.h. Other tests show that figures
 * are right; these notice that one changed, at more options and shapes than anybody would check by hand.
 *
 * A number enters the checksum by the logarithm of its size and with a weight of its own, so that a change of one in
 * 10^6 of any number above 10^-6 shows and differences of rounding (tiers, compilers) do not. A case that does not free
 * what it allocated fails too. Where figures change on purpose: build/release/tests/test_evaluate_pinned --write, into
 * pinned_values.h. */
#ifndef VG_TEST_PINNED_H
#define VG_TEST_PINNED_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "vargate/evaluate.h"
#include "vargate/sets.h"

/* --- random inputs: splitmix64, not the library's own generator */
typedef struct draws {
    uint64_t state;
} draws;
static inline uint64_t bits(draws *d) {
    uint64_t x = d->state += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}
static inline size_t below(draws *d, size_t bound) { return (size_t)(bits(d) >> 11) % bound; }
static inline double unit(draws *d) { return (double)(bits(d) >> 11) * 0x1p-53; }
static inline bool once_in(draws *d, size_t times) { return below(d, times) == 0; }

/* --- the checksum */
typedef struct checksum {
    double sum;
    draws weights;
    size_t count;
} checksum;
static inline void add(checksum *c, double value) {
    double weight = 0.5 + unit(&c->weights);
    double size = isnan(value) ? 3.25 : isinf(value) ? copysign(40, value) : copysign(log1p(fabs(value) * 1e6), value);
    c->sum += (once_in(&c->weights, 2) ? -weight : weight) * size;
    c->count++;
}
static inline void add_count(checksum *c, unsigned long long value) { add(c, (double)value); }
static inline void add_all(checksum *c, const double *values, size_t count) {
    for (size_t i = 0; values && i < count; i++)
        add(c, values[i]);
}
static inline void add_counts(checksum *c, const size_t *values, size_t count) {
    for (size_t i = 0; values && i < count; i++)
        add_count(c, values[i]);
}
static inline void add_estimate(checksum *c, vg_estimate e) {
    add(c, e.value);
    add(c, e.low);
    add(c, e.high);
}
static inline void add_text(checksum *c, const char *text) {
    uint32_t hash = 0;
    for (; *text; text++)
        hash = hash * 31 + (unsigned char)*text;
    add(c, hash % 9973);
}
static inline void ok(vg_status status) {
    if (status != VG_OK)
        fail_msg("%s", vg_error_message());
}

/* --- kinds of cases */
typedef void pinned_case(checksum *sum, draws *d);
typedef struct pinned_kind {
    const char *name;
    pinned_case *run;
    const double *values;
    size_t count;
} pinned_kind;

/* Blocks that are allocated: of faults/fault_preload.c, where the build links it. */
extern long vg_fault_live(void) __attribute__((weak));

static inline checksum run_case(const pinned_kind *kind, size_t i) {
    draws inputs = {1000003 * i + strlen(kind->name)};
    checksum sum = {0, {i}, 0};
    long before = vg_fault_live ? vg_fault_live() : 0;
    kind->run(&sum, &inputs);
    long after = vg_fault_live ? vg_fault_live() : 0;
    if (after > before)
        fail_msg("%s, case %zu: %ld blocks are not freed", kind->name, i, after - before);
    return sum;
}
static inline void compare_cases(const pinned_kind *kind) {
    for (size_t i = 0; i < kind->count; i++) {
        checksum sum = run_case(kind, i);
        if (!(fabs(sum.sum - kind->values[i]) <= 1e-8 * (double)(1 + sum.count)))
            fail_msg("%s, case %zu: the checksum of %zu figures is %.12g, stored is %.12g", kind->name, i, sum.count,
                     sum.sum, kind->values[i]);
    }
}
static inline void write_cases(const pinned_kind *kind) {
    printf("static const double pinned_%s[] = {\n", kind->name);
    for (size_t i = 0; i < kind->count; i++)
        printf("%s%.12g,%s", i % 6 ? " " : "    ", run_case(kind, i).sum,
               i % 6 == 5 || i + 1 == kind->count ? "\n" : "");
    printf("};\n");
}

#endif
