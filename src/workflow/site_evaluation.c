/* site_evaluation.c - evaluates images site by site. See site_evaluation.h.
 *
 * One scoring pass. Sites that are left out are removed from each block. Means and labels of the others go to a
 * tally of some hundred thousand rows, whose counts are added to those of the whole when it is full (site_sums.c).
 * Their measures, with the error marks and the confidence, go to a file (value_spill.c), from which each column is
 * read back in parts by rising value, to be ranked part by part. Figures are those of all sites at once except for
 * the order of additions. */
#include "workflow/site_evaluation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "evaluate/rank_tied.h"
#include "workflow/measure_columns.h"
#include "workflow/score_pass.h"
#include "workflow/site_bootstrap.h"
#include "workflow/site_sums.h"
#include "workflow/value_spill.h"

enum { TALLY_ROWS = 1 << 18, PART_ROWS = 1 << 23, MOST_COLUMNS = 512, FEWEST_IMAGES = 3 };

typedef struct site_column {
    char name[VG_NAME_SIZE];
    vg_field field;
    size_t k;
    bool certainty;
} site_column;

typedef struct site_job {
    vg_score_input *in;
    const vg_evaluate_file_options *own;
    vg_site_sums sums;
    vg_tally *tally;
    size_t tallied; /* rows in it */
    site_column *columns;
    size_t column_count, class_measure; /* confidence comes after the last */
    vg_value_spill *spill;
    vg_site_bootstrap bootstrap; /* images 0: no intervals are wanted */
    /* of a block, of the sites that stay: room for `room` sites */
    size_t room;
    int64_t *labels;
    double *mean, *std, **values;
    vg_site_figures *out;
} site_job;

size_t vg_site_evaluation__part_rows = PART_ROWS;

/* --- columns ------------------------------------------------------------------------------------------------------ */
/* The measures in the order of every evaluation: the plain ones, then for each k the gated ones. */
static vg_status list_columns(site_job *job, vg_field_set set) {
    const vg_score_layout *layout = &job->in->layout;
    VG_TRY(vg_base__zalloc(&job->columns, MOST_COLUMNS, sizeof *job->columns, "measures"));
    for (size_t k = 0; k <= layout->k_count; k++)
        for (int f = 0; f < VG_FIELD_MEASURES; f++) {
            bool gated = vg_field__gated(f), due = gated ? k > 0 : k == 0;
            char title[VG_FIELD_TITLE];
            if (!(set & VG_FIELD_BIT(f)) || !due)
                continue;
            if (job->column_count == MOST_COLUMNS)
                return vg_base__fail(VG_ERR_ARGUMENT, "more than %d measures and gate settings", MOST_COLUMNS);
            site_column *column = &job->columns[job->column_count];
            *column = (site_column){.field = f, .k = gated ? k - 1 : 0, .certainty = f == VG_FIELD_SNR};
            vg_field__title(title, f, layout, column->k);
            memcpy(column->name, title, VG_NAME_SIZE - 1);
            if (f == VG_FIELD_GMU)
                job->class_measure = job->column_count;
            job->column_count++;
        }
    return VG_OK;
}

static vg_status make_room(site_job *job, size_t rows) {
    size_t c = job->in->layout.c;
    if (rows <= job->room)
        return VG_OK;
    vg_base__release(job->labels);
    vg_base__release(job->mean);
    vg_base__release(job->std);
    job->labels = NULL, job->mean = job->std = NULL;
    VG_TRY(vg_base__alloc(&job->labels, rows, sizeof *job->labels, "labels"));
    VG_TRY(vg_base__alloc(&job->mean, rows, c * sizeof *job->mean, "means"));
    VG_TRY(vg_base__alloc(&job->std, rows, c * sizeof *job->std, "spreads"));
    if (!job->values)
        VG_TRY(vg_base__zalloc(&job->values, job->column_count + 1, sizeof *job->values, "measures"));
    for (size_t i = 0; i <= job->column_count; i++) {
        vg_base__release(job->values[i]);
        job->values[i] = NULL;
        VG_TRY(vg_base__alloc(&job->values[i], rows, sizeof **job->values, "measures"));
    }
    job->room = rows;
    return VG_OK;
}

