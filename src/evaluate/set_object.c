/* set_object.c - vg_sets from its options: settings, memory, blocks cut into pieces. See prediction_sets.h. */
#include <math.h>
#include <string.h>

#include "evaluate/prediction_sets.h"
#include "measures/scorer.h"

enum { PIECE_BYTES = 2 << 20 }; /* of the means of a piece */
/* Of a piece without means, with and without scratch for its results; threads wait for each other at its end. */
enum { LONG_BYTES = 8 << 20, LONG_ROWS = 16384, LONGEST_BYTES = 128 << 20 };
/* Rows that a thread takes at once: at least this many, and of a piece without means this many bytes, so that little
 * is prefetched beyond them. */
enum { CHUNK_ROWS = 64, CHUNK_BYTES = 128 << 10 };

static const double usual_alpha = 0.1;

static vg_status check_numbers(const vg_sets_options *o) {
    if (o->alpha_count > VG_SETS_ALPHAS)
        return vg_base__fail(VG_ERR_ARGUMENT, "--alpha: %zu values, at most %d", o->alpha_count, VG_SETS_ALPHAS);
    for (size_t i = 0; o->alphas && i < o->alpha_count; i++)
        if (!(o->alphas[i] > 0 && o->alphas[i] < 1))
            return vg_base__fail(VG_ERR_ARGUMENT, "--alpha: %g, expected above 0 and below 1", o->alphas[i]);
    if (!isnan(o->gate) && !(o->gate > 0 && isfinite(o->gate)))
        return vg_base__fail(VG_ERR_ARGUMENT, "--gated: k is %g, expected above 0", o->gate);
    if (!isnan(o->lambda) && !(o->lambda >= 0 && isfinite(o->lambda)))
        return vg_base__fail(VG_ERR_ARGUMENT, "--lambda: %g, expected 0 or more", o->lambda);
    if (!isnan(o->k_reg) && !(o->k_reg >= 0 && isfinite(o->k_reg)))
        return vg_base__fail(VG_ERR_ARGUMENT, "--k-reg: %g, expected 0 or more", o->k_reg);
    if (!(o->tuning > 0 && o->tuning < 1))
        return vg_base__fail(VG_ERR_ARGUMENT, "--tuning: %g, expected above 0 and below 1", o->tuning);
    if (!(o->confidence > 0 && o->confidence < 1))
        return vg_base__fail(VG_ERR_ARGUMENT, "--confidence: %g, expected above 0 and below 1", o->confidence);
    return VG_OK;
}

static vg_status refuse_sites(void) {
    return vg_base__fail(VG_ERR_ARGUMENT, "sites of images have one label each: they do not go with multilabel");
}

static vg_status check(const vg_sets_options *o, bool multilabel) {
    if ((unsigned)o->score > VG_SET_SNR || (unsigned)o->by > VG_SETS_BY_TOP)
        return vg_base__fail(VG_ERR_ARGUMENT, "unknown score %d or grouping %d", (int)o->score, (int)o->by);
    VG_TRY(check_numbers(o));
    bool ranked = o->score == VG_SET_RAPS || o->score == VG_SET_SAPS;
    if (!isnan(o->lambda) && !ranked)
        return vg_base__fail(VG_ERR_ARGUMENT, "--lambda goes with the scores raps and saps");
    if (!isnan(o->k_reg) && o->score != VG_SET_RAPS)
        return vg_base__fail(VG_ERR_ARGUMENT, "--k-reg goes with the score raps");
    if (o->randomise == 1 && !ranked && o->score != VG_SET_APS)
        return vg_base__fail(VG_ERR_ARGUMENT, "--randomise goes with the scores aps, raps and saps");
    if (!isnan(o->gate) && o->score == VG_SET_SNR)
        return vg_base__fail(VG_ERR_ARGUMENT, "--gated does not go with the score snr, which uses the spread itself");
    if (multilabel && (o->score != VG_SET_LAC || o->by != VG_SETS_BY_NONE || !isnan(o->gate) || o->p_values))
        return vg_base__fail(VG_ERR_ARGUMENT,
                             "--multilabel: sets of labels have the score lac and one threshold, no --by, --gated or "
                             "--p-values");
    if (multilabel && o->sites)
        return refuse_sites();
    return VG_OK;
}

