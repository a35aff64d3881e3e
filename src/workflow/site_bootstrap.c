/* site_bootstrap.c - resamples of images. See site_bootstrap.h. evaluate/interval.c makes intervals of the
 * resamples, with images as the independent units. */
#include "workflow/site_bootstrap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/calibration_bins.h"
#include "base/random.h"
#include "base/sort.h"
#include "evaluate/evaluate_internal.h"
#include "evaluate/rank_tied.h"

enum { SITES, ERRORS, NLL, BRIER, FIXED, PER_CLASS = 3, PER_K = 2, GROUPS = 256, PROBES = 1 << 16 };

vg_status vg_site_bootstrap__new(vg_site_bootstrap *b, size_t images, size_t classes, const double *k, size_t k_count,
                                 const vg_evaluate_file_options *own) {
    *b = (vg_site_bootstrap){.images = images, .classes = classes, .k = k, .k_count = k_count, .lowest = INFINITY};
    b->resamples = own->resamples;
    b->seed = own->seed;
    b->confidence = own->confidence;
    b->width = FIXED + PER_CLASS * classes + PER_K * k_count;
    VG_TRY(vg_base__zalloc(&b->sums, images, b->width * sizeof *b->sums, "sums of the images"));
    return vg_base__alloc(&b->drawn, images, sizeof *b->drawn, "images");
}

void vg_site_bootstrap__free(vg_site_bootstrap *b) {
    vg_base__release(b->sums);
    vg_base__release(b->drawn);
    *b = (vg_site_bootstrap){.images = 0};
}

void vg_site_bootstrap__add(vg_site_bootstrap *b, size_t image, const double *mean, size_t label, double ratio) {
    const vg_tally_options usual = VG_TALLY_OPTIONS_INIT;
    double *sums = b->sums + image * b->width, *kept = sums + FIXED + PER_CLASS * b->classes, brier = 0;
    size_t top = 0;
    for (size_t c = 0; c < b->classes; c++) {
        double off = mean[c] - (c == label);
        brier += off * off;
        top = mean[c] > mean[top] ? c : top;
    }
    sums[SITES]++;
    sums[ERRORS] += top != label;
    sums[NLL] += vg_base__nll(mean[label], usual.floor);
    sums[BRIER] += brier;
    sums[FIXED + PER_CLASS * label]++;
    sums[FIXED + PER_CLASS * top + 1]++;
    sums[FIXED + PER_CLASS * label + 2] += top == label;
    for (size_t k = 0; k < b->k_count; k++) {
        kept[PER_K * k] += ratio > b->k[k];
        kept[PER_K * k + 1] += ratio > b->k[k] && top != label;
    }
}

