/* tally.c - the streaming collection behind accuracy and calibration figures.
 *
 * It is fed blocks of member means. It keeps sums (by bin, by class) and, per row, a confidence, an error mark,
 * label, prediction and margin ratio: never N x C. Sums run in the order of the samples, so they are the same to the
 * bit however the samples are cut into blocks. A refused block leaves the tally unchanged. tally_metrics.c computes
 * the figures from the sums. */
#include "evaluate/evaluate_internal.h"

enum { CONFUSION_DEFAULT_LIMIT = 1024 };

static vg_status allocate_sums(vg_tally *t, bool confusion, const double *class_k) {
    size_t cells = t->classes * t->bins; /* INT32_MAX times VG_BINS_MOST at most */
    VG_TRY(vg_base__alloc(&t->edges, t->bins + 1, sizeof(double), "bin edges"));
    VG_TRY(vg_base__zalloc(&t->bin_count, t->bins, sizeof(size_t), "bins"));
    VG_TRY(vg_base__zalloc(&t->bin_correct, t->bins, sizeof(size_t), "bins"));
    VG_TRY(vg_base__zalloc(&t->bin_confidence, t->bins, sizeof(double), "bins"));
    VG_TRY(vg_base__zalloc(&t->bin_square, t->bins, sizeof(double), "bins"));
    VG_TRY(vg_base__zalloc(&t->bin_hit, t->bins, sizeof(double), "bins"));
    VG_TRY(vg_base__zalloc(&t->class_gap, cells, sizeof(double), "bins of classes"));
    VG_TRY(vg_base__zalloc(&t->per_class, t->classes, sizeof(vg_class_row), "counts of classes"));
    if (class_k) {
        VG_TRY(vg_base__alloc(&t->class_k, t->classes, sizeof(double), "a k for every class"));
        memcpy(t->class_k, class_k, t->classes * sizeof *class_k);
    }
    if (confusion)
        VG_TRY(vg_base__zalloc(&t->confusion, t->classes, t->classes * sizeof(uint64_t), "confusion matrix"));
    if (cells > UINT32_MAX)
        return vg_base__fail(VG_ERR_MEMORY, "tally: %zu classes with %zu bins are more than %u", t->classes, t->bins,
                             UINT32_MAX);
    if (!t->multilabel) {
        size_t room = t->classes > VG_CLASS_BATCH ? t->classes : (size_t)VG_CLASS_BATCH;
        VG_TRY(vg_base__alloc(&t->batch.gap, room, sizeof(double), "classes of samples"));
        VG_TRY(vg_base__alloc(&t->batch.cell, room, sizeof(uint32_t), "classes of samples"));
    } else {
        VG_TRY(vg_base__zalloc(&t->label_gap, cells, sizeof(double), "bins of labels"));
        VG_TRY(vg_base__zalloc(&t->label_nll, t->classes, sizeof(double), "sums of labels"));
        VG_TRY(vg_base__zalloc(&t->label_brier, t->classes, sizeof(double), "sums of labels"));
        VG_TRY(vg_base__zalloc(&t->label_correct, t->classes, sizeof(size_t), "counts of labels"));
    }
    vg_base__bin_edges(t->edges, t->bins);
    return VG_OK;
}

vg_status vg_tally_new(vg_tally **out, size_t classes, const vg_tally_options *options) {
    static const vg_tally_options defaults = VG_TALLY_OPTIONS_INIT;
    vg_tally_options taken;
    const vg_tally_options *o = &taken;
    if (!out)
        return vg_base__fail(VG_ERR_ARGUMENT, "vg_tally_new: out must not be NULL");
    *out = NULL;
    VG_TRY(vg_base__take_options(&taken, options, &defaults, sizeof taken, "vg_tally_options"));
    bool multilabel = o->task != VG_TASK_MULTICLASS;
    if (classes < (multilabel ? 1u : 2u) || classes > INT32_MAX)
        return vg_base__fail(VG_ERR_ARGUMENT, "tally: %zu classes, expected %d to %d", classes, multilabel ? 1 : 2,
                             INT32_MAX);
    if (o->bins < 1 || o->bins > VG_BINS_MOST)
        return vg_base__fail(VG_ERR_ARGUMENT, "tally: %zu bins, expected 1 to %d", o->bins, VG_BINS_MOST);
    if (!(o->floor >= 0 && o->floor < 1))
        return vg_base__fail(VG_ERR_ARGUMENT, "tally: floor %g, expected at least 0 and below 1", o->floor);
    if (o->class_k)
        VG_TRY(vg_evaluate__check_k(o->class_k, classes));
    vg_tally *t;
    VG_TRY(vg_base__zalloc(&t, 1, sizeof *t, "tally"));
    t->classes = classes;
    t->bins = o->bins;
    t->floor = o->floor;
    t->nll_product = 1;
    t->multilabel = multilabel;
    t->bootstrap = o->bootstrap != 0;
    bool confusion = !multilabel && (o->confusion == 1 || (o->confusion < 0 && classes <= CONFUSION_DEFAULT_LIMIT));
    vg_status status = allocate_sums(t, confusion, o->class_k);
    size_t rows = o->expected;
    if (status == VG_OK && multilabel && !vg_base__mul(&rows, o->expected, classes))
        status =
            vg_base__fail(VG_ERR_MEMORY, "tally: %zu samples of %zu labels do not fit memory", o->expected, classes);
    t->reserve = rows;
    if (status != VG_OK) {
        vg_tally_free(t);
        return status;
    }
    *out = t;
    return VG_OK;
}

