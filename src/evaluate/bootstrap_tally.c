/* bootstrap_tally.c - the tally's figures under eight sets of weights at once: the same definitions as tally_metrics.c. */
#include "evaluate/evaluate_internal.h"

vg_status vg_evaluate__tally_orders_new(vg_tally_orders *orders, const vg_tally *t, vg_pulse *pulse) {
    size_t rows = t->rows, both;
    vg_keyed *pairs = NULL;
    *orders = (vg_tally_orders){.tally = t};
    if (!vg_base__mul(&both, rows, 2))
        return vg_base__fail(VG_ERR_MEMORY, "bootstrap: %zu rows do not fit memory", rows);
    VG_TRY(vg_base__alloc(&orders->order, rows, sizeof *orders->order, "bootstrap order"));
    VG_TRY(vg_base__alloc(&orders->group_end, rows, 1, "bootstrap order"));
    VG_TRY(vg_base__alloc(&pairs, both, sizeof *pairs, "bootstrap keys"));
    for (size_t i = 0; i < rows; i++)
        pairs[i] = (vg_keyed){vg_evaluate__key(t->confidence[i]), (uint32_t)i};
    vg_status status = vg_evaluate__sort_pairs(pairs, pairs + rows, rows, pulse, 0);
    for (size_t i = 0; status == VG_OK && i < rows; i++) {
        orders->order[i] = pairs[i].row;
        orders->group_end[i] = i + 1 == rows || pairs[i + 1].key != pairs[i].key;
    }
    vg_base__release(pairs);
    return status;
}

void vg_evaluate__tally_orders_free(vg_tally_orders *orders) {
    vg_base__release(orders->order);
    vg_base__release(orders->group_end);
    *orders = (vg_tally_orders){0};
}

/* Sums by bin and by class, each value VG_LANES wide. */
typedef struct lanes {
    double *bin_count, *bin_gap;       /* bins */
    double *support, *predicted, *hit; /* classes */
    double *class_gap, *label_gap;     /* classes x bins; label_gap in multilabel mode */
} lanes;

size_t vg_evaluate__tally_scratch(const vg_tally *t) {
    return VG_LANES * (2 * t->bins + 3 * t->classes + 2 * t->classes * t->bins);
}

static lanes carve(double *scratch, const vg_tally *t) {
    memset(scratch, 0, vg_evaluate__tally_scratch(t) * sizeof *scratch);
    size_t cells = t->classes * t->bins;
    lanes s;
    s.bin_count = scratch;
    s.bin_gap = s.bin_count + t->bins * VG_LANES;
    s.support = s.bin_gap + t->bins * VG_LANES;
    s.predicted = s.support + t->classes * VG_LANES;
    s.hit = s.predicted + t->classes * VG_LANES;
    s.class_gap = s.hit + t->classes * VG_LANES;
    s.label_gap = s.class_gap + cells * VG_LANES;
    return s;
}

static inline void add(double *sum, const double *w) {
    for (size_t lane = 0; lane < VG_LANES; lane++)
        sum[lane] += w[lane];
}

static inline void add_scaled(double *sum, const double *w, double x) {
    for (size_t lane = 0; lane < VG_LANES; lane++)
        sum[lane] += w[lane] * x;
}

/* Adaptive bins hold the same places whatever the weights, since weights sum to N. */
static vg_status adaptive(double *values, size_t stride, const vg_tally_orders *orders, const double *weights, vg_pulse *pulse,
                          unsigned worker) {
    const vg_tally *t = orders->tally;
    size_t rows = t->rows, width = t->multilabel ? t->classes : 1, bin[VG_LANES] = {0};
    double mass[VG_LANES] = {0}, gap[VG_LANES] = {0}, before[VG_LANES] = {0}, bin_gap[VG_LANES] = {0}, sum[VG_LANES] = {0};
    for (size_t i = 0; i < rows; i++) {
        if (i % VG_SLICE == 0)
            VG_TRY(vg_evaluate__pulse(pulse, worker));
        size_t row = orders->order[i];
        const double *w = weights + (row / width) * VG_LANES;
        add(mass, w);
        add_scaled(gap, w, t->confidence[row] - !t->error[row]);
        if (!orders->group_end[i])
            continue;
        for (size_t lane = 0; lane < VG_LANES; lane++) {
            double left = mass[lane], rest = gap[lane], at = before[lane], edge;
            while (left > 0 && at + left >= (edge = vg_evaluate__adaptive_edge(rows, t->bins, bin[lane] + 1))) {
                double share = (edge - at) / left;
                sum[lane] += fabs(bin_gap[lane] + rest * share);
                bin_gap[lane] = 0;
                rest -= rest * share;
                left -= edge - at;
                at = edge;
                bin[lane]++;
            }
            bin_gap[lane] += left > 0 ? rest : 0;
            before[lane] += mass[lane];
            mass[lane] = gap[lane] = 0;
        }
    }
    for (size_t lane = 0; lane < VG_LANES; lane++)
        values[lane * stride + VG_TALLY_ECE_ADAPTIVE] = sum[lane] / (double)rows;
    return VG_OK;
}