static vg_status copy_numbers(double **out, const double *given, size_t count, const char *what) {
    if (!given)
        return VG_OK;
    VG_TRY(vg_base__alloc(out, count, sizeof **out, what));
    memcpy(*out, given, count * sizeof **out);
    return VG_OK;
}

static vg_status copy_scoring(vg_sets_data *s, const vg_score_options *given) {
    vg_score_options defaults = VG_SCORE_OPTIONS_INIT;
    VG_TRY(
        vg_base__take_options(&s->scoring, given ? given : &defaults, &defaults, sizeof defaults, "vg_score_options"));
    vg_score_options *o = &s->scoring;
    o->progress = NULL;
    o->device = VG_SCORE_ON_CPU; /* the gated means are computed there */
    VG_TRY(copy_numbers(&s->temperature, o->temperature, o->temperature_count, "temperatures"));
    VG_TRY(copy_numbers(&s->class_k, o->class_k, o->class_k_count, "a k for every class"));
    o->temperature = s->temperature;
    o->class_k = s->class_k;
    return VG_OK;
}

static void fill(vg_sets_data *s, const vg_sets_options *o) {
    vg_sets *shown = &s->shown;
    bool ranked = o->score == VG_SET_RAPS || o->score == VG_SET_SAPS;
    shown->struct_size = sizeof *shown;
    shown->score = o->score;
    shown->by = o->by;
    shown->multilabel = s->scoring.task != VG_TASK_MULTICLASS;
    shown->randomised = o->randomise < 0 ? ranked || o->score == VG_SET_APS : o->randomise != 0;
    shown->never_empty = o->never_empty != 0;
    shown->gate = o->gate;
    shown->lambda = o->lambda;
    shown->k_reg = o->k_reg;
    shown->confidence = o->confidence;
    shown->seed = o->seed;
    shown->alpha_count = o->alphas && o->alpha_count ? o->alpha_count : 1;
    memcpy(s->alphas, o->alphas && o->alpha_count ? o->alphas : &usual_alpha, shown->alpha_count * sizeof *s->alphas);
    shown->alphas = s->alphas;
    s->tuning = o->tuning;
    s->sites = o->sites;
    shown->by_image = o->sites != 0;
    s->p_values = o->p_values != 0;
    s->needs_tuning = ranked && (isnan(o->lambda) || (o->score == VG_SET_RAPS && isnan(o->k_reg)));
    s->rule = (vg_set_rule){.score = o->score, .lambda = o->lambda, .k_reg = o->k_reg, .kernels = vg_set__kernels()};
    s->one_rule = true;
    s->tunes_lambda = s->needs_tuning && isnan(o->lambda);
    s->tunes_k_reg = s->needs_tuning && o->score == VG_SET_RAPS && isnan(o->k_reg);
    for (size_t a = 0; a < shown->alpha_count; a++) {
        s->lambdas[a] = o->lambda;
        s->k_regs[a] = o->k_reg;
    }
    s->rule.eps = s->scoring.margin_eps_form == VG_MARGIN_EPS_TWICE ? 2 * s->scoring.eps : s->scoring.eps;
}

vg_status vg_sets__new(vg_sets_data **out, const vg_sets_options *o) {
    vg_sets_data *s;
    *out = NULL;
    VG_TRY(vg_base__zalloc(&s, 1, sizeof *s, "prediction sets"));
    vg_status status = copy_scoring(s, o->scoring);
    if (status == VG_OK)
        status = check(o, s->scoring.task != VG_TASK_MULTICLASS);
    if (status != VG_OK) {
        vg_sets__free(s);
        return status;
    }
    fill(s, o);
    *out = s;
    return VG_OK;
}

