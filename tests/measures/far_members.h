/* far_members.h - float32 members far from each other, whose measures must keep the accuracy of docs/measures.md,
 * whatever computes them. Either all are equal but for one, which gives almost no probability to every class but the
 * last: the terms of the others are small and are rounded alike where they are added to its large one. Or they stand in
 * groups, or each is certain of a class of its own. */
#ifndef VG_TEST_FAR_MEMBERS_H
#define VG_TEST_FAR_MEMBERS_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "vargate/measures.h"

typedef vg_status (*far_scoring)(vg_scores *, vg_score_summary *, const vg_predictions *, const vg_score_options *);

enum { FAR_SAMPLES = 32, FAR_MOST = 170, FAR_MOST_CLASSES = 100 };

static inline double far_entropy(const double *p, size_t classes) {
    double h = 0;
    for (size_t c = 0; c < classes; c++)
        h -= p[c] > 0 ? p[c] * log(p[c]) : 0;
    return h;
}

/* The largest error of TU, AU, EU and EPKL in FAR_SAMPLES samples of `members` members, one of them with probability
 * `far` of every class but the last; infinite where scoring fails. */
static inline double far_member_error(far_scoring score, size_t members, size_t classes, float far, size_t shift) {
    static float p[FAR_SAMPLES * FAR_MOST * FAR_MOST_CLASSES];
    double tu[FAR_SAMPLES], au[FAR_SAMPLES], eu[FAR_SAMPLES], epkl[FAR_SAMPLES], worst = 0;
    for (size_t s = 0; s < FAR_SAMPLES; s++)
        for (size_t m = 0; m < members; m++) {
            float *row = p + (s * members + m) * classes, all = (float)(((double)((s + shift) % 97) + .5) / 97);
            for (size_t c = 0; c + 1 < classes; c++)
                row[c] = m == s % members ? far : all / (float)(classes - 1);
            row[classes - 1] = m == s % members ? 1 : 1 - all;
        }
    vg_score_options options = VG_SCORE_OPTIONS_INIT;
    vg_score_summary summary;
    vg_scores out = {.tu = tu, .au = au, .eu = eu, .epkl = epkl};
    vg_predictions view = vg_predictions_f32(p, FAR_SAMPLES, members, classes);
    if (score(&out, &summary, &view, &options))
        return INFINITY;
    for (size_t s = 0; s < FAR_SAMPLES; s++) {
        double mean[FAR_MOST_CLASSES] = {0}, row[FAR_MOST_CLASSES], within = 0, reverse = 0;
        for (size_t m = 0; m < members; m++) {
            for (size_t c = 0; c < classes; c++) {
                row[c] = (double)p[(s * members + m) * classes + c];
                mean[c] += row[c] / (double)members;
            }
            within += far_entropy(row, classes) / (double)members;
        }
        for (size_t m = 0; m < members; m++)
            for (size_t c = 0; c < classes; c++) {
                double own = fmax((double)p[(s * members + m) * classes + c], 1e-12);
                reverse += mean[c] * log(mean[c] / own) / (double)members;
            }
        double total = far_entropy(mean, classes);
        worst = fmax(worst, fabs(tu[s] - total));
        worst = fmax(worst, fabs(au[s] - within));
        worst = fmax(worst, fabs(eu[s] - (total - within)));
        worst = fmax(worst, fabs(epkl[s] - (total - within + reverse)));
    }
    return worst;
}

static const float far_values[] = {0, 1e-34F, 1e-30F, 1e-25F, 1e-20F, 1e-15F, 1e-12F, 1e-9F};
enum { FAR_VALUES = sizeof far_values / sizeof *far_values };

/* --- members in groups */

enum { GROUP_SAMPLES = 4, GROUP_GATES = 4, GROUP_MEASURES = 6, GROUP_MEMBERS = 183, GROUP_CLASSES = 290 };

typedef struct far_groups {
    int family;
    size_t members, classes, gates;
    double value; /* of the far members, or what certain ones leave to the other classes */
} far_groups;

/* The largest errors: of TU, AU, EU, EPCE and EPKL, of these gated, of EPJS and GEPJS (divided by a twentieth of the
 * sum of the classes' largest members where that is above 1), and of SNR (relative above 1). */
