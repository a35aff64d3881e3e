/* bootstrap_tally.c - the tally's figures under eight sets of weights at once, by the definitions of
 * tally_metrics.c. Calibration errors are left out (NaN): resampling adds to their bias, so their resamples give no
 * valid interval. */
#include "evaluate/evaluate_internal.h"

/* Sums of a block of resamples, each value VG_LANES wide. */
typedef struct lanes {
    double *support, *predicted, *hit; /* classes */
    double correct[VG_LANES], nll[VG_LANES], brier[VG_LANES];
} lanes;

size_t vg_evaluate__tally_scratch(const vg_tally *t) { return VG_LANES * 3 * t->classes; }

static lanes carve(double *scratch, const vg_tally *t) {
    memset(scratch, 0, vg_evaluate__tally_scratch(t) * sizeof *scratch);
    return (lanes){
        .support = scratch, .predicted = scratch + t->classes * VG_LANES, .hit = scratch + 2 * t->classes * VG_LANES};
}

static inline void add(double *sum, const double *w) {
    for (size_t lane = 0; lane < VG_LANES; lane++)
        sum[lane] += w[lane];
}

static inline void add_scaled(double *sum, const double *w, double x) {
    for (size_t lane = 0; lane < VG_LANES; lane++)
        sum[lane] += w[lane] * x;
}

/* Adds rows first .. last - 1. */
static void accumulate(lanes *s, const vg_tally *t, const double *weights, size_t first, size_t last) {
    size_t width = t->multilabel ? t->classes : 1;
    for (size_t row = first; row < last; row++) {
        const double *w = weights + (row / width) * VG_LANES;
        size_t c = row % width;
        bool right = !t->error[row];
        add_scaled(s->nll, w, t->nll[row]);
        add_scaled(s->brier, w, t->brier[row]);
        if (right)
            add(s->correct, w);
        if (t->multilabel) {
            add_scaled(s->support + c * VG_LANES, w, t->label[row]);
            add_scaled(s->predicted + c * VG_LANES, w, t->prediction[row]);
            add_scaled(s->hit + c * VG_LANES, w, t->label[row] && t->prediction[row]);
            continue;
        }
        add(s->support + (size_t)t->label[row] * VG_LANES, w);
        add(s->predicted + (size_t)t->prediction[row] * VG_LANES, w);
        if (right)
            add(s->hit + (size_t)t->label[row] * VG_LANES, w);
    }
}

/* The share of samples right in every label. */
static void subset(double *values, size_t stride, const vg_tally *t, const double *weights) {
    double right[VG_LANES] = {0};
    for (size_t i = 0; i < t->n; i++) {
        bool all = true;
        for (size_t c = 0; c < t->classes; c++)
            all &= !t->error[i * t->classes + c];
        if (all)
            add(right, weights + i * VG_LANES);
    }
    for (size_t lane = 0; lane < VG_LANES; lane++)
        values[lane * stride + VG_TALLY_SUBSET] = right[lane] / (double)t->n;
}

static void f1_figures(double *values, const lanes *s, const vg_tally *t, size_t lane) {
    double f1 = 0, present = 0, support = 0, predicted = 0, hit = 0;
    for (size_t c = 0; c < t->classes; c++) {
        double is = s->support[c * VG_LANES + lane], said = s->predicted[c * VG_LANES + lane],
               both = s->hit[c * VG_LANES + lane];
        f1 += vg_evaluate__f1(is, said, both);
        present += t->multilabel || is + said > 0;
        support += is;
        predicted += said;
        hit += both;
    }
    values[VG_TALLY_F1_MACRO] = f1 / present;
    if (t->multilabel)
        values[VG_TALLY_F1_MICRO] = vg_evaluate__f1(support, predicted, hit);
}

vg_status vg_evaluate__tally_block(double *values, size_t stride, const vg_tally *t, const double *weights,
                                   double *scratch, vg_pulse *pulse, unsigned worker) {
    lanes s = carve(scratch, t);
    for (size_t first = 0; first < t->rows; first += VG_SLICE) {
        VG_TRY(vg_evaluate__pulse(pulse, worker));
        accumulate(&s, t, weights, first, t->rows - first < VG_SLICE ? t->rows : first + VG_SLICE);
    }
    for (size_t lane = 0; lane < VG_LANES; lane++) {
        double *v = values + lane * stride;
        for (size_t i = 0; i < VG_TALLY_FIGURES; i++)
            v[i] = NAN;
        v[VG_TALLY_ACCURACY] = s.correct[lane] / (double)t->rows;
        v[VG_TALLY_NLL] = s.nll[lane] / (double)t->rows;
        v[VG_TALLY_BRIER] = s.brier[lane] / (double)t->rows;
        f1_figures(v, &s, t, lane);
    }
    if (t->multilabel)
        subset(values, stride, t, weights);
    return VG_OK;
}
