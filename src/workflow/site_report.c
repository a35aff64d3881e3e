/* site_report.c - sites of images for a report page. See site_report.h.
 *
 * One more scoring pass. Every site that is not left out is counted at the k of the page. Of some images, those with
 * the largest share of abstained sites at the first k, all sites are kept that the page shows: every stride-th of a row
 * and of a column, so that an image of any size takes at most IMAGE_SITES, and all together at most ALL_SITES. */
#include "workflow/site_report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "workflow/measure_columns.h"
#include "workflow/report_files.h"
#include "workflow/report_subject.h"
#include "workflow/score_pass.h"
#include "workflow/site_images.h"

enum { IMAGE_SITES = 150000, ALL_SITES = 400000, MOST_IMAGES = 24, SAMPLE = 15000, LEFT_OUT = 255 };

typedef struct site_work {
    vg_report_subject *subject;
    vg_site_report *out;
    vg_score_input *in;
    vg_field_set set;
    vg_field field; /* the measure that is shown */
    double spread;
    vg_report_rows *block; /* the sites of a block, with their ratios */
    size_t block_rows;
    int32_t *slot;         /* N: index of an image among those shown; -1: not shown */
    float *value;          /* of the sites shown: the measure, NaN where left out */
    size_t seen, of, held; /* sites that are not left out so far, in all, and in the sample */
    vg_random random;
} site_work;

/* --- which images ------------------------------------------------------------------------------------------------- */
static vg_status count_block(void *context, size_t first, size_t rows, const vg_scores *block) {
    site_work *work = ((void **)context)[0];
    vg_site_images__add(((void **)context)[1], work->in, first, rows, block);
    return VG_OK;
}

/* Images by falling share of abstained sites: those of the evaluation or, without labels, of a pass for that. */
static vg_status choose_images(site_work *work, size_t count) {
    const vg_evaluation_result *evaluated = work->subject->evaluated;
    vg_site_images images = {.count = 0};
    void *context[] = {work, &images};
    vg_score_sink sink = {.context = context, .take = count_block, .counted = true};
    vg_status status = VG_OK;
    const size_t *order = evaluated ? evaluated->image_order : NULL;
    if (!order && count < work->out->shown.shape[0]) {
        status = vg_site_images__new(&images, work->out->shown.shape);
        if (status == VG_OK)
            status = vg_score_pass__run(work->in, VG_FIELD_BIT(VG_FIELD_DECISION), &sink, NULL);
        if (status == VG_OK)
            status = vg_site_images__end(&images, false);
        order = images.order;
    }
    for (size_t i = 0; i < count && status == VG_OK; i++) {
        work->out->numbers[i] = order ? order[i] : i;
        work->slot[work->out->numbers[i]] = (int32_t)i;
    }
    vg_site_images__free(&images);
    return status;
}

static size_t shown_of(size_t length, size_t stride) { return (length + stride - 1) / stride; }

static vg_status make_room(site_work *work) {
    vg_site_report *r = work->out;
    vg_report_sites *s = &r->shown;
    memcpy(s->shape, vg_score_input__shape(work->in), sizeof s->shape);
    s->stride = 1;
    while (shown_of(s->shape[1], s->stride) * shown_of(s->shape[2], s->stride) > IMAGE_SITES)
        s->stride++;
    s->height = shown_of(s->shape[1], s->stride);
    s->width = shown_of(s->shape[2], s->stride);
    size_t each = s->height * s->width, fit = ALL_SITES / each < MOST_IMAGES ? ALL_SITES / each : MOST_IMAGES;
    s->count = s->shape[0] < fit ? s->shape[0] : fit;
    size_t all = s->count * each;
    VG_TRY(vg_base__alloc(&work->slot, s->shape[0], sizeof *work->slot, "images"));
    for (size_t i = 0; i < s->shape[0]; i++)
        work->slot[i] = -1;
    VG_TRY(vg_base__zalloc(&r->numbers, s->count, sizeof *r->numbers, "images"));
    VG_TRY(vg_base__zalloc(&r->pred, all, sizeof *r->pred, "images"));
    VG_TRY(vg_base__zalloc(&r->steps, all, sizeof *r->steps, "images"));
    VG_TRY(vg_base__zalloc(&r->level, all, 1, "images"));
    VG_TRY(vg_base__zalloc(&work->value, all, sizeof *work->value, "images"));
    VG_TRY(vg_base__zalloc(&r->sites, s->count, sizeof *r->sites, "images"));
    VG_TRY(vg_base__zalloc(&r->abstained, s->count * (r->counts.count + 1), sizeof *r->abstained, "images"));
    if (vg_score_input__labelled(work->in))
        VG_TRY(vg_base__zalloc(&r->label, all, sizeof *r->label, "images"));
    return choose_images(work, s->count);
}