void vg_sets__free(vg_sets_data *s) {
    if (!s)
        return;
    void *const parts[] = {s->class_k,      s->temperature, s->mean,         s->std,    s->gated,
                           s->scores,       s->order,       s->cells,        s->parts,  s->mask,
                           s->size,         s->deferred,    s->memory,       s->rooms,  s->thresholds,
                           s->cell_samples, s->figures,     s->unseen_group, s->origin, s->map};
    for (size_t c = 0; s->class_names && c < s->shown.classes; c++)
        vg_base__release(s->class_names[c]);
    vg_base__release(s->class_names);
    for (size_t a = 0; s->tallies && a < s->shown.alpha_count; a++)
        vg_set_tally__free(&s->tallies[a]);
    vg_base__release(s->tallies);
    vg_scorer_free(s->scorer);
    vg_pool__free(s->pool);
    vg_set_pool__free(&s->pooled);
    vg_set_tuning__free(&s->tuning_rows);
    vg_set_positives__free(&s->positives);
    vg_set_groups__free(&s->groups);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        vg_base__release(parts[i]);
    vg_base__release(s);
}

/* --- memory ------------------------------------------------------------------------------------------------------- */
static vg_status make_scorer(vg_sets_data *s) {
    vg_score_options o = s->scoring;
    o.k = &s->shown.gate;
    o.k_count = !isnan(s->shown.gate);
    s->threads = o.threads ? o.threads : vg_base__cores();
    return vg_scorer_new(&s->scorer, s->shown.members, s->shown.classes, &o);
}

/* Memory that the scorer writes to; rows that are read in place need none. */
static vg_status make_means(vg_sets_data *s) {
    size_t values;
    if (s->mean)
        return VG_OK;
    if (!vg_base__mul(&values, s->rows, s->shown.classes))
        return vg_base__fail(VG_ERR_MEMORY, "%zu classes do not fit in memory", s->shown.classes);
    if (s->rule.score == VG_SET_SNR)
        VG_TRY(vg_base__alloc(&s->std, values, sizeof *s->std, "spreads"));
    if (!isnan(s->shown.gate))
        VG_TRY(vg_base__alloc(&s->gated, values, sizeof *s->gated, "gated means"));
    return vg_base__alloc(&s->mean, values, sizeof *s->mean, "means");
}

static vg_status make_room(vg_sets_data *s) {
    size_t C = s->shown.classes, A = s->shown.alpha_count, bytes = vg_sets__mask_bytes(s), scores, doubles;
    s->rows = PIECE_BYTES / sizeof(double) / C;
    s->rows = s->rows > 4096 ? 4096 : s->rows < CHUNK_ROWS ? CHUNK_ROWS : s->rows / CHUNK_ROWS * CHUNK_ROWS;
    s->long_rows = LONG_BYTES / sizeof(float) / C;
    s->long_rows = s->long_rows < s->rows ? s->rows : s->long_rows > LONG_ROWS ? LONG_ROWS : s->long_rows;
    s->longest_rows = LONGEST_BYTES / sizeof(float) / C;
    s->longest_rows = s->longest_rows < s->long_rows ? s->long_rows : s->longest_rows;
    if (!vg_base__mul(&doubles, s->threads, vg_set_room__doubles(C)) || !vg_base__mul(&scores, s->threads, C))
        return vg_base__fail(VG_ERR_MEMORY, "%zu classes do not fit in memory", C);
    VG_TRY(vg_base__alloc(&s->scores, scores, sizeof *s->scores, "scores"));
    VG_TRY(vg_base__alloc(&s->order, scores, sizeof *s->order, "ranks"));
    VG_TRY(vg_base__alloc(&s->memory, doubles, sizeof *s->memory, "rows"));
    VG_TRY(vg_base__alloc(&s->rooms, s->threads, sizeof *s->rooms, "rows"));
    for (size_t i = 0; i < s->threads; i++)
        s->rooms[i] = vg_set_room__at(s->memory + i * vg_set_room__doubles(C), C);
    VG_TRY(vg_base__alloc(&s->cells, s->long_rows, sizeof *s->cells, "cells"));
    VG_TRY(vg_base__alloc(&s->parts, s->long_rows, sizeof *s->parts, "parts of scores"));
    VG_TRY(vg_base__alloc(&s->mask, s->long_rows * A, bytes, "sets"));
    VG_TRY(vg_base__alloc(&s->size, s->long_rows, A * sizeof *s->size, "sizes of sets"));
    VG_TRY(vg_base__zalloc(&s->figures, A, sizeof *s->figures, "figures"));
    VG_TRY(vg_base__zalloc(&s->tallies, A, sizeof *s->tallies, "counts of sets"));
    for (size_t a = 0; a < A; a++)
        VG_TRY(vg_set_tally__new(&s->tallies[a], C));
    return VG_OK;
}