/* Site i of the block becomes row `to`. A measure that is larger for certain sites is ranked by its negative. */
static void keep_site(site_job *job, const vg_scores *block, size_t i, size_t to, double spread) {
    size_t c = job->in->layout.c, gates = job->in->layout.k_count;
    double most = 0;
    for (size_t j = 0; j < c; j++) {
        double mean = block->mean[i * c + j];
        job->mean[to * c + j] = mean;
        job->std[to * c + j] = block->std[i * c + j] * spread;
        most = mean > most ? mean : most;
    }
    for (size_t v = 0; v < job->column_count; v++) {
        const site_column *column = &job->columns[v];
        const double *from = vg_score_block__place(block, column->field);
        double value = from[vg_field__gated(column->field) ? i * gates + column->k : i];
        job->values[v][to] = column->certainty ? -value : value;
    }
    job->values[job->column_count][to] = most;
}

/* --- images ------------------------------------------------------------------------------------------------------- */
/* Counts row `at` of the block, which is site number `site`. */
static void count_site(site_job *job, size_t site, size_t at, const vg_tally_info *rows, size_t before) {
    double value = NAN;
    if (job->column_count > 0) {
        value = job->values[job->class_measure][at];
        value = job->columns[job->class_measure].certainty ? -value : value;
        job->sums.uncertainty[job->labels[at]] += value;
    }
    vg_site_images__count(&job->out->images, site, value, rows->errors[before + at] != 0,
                          !(rows->ratio[before + at] > job->in->layout.k[0]));
    if (job->bootstrap.images)
        vg_site_bootstrap__add(&job->bootstrap, site / job->out->images.sites, job->mean + at * job->in->layout.c,
                               (size_t)job->labels[at], rows->ratio[before + at]);
}

/* --- the pass ----------------------------------------------------------------------------------------------------- */
static vg_status end_tally(site_job *job) {
    const vg_score_layout *layout = &job->in->layout;
    if (job->tally && job->tallied > 0)
        VG_TRY(vg_site_sums__add(&job->sums, job->tally, layout->k, layout->k_count));
    vg_tally_free(job->tally);
    job->tally = NULL;
    job->tallied = 0;
    return VG_OK;
}

static vg_status feed_tally(site_job *job, size_t kept) {
    vg_tally_options options = VG_TALLY_OPTIONS_INIT;
    options.bins = job->own->bins;
    options.expected = TALLY_ROWS;
    options.class_k = job->in->options.class_k;
    if (!job->tally)
        VG_TRY(vg_tally_new(&job->tally, job->in->layout.c, &options));
    vg_status status = vg_tally_feed(job->tally, job->mean, job->std, job->labels, kept);
    return status == VG_OK ? VG_OK : vg_base__fail(status, "%s: %s", job->in->path, vg_error_message());
}

static vg_status take_block(void *context, size_t first, size_t rows, const vg_scores *block) {
    site_job *job = context;
    double spread = vg_measure_columns__rule_spread(job->in);
    const int64_t *labels = vg_score_input__labels(job->in, first);
    size_t kept = 0, before = job->tallied;
    VG_TRY(make_room(job, rows));
    for (size_t i = 0; i < rows; i++) /* FNV-1a */
        job->out->labels = (job->out->labels ^ (uint64_t)labels[i]) * 1099511628211u;
    for (size_t i = 0; i < rows; i++)
        if (labels[i] >= 0) {
            job->labels[kept] = labels[i];
            keep_site(job, block, i, kept++, spread);
        }
    if (kept == 0)
        return VG_OK;
    vg_tally_info held = VG_TALLY_INFO_INIT;
    VG_TRY(feed_tally(job, kept));
    VG_TRY(vg_tally_describe(&held, job->tally));
    for (size_t i = 0, at = 0; i < rows; i++)
        if (labels[i] >= 0)
            count_site(job, first + i, at++, &held, before);
    VG_TRY(vg_value_spill__add(job->spill, (const double *const *)job->values, held.errors + before, kept));
    job->tallied += kept;
    return job->tallied >= TALLY_ROWS ? end_tally(job) : VG_OK;
}

/* --- ranking ------------------------------------------------------------------------------------------------------ */
typedef struct rank_walk {
    const vg_evaluate_options *options;
    vg_rank_part *parts;
    size_t count, room;
    unsigned long long rows, errors, rows_total, errors_total;
    double *gap; /* bins: of the confidence; NULL: a measure */
    size_t bins;
    double *curve; /* points; NULL: none */
    size_t points;
} rank_walk;