/* --- the pass ----------------------------------------------------------------------------------------------------- */
/* Keeps a site of an image that is shown, if the page holds it. truth: -1 where it is not known. */
static void keep_shown(site_work *work, size_t slot, size_t inside, int64_t truth, int32_t pred, size_t steps,
                       double value) {
    vg_site_report *r = work->out;
    const vg_report_sites *s = &r->shown;
    size_t depth = s->shape[3], y = inside / (s->shape[2] * depth), x = inside / depth % s->shape[2];
    if (inside % depth != depth / 2 || y % s->stride || x % s->stride)
        return;
    size_t at = (slot * s->height + y / s->stride) * s->width + x / s->stride;
    r->pred[at] = (uint16_t)pred;
    r->steps[at] = (uint16_t)steps;
    work->value[at] = (float)value;
    if (r->label)
        r->label[at] = (uint16_t)truth;
}

/* Site i of the block into the random sample. */
static vg_status keep_sampled(site_work *work, const vg_scores *block, size_t i, size_t site, int64_t truth) {
    vg_report_subject *s = work->subject;
    size_t c = work->in->layout.c, row = work->held++;
    vg_scores places;
    memset(&places, 0, sizeof places);
    vg_columns__at(s->columns, row, &places);
    for (int f = 0; f < VG_FIELD_MEASURES; f++) {
        size_t width = vg_field__gated((vg_field)f) ? s->k_count : 1;
        double *to = vg_score_block__place(&places, (vg_field)f);
        const double *from = vg_score_block__place(block, (vg_field)f);
        if (to && from)
            memcpy(to, from + i * width, width * sizeof *to);
    }
    work->out->positions[row] = site;
    if (s->labels)
        s->labels[row] = truth;
    return vg_report__rows_feed(s->rows, row, 1, block->mean + i * c, block->std + i * c);
}

static vg_status take_site(site_work *work, const vg_scores *block, size_t i, size_t site, int64_t truth) {
    vg_site_report *r = work->out;
    size_t sites = r->shown.shape[1] * r->shown.shape[2] * r->shown.shape[3];
    int32_t pred = work->block->top_class[i * work->block->top], slot = work->slot[site / sites];
    size_t steps = vg_report__counts_steps(&r->counts, work->block->ratio[i]);
    vg_report__counts_add(&r->counts, steps, SIZE_MAX, truth, pred);
    if (slot >= 0) {
        const double *values = work->field < VG_FIELD_MEASURES ? vg_score_block__place(block, work->field) : NULL;
        size_t width = work->field < VG_FIELD_MEASURES ? vg_field__width(work->field, &work->in->layout) : 1;
        r->sites[slot]++;
        r->abstained[(size_t)slot * (r->counts.count + 1) + steps]++;
        keep_shown(work, (size_t)slot, site % sites, truth, pred, steps, values ? values[i * width] : NAN);
    }
    size_t left = work->of - work->seen++, wanted = work->subject->rows->n - work->held;
    return wanted > 0 && vg_random__below(&work->random, left) < wanted ? keep_sampled(work, block, i, site, truth)
                                                                        : VG_OK;
}

static vg_status take_block(void *context, size_t first, size_t rows, const vg_scores *block) {
    site_work *work = context;
    size_t c = work->in->layout.c;
    const int64_t *labels = vg_score_input__labels(work->in, first);
    if (rows > work->block_rows) {
        vg_report__rows_free(work->block);
        work->block = NULL;
        VG_TRY(vg_report__rows_new(&work->block, rows, c));
        work->block->class_k = work->subject->class_k;
        work->block_rows = rows;
    }
    for (size_t i = 0; work->spread != 1 && i < rows * c; i++)
        block->std[i] *= work->spread;
    for (size_t i = 0, run; i < rows; i += run ? run : 1) { /* runs of sites that are not left out, which are NaN */
        for (run = 0; i + run < rows && (!labels || labels[i + run] >= 0);)
            run++;
        VG_TRY(vg_report__rows_feed(work->block, i, run, block->mean + i * c, block->std + i * c));
        for (size_t j = i; j < i + run; j++)
            VG_TRY(take_site(work, block, j, first + j, labels ? labels[j] : -1));
    }
    return VG_OK;
}

/* --- all of it ---------------------------------------------------------------------------------------------------- */
/* From counts of sites by their steps to sites that are abstained from: those of at most i steps at k number i. */
static void end_counts(vg_site_report *r) {
    size_t steps = r->counts.count;
    for (size_t s = 0; s < r->shown.count; s++) {
        uint32_t sum = 0;
        for (size_t i = 0; i < steps; i++) {
            sum += r->abstained[s * (steps + 1) + i];
            r->abstained[s * steps + i] = sum; /* rows become shorter: never ahead of what is read */
        }
    }
}

static void end_levels(site_work *work) {
    vg_report_sites *s = &work->out->shown;
    size_t all = s->count * s->height * s->width;
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < all; i++)
        if (isfinite(work->value[i])) {
            low = work->value[i] < low ? work->value[i] : low;
            high = work->value[i] > high ? work->value[i] : high;
        }
    s->low = low <= high ? low : 0;
    s->high = low <= high ? high : 1;
    for (size_t i = 0; i < all; i++) {
        double share = s->high > s->low ? ((double)work->value[i] - s->low) / (s->high - s->low) : 0;
        share = share < 0 ? 0 : share > 1 ? 1 : share;
        work->out->level[i] = isnan(work->value[i]) ? LEFT_OUT : (uint8_t)(254 * share + 0.5);
    }
}