typedef struct far_errors {
    double plain, gated, pairs, snr;
} far_errors;

/* As docs/measures.md states. */
static const far_errors far_bounds = {.plain = 3e-6, .gated = 4e-6, .pairs = 2e-6, .snr = 1e-6};

/* Keeps the larger error; one that is not a number is infinite. */
static inline void far_worst(double *worst, double error) {
    *worst = isnan(error) ? INFINITY : fmax(*worst, fabs(error));
}

/* Member m of a sample of a family. 0: the first members are certain of class 1, with `value` elsewhere, the others
 * agree. 1: each is certain of a class of its own but for `value`. 2: one has `value` in one class, and is otherwise
 * like the others. 3: every third agrees, the others are certain of one of five classes. 4: the first sixteenth lie
 * apart, the others agree. */
static inline void far_groups_row(float *row, const far_groups *g, size_t sample, size_t m) {
    size_t C = g->classes, far = sample % 2 ? (g->members + 4) / 5 : 1;
    double all = (double)(sample * 37 + g->members) / 97, rest = 1 - (all - floor(all)) * 0.98;
    double first = sample < 2 ? 1 / (double)C : rest / (double)(C - 1); /* of an agreeing member, in class 0 */
    for (size_t c = 0; c < C; c++) {
        double even = sample < 2 ? 1 / (double)C : c == C - 1 ? 1 - rest : rest / (double)(C - 1), own = even;
        if (g->family == 0 && m < far)
            own = c == 1 ? 1 : g->value;
        else if (g->family == 1)
            own = c == (m + sample) % C ? 1 - g->value : g->value / (double)(C - 1);
        else if (g->family == 2 && m == sample)
            own = c == 0 ? g->value : c == 1 ? even + first : even;
        else if (g->family == 3 && m % 3)
            own = c == m % 5 * 7 % C ? 1 : g->value;
        else if (g->family == 4 && m < (g->members + 15) / 16)
            own = (double)(c + 1) * 2 / (double)(C * (C + 1));
        row[c] = (float)own;
    }
}

static inline vg_scores far_groups_scores(double *values, double *snr, size_t gates) {
    double *gated = values + GROUP_MEASURES * GROUP_SAMPLES;
    const size_t step = GROUP_SAMPLES * gates;
    return (vg_scores){.tu = values,
                       .au = values + GROUP_SAMPLES,
                       .eu = values + 2 * GROUP_SAMPLES,
                       .epce = values + 3 * GROUP_SAMPLES,
                       .epkl = values + 4 * GROUP_SAMPLES,
                       .epjs = values + 5 * GROUP_SAMPLES,
                       .gtu = gated,
                       .gau = gated + step,
                       .geu = gated + 2 * step,
                       .gepce = gated + 3 * step,
                       .gepkl = gated + 4 * step,
                       .gepjs = gated + 5 * step,
                       .snr = snr};
}

/* The sum over classes of the largest member. */
static inline double far_tops(const double *p, const far_groups *g) {
    double sum = 0;
    for (size_t c = 0; c < g->classes; c++) {
        double top = 0;
        for (size_t m = 0; m < g->members; m++)
            top = fmax(top, p[m * g->classes + c]);
        sum += top;
    }
    return sum;
}

/* `score` of float32 members against the CPU's scores of the same in float64, which test_measures_accuracy holds
 * against quadruple precision to 1e-12; infinite where scoring fails. */