/* The points of the curve that lie in a part. */
static vg_status draw_curve(const rank_walk *w, const vg_rank_part *part, const vg_spill_part *rows) {
    vg_measure measure = {.name = "", .values = rows->values, .stride = 1};
    if (w->curve && rows->values && rows->rows > 0)
        return vg_evaluate__rank_curve_part(w->curve, w->points, part, &measure, rows->errors, rows->rows);
    if (w->curve && !rows->values)
        vg_evaluate__rank_curve_tied(w->curve, w->points, part, rows->rows, rows->wrong);
    return VG_OK;
}

static vg_status take_part(void *context, const vg_spill_part *rows) {
    rank_walk *w = context;
    vg_rank_part part = VG_RANK_PART_INIT;
    part.rows_before = w->rows, part.errors_before = w->errors;
    part.rows_total = w->rows_total, part.errors_total = w->errors_total;
    vg_measure measure = {.name = "", .values = rows->values, .stride = 1};
    if (rows->values) {
        VG_TRY(vg_rank_part_walk(&part, w->gap, w->bins, &measure, rows->errors, rows->rows, w->options));
    } else if (!w->gap) {
        VG_TRY(vg_evaluate__rank_part_tied(&part, rows->rows, rows->wrong, w->options));
    } else {
        return vg_base__fail(VG_ERR_UNSUPPORTED, "%zu sites have the confidence %.17g: too many for adaptive bins",
                             rows->rows, rows->value);
    }
    VG_TRY(draw_curve(w, &part, rows));
    if (w->count == w->room) {
        size_t room = 2 * w->room + 16;
        vg_rank_part *more = realloc(w->parts, room * sizeof *more);
        if (!more)
            return vg_base__fail(VG_ERR_MEMORY, "out of memory for the ranking");
        w->parts = more, w->room = room;
    }
    w->parts[w->count++] = part;
    w->rows += rows->rows;
    w->errors += rows->wrong;
    return VG_OK;
}

static vg_status rank_column(vg_ranking *out, site_job *job, size_t column, const vg_evaluate_options *o) {
    rank_walk walk = {.options = o, .rows_total = job->sums.rows, .errors_total = job->sums.rows - job->sums.correct};
    walk.curve = out->curve;
    walk.points = job->own->curve_points;
    vg_status status = vg_value_spill__walk(job->spill, column, take_part, &walk);
    if (status == VG_OK)
        status = vg_rank_parts_merge(out, walk.parts, walk.count, o);
    out->curve = walk.curve;
    free(walk.parts);
    memcpy(out->name, job->columns[column].name, VG_NAME_SIZE);
    return status;
}

/* The adaptive ECE from the confidence. */
static vg_status adaptive(double *ece, site_job *job, const vg_evaluate_options *o) {
    rank_walk walk = {.options = o,
                      .rows_total = job->sums.rows,
                      .errors_total = job->sums.rows - job->sums.correct,
                      .bins = job->own->bins};
    double sum = 0;
    VG_TRY(vg_base__zalloc(&walk.gap, walk.bins, sizeof *walk.gap, "bins"));
    vg_status status = vg_value_spill__walk(job->spill, job->column_count, take_part, &walk);
    for (size_t b = 0; b < walk.bins; b++)
        sum += fabs(walk.gap[b]);
    *ece = status == VG_ERR_UNSUPPORTED ? NAN : sum / (double)job->sums.rows;
    vg_base__release(walk.gap);
    free(walk.parts);
    return status == VG_ERR_UNSUPPORTED ? VG_OK : status;
}

static vg_status rank_all(site_job *job, const vg_evaluate_options *o) {
    vg_evaluation *e = job->out->evaluation;
    vg_status status = vg_job__begin(job->in->job, "evaluating", "measures");
    for (size_t i = 0; i < job->column_count && status == VG_OK; i++) {
        status = rank_column(&e->measures[i], job, i, o);
        if (status == VG_OK && job->bootstrap.images)
            status = vg_site_bootstrap__ranking(&job->bootstrap, &e->measures[i], job->spill, i, o);
        if (status == VG_OK)
            status = vg_job__progress(job->in->job, "evaluating", i + 1, job->column_count);
    }
    if (status == VG_OK)
        status = adaptive(&e->ece_adaptive.value, job, o);
    vg_job__end(job->in->job);
    for (size_t i = 0; i < e->measure_count; i++) /* the first of the largest; sites are no independent rows to test */
        if (e->lead.leader == e->measure_count ||
            e->measures[i].error_auroc.value > e->measures[e->lead.leader].error_auroc.value)
            e->lead.leader = i;
    return status;
}

