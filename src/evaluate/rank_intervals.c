/* rank_intervals.c - the intervals of a measure's ranking that need its order and not resamples: error AUROC, coverage
 * at a risk.
 *
 * Coverage at risk R. At a threshold fixed beforehand the errors among the k rows kept are binomial with that
 * threshold's risk, so its risk is called different from R when the errors are further from k R than z sqrt(k R (1 -
 * R)) + 1/2. The coverage searched for is the one where the risk passes R: it lies above the largest coverage whose
 * risk is called lower than R, and below the largest whose risk is not called higher. How many rows a threshold keeps
 * is random as well, with variance c (1 - c) / N; both distances are added as squares. Rows that come in samples
 * (multilabel) count as rows / f, f the factor by which the accuracy's variance over samples exceeds that of
 * independent rows. */
#include "base/distributions.h"
#include "evaluate/evaluate_internal.h"

void vg_evaluate__pass_risk(double *below, double *within, const vg_rank_plan *plan, double risk, double rows,
                            double errors) {
    double kept = rows / plan->unit, off = errors / plan->unit - kept * risk;
    double room = plan->z * sqrt(kept * risk * (1 - risk)) + 0.5;
    if (-off > room)
        *below = rows;
    if (off <= room)
        *within = rows;
}

/* The coverages between which the risk crosses R: found[0], found[1]. */
static void bracket(double found[2], const uint8_t *places, size_t rows, double risk, double factor, double z) {
    vg_rank_plan plan = {.z = z, .unit = factor};
    double errors = 0;
    found[0] = found[1] = 0;
    for (size_t i = 0; i < rows; i++) {
        errors += (places[i] & VG_PLACE_POSITIVE) != 0;
        if (places[i] & VG_PLACE_END)
            vg_evaluate__pass_risk(&found[0], &found[1], &plan, risk, (double)(i + 1), errors);
    }
}

/* How far the interval reaches from a coverage to `end`, extended by the variation of the coverage itself. */
static double reach(double value, double end, double z, double samples) {
    double noise = end * (1 - end) / samples;
    return sqrt((end - value) * (end - value) + z * z * noise);
}

void vg_evaluate__coverage_interval(vg_estimate *e, const uint8_t *places, size_t rows, double risk, double factor,
                                    double confidence) {
    double ends[2], z = vg_base__normal_quantile(1 - (1 - confidence) / 2);
    bracket(ends, places, rows, risk, factor, z);
    vg_evaluate__coverage_ends(e, ends[0] / (double)rows, ends[1] / (double)rows, z, (double)rows / factor);
}

void vg_evaluate__coverage_ends(vg_estimate *e, double below, double within, double z, double samples) {
    double low = below < e->value ? below : e->value, high = within > e->value ? within : e->value;
    e->low = e->high = NAN;
    if (isnan(e->value))
        return;
    e->low = low > 0 ? fmax(0, e->value - reach(e->value, low, z, samples)) : 0;
    e->high = high < 1 ? fmin(1, e->value + reach(e->value, high, z, samples)) : 1;
}
