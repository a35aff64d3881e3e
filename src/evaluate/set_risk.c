/* set_risk.c - the threshold of multilabel sets: with `confidence`, the expected share of a sample's true labels that
 * its set misses is at most alpha.
 *
 * The loss of a sample grows as t falls, so that its expectation R(t) does too. Thresholds 1, 1 - 1/G, ... of a grid
 * that does not depend on the data are tested downwards, each by the p-value of "R(t) > alpha" that decide
 * --target-risk uses (bounds.c), and the last before the first that fails is taken. A wrong choice needs a failure of
 * the one test at the largest grid point with R > alpha, so that no correction is needed (Bates et al. 2021). */
#include <math.h>
#include <string.h>

#include "evaluate/select_internal.h"
#include "evaluate/set_rule.h"

enum { GRID = 1024 };

void vg_set_positives__free(vg_set_positives *p) {
    vg_base__release(p->start);
    vg_base__release(p->value);
    *p = (vg_set_positives){0};
}

vg_status vg_set_positives__add(vg_set_positives *p, const double *value, const int64_t *labels, size_t classes) {
    size_t had = p->samples ? p->samples + 1 : 0;
    VG_TRY(vg_set__grow(&p->start, had, &p->sample_room, p->samples + 2, sizeof *p->start));
    VG_TRY(vg_set__grow(&p->value, p->count, &p->room, p->count + classes, sizeof *p->value));
    if (p->samples == 0)
        p->start[0] = 0;
    for (size_t c = 0; c < classes; c++)
        if (labels[c])
            p->value[p->count++] = value[c];
    p->start[++p->samples] = p->count;
    return VG_OK;
}

/* A label is in the set at t = g / GRID where 1 - mean <= t. Returns the smallest such g. */
static size_t first_grid(double value) {
    double s = (1 - value) * GRID;
    return s <= 0 ? 0 : (size_t)ceil(s);
}

typedef struct missed_label {
    uint32_t sample, next; /* the next label that is lost at the same step; UINT32_MAX: none */
} missed_label;

/* Sorts labels by the first grid point whose set holds them: below it they are missed. */
static vg_status bucket(const vg_set_positives *p, missed_label **out, uint32_t heads[GRID + 2]) {
    VG_TRY(vg_base__alloc(out, p->count, sizeof **out, "true labels"));
    for (size_t g = 0; g < GRID + 2; g++)
        heads[g] = UINT32_MAX;
    for (size_t s = 0; s < p->samples; s++)
        for (size_t i = p->start[s]; i < p->start[s + 1]; i++) {
            size_t g = first_grid(p->value[i]);
            g = g > GRID ? GRID + 1 : g;
            (*out)[i] = (missed_label){(uint32_t)s, heads[g]};
            heads[g] = (uint32_t)i;
        }
    return VG_OK;
}

static double descend(const vg_set_positives *p, const missed_label *labels, const uint32_t *heads, double *losses,
                      double alpha, double confidence) {
    double level = 1 - confidence, best = INFINITY;
    for (size_t g = GRID + 1; g-- > 0;) { /* t = g / GRID misses the labels first held at g + 1 */
        for (uint32_t i = heads[g + 1]; i != UINT32_MAX; i = labels[i].next) {
            size_t s = labels[i].sample;
            losses[s] += 1.0 / (double)(p->start[s + 1] - p->start[s]);
            losses[s] = losses[s] > 1 ? 1 : losses[s];
        }
        if (!(vg_evaluate__bounded_p(losses, p->samples, alpha, level / 2) <= level))
            break;
        best = (double)g / GRID;
    }
    return best;
}

vg_status vg_set_positives__threshold(double *out, const vg_set_positives *p, double alpha, double confidence) {
    missed_label *labels;
    uint32_t heads[GRID + 2];
    double *losses;
    *out = INFINITY;
    if (p->samples == 0)
        return VG_OK;
    if (p->count >= UINT32_MAX || p->samples >= UINT32_MAX)
        return vg_base__fail(VG_ERR_ARGUMENT, "more than 2^32 true labels to calibrate on");
    VG_TRY(vg_base__zalloc(&losses, p->samples, sizeof *losses, "losses"));
    vg_status status = bucket(p, &labels, heads);
    if (status == VG_OK) {
        *out = descend(p, labels, heads, losses, alpha, confidence);
        vg_base__release(labels);
    }
    vg_base__release(losses);
    return status;
}
