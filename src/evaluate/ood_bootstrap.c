/* ood_bootstrap.c - intervals of the OOD figures: ID and OOD samples are resampled separately, eight resamples side
 * by side along each measure's order. The sums are those of ood.c, eight lanes wide. AUROC has DeLong's interval and
 * is not resampled; the detection error has none, since a minimum is biased downwards and no tested method covers. */
#include "evaluate/evaluate_internal.h"

static const uint64_t ood_stream = (uint64_t)1 << 32; /* resamples of the OOD side draw from streams of their own */

typedef struct lane_sums {
    double id[VG_LANES], ood[VG_LANES]; /* before the group */
    double out[VG_LANES], in[VG_LANES], fpr95[VG_LANES];
} lane_sums;

/* The figures that are resampled. */
enum { AUPR_OUT, AUPR_IN, FPR95, FIGURES };

/* Totals, and the number of OOD samples that may be missed at a TPR of 95 %. */
typedef struct ood_totals {
    double id, ood, all, missable;
} ood_totals;

/* Added to divisors: where a divisor is 0, all weights of the lane in the group are 0, and so is the product. */
static const double above_zero = 1e-300;

/* Adds the ID samples of a group, a[lane]; `with` OOD samples enter with them. */
static inline void add_id(lane_sums *restrict s, const double *restrict a, const double *restrict with) {
    for (size_t i = 0; i < VG_LANES; i++)
        s->in[i] += a[i] * (s->id[i] + a[i]) / (s->id[i] + a[i] + s->ood[i] + with[i] + above_zero);
}

/* Adds the OOD samples of a group, b[lane], and the threshold before it. */
static inline void add_ood(lane_sums *restrict s, const ood_totals *t, const double *restrict b) {
    double per_id = 1 / t->id;
    for (size_t i = 0; i < VG_LANES; i++) {
        s->out[i] += b[i] * (t->ood - s->ood[i]) / (t->all - s->id[i] - s->ood[i] + above_zero);
        s->fpr95[i] = s->ood[i] <= t->missable ? (t->id - s->id[i]) * per_id : s->fpr95[i];
    }
}

/* Adds one group. A threshold before ID samples alone is never better than the next one before OOD samples. */
static inline void add_group(lane_sums *s, const ood_totals *t, double mass[2][VG_LANES], const bool present[2]) {
    if (present[0])
        add_id(s, mass[0], mass[1]);
    if (present[1])
        add_ood(s, t, mass[1]);
    for (size_t i = 0; i < VG_LANES; i++) {
        s->id[i] += mass[0][i];
        s->ood[i] += mass[1][i];
        mass[0][i] = mass[1][i] = 0;
    }
}

/* Eight resamples of measure m. values[lane * stride + figure]. */
static vg_status walk(double *values, size_t stride, const vg_ood_work *work, size_t m, const double *weights,
                      unsigned worker) {
    size_t total = work->id_rows + work->ood_rows;
    const uint32_t *order = work->order + m * total;
    const uint8_t *places = work->places + m * total;
    double id_total = (double)work->id_rows, ood_total = (double)work->ood_rows, mass[2][VG_LANES] = {{0}};
    const ood_totals totals = {id_total, ood_total, id_total + ood_total, 0.05 * ood_total * (1 + 1e-12)};
    bool present[2] = {false, false};
    lane_sums s = {0};
    for (size_t i = 0; i < VG_LANES; i++)
        s.fpr95[i] = 1;
    for (size_t i = 0; i < total; i++) {
        if (i % VG_SLICE == 0)
            VG_TRY(vg_evaluate__pulse(work->pulse, worker));
        const double *w = weights + (size_t)order[i] * VG_LANES;
        bool is_ood = order[i] >= work->id_rows;
        for (size_t lane = 0; lane < VG_LANES; lane++)
            mass[is_ood][lane] += w[lane];
        present[is_ood] = true;
        if (!(places[i] & VG_PLACE_END))
            continue;
        add_group(&s, &totals, mass, present);
        present[0] = present[1] = false;
    }
    for (size_t lane = 0; lane < VG_LANES; lane++) {
        double *v = values + lane * stride;
        v[AUPR_OUT] = s.out[lane] / ood_total;
        v[AUPR_IN] = s.in[lane] / id_total;
        v[FPR95] = s.fpr95[lane];
    }
    return VG_OK;
}