static void point_out(vg_site_report *r, const site_work *work) {
    vg_report_sites *s = &r->shown;
    s->classes = work->in->layout.c;
    s->ignored = work->in->ignored;
    s->numbers = r->numbers;
    s->pred = r->pred;
    s->label = r->label;
    s->steps = r->steps;
    s->level = r->level;
    s->sites = r->sites;
    s->abstained = r->abstained;
    s->measure = work->field < VG_FIELD_MEASURES ? vg_field__name(work->field) : NULL;
}

static vg_status prepare(site_work *work) {
    vg_report_subject *s = work->subject;
    vg_site_report *r = work->out;
    const vg_score_layout *layout = &work->in->layout;
    size_t all = layout->n <= UINT32_MAX ? layout->c : SIZE_MAX;
    work->of = s->evaluation ? s->evaluation->rows : layout->n;
    s->n = work->of < SAMPLE ? work->of : SAMPLE;
    if (layout->c > UINT16_MAX)
        return vg_base__fail(VG_ERR_UNSUPPORTED, "%s: %zu classes are too many for maps in a page", work->in->path,
                             layout->c);
    VG_TRY(vg_report__counts_new(&r->counts, s->k, s->k_count, all));
    VG_TRY(make_room(work));
    VG_TRY(vg_report__rows_new(&s->rows, s->n, layout->c));
    s->rows->class_k = s->class_k;
    VG_TRY(vg_base__zalloc(&r->positions, s->n, sizeof *r->positions, "sites"));
    if (r->label) {
        s->labels = calloc(s->n ? s->n : 1, sizeof *s->labels);
        if (!s->labels)
            return vg_base__fail(VG_ERR_MEMORY, "out of memory for the labels");
    }
    for (size_t i = 0; i < r->shown.count * r->shown.height * r->shown.width; i++) {
        r->steps[i] = UINT16_MAX;
        work->value[i] = NAN;
    }
    return vg_columns__new(&s->columns, s->n, s->k, s->k_count, vg_measure_columns__bits(work->set));
}

vg_status vg_site_report__make(vg_report_subject *subject, vg_score_input *in) {
    vg_field_set set = in->measures & VG_FIELDS_MEASURES;
    site_work work = {.subject = subject, .out = &subject->sites, .in = in, .set = set};
    vg_score_sink sink = {.context = &work, .take = take_block, .counted = true};
    work.spread = vg_measure_columns__rule_spread(in);
    work.field = vg_site_images__field(set);
    work.random = vg_random__start(1, 0);
    vg_status status = prepare(&work);
    in->ignored = 0; /* counted anew in this pass */
    if (status == VG_OK)
        status = vg_score_pass__run(in, set | VG_FIELD_BIT(VG_FIELD_MEAN) | VG_FIELD_BIT(VG_FIELD_STD), &sink,
                                    &subject->summary);
    if (status == VG_OK)
        status = vg_score_input__some_left(in);
    if (status == VG_OK) {
        vg_report__counts_end(&work.out->counts);
        end_counts(work.out);
        end_levels(&work);
        point_out(work.out, &work);
    }
    vg_report__rows_free(work.block);
    vg_base__release(work.slot);
    vg_base__release(work.value);
    return status;
}

vg_status vg_site_report__photos(vg_site_report *report, const vg_report_images *images) {
    const vg_dataset_info *info = &images->info;
    vg_report_sites *s = &report->shown;
    size_t plane = s->height * s->width, size = info->channels * info->height * info->width;
    uint8_t *pixels;
    VG_TRY(vg_base__alloc(&report->photo, s->count * info->channels * plane, 1, "images"));
    VG_TRY(vg_base__alloc(&pixels, size, 1, "an image"));
    vg_status status = VG_OK;
    for (size_t i = 0; i < s->count && status == VG_OK; i++) {
        status = vg_report_images__pixels((void *)(uintptr_t)images, s->numbers[i], pixels);
        for (size_t at = 0; at < info->channels * plane && status == VG_OK; at++) {
            size_t channel = at / plane, y = at % plane / s->width * s->stride, x = at % s->width * s->stride;
            size_t py = (2 * y + 1) * info->height / (2 * s->shape[1]);
            size_t px = (2 * x + 1) * info->width / (2 * s->shape[2]);
            report->photo[i * info->channels * plane + at] = pixels[(channel * info->height + py) * info->width + px];
        }
    }
    vg_base__release(pixels);
    s->photo = report->photo;
    s->channels = info->channels;
    return status;
}

void vg_site_report__free(vg_site_report *report) {
    vg_report__counts_free(&report->counts);
    vg_base__release(report->positions);
    vg_base__release(report->numbers);
    vg_base__release(report->pred);
    vg_base__release(report->label);
    vg_base__release(report->steps);
    vg_base__release(report->level);
    vg_base__release(report->photo);
    vg_base__release(report->sites);
    vg_base__release(report->abstained);
    *report = (vg_site_report){.positions = NULL};
}