void vg_tally_free(vg_tally *t) {
    if (!t)
        return;
    void *parts[] = {t->edges,     t->confidence, t->ratio,      t->error,       t->label,          t->prediction,
                     t->nll,       t->brier,      t->bin_count,  t->bin_correct, t->bin_confidence, t->class_gap,
                     t->per_class, t->confusion,  t->label_gap,  t->label_nll,   t->label_brier,    t->label_correct,
                     t->batch.gap, t->batch.cell, t->bin_square, t->bin_hit,     t->class_k};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        vg_base__release(parts[i]);
    vg_base__release(t);
}

/* Moves one per-row array to an allocation of `count` elements, of which `used` are kept. */
static vg_status regrow(void *array, size_t used, size_t count, size_t size) {
    void *fresh, *old;
    memcpy(&old, array, sizeof old);
    VG_TRY(vg_base__alloc(&fresh, count, size, "rows of a tally"));
    if (used)
        memcpy(fresh, old, used * size);
    vg_base__release(old);
    memcpy(array, &fresh, sizeof fresh);
    return VG_OK;
}

static vg_status make_room(vg_tally *t, size_t rows) {
    if (rows <= t->capacity)
        return VG_OK;
    size_t capacity = rows > t->reserve ? rows : t->reserve;
    if (capacity < t->capacity + t->capacity / 2)
        capacity = t->capacity + t->capacity / 2;
    if (capacity > UINT32_MAX)
        return vg_base__fail(VG_ERR_ARGUMENT, "tally: more than %u rows", UINT32_MAX);
    VG_TRY(regrow(&t->confidence, t->rows, capacity, sizeof(double)));
    VG_TRY(regrow(&t->error, t->rows, capacity, 1));
    VG_TRY(regrow(&t->label, t->rows, capacity, sizeof(int32_t)));
    VG_TRY(regrow(&t->prediction, t->rows, capacity, sizeof(int32_t)));
    if (t->has_ratio)
        VG_TRY(regrow(&t->ratio, t->rows, capacity, sizeof(double)));
    if (t->bootstrap) {
        VG_TRY(regrow(&t->nll, t->rows, capacity, sizeof(double)));
        VG_TRY(regrow(&t->brier, t->rows, capacity, sizeof(double)));
    }
    t->capacity = capacity;
    return VG_OK;
}

/* Requests the memory of the next `rows` rows from the system at once, which is cheaper than page faults one by one. */
static void prefault(const vg_tally *t, size_t rows) {
    enum { WORTH = 1 << 13 }; /* rows */
    if (rows < WORTH)
        return;
    vg_base__populate(t->confidence + t->rows, rows * sizeof *t->confidence);
    vg_base__populate(t->error + t->rows, rows * sizeof *t->error);
    vg_base__populate(t->label + t->rows, rows * sizeof *t->label);
    vg_base__populate(t->prediction + t->rows, rows * sizeof *t->prediction);
    if (t->has_ratio)
        vg_base__populate(t->ratio + t->rows, rows * sizeof *t->ratio);
}

/* Means of rows that sum to 1 within 1e-3 may pass 1. */
static inline bool outside(double p) { return !(p >= 0 && p <= 1.002); }

/* The index of the first value that is not a probability: NaN, negative, or above 1. SIZE_MAX when there is none. */
static size_t first_outside(const double *p, size_t count) {
    const vg_row_kernels *kernels = vg_evaluate__rows();
    for (size_t i = 0; i < count; i++) {
        size_t next = kernels->find_out_of_range(p + i, count - i, 1.002);
        if (next == SIZE_MAX)
            return SIZE_MAX;
        i += next;
        if (outside(p[i]))
            return i;
    }
    return SIZE_MAX;
}