/* Draws resample r: the number of times it holds each image. */
static void draw(vg_site_bootstrap *b, size_t r) {
    vg_random random = vg_random__start(b->seed, r);
    memset(b->drawn, 0, b->images * sizeof *b->drawn);
    for (size_t i = 0; i < b->images; i++)
        b->drawn[vg_random__below(&random, b->images)]++;
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */
typedef struct figure {
    vg_estimate *estimate;
    vg_interval_rule rule;
} figure;

static double over(double a, double b) { return b > 0 ? a / b : NAN; }

/* Computes the figures from sums, in the order of list_figures. Returns their number. */
static size_t whole_figures(double *out, const double *sums, const vg_site_bootstrap *b) {
    const double *kept = sums + FIXED + PER_CLASS * b->classes;
    double f1 = 0, iou = 0, seen = 0, *at = out;
    for (size_t c = 0; c < b->classes; c++) {
        const double *own = sums + FIXED + PER_CLASS * c;
        if (own[0] + own[1] > 0) {
            f1 += 2 * own[2] / (own[0] + own[1]);
            iou += own[2] / (own[0] + own[1] - own[2]);
            seen++;
        }
    }
    *at++ = 1 - over(sums[ERRORS], sums[SITES]);
    *at++ = over(f1, seen);
    *at++ = over(iou, seen);
    *at++ = over(sums[NLL], sums[SITES]);
    *at++ = over(sums[BRIER], sums[SITES]);
    for (size_t k = 0; k < b->k_count; k++) {
        *at++ = over(kept[PER_K * k], sums[SITES]);
        *at++ = 1 - over(kept[PER_K * k + 1], kept[PER_K * k]);
    }
    for (size_t c = 0; c < b->classes; c++) {
        const double *own = sums + FIXED + PER_CLASS * c;
        *at++ = over(own[2], own[0]);
        *at++ = over(own[2], own[1]);
    }
    return (size_t)(at - out);
}

static void list_figures(figure *at, vg_evaluation *e, const vg_site_bootstrap *b) {
    double images = (double)b->images, rows = (double)e->rows;
    *at++ = (figure){&e->accuracy, {VG_INTERVAL_SHARE, rows, 0, 0}};
    *at++ = (figure){&e->f1_macro, {VG_INTERVAL_LOGIT, images, 0, 0}};
    *at++ = (figure){&e->miou, {VG_INTERVAL_LOGIT, images, 0, 0}};
    *at++ = (figure){&e->nll, {VG_INTERVAL_LOG, images, 0, 0}};
    *at++ = (figure){&e->brier, {VG_INTERVAL_LOG, images, 0, 0}};
    for (size_t k = 0; k < b->k_count; k++) {
        *at++ = (figure){&e->rule[k].coverage, {VG_INTERVAL_SHARE, rows, 0, 0}};
        *at++ = (figure){&e->rule[k].accuracy, {VG_INTERVAL_SHARE, (double)e->rule[k].kept, 0, 0}};
    }
    for (size_t c = 0; c < b->classes; c++) {
        const vg_class_row *row = &e->per_class[c];
        *at++ = (figure){&e->class_figures[c].recall, {VG_INTERVAL_SHARE, (double)row->support, 0, 0}};
        *at++ = (figure){&e->class_figures[c].precision, {VG_INTERVAL_SHARE, (double)row->predicted, 0, 0}};
    }
}

/* The resamples in which a figure is defined; an interval needs most of them. */
static void set_interval(const figure *f, const double *values, size_t stride, double *column,
                         const vg_site_bootstrap *b) {
    size_t count = 0;
    for (size_t r = 0; r < b->resamples; r++)
        if (!isnan(values[r * stride]))
            column[count++] = values[r * stride];
    if (2 * count > b->resamples && !isnan(f->estimate->value))
        vg_evaluate__interval(f->estimate, &f->rule, column, count, b->confidence);
}

/* Values of the resamples, `stride` apart, become a figure of the pairs. */
static void keep_pairs(vg_site_bootstrap *b, vg_paired_figure figure, const double *values, size_t stride) {
    for (size_t r = 0; b->pairs && r < b->resamples; r++)
        b->pairs[r * VG_PAIRED_FIGURES + figure] = values[r * stride];
}

vg_status vg_site_bootstrap__whole(vg_site_bootstrap *b, vg_evaluation *e) {
    size_t figures = 5 + 2 * b->k_count + 2 * b->classes;
    double *sums = NULL, *values = NULL, *column = NULL;
    figure *list = NULL;
    vg_status status = vg_base__alloc(&sums, b->width, sizeof *sums, "resamples");
    if (status == VG_OK)
        status = vg_base__alloc(&values, b->resamples, figures * sizeof *values, "resamples");
    if (status == VG_OK)
        status = vg_base__alloc(&column, b->resamples, sizeof *column, "resamples");
    if (status == VG_OK)
        status = vg_base__alloc(&list, figures, sizeof *list, "resamples");
    for (size_t r = 0; r < b->resamples && status == VG_OK; r++) {
        draw(b, r);
        memset(sums, 0, b->width * sizeof *sums);
        for (size_t i = 0; i < b->images; i++)
            for (size_t j = 0; b->drawn[i] > 0 && j < b->width; j++)
                sums[j] += b->drawn[i] * b->sums[i * b->width + j];
        whole_figures(values + r * figures, sums, b);
    }
    if (status == VG_OK) {
        list_figures(list, e, b);
        for (size_t f = 0; f < figures; f++)
            set_interval(&list[f], values + f, figures, column, b);
        keep_pairs(b, VG_PAIRED_ACCURACY, values, figures); /* in the order of whole_figures */
        keep_pairs(b, VG_PAIRED_F1, values + 1, figures);
        keep_pairs(b, VG_PAIRED_NLL, values + 3, figures);
        keep_pairs(b, VG_PAIRED_BRIER, values + 4, figures);
        e->resamples = b->resamples;
        e->confidence = b->confidence;
    }
    vg_base__release(sums);
    vg_base__release(values);
    vg_base__release(column);
    vg_base__release(list);
    return status;
}

/* --- a measure ---------------------------------------------------------------------------------------------------- */
typedef struct group_counts {
    const vg_site_bootstrap *b;
    size_t row, rows; /* rows seen; all rows */
    /* first pass: values to place the groups by */
    double *probes;
    size_t probe_count, step;
    /* second pass */
    double ends[GROUPS]; /* the smallest values of all groups but the first */
    size_t end_count;
    size_t image, left; /* the image of the next row, and its rows to come */
    uint32_t *counts;   /* images x GROUPS x 2: sites, errors */
} group_counts;

static vg_status take_probes(void *context, const vg_spill_part *part) {
    group_counts *g = context;
    for (size_t i = 0; i < part->rows; i++, g->row++)
        if (g->row % g->step == 0 && g->probe_count < PROBES)
            g->probes[g->probe_count++] = part->values[i];
    return VG_OK;
}

static void place_groups(group_counts *g) {
    vg_base__sort_doubles(g->probes, g->probe_count);
    for (size_t i = 1; i < GROUPS; i++) {
        double end = g->probes[i * g->probe_count / GROUPS];
        if (end > g->probes[0] && (g->end_count == 0 || end > g->ends[g->end_count - 1]))
            g->ends[g->end_count++] = end;
    }
}

static vg_status take_counts(void *context, const vg_spill_part *part) {
    group_counts *g = context;
    for (size_t i = 0; i < part->rows; i++) {
        size_t low = 0, high = g->end_count;
        while (low < high) {
            size_t middle = (low + high) / 2;
            if (g->ends[middle] <= part->values[i])
                low = middle + 1;
            else
                high = middle;
        }
        while (g->left == 0)
            g->left = (size_t)g->b->sums[++g->image * g->b->width + SITES];
        g->left--;
        uint32_t *count = g->counts + (g->image * GROUPS + low) * 2;
        count[0]++;
        count[1] += part->errors[i] != 0;
    }
    return VG_OK;
}

/* The ranking of the current resample. */
static vg_status rank_resample(vg_ranking *out, const group_counts *g, double sums[GROUPS][2], vg_rank_part *parts,
                               const vg_evaluate_options *o) {
    double rows = 0, errors = 0;
    memset(sums, 0, GROUPS * sizeof *sums);
    for (size_t i = 0; i < g->b->images; i++)
        for (size_t j = 0; g->b->drawn[i] > 0 && j <= g->end_count; j++) {
            sums[j][0] += g->b->drawn[i] * g->counts[(i * GROUPS + j) * 2];
            sums[j][1] += g->b->drawn[i] * g->counts[(i * GROUPS + j) * 2 + 1];
        }
    for (size_t j = 0; j <= g->end_count; j++)
        rows += sums[j][0], errors += sums[j][1];
    double before = 0, wrong = 0;
    for (size_t j = 0; j <= g->end_count; j++) {
        parts[j] = (vg_rank_part)VG_RANK_PART_INIT;
        parts[j].rows_before = (unsigned long long)before, parts[j].errors_before = (unsigned long long)wrong;
        parts[j].rows_total = (unsigned long long)rows, parts[j].errors_total = (unsigned long long)errors;
        VG_TRY(vg_evaluate__rank_part_tied(&parts[j], (size_t)sums[j][0], (size_t)sums[j][1], o));
        before += sums[j][0], wrong += sums[j][1];
    }
    return vg_rank_parts_merge(out, parts, g->end_count + 1, o);
}

/* The figures of a ranking that have intervals, and how these are made. */
static size_t rank_figures(figure *list, vg_ranking *r, const group_counts *g, const vg_evaluate_options *o) {
    double images = (double)g->b->images;
    size_t count = 0;
    list[count++] = (figure){&r->aurc, {VG_INTERVAL_LOGIT, images, 0, 0}};
    list[count++] = (figure){&r->eaurc, {VG_INTERVAL_LOGIT, images, 0, 0}};
    list[count++] = (figure){&r->augrc, {VG_INTERVAL_LOGIT, images, 0, 0}};
    list[count++] = (figure){&r->error_auroc, {VG_INTERVAL_LOGIT, images, 0, 0}};
    list[count++] = (figure){&r->error_aupr, {VG_INTERVAL_LOGIT, images, 0, 0}};
    for (size_t i = 0; i < o->coverage_count; i++)
        list[count++] = (figure){&r->risk_at[i], {VG_INTERVAL_SHARE, ceil(o->coverages[i] * (double)g->rows), 0, 0}};
    return count;
}

static vg_status rank_resamples(vg_site_bootstrap *b, vg_ranking *r, group_counts *g, const vg_evaluate_options *o) {
    enum { MOST = 5 + VG_MAX_OPERATING_POINTS };
    double(*sums)[2] = NULL, *values = NULL, *column = NULL;
    vg_rank_part *parts = NULL;
    vg_ranking one;
    figure list[MOST], drawn[MOST];
    size_t figures = rank_figures(list, r, g, o);
    rank_figures(drawn, &one, g, o);
    vg_status status = vg_base__alloc(&sums, GROUPS, sizeof *sums, "resamples");
    if (status == VG_OK)
        status = vg_base__alloc(&parts, GROUPS, sizeof *parts, "resamples");
    if (status == VG_OK)
        status = vg_base__alloc(&values, b->resamples, figures * sizeof *values, "resamples");
    if (status == VG_OK)
        status = vg_base__alloc(&column, b->resamples, sizeof *column, "resamples");
    for (size_t i = 0; i < b->resamples && status == VG_OK; i++) {
        draw(b, i);
        memset(&one, 0, sizeof one);
        status = rank_resample(&one, g, sums, parts, o);
        for (size_t f = 0; f < figures; f++)
            values[i * figures + f] = drawn[f].estimate->value;
    }
    for (size_t f = 0; f < figures && status == VG_OK; f++)
        set_interval(&list[f], values + f, figures, column, b);
    if (status == VG_OK && r->aurc.value < b->lowest) {
        b->lowest = r->aurc.value;
        keep_pairs(b, VG_PAIRED_AURC, values, figures); /* in the order of rank_figures */
        keep_pairs(b, VG_PAIRED_AUROC, values + 3, figures);
    }
    vg_base__release(sums);
    vg_base__release(parts);
    vg_base__release(values);
    vg_base__release(column);
    return status;
}

vg_status vg_site_bootstrap__ranking(vg_site_bootstrap *b, vg_ranking *r, vg_value_spill *spill, size_t column,
                                     const vg_evaluate_options *options) {
    group_counts *g;
    VG_TRY(vg_base__zalloc(&g, 1, sizeof *g, "groups"));
    g->b = b;
    g->rows = vg_value_spill__rows(spill);
    g->step = g->rows / PROBES + 1;
    g->left = (size_t)b->sums[SITES];
    vg_status status = vg_base__alloc(&g->probes, PROBES, sizeof *g->probes, "groups");
    if (status == VG_OK)
        status = vg_base__zalloc(&g->counts, b->images, GROUPS * 2 * sizeof *g->counts, "groups of the images");
    if (status == VG_OK)
        status = vg_value_spill__scan(spill, column, take_probes, g);
    if (status == VG_OK)
        place_groups(g);
    if (status == VG_OK)
        status = vg_value_spill__scan(spill, column, take_counts, g);
    if (status == VG_OK)
        status = rank_resamples(b, r, g, options);
    vg_base__release(g->probes);
    vg_base__release(g->counts);
    vg_base__release(g);
    return status;
}
