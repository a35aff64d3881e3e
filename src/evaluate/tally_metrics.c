/* tally_metrics.c - the figures of a tally: accuracy, F1, calibration errors, NLL, Brier; formulas:
 * docs/evaluation.md. */
#include "evaluate/evaluate_internal.h"

/* 2 TP / (2 TP + FP + FN), 0 where that is 0 / 0. */
double vg_evaluate__f1(double support, double predicted, double hit) {
    double all = support + predicted;
    return all > 0 ? 2 * hit / all : 0;
}

void vg_evaluate__per_class(vg_class_row *rows, const vg_tally *t) {
    for (size_t c = 0; c < t->classes; c++) {
        vg_class_row *row = &rows[c];
        *row = t->per_class[c];
        row->precision = row->predicted ? (double)row->true_positive / (double)row->predicted : 0;
        row->recall = row->support ? (double)row->true_positive / (double)row->support : 0;
        row->f1 = vg_evaluate__f1((double)row->support, (double)row->predicted, (double)row->true_positive);
    }
}

void vg_evaluate__reliability(vg_reliability_bin *bins, const vg_tally *t) {
    for (size_t b = 0; b < t->bins; b++) {
        double count = (double)t->bin_count[b];
        bins[b] = (vg_reliability_bin){.low = t->edges[b],
                                       .high = t->edges[b + 1],
                                       .count = t->bin_count[b],
                                       .confidence = count > 0 ? t->bin_confidence[b] / count : NAN,
                                       .accuracy = count > 0 ? (double)t->bin_correct[b] / count : NAN,
                                       .square = count > 0 ? t->bin_square[b] / count : NAN,
                                       .hit = count > 0 ? t->bin_hit[b] / count : NAN};
    }
}

/* sum_b |gap_b| over one row of `bins` signed sums. */
static double absolute_sum(const double *gap, size_t bins) {
    double sum = 0;
    for (size_t b = 0; b < bins; b++)
        sum += fabs(gap[b]);
    return sum;
}

void vg_evaluate__labels(vg_label_row *rows, const vg_tally *t) {
    double n = (double)t->n;
    for (size_t c = 0; c < t->classes; c++) {
        vg_label_row *row = &rows[c];
        row->accuracy = (double)t->label_correct[c] / n;
        row->ece = absolute_sum(t->label_gap + c * t->bins, t->bins) / n;
        row->nll = t->label_nll[c] / n;
        row->brier = t->label_brier[c] / n;
    }
}

/* Adaptive ECE: rows by rising confidence, cut into bins whose sizes differ by at most one. G(i) = sum over the
 * first i of confidence - correct, with rows of equal confidence spread evenly, so ECE = 1/N sum_j |G(edge j+1) -
 * G(edge j)|. */
typedef struct adaptive_bins {
    size_t rows, bins; /* of the whole set */
    size_t bin;        /* the open bin */
    double edge;       /* its end */
    double *gap;       /* of each, so far */
} adaptive_bins;

/* A group of `mass` equal confidences of which `correct` are right, after `before` rows. */
static void add_equal(adaptive_bins *b, double before, double mass, double confidence, double correct) {
    double gap = mass * confidence - correct, after = before + mass;
    while (after >= b->edge) {
        double share = (b->edge - before) / mass;
        b->gap[b->bin] += gap * share;
        gap -= gap * share;
        mass -= b->edge - before;
        before = b->edge;
        b->edge = vg_evaluate__adaptive_edge(b->rows, b->bins, ++b->bin + 1);
        if (mass == 0) /* the end of the last bin, at the latest */
            return;
    }
    b->gap[b->bin] += gap;
}

/* The bins of a walk that begins after `before` rows. */
static adaptive_bins open_bins(double *gap, size_t bins, size_t total, double before) {
    adaptive_bins b = {.rows = total, .bins = bins, .edge = vg_evaluate__adaptive_edge(total, bins, 1), .gap = gap};
    while (b.edge <= before)
        b.edge = vg_evaluate__adaptive_edge(total, bins, ++b.bin + 1);
    return b;
}

