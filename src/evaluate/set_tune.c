/* set_tune.c - lambda and k_reg of raps and saps, from calibration samples that are not used for the threshold.
 *
 * k_reg of raps is the 1 - alpha quantile of the labels' ranks: with that many classes 1 - alpha of the labels are
 * held without a penalty (Angelopoulos et al. 2021). lambda is the value of a grid whose sets, at the conformal
 * threshold of these samples, are smallest on average; the smaller lambda among equals. */
#include <math.h>
#include <string.h>

#include "base/sort.h"

#include "evaluate/set_rule.h"

static const double lambdas[] = {0, 0.0001, 0.001, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1};
enum { LAMBDAS = sizeof lambdas / sizeof *lambdas };

void vg_set_tuning__free(vg_set_tuning *t) {
    vg_base__release(t->sums);
    vg_base__release(t->parts);
    *t = (vg_set_tuning){0};
}

vg_status vg_set_tuning__add(vg_set_tuning *t, const vg_set_parts *label, const double *sums, size_t classes) {
    size_t used = t->n * classes, needed;
    if (!vg_base__mul(&needed, t->n + 1, classes))
        return vg_base__fail(VG_ERR_MEMORY, "tuning samples of %zu classes do not fit in memory", classes);
    VG_TRY(vg_set__grow(&t->sums, used, &t->room, needed, sizeof *t->sums));
    VG_TRY(vg_set__grow(&t->parts, t->n, &t->part_room, t->n + 1, sizeof *t->parts));
    memcpy(t->sums + used, sums, classes * sizeof *sums);
    t->parts[t->n++] = *label;
    return VG_OK;
}

static double rank_quantile(const vg_set_tuning *t, size_t classes, double alpha, double *scores) {
    for (size_t i = 0; i < t->n; i++)
        scores[i] = t->parts[i].rank;
    vg_base__sort_doubles(scores, t->n);
    double rank = vg_set__quantile(scores, t->n, alpha);
    return isinf(rank) ? (double)classes : rank;
}

/* The number of classes in the sets of all tuning samples. */
static unsigned long long total_size(const vg_set_rule *rule, const vg_set_tuning *t, double alpha, double *scores) {
    unsigned long long size = 0;
    size_t C = rule->classes;
    for (size_t i = 0; i < t->n; i++)
        scores[i] = vg_set__ranked_score(rule, &t->parts[i]);
    vg_base__sort_doubles(scores, t->n);
    double limit = vg_set__quantile(scores, t->n, alpha);
    for (size_t i = 0; i < t->n; i++)
        size += vg_set__prefix(rule, t->sums + i * C, C, t->parts[i].u, limit);
    return size;
}

vg_status vg_set_tuning__choose(vg_set_rule *rule, const vg_set_tuning *t, double alpha) {
    double *scores;
    unsigned long long best = ~0ULL;
    VG_TRY(vg_base__alloc(&scores, t->n, sizeof *scores, "tuning scores"));
    if (isnan(rule->k_reg))
        rule->k_reg = rule->score == VG_SET_RAPS ? rank_quantile(t, rule->classes, alpha, scores) : 0;
    if (isnan(rule->lambda)) {
        vg_set_rule tried = *rule;
        for (size_t i = rule->score == VG_SET_SAPS ? 1 : 0; i < LAMBDAS;
             i++) { /* saps with lambda 0 does not rank the classes */
            tried.lambda = lambdas[i];
            unsigned long long size = total_size(&tried, t, alpha, scores);
            if (size < best) {
                best = size;
                rule->lambda = lambdas[i];
            }
        }
    }
    vg_base__release(scores);
    return VG_OK;
}