/* The first block gives the number of members and classes; later ones must have the same. */
static vg_status prepare(vg_sets_data *s, const vg_predictions *block) {
    vg_sets *shown = &s->shown;
    if ((shown->classes && shown->classes != block->c) || (shown->members && shown->members != block->m))
        return vg_base__fail(VG_ERR_DATA,
                             "%zu members and %zu classes, the thresholds are for %zu and %zu: what is calibrated on "
                             "one ensemble promises nothing about another",
                             block->m, block->c, shown->members, shown->classes);
    if (s->scorer)
        return VG_OK;
    shown->classes = block->c;
    shown->members = block->m;
    s->rule.classes = block->c;
    VG_TRY(make_scorer(s));
    return s->tallies ? VG_OK : make_room(s);
}

vg_status vg_sets__over_rows(vg_sets_data *s, const vg_sets_piece *piece, vg_pool_body body, void *context) {
    size_t count = (piece->rows + piece->chunk - 1) / piece->chunk;
    if (s->threads > 1 && count > 1 && !s->pool)
        VG_TRY(vg_pool__new(&s->pool, s->threads));
    if (s->pool)
        return vg_pool__run(s->pool, count, body, context);
    for (size_t i = 0; i < count; i++)
        VG_TRY(body(context, i, 0));
    return VG_OK;
}

/* --- blocks ------------------------------------------------------------------------------------------------------- */
static vg_predictions part_of(const vg_predictions *block, size_t first, size_t rows) {
    static const ptrdiff_t sizes[] = {4, 8, 2, 2};
    vg_predictions part = *block;
    part.data = (const char *)block->data + (ptrdiff_t)first * block->stride_n * sizes[block->dtype];
    part.n = rows;
    return part;
}

static vg_set_places places_from(const vg_set_places *out, size_t first, const vg_sets_data *s) {
    vg_set_places at = *out;
    size_t A = s->shown.alpha_count, C = s->shown.classes;
    at.mask = at.mask ? at.mask + first * A * vg_sets__mask_bytes(s) : NULL;
    at.size = at.size ? at.size + first * A : NULL;
    at.pred = at.pred ? at.pred + first * (s->shown.multilabel ? C : 1) : NULL;
    at.p_value = at.p_value ? at.p_value + first * C : NULL;
    at.value = at.value ? at.value + first * C : NULL;
    return at;
}

/* What a call feeds. */
typedef struct fed {
    const vg_set_places *out; /* NULL: calibration samples */
    const vg_predictions *block;
    const int64_t *labels;
    const char *const *groups;
} fed;

/* Rows first .. first + rows - 1, read where they lie or from their means. *refused: see vg_sets__apply. */
static vg_status feed_rows(vg_sets_data *s, const fed *all, size_t first, size_t rows, bool direct, bool *refused) {
    size_t width = s->shown.multilabel ? all->block->c : 1, chunk = CHUNK_BYTES / sizeof(float) / all->block->c;
    vg_predictions part = part_of(all->block, first, rows);
    vg_set_places here = all->out ? places_from(all->out, first, s) : (vg_set_places){0};
    vg_sets_piece piece = {rows,
                           direct && chunk > CHUNK_ROWS ? chunk : CHUNK_ROWS,
                           all->out ? s->tested : s->seen,
                           all->labels ? all->labels + first * width : NULL,
                           all->groups ? all->groups + first : NULL,
                           all->out ? &here : NULL,
                           direct ? &part : NULL};
    if (!direct) {
        VG_TRY(make_means(s));
        vg_scores places = {.mean = s->mean, .std = s->std};
        vg_scorer__set_gated_means(s->scorer, s->gated);
        vg_scorer__count_from(s->scorer, piece.first);
        VG_TRY(vg_scorer_feed(s->scorer, &places, &part, NULL));
    }
    VG_TRY(all->out ? vg_sets__apply(s, &piece, refused) : vg_sets__calibrate(s, &piece, refused));
    if (!*refused)
        *(all->out ? &s->tested : &s->seen) += rows;
    return VG_OK;
}