/* Checks the whole block before any of it is counted, so that a refused block leaves the tally unchanged. */
static vg_status check_block(const vg_tally *t, const double *mean, const double *std, const int64_t *labels,
                             size_t n) {
    size_t c_count = t->classes, bad = first_outside(mean, n * c_count);
    if (bad != SIZE_MAX)
        return vg_base__fail(VG_ERR_DATA, "sample %zu, class %zu: mean probability %g, expected 0 to 1",
                             t->n + bad / c_count, bad % c_count, mean[bad]);
    bad = std ? first_outside(std, n * c_count) : SIZE_MAX;
    if (bad != SIZE_MAX)
        return vg_base__fail(VG_ERR_DATA, "sample %zu, class %zu: spread %g, expected 0 to 1", t->n + bad / c_count,
                             bad % c_count, std[bad]);
    if (t->multilabel) {
        for (size_t i = 0; i < n * c_count; i++)
            if (labels[i] != 0 && labels[i] != 1)
                return vg_base__fail(VG_ERR_DATA, "sample %zu, label %zu: value %lld, expected 0 or 1",
                                     t->n + i / c_count, i % c_count, (long long)labels[i]);
        return VG_OK;
    }
    for (size_t i = 0; i < n; i++)
        if (labels[i] < 0 || (uint64_t)labels[i] >= c_count)
            return vg_base__fail(VG_ERR_DATA, "label %zu is %lld, expected 0 to %zu", t->n + i, (long long)labels[i],
                                 c_count - 1);
    return VG_OK;
}

/* Counts one row of confidence p (of the predicted outcome). */
static void count_row(vg_tally *t, size_t row, double p, bool correct, double nll, double brier) {
    size_t b = vg_base__bin(t->edges, t->bins, p);
    t->confidence[row] = p;
    t->error[row] = !correct;
    t->bin_count[b]++;
    t->bin_correct[b] += correct;
    t->bin_confidence[b] += p;
    t->bin_square[b] += p * p;
    t->bin_hit[b] += correct ? p : 0;
    t->nll_sum += nll;
    t->brier_sum += brier;
    t->correct += correct;
    if (t->bootstrap) {
        t->nll[row] = nll;
        t->brier[row] = brier;
    }
}

/* Sums logarithms by products: multiplies p in, and returns -log of the product once in some hundred rows, when it
 * gets small or large, and restarts the product. A product of that many factors is rounded no worse than a sum of as
 * many terms. */
static inline double minus_log(double *product, double p) {
    const double least = 1e-150;
    if (p < least)
        return -log(p);
    *product *= p;
    if (*product > least && *product < 1 / least)
        return 0;
    double part = -log(*product);
    *product = 1;
    return part;
}

/* Counts n samples of a multiclass block from the results in the batch. The sums are local variables, because the
 * compiler cannot know that the tally is not among the arrays written. */
static void count_batch(vg_tally *t, const double *mean, const double *std, const int64_t *labels, size_t n) {
    const vg_sample_batch *batch = &t->batch;
    size_t c_count = t->classes, bins = t->bins, row = t->rows;
    const double *edges = t->edges, floor = t->floor, *gap = batch->gap;
    const uint32_t *cell = batch->cell;
    double *class_gap = t->class_gap, nll_sum = t->nll_sum, product = t->nll_product, brier_sum = t->brier_sum;
    for (size_t i = 0; i < n; i++, row++, mean += c_count, gap += c_count, cell += c_count) {
        size_t label = (size_t)labels[i], best = batch->best[i], second = batch->second[i];
        for (size_t c = 0; c < c_count; c++)
            class_gap[cell[c]] += gap[c];
        double p = vg_base__floored(mean[label], floor);
        size_t b = vg_base__bin(edges, bins, mean[best]);
        bool correct = best == label;
        nll_sum += minus_log(&product, p);
        brier_sum += batch->brier[i];
        t->bin_count[b]++;
        t->bin_correct[b] += correct;
        t->bin_confidence[b] += mean[best];
        t->bin_square[b] += mean[best] * mean[best];
        t->bin_hit[b] += correct ? mean[best] : 0;
        t->correct += correct;
        t->confidence[row] = mean[best];
        t->error[row] = !correct;
        t->label[row] = (int32_t)label;
        t->prediction[row] = (int32_t)best;
        if (std)
            t->ratio[row] = vg_evaluate__ratio(mean[best] - mean[second],
                                               vg_evaluate__wide(std + i * c_count, t->class_k, best) +
                                                   vg_evaluate__wide(std + i * c_count, t->class_k, second));
        t->per_class[label].support++;
        t->per_class[best].predicted++;
        t->per_class[label].true_positive += correct;
        if (t->confusion)
            t->confusion[label * c_count + best]++;
        if (t->bootstrap) {
            t->nll[row] = vg_base__nll(p, floor);
            t->brier[row] = batch->brier[i];
        }
    }
    t->nll_sum = nll_sum;
    t->nll_product = product;
    t->brier_sum = brier_sum;
    t->rows = row;
    t->n += n;
}