vg_status vg_evaluate__adaptive_gaps(double *gap, size_t bins, vg_rank_room *room, const vg_rank_column *confidence,
                                     const uint8_t *errors, size_t rows, double before, size_t total) {
    adaptive_bins open = open_bins(gap, bins, total, before);
    vg_rank_order order;
    vg_rank_run run;
    VG_TRY(vg_evaluate__rank_order(&order, room, confidence, errors, 1, rows));
    for (;;) {
        VG_TRY(vg_evaluate__rank_next(&run, &order));
        if (run.count == 0)
            return VG_OK;
        for (size_t i = 0; i < run.count;) {
            size_t first = i, correct = 0;
            uint64_t key = run.items[i] >> 1;
            for (; i < run.count && run.items[i] >> 1 == key; i++)
                correct += !(run.items[i] & 1);
            add_equal(&open, before + (double)(run.before + first), (double)(i - first),
                      vg_evaluate__unkey(run.high | key), (double)correct);
        }
    }
}

vg_status vg_evaluate__adaptive_ece(double *out, vg_rank_room *room, const vg_tally *t) {
    vg_rank_column confidence = {.measure = {"confidence", t->confidence, 1, 0}};
    double *gap;
    VG_TRY(vg_base__zalloc(&gap, t->bins, sizeof *gap, "adaptive bins"));
    vg_status status = vg_evaluate__adaptive_gaps(gap, t->bins, room, &confidence, t->error, t->rows, 0, t->rows);
    if (status == VG_OK)
        *out = absolute_sum(gap, t->bins) / (double)t->rows;
    vg_base__release(gap);
    return status;
}

static double macro_f1(const vg_tally *t) {
    double sum = 0, present = 0;
    for (size_t c = 0; c < t->classes; c++) {
        const vg_class_row *row = &t->per_class[c];
        sum += vg_evaluate__f1((double)row->support, (double)row->predicted, (double)row->true_positive);
        present += t->multilabel || row->support + row->predicted > 0;
    }
    return sum / present;
}

static void multilabel_figures(double *values, const vg_tally *t) {
    double support = 0, predicted = 0, hit = 0, n = (double)t->n;
    for (size_t c = 0; c < t->classes; c++) {
        support += (double)t->per_class[c].support;
        predicted += (double)t->per_class[c].predicted;
        hit += (double)t->per_class[c].true_positive;
    }
    values[VG_TALLY_F1_MICRO] = vg_evaluate__f1(support, predicted, hit);
    values[VG_TALLY_SUBSET] = (double)t->subset_correct / n;
    values[VG_TALLY_ECE_MACRO] = absolute_sum(t->label_gap, t->classes * t->bins) / (n * (double)t->classes);
}

void vg_evaluate__tally_figures(double values[VG_TALLY_FIGURES], const vg_tally *t) {
    double rows = (double)t->rows;
    vg_bin_gaps gaps = {0};
    for (size_t b = 0; b < t->bins; b++)
        vg_base__add_bin(&gaps, (double)t->bin_count[b], t->bin_confidence[b], (double)t->bin_correct[b]);
    for (size_t i = 0; i < VG_TALLY_FIGURES; i++)
        values[i] = NAN;
    values[VG_TALLY_ACCURACY] = (double)t->correct / rows;
    values[VG_TALLY_F1_MACRO] = macro_f1(t);
    values[VG_TALLY_ECE] = gaps.total / rows;
    values[VG_TALLY_MCE] = gaps.worst;
    values[VG_TALLY_NLL] = (t->nll_sum - log(t->nll_product)) / rows;
    values[VG_TALLY_BRIER] = t->brier_sum / rows;
    values[VG_TALLY_ECE_CLASSWISE] =
        absolute_sum(t->class_gap, t->classes * t->bins) / ((double)t->n * (double)t->classes);
    if (t->multilabel)
        multilabel_figures(values, t);
}
