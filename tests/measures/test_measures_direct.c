/* test_measures_direct.c - the measures by their definitions (direct.c), which the kernels use where a member has no
 * class left: random distributions with zeros, every floor, pairs, logarithm and scale, against the formulas of
 * docs/measures.md in long double. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "measures/kernel.h"

enum { MEMBERS = 5, CLASSES = 6 };

typedef struct members {
    size_t m, c;
    double p[MEMBERS][CLASSES];
} members;

static double value_of(const void *context, size_t member, size_t class) {
    return ((const members *)context)->p[member][class];
}

/* x log(argument), 0 log 0 = 0. */
static long double term(long double x, long double argument) { return x > 0 ? x * logl(argument) : 0; }

/* tu au eu epce epkl epjs in nats. */
static void define(long double out[6], const members *s, const vg_score_options *o) {
    long double add = o->logits || o->floor_form != VG_FLOOR_ADD ? 0 : o->floor;
    long double least = o->logits || o->floor_form != VG_FLOOR_MAX ? 0 : o->floor;
    long double tu = 0, au = 0, epce = 0, epjs = 0, pairs = 0;
    for (size_t c = 0; c < s->c; c++) {
        long double mean = 0;
        for (size_t m = 0; m < s->m; m++)
            mean += s->p[m][c], au -= term(s->p[m][c], s->p[m][c] + add) / s->m;
        tu -= term(mean / s->m, mean / s->m + add);
    }
    for (size_t a = 0; a < s->m; a++)
        for (size_t b = 0; b < s->m; b++) {
            if (a == b && o->pairs == VG_PAIRS_DISTINCT)
                continue;
            pairs++;
            for (size_t c = 0; c < s->c; c++) {
                long double x = s->p[a][c], y = s->p[b][c], half = (x + y) / 2;
                long double inside = fmaxl(y + add, least);
                epce -= term(x, inside > 0 ? inside : 1e-300L);
                epjs += (term(x, x + add) + term(y, y + add)) / 2 - term(half, half + add);
            }
        }
    epce = pairs > 0 && s->m > 1 ? epce / pairs : au; /* one member: its own entropy, whatever the floor */
    const long double epkl = s->m == 1 ? 0 : epce - au;
    const long double results[] = {
        tu, au, fmaxl(tu - au, 0), epce, add > 0 ? fmaxl(epkl, 0) : epkl, pairs > 0 ? fmaxl(epjs / pairs, 0) : 0};
    memcpy(out, results, sizeof results);
}

static members draw(vg_random *random) {
    members s = {1 + vg_random__below(random, MEMBERS), 2 + vg_random__below(random, CLASSES - 1), {{0}}};
    for (size_t m = 0; m < s.m; m++) {
        double sum = 0;
        for (size_t c = 0; c < s.c; c++)
            sum += s.p[m][c] = vg_random__below(random, 3) == 0 ? 0 : vg_random__unit(random);
        for (size_t c = 0; c < s.c; c++)
            s.p[m][c] = sum > 0 ? s.p[m][c] / sum : c == 0;
    }
    return s;
}

static void as_defined(void **state) {
    (void)state;
    vg_random random = vg_random__start(5, 1);
    for (int trial = 0; trial < 2000; trial++) {
        members s = draw(&random);
        vg_kernel_job job = {.options = VG_SCORE_OPTIONS_INIT, .m = s.m, .c = s.c};
        vg_score_options *o = &job.options;
        o->logits = vg_random__below(&random, 4) == 0;
        o->floor_form = vg_random__below(&random, 2) ? VG_FLOOR_ADD : VG_FLOOR_MAX;
        o->floor = vg_random__below(&random, 2) ? 0.05 : 1e-6;
        o->pairs = (vg_pairs)vg_random__below(&random, 2);
        o->log_base = (vg_log_base)vg_random__below(&random, 2);
        o->normalise = (int)vg_random__below(&random, 2);
        long double expected[6], unit = o->log_base == VG_LOG_2 ? 1 / logl(2) : 1;
        double found[6];
        define(expected, &s, o);
        vg_measures__direct(found, value_of, &s, &job);
        for (int i = 0; i < 6; i++) {
            double right = (double)(expected[i] * (i < 3 && o->normalise ? 1 / logl((long double)s.c) : unit));
            if (!(fabs(found[i] - right) <= 1e-13 * (1 + fabs(right))))
                fail_msg("trial %d, result %d: %.17g, expected %.17g", trial, i, found[i], right);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_defined)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
