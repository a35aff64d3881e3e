/* set_tune.c - lambda and k_reg of raps and saps, from calibration samples that do not count for the threshold.
 *
 * k_reg of raps is the 1 - alpha quantile of the labels' ranks: with that many classes 1 - alpha of the labels are held
 * without a penalty (Angelopoulos et al. 2021). lambda is the value of a grid whose sets, at the conformal threshold of
 * these samples, are smallest on average; the smaller lambda among equals. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "evaluate/set_rule.h"

static const double lambdas[] = {0, 0.0001, 0.001, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1};
enum { LAMBDAS = sizeof lambdas / sizeof *lambdas };

void vg_set_tuning__free(vg_set_tuning *t) {
    vg_base__release(t->value);
    vg_base__release(t->u);
    vg_base__release(t->label);
    *t = (vg_set_tuning){0};
}

vg_status vg_set_tuning__add(vg_set_tuning *t, const vg_set_row *row, size_t classes, uint32_t label) {
    if (t->n == t->room) {
        vg_set_tuning more = {.n = t->n, .room = t->room ? 2 * t->room : 256};
        size_t values;
        if (!vg_base__mul(&values, more.room, classes))
            return vg_base__fail(VG_ERR_MEMORY, "tuning samples of %zu classes do not fit in memory", classes);
        vg_status status = vg_base__alloc(&more.value, values, sizeof *more.value, "tuning samples");
        if (status == VG_OK)
            status = vg_base__alloc(&more.u, more.room, sizeof *more.u, "tuning samples");
        if (status == VG_OK)
            status = vg_base__alloc(&more.label, more.room, sizeof *more.label, "tuning samples");
        if (status != VG_OK) {
            vg_set_tuning__free(&more);
            return status;
        }
        if (t->n) {
            memcpy(more.value, t->value, t->n * classes * sizeof *more.value);
            memcpy(more.u, t->u, t->n * sizeof *more.u);
            memcpy(more.label, t->label, t->n * sizeof *more.label);
        }
        vg_set_tuning__free(t);
        *t = more;
    }
    memcpy(t->value + t->n * classes, row->value, classes * sizeof *t->value);
    t->u[t->n] = row->u;
    t->label[t->n++] = label;
    return VG_OK;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static vg_set_row row_of(const vg_set_tuning *t, size_t i, size_t classes) {
    return (vg_set_row){.value = t->value + i * classes, .u = t->u[i]};
}

static double rank_quantile(const vg_set_tuning *t, size_t classes, double alpha, double *scores) {
    for (size_t i = 0; i < t->n; i++)
        scores[i] = (double)vg_set__rank(t->value + i * classes, classes, t->label[i]);
    qsort(scores, t->n, sizeof *scores, compare);
    double rank = vg_set__quantile(scores, t->n, alpha);
    return isinf(rank) ? (double)classes : rank;
}

/* The number of classes in the sets of all tuning samples. */
static unsigned long long total_size(const vg_set_rule *rule, const vg_set_tuning *t, double alpha, double *scores,
                                     uint32_t *order) {
    unsigned long long size = 0;
    for (size_t i = 0; i < t->n; i++) {
        vg_set_row row = row_of(t, i, rule->classes);
        scores[i] = vg_set__label_score(rule, &row, t->label[i]);
    }
    qsort(scores, t->n, sizeof *scores, compare);
    double limit = vg_set__quantile(scores, t->n, alpha);
    for (size_t i = 0; i < t->n; i++) {
        vg_set_row row = row_of(t, i, rule->classes);
        vg_set__scores(scores, rule, &row, limit, order);
        for (size_t c = 0; c < rule->classes; c++)
            size += scores[c] <= limit;
    }
    return size;
}

vg_status vg_set_tuning__choose(vg_set_rule *rule, const vg_set_tuning *t, double alpha) {
    double *scores;
    uint32_t *order;
    unsigned long long best = ~0ULL;
    VG_TRY(vg_base__alloc(&scores, t->n > rule->classes ? t->n : rule->classes, sizeof *scores, "tuning scores"));
    vg_status status = vg_base__alloc(&order, rule->classes, sizeof *order, "tuning scores");
    if (status == VG_OK && isnan(rule->k_reg))
        rule->k_reg = rule->score == VG_SET_RAPS ? rank_quantile(t, rule->classes, alpha, scores) : 0;
    if (status == VG_OK && isnan(rule->lambda)) {
        vg_set_rule tried = *rule;
        for (size_t i = rule->score == VG_SET_SAPS ? 1 : 0; i < LAMBDAS; i++) { /* saps at 0 ranks nothing */
            tried.lambda = lambdas[i];
            unsigned long long size = total_size(&tried, t, alpha, scores, order);
            if (size < best) {
                best = size;
                rule->lambda = lambdas[i];
            }
        }
    }
    if (status == VG_OK)
        vg_base__release(order);
    vg_base__release(scores);
    return status;
}