/* A multiclass block of n samples; mean, std (or NULL): n x classes. */
static void count_block(vg_tally *t, const double *mean, const double *std, const int64_t *labels, size_t n) {
    const vg_row_kernels *kernels = vg_evaluate__rows();
    size_t c_count = t->classes, step = VG_CLASS_BATCH / c_count;
    step = step > VG_ROW_BATCH ? VG_ROW_BATCH : step < 1 ? 1 : step;
    for (size_t i = 0; i < n; i += step) {
        size_t here = n - i < step ? n - i : step;
        kernels->samples(&t->batch, mean + i * c_count, labels + i, here, c_count, t->edges, t->bins);
        count_batch(t, mean + i * c_count, std ? std + i * c_count : NULL, labels + i, here);
    }
}

/* Counts label c of a sample; u is the probability of 1. Returns whether the prediction was right. */
static bool count_label(vg_tally *t, size_t c, double u, const double *std, bool label) {
    size_t row = t->rows, bins = t->bins;
    double gap = u - label, true_p = label ? u : 1 - u, confidence = u > 1 - u ? u : 1 - u;
    bool predicted = u > 0.5, correct = predicted == label;
    size_t b = vg_base__bin(t->edges, bins, u);
    double nll = vg_base__nll(true_p, t->floor);
    t->class_gap[c * bins + b] += gap;
    count_row(t, row, confidence, correct, nll, gap * gap);
    t->label_gap[c * bins + vg_base__bin(t->edges, bins, confidence)] += confidence - correct;
    t->label_nll[c] += nll;
    t->label_brier[c] += gap * gap;
    t->label_correct[c] += correct;
    t->label[row] = label;
    t->prediction[row] = predicted;
    if (std)
        t->ratio[row] = vg_evaluate__ratio(2 * confidence - 1, 2 * *std * (t->class_k ? t->class_k[c] : 1));
    t->per_class[c].support += label;
    t->per_class[c].predicted += predicted;
    t->per_class[c].true_positive += label && predicted;
    t->rows++;
    return correct;
}

static vg_status tally_feed_alone(vg_tally *t, const double *mean, const double *std, const int64_t *labels, size_t n) {
    if (n == 0)
        return VG_OK;
    if (!mean || !labels)
        return vg_base__fail(VG_ERR_ARGUMENT, "vg_tally_feed: tally, mean and labels must not be NULL");
    if (t->n > 0 && t->has_ratio != (std != NULL))
        return vg_base__fail(VG_ERR_ARGUMENT, "tally: std must be given with every block or with none");
    size_t rows, c_count = t->classes;
    if (!vg_base__mul(&rows, n, t->multilabel ? c_count : 1) || !vg_base__add(&rows, rows, t->rows))
        return vg_base__fail(VG_ERR_MEMORY, "tally: %zu more samples do not fit memory", n);
    VG_TRY(check_block(t, mean, std, labels, n));
    t->has_ratio = std != NULL;
    VG_TRY(make_room(t, rows));
    prefault(t, rows - t->rows);
    if (!t->multilabel) {
        count_block(t, mean, std, labels, n);
        return VG_OK;
    }
    for (size_t i = 0; i < n; i++, t->n++) {
        const double *m = mean + i * c_count, *s = std ? std + i * c_count : NULL;
        bool all = true;
        for (size_t c = 0; c < c_count; c++)
            all &= count_label(t, c, m[c], s ? s + c : NULL, labels[i * c_count + c] != 0);
        t->subset_correct += all;
    }
    return VG_OK;
}

vg_status vg_tally_feed(vg_tally *t, const double *mean, const double *std, const int64_t *labels, size_t n) {
    vg_status status;
    if (!t)
        return vg_base__fail(VG_ERR_ARGUMENT, "vg_tally_feed: tally, mean and labels must not be NULL");
    VG_ALONE(status, &t->busy, "the tally", tally_feed_alone(t, mean, std, labels, n));
    return status;
}

vg_tally_info vg_tally__info(const vg_tally *t) {
    return (vg_tally_info){sizeof(vg_tally_info), t->rows, t->error, t->ratio, t->class_gap, t->label_gap};
}

vg_status vg_tally_describe(vg_tally_info *out, const vg_tally *tally) {
    if (!out || !tally)
        return vg_base__fail(VG_ERR_ARGUMENT, "vg_tally_describe: out and tally must not be NULL");
    vg_tally_info info = vg_tally__info(tally);
    return vg_base__give_result(out, &info, sizeof info, "vg_tally_info");
}