static inline far_errors far_groups_errors(far_scoring score, const far_groups *g) {
    enum { PLAIN = GROUP_MEASURES * GROUP_SAMPLES, MOST = PLAIN * (1 + GROUP_GATES) };
    static float single[GROUP_SAMPLES * GROUP_MEMBERS * GROUP_CLASSES];
    static double twice[GROUP_SAMPLES * GROUP_MEMBERS * GROUP_CLASSES];
    static const double k[GROUP_GATES] = {.3, 1, 3, 30};
    double values[2][MOST], snr[2][GROUP_SAMPLES];
    size_t rows = GROUP_SAMPLES * g->members, all = PLAIN * (1 + g->gates);
    double tops = 20;
    for (size_t i = 0; i < rows; i++)
        far_groups_row(single + i * g->classes, g, i / g->members, i % g->members);
    for (size_t i = 0; i < rows * g->classes; i++)
        twice[i] = (double)single[i];
    for (size_t s = 0; s < GROUP_SAMPLES; s++)
        tops = fmax(tops, far_tops(twice + s * g->members * g->classes, g));
    vg_score_options options = VG_SCORE_OPTIONS_INIT;
    vg_score_summary summary;
    options.k = k;
    options.k_count = g->gates;
    vg_predictions view = vg_predictions_f32(single, GROUP_SAMPLES, g->members, g->classes);
    vg_predictions view64 = vg_predictions_f64(twice, GROUP_SAMPLES, g->members, g->classes);
    vg_scores out = far_groups_scores(values[0], snr[0], g->gates);
    vg_scores exact = far_groups_scores(values[1], snr[1], g->gates);
    if (score(&out, &summary, &view, &options) || vg_score(&exact, NULL, &view64, &options))
        return (far_errors){INFINITY, INFINITY, INFINITY, INFINITY};
    far_errors e = {0};
    for (size_t i = 0; i < all; i++) {
        bool pairs = i < PLAIN ? i >= PLAIN - GROUP_SAMPLES : i >= all - GROUP_SAMPLES * g->gates;
        double *worst = pairs ? &e.pairs : i < PLAIN ? &e.plain : &e.gated;
        far_worst(worst, (values[0][i] - values[1][i]) / (pairs ? tops / 20 : 1));
    }
    for (size_t s = 0; s < GROUP_SAMPLES; s++)
        far_worst(&e.snr, (snr[0][s] - snr[1][s]) / fmax(snr[1][s], 1));
    return e;
}

/* Every family with three gates and with four, in shapes of up to so many members and classes: how many exceed the
 * bounds, each printed. */
static inline size_t far_groups_beyond(far_scoring score, size_t most_members, size_t most_classes) {
    const far_errors *most = &far_bounds;
    static const size_t members[] = {2, 3, 7, 16, 45, 110, GROUP_MEMBERS};
    static const size_t classes[] = {2, 10, 54, 100, 175, GROUP_CLASSES};
    static const double values[] = {0, 1e-30, 1e-15, 1e-6}, left[] = {.5, .18, .02, 1e-5};
    enum { FAMILIES = 5, VALUES = 4, SHAPES = sizeof members / sizeof *members * (sizeof classes / sizeof *classes) };
    far_errors worst = {0};
    size_t count = 0;
    for (size_t i = 0; i < (size_t)SHAPES * FAMILIES * VALUES * 2; i++) {
        size_t v = i / 2 % VALUES, family = i / 2 / VALUES % FAMILIES, shape = i / 2 / VALUES / FAMILIES;
        far_groups g = {(int)family, members[shape % (sizeof members / sizeof *members)],
                        classes[shape / (sizeof members / sizeof *members)], GROUP_GATES - i % 2,
                        family == 1 ? left[v] : values[v]};
        if ((family == 4 && v) || g.members > most_members || g.classes > most_classes)
            continue;
        far_errors e = far_groups_errors(score, &g);
        far_worst(&worst.plain, e.plain), far_worst(&worst.gated, e.gated);
        far_worst(&worst.pairs, e.pairs), far_worst(&worst.snr, e.snr);
        if (e.plain <= most->plain && e.gated <= most->gated && e.pairs <= most->pairs && e.snr <= most->snr)
            continue;
        if (count++ < 20)
            fprintf(stderr, "  family %d, %zu x %zu, %zu gates, %g: off by %.3g, gated %.3g, pairs %.3g, SNR %.3g\n",
                    g.family, g.members, g.classes, g.gates, g.value, e.plain, e.gated, e.pairs, e.snr);
    }
    fprintf(stderr, "  groups of members: at most %.3g, gated %.3g, pairs %.3g, SNR %.3g\n", worst.plain, worst.gated,
            worst.pairs, worst.snr);
    return count;
}

#endif