/* Whether each row of a piece needs memory of the object's own: parts of scores, groups, or sets that are only
 * counted. */
static bool needs_scratch(const vg_sets_data *s, const vg_set_places *out) {
    return out ? s->shown.by == VG_SETS_BY_GROUP || !out->mask || !out->size : s->needs_tuning;
}

static vg_status feed_block(vg_sets_data *s, const fed *all) {
    size_t n = all->block->n, step;
    for (size_t first = 0; first < n; first += step) {
        bool direct = vg_sets__reads_directly(s, all->block), refused = true;
        step = !direct ? s->rows : needs_scratch(s, all->out) ? s->long_rows : s->longest_rows;
        step = n - first < step ? n - first : step;
        if (direct)
            VG_TRY(feed_rows(s, all, first, step, true, &refused));
        for (size_t at = first; refused && at < first + step; at += s->rows) {
            bool never;
            size_t left = first + step - at;
            VG_TRY(feed_rows(s, all, at, left < s->rows ? left : s->rows, false, &never));
        }
    }
    return VG_OK;
}

/* Starts the test samples again: figures, and the numbers on which draws depend. */
static void restart(vg_sets_data *s) {
    s->shown.samples = s->shown.labelled = s->unseen_groups = s->tested = s->shown.left_out = s->shown.images = 0;
    s->shown.figures = NULL;
    for (size_t a = 0; s->tallies && a < s->shown.alpha_count; a++) {
        vg_set_tally *t = &s->tallies[a];
        memset(t->size, 0, 4 * (t->classes + 1) * sizeof *t->size); /* one allocation: set_tally.c */
        t->samples = t->labelled = 0;
        t->loss = t->squares = 0;
        t->units = (vg_set_units){0};
    }
}

vg_status vg_sets__feed(vg_sets_data *s, const vg_set_places *out, const vg_predictions *block, const int64_t *labels,
                        const char *const *groups) {
    vg_scores some = {0};
    if (!block && out)
        restart(s);
    if (!block)
        return out ? VG_OK : vg_sets__settle(s);
    if (!out && s->settled)
        return vg_base__fail(VG_ERR_ARGUMENT, "the calibration has ended, thresholds are computed: more calibration "
                                              "samples need new prediction sets");
    VG_TRY(vg_measures__check_block(&some, block, block->m, block->c));
    if (s->shown.by == VG_SETS_BY_GROUP && !groups && block->n)
        return vg_base__fail(VG_ERR_ARGUMENT, "thresholds by group need the group of every sample");
    if (out && out->p_value && (!s->p_values || s->loaded))
        return vg_base__fail(VG_ERR_ARGUMENT, s->loaded ? "p-values need calibration scores, which a file of "
                                                          "thresholds does not hold"
                                                        : "p-values need the option p_values");
    VG_TRY(prepare(s, block));
    if (out && out->sites && s->shown.multilabel)
        return refuse_sites();
    if (out)
        VG_TRY(vg_sets__settle(s));
    s->sites = out && out->sites ? out->sites : s->sites;
    return feed_block(s, &(fed){out, block, labels, groups});
}

void vg_sets__read_logits(vg_sets_data *s, bool logits) {
    if ((s->scoring.logits != 0) == logits)
        return;
    vg_scorer_free(s->scorer);
    s->scorer = NULL;
    s->scoring.logits = logits;
    s->scoring.temperature = logits ? s->temperature : NULL;
}

void vg_sets__figure(vg_sets_data *s) {
    if (s->shown.samples == 0)
        return;
    for (size_t a = 0; a < s->shown.alpha_count; a++) {
        vg_set_figures *f = &s->figures[a];
        vg_set_tally__figures(f, &s->tallies[a], s->shown.multilabel, s->shown.confidence);
        if (s->sites)
            s->shown.images = vg_set_tally__unit_figures(f, &s->tallies[a], s->shown.confidence);
        f->alpha = s->alphas[a];
        if (s->shown.cell_count == 1 && !s->shown.multilabel && !s->shown.by_image)
            vg_set__beta_law(&f->expected_low, &f->expected_high, s->shown.calibrated, f->alpha, s->shown.confidence);
    }
    s->shown.figures = s->figures;
}