typedef struct resample_work {
    const vg_ood_work *work;
    double *weights; /* for each worker: (id_rows + ood_rows) VG_LANES */
    double *values;  /* blocks x VG_LANES x count x FIGURES */
} resample_work;

static vg_status resample_job(void *context, size_t block, unsigned worker) {
    const resample_work *resample = context;
    const vg_ood_work *work = resample->work;
    const vg_ood_options *o = work->options;
    size_t total = work->id_rows + work->ood_rows, figures = work->count * FIGURES;
    double *weights = resample->weights + (size_t)worker * total * VG_LANES;
    double *values = resample->values + block * VG_LANES * figures;
    vg_pulse *pulse = work->pulse;
    VG_TRY(vg_evaluate__weights(weights, work->id_rows, o->seed, 0, block * VG_LANES, pulse, worker));
    VG_TRY(vg_evaluate__weights(weights + work->id_rows * VG_LANES, work->ood_rows, o->seed, ood_stream,
                                block * VG_LANES, pulse, worker));
    for (size_t m = 0; m < work->count; m++)
        VG_TRY(walk(values + m * FIGURES, figures, work, m, weights, worker));
    vg_evaluate__pulse_add(pulse, VG_LANES);
    return VG_OK;
}

/* column: resamples values; influence: one value per row. */
static void collect(const vg_ood_work *work, const double *values, double *column, double *influence) {
    size_t figures = work->count * FIGURES, resamples = work->options->resamples,
           total = work->id_rows + work->ood_rows;
    double confidence = work->options->confidence,
           fewer = (double)(work->id_rows < work->ood_rows ? work->id_rows : work->ood_rows);
    for (size_t m = 0; m < work->count; m++) {
        vg_ood_row *row = &work->out[m];
        const struct {
            vg_estimate *estimate;
            vg_interval_rule rule;
        } made[FIGURES] = {
            [AUPR_OUT] = {&row->aupr_out, {.kind = VG_INTERVAL_LOGIT, .events = fewer}},
            [AUPR_IN] = {&row->aupr_in, {.kind = VG_INTERVAL_LOGIT, .events = fewer}},
            [FPR95] = {&row->fpr95, {.kind = VG_INTERVAL_SHARE, .events = (double)work->id_rows}},
        };
        for (size_t f = 0; f < FIGURES; f++) {
            for (size_t r = 0; r < resamples; r++)
                column[r] = values[r * figures + m * FIGURES + f];
            vg_evaluate__interval(made[f].estimate, &made[f].rule, column, resamples, confidence);
        }
        double area = vg_evaluate__placements(influence, work->order + m * total, work->places + m * total, total);
        vg_estimate auroc = vg_evaluate__auroc_estimate(area, influence, work->marks, total, 1, confidence);
        row->auroc.low = fmin(auroc.low, row->auroc.value);
        row->auroc.high = fmax(auroc.high, row->auroc.value);
    }
}

vg_status vg_evaluate__ood_bootstrap(vg_ood_work *work, vg_pool *pool) {
    size_t total = work->id_rows + work->ood_rows, resamples = work->options->resamples, values;
    size_t blocks = resamples / VG_LANES + (resamples % VG_LANES != 0);
    if (!vg_base__mul(&values, blocks, VG_LANES * FIGURES) || !vg_base__mul(&values, values, work->count))
        return vg_base__fail(VG_ERR_MEMORY, "ood: %zu resamples of %zu samples do not fit memory", resamples, total);
    size_t of_sample = VG_LANES * (size_t)vg_pool__threads(pool) * sizeof(double);
    resample_work resample = {.work = work};
    double *column = NULL, *influence = NULL;
    vg_status status = vg_base__alloc(&resample.weights, total, of_sample, "bootstrap weights");
    if (status == VG_OK)
        status = vg_base__alloc(&resample.values, values, sizeof(double), "bootstrap figures");
    if (status == VG_OK)
        status = vg_base__alloc(&column, resamples, sizeof(double), "bootstrap figures");
    if (status == VG_OK)
        status = vg_base__alloc(&influence, total, sizeof(double), "placements");
    if (status == VG_OK)
        status = vg_pool__run(pool, blocks, resample_job, &resample);
    if (status == VG_OK)
        collect(work, resample.values, column, influence);
    vg_base__release(resample.weights);
    vg_base__release(resample.values);
    vg_base__release(column);
    vg_base__release(influence);
    return status;
}