/* The walk over rows first .. last - 1: everything but adaptive ECE. correct, nll, brier: VG_LANES each. */
static void accumulate(lanes *s, double *correct, double *nll, double *brier, const vg_tally *t, const double *weights,
                       size_t first, size_t last) {
    size_t bins = t->bins, classes = t->classes, width = t->multilabel ? classes : 1;
    size_t gaps = t->multilabel ? 1 : classes;
    for (size_t row = first; row < last; row++) {
        const double *w = weights + (row / width) * VG_LANES;
        size_t b = vg_evaluate__bin(t->edges, bins, t->confidence[row]), c = row % width;
        bool right = !t->error[row];
        double gap = t->confidence[row] - right;
        add(s->bin_count + b * VG_LANES, w);
        add_scaled(s->bin_gap + b * VG_LANES, w, gap);
        add_scaled(nll, w, t->nll[row]);
        add_scaled(brier, w, t->brier[row]);
        if (right)
            add(correct, w);
        if (t->multilabel) {
            add_scaled(s->label_gap + (c * bins + b) * VG_LANES, w, gap);
            add_scaled(s->class_gap + (c * bins + t->cell[row]) * VG_LANES, w, t->gap[row]);
            add_scaled(s->support + c * VG_LANES, w, t->label[row]);
            add_scaled(s->predicted + c * VG_LANES, w, t->prediction[row]);
            add_scaled(s->hit + c * VG_LANES, w, t->label[row] && t->prediction[row]);
            continue;
        }
        add(s->support + (size_t)t->label[row] * VG_LANES, w);
        add(s->predicted + (size_t)t->prediction[row] * VG_LANES, w);
        if (right)
            add(s->hit + (size_t)t->label[row] * VG_LANES, w);
        const float *g = t->gap + row * gaps;
        const uint16_t *cell = t->cell + row * gaps;
        for (size_t k = 0; k < gaps; k++)
            add_scaled(s->class_gap + (k * bins + cell[k]) * VG_LANES, w, g[k]);
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

static double absolute_sum(const double *sums, size_t count, size_t lane) {
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += fabs(sums[i * VG_LANES + lane]);
    return sum;
}

static void figures(double *values, const lanes *s, const vg_tally *t, size_t lane) {
    double mce = 0, f1 = 0, present = 0, support = 0, predicted = 0, hit = 0;
    for (size_t b = 0; b < t->bins; b++) {
        double count = s->bin_count[b * VG_LANES + lane], gap = fabs(s->bin_gap[b * VG_LANES + lane]);
        if (count > 0 && gap / count > mce)
            mce = gap / count;
    }
    for (size_t c = 0; c < t->classes; c++) {
        double is = s->support[c * VG_LANES + lane], said = s->predicted[c * VG_LANES + lane],
               both = s->hit[c * VG_LANES + lane];
        f1 += vg_evaluate__f1(is, said, both);
        present += t->multilabel || is + said > 0;
        support += is;
        predicted += said;
        hit += both;
    }
    double n = (double)t->n, cells = n * (double)t->classes;
    values[VG_TALLY_MCE] = mce;
    values[VG_TALLY_ECE] = absolute_sum(s->bin_gap, t->bins, lane) / (double)t->rows;
    values[VG_TALLY_F1_MACRO] = f1 / present;
    values[VG_TALLY_ECE_CLASSWISE] = absolute_sum(s->class_gap, t->classes * t->bins, lane) / cells;
    if (t->multilabel) {
        values[VG_TALLY_F1_MICRO] = vg_evaluate__f1(support, predicted, hit);
        values[VG_TALLY_ECE_MACRO] = absolute_sum(s->label_gap, t->classes * t->bins, lane) / cells;
    }
}

vg_status vg_evaluate__tally_block(double *values, size_t stride, const vg_tally_orders *orders, const double *weights,
                                   double *scratch, vg_pulse *pulse, unsigned worker) {
    const vg_tally *t = orders->tally;
    lanes s = carve(scratch, t);
    double correct[VG_LANES] = {0}, nll[VG_LANES] = {0}, brier[VG_LANES] = {0};
    for (size_t first = 0; first < t->rows; first += VG_SLICE) {
        VG_TRY(vg_evaluate__pulse(pulse, worker));
        accumulate(&s, correct, nll, brier, t, weights, first, t->rows - first < VG_SLICE ? t->rows : first + VG_SLICE);
    }
    for (size_t lane = 0; lane < VG_LANES; lane++) {
        double *v = values + lane * stride;
        for (size_t i = 0; i < VG_TALLY_FIGURES; i++)
            v[i] = NAN;
        v[VG_TALLY_ACCURACY] = correct[lane] / (double)t->rows;
        v[VG_TALLY_NLL] = nll[lane] / (double)t->rows;
        v[VG_TALLY_BRIER] = brier[lane] / (double)t->rows;
        figures(v, &s, t, lane);
    }
    VG_TRY(adaptive(values, stride, orders, weights, pulse, worker));
    if (t->multilabel)
        subset(values, stride, t, weights);
    return VG_OK;
}