/* --- all of it ---------------------------------------------------------------------------------------------------- */
static vg_evaluate_options ranking_options(const site_job *job) {
    vg_evaluate_options o = VG_EVALUATE_OPTIONS_INIT;
    o.k = job->in->layout.k;
    o.k_count = job->in->layout.k_count;
    if (job->own->coverages) {
        o.coverages = job->own->coverages;
        o.coverage_count = job->own->coverage_count;
    }
    if (job->own->risks) {
        o.risks = job->own->risks;
        o.risk_count = job->own->risk_count;
    }
    o.curve_points = job->own->curve_points;
    o.threads = 1;
    return o;
}

static vg_status finish(site_job *job) {
    vg_evaluate_options o = ranking_options(job);
    vg_measure *measures;
    const double nothing[2] = {0, 0};
    VG_TRY(end_tally(job));
    VG_TRY(vg_site_images__end(&job->out->images, true));
    VG_TRY(vg_score_input__some_left(job->in));
    VG_TRY(vg_base__zalloc(&measures, job->column_count + 1, sizeof *measures, "measures"));
    for (size_t i = 0; i < job->column_count; i++) {
        measures[i] = (vg_measure){.values = nothing, .stride = 1};
        memcpy(measures[i].name, job->columns[i].name, VG_NAME_SIZE);
    }
    vg_status status = vg_site_sums__evaluation(&job->out->evaluation, &job->sums, measures, job->column_count, &o);
    vg_base__release(measures);
    VG_TRY(status);
    job->out->evaluation->class_measure = job->class_measure;
    if (job->bootstrap.images)
        VG_TRY(vg_site_bootstrap__whole(&job->bootstrap, job->out->evaluation));
    return rank_all(job, &o);
}

static vg_status prepare(site_job *job, vg_field_set set) {
    const vg_score_layout *layout = &job->in->layout;
    VG_TRY(list_columns(job, set));
    VG_TRY(vg_site_sums__new(&job->sums, layout->c, job->own->bins, layout->k_count));
    VG_TRY(vg_value_spill__new(&job->spill, job->column_count + 1, vg_site_evaluation__part_rows));
    VG_TRY(vg_site_images__new(&job->out->images, vg_score_input__shape(job->in)));
    if (job->own->resamples == 0)
        return VG_OK;
    vg_status status = vg_site_bootstrap__new(&job->bootstrap, job->out->images.count, layout->c, layout->k,
                                              layout->k_count, job->own);
    job->bootstrap.pairs = job->out->pairs;
    return status;
}

static void release(site_job *job) {
    vg_tally_free(job->tally);
    vg_site_sums__free(&job->sums);
    vg_value_spill__free(job->spill);
    vg_site_bootstrap__free(&job->bootstrap);
    for (size_t i = 0; job->values && i <= job->column_count; i++)
        vg_base__release(job->values[i]);
    vg_base__release(job->values);
    vg_base__release(job->columns);
    vg_base__release(job->labels);
    vg_base__release(job->mean);
    vg_base__release(job->std);
}

vg_status vg_site_evaluation__run(vg_site_figures *out, vg_score_input *in, const vg_evaluate_file_options *own) {
    vg_field_set set = vg_score_input__compared(in) & VG_FIELDS_MEASURES;
    site_job job = {.in = in, .own = own, .out = out};
    *out = (vg_site_figures){.labels = 14695981039346656037u, .pairs = out->pairs};
    if (own->resamples > 0 && vg_score_input__shape(in)[0] < FEWEST_IMAGES)
        return vg_base__fail(VG_ERR_DATA,
                             "%s: --bootstrap draws images, whose sites are not independent: %zu image%s, at least %d "
                             "are needed",
                             in->path, vg_score_input__shape(in)[0], vg_score_input__shape(in)[0] == 1 ? "" : "s",
                             FEWEST_IMAGES);
    vg_score_sink sink = {.context = &job, .take = take_block, .counted = true};
    vg_status status = prepare(&job, set);
    if (status == VG_OK)
        status = vg_score_pass__run(in, set | VG_FIELD_BIT(VG_FIELD_MEAN) | VG_FIELD_BIT(VG_FIELD_STD), &sink,
                                    &out->summary);
    if (status == VG_OK)
        status = finish(&job);
    release(&job);
    if (status != VG_OK) {
        vg_evaluation_free(out->evaluation);
        vg_site_images__free(&out->images);
        *out = (vg_site_figures){.evaluation = NULL};
    }
    return status;
}
