/* gate_data.c - reads members and the ratios that their gates depend on into memory for a fit of k. See gate_loss.h. */
#include <math.h>
#include <string.h>

#include "calibrate/gate_loss.h"
#include "calibrate/map.h"

#define EPS 1e-8

/* Row (n, m) as probabilities. */
static vg_status read_row(double *to, const vg_predictions *view, size_t n, size_t m, const vg_fit_k_options *o) {
    double top = -INFINITY, sum = 0, t = o->temperature ? o->temperature[o->temperature_count == 1 ? 0 : m] : 1;
    VG_TRY(vg_map__read_row(to, view, n, m, o->logits, n));
    for (size_t c = 0; c < view->c; c++)
        top = to[c] > top ? to[c] : top;
    for (size_t c = 0; o->logits && c < view->c; c++) {
        to[c] = exp((to[c] - top) / t);
        sum += to[c];
    }
    for (size_t c = 0; o->logits && c < view->c; c++)
        to[c] /= sum;
    return VG_OK;
}

static void spread(vg_gate_data *d, size_t n) {
    const double *p = d->p + n * d->m * d->c;
    for (size_t c = 0; c < d->c; c++) {
        double mean = 0, squares = 0;
        for (size_t m = 0; m < d->m; m++)
            mean += p[m * d->c + c];
        mean /= (double)d->m;
        for (size_t m = 0; m < d->m; m++)
            squares += (p[m * d->c + c] - mean) * (p[m * d->c + c] - mean);
        d->a[n * d->c + c] = mean / (sqrt(squares / (double)d->m) + EPS);
    }
}

static vg_status check(const vg_predictions *p, const int64_t *labels) {
    if (p->n == 0 || p->m == 0 || p->c < 2 || !p->data || !labels)
        return vg_base__fail(VG_ERR_ARGUMENT,
                             "predictions of shape (%zu, %zu, %zu): expected N >= 1, M >= 1, C >= 2, and labels", p->n,
                             p->m, p->c);
    for (size_t n = 0; n < p->n; n++)
        if (labels[n] < 0 || (uint64_t)labels[n] >= p->c)
            return vg_base__fail(VG_ERR_DATA, "label of sample %zu is %lld, expected 0 .. %zu", n, (long long)labels[n],
                                 p->c - 1);
    return VG_OK;
}

static vg_status make_room(vg_gate_data *d, const vg_fit_k_options *o) {
    size_t row, all, classes, members, scratch, sums;
    VG_TRY(vg_pool__new(&d->pool, o->threads ? o->threads : vg_base__cores()));
    if (!vg_base__mul(&row, d->m, d->c) || !vg_base__mul(&all, row, d->n) || !vg_base__mul(&classes, d->n, d->c) ||
        !vg_base__mul(&members, d->n, d->m) ||
        !vg_base__mul(&scratch, VG_GATE_CLASS_ARRAYS * d->c, vg_pool__threads(d->pool)) ||
        !vg_base__mul(&sums, (d->n + VG_GATE_CHUNK - 1) / VG_GATE_CHUNK, d->c + 1))
        return vg_base__fail(VG_ERR_MEMORY, "predictions of shape (%zu, %zu, %zu) do not fit memory", d->n, d->m, d->c);
    VG_TRY(vg_base__alloc(&d->p, all, sizeof *d->p, "members"));
    VG_TRY(vg_base__alloc(&d->a, classes, 4 * sizeof *d->a, "gates"));
    d->g1 = d->a + classes;
    d->slope = d->g1 + classes;
    d->bend = d->slope + classes;
    VG_TRY(vg_base__alloc(&d->w, members, 2 * sizeof *d->w, "weights of members"));
    d->over_z = d->w + members;
    VG_TRY(vg_base__alloc(&d->over_g, d->n, 2 * sizeof *d->over_g, "gates of labels"));
    d->pull = d->over_g + d->n;
    VG_TRY(vg_base__alloc(&d->at, d->c, 5 * sizeof *d->at, "a point"));
    d->k = d->at + d->c;
    d->total = d->k + d->c;
    VG_TRY(vg_base__alloc(&d->scratch, scratch, sizeof *d->scratch, "scratch"));
    return vg_base__alloc(&d->sums, sums, sizeof *d->sums, "sums");
}

vg_status vg_gate_data__start(vg_gate_data *out, const vg_predictions *predictions, const int64_t *labels,
                              const vg_fit_k_options *o) {
    *out = (vg_gate_data){.low = log(o->k_min), .high = log(o->k_max), .labels = labels};
    VG_TRY(check(predictions, labels));
    out->n = predictions->n;
    out->m = predictions->m;
    out->c = predictions->c;
    if (o->temperature && o->temperature_count != 1 && o->temperature_count != out->m)
        return vg_base__fail(VG_ERR_ARGUMENT, "%zu temperatures for %zu members, expected 1 or %zu",
                             o->temperature_count, out->m, out->m);
    VG_TRY(make_room(out, o));
    for (size_t n = 0; n < out->n; n++) {
        for (size_t m = 0; m < out->m; m++)
            VG_TRY(read_row(out->p + (n * out->m + m) * out->c, predictions, n, m, o));
        spread(out, n);
    }
    return VG_OK;
}

void vg_gate_data__stop(vg_gate_data *d) {
    vg_pool__free(d->pool);
    vg_base__release(d->p);
    vg_base__release(d->a);
    vg_base__release(d->w);
    vg_base__release(d->over_g);
    vg_base__release(d->at);
    vg_base__release(d->scratch);
    vg_base__release(d->sums);
    vg_units__stop(&d->units);
}
