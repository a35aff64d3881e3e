/* select.c - a threshold chosen on validation data: the largest coverage at a bounded risk, or the most selective
 * threshold at a coverage.
 *
 * Everything runs on uncertainties u (a certainty or margin ratio v is -v) and keeps rows with u < t. Grid points are
 * ordered from the most selective. The hypothesis of point j, "the risk exceeds the target", is rejected at level a_j
 * when its p-value (bounds.c) is at most a_j. How the levels a_j share 1 - confidence, or one candidate's part a of it:
 *     Bonferroni   a_j = a / G
 *     sequence     a_j = [j is one of S starts] a / S + [j - 1 was rejected] a_{j-1}      (the fallback procedure)
 * docs/evaluation.md says why each is valid. */
#include <float.h>
#include <stdlib.h>

#include "evaluate/bounds.h"
#include "evaluate/rule.h"
#include "evaluate/select_internal.h"

enum { QUANTILES = 40, QUANTILE_STARTS = 3, POINTS_PER_START = 4, MOST_SET_ASIDE = 1000, SHARE_SET_ASIDE = 5 };

size_t vg_evaluate__usual_aside(size_t samples) {
    size_t usual = samples / SHARE_SET_ASIDE;
    return usual > MOST_SET_ASIDE ? MOST_SET_ASIDE : usual > 0 ? usual : 1;
}

/* One candidate, prepared for its tests. */
typedef struct contest {
    const vg_candidate *candidate;
    const vg_select_options *o;
    const uint8_t *marks; /* samples: 1 = set aside by the caller, not tested; NULL: none is */
    double alpha;         /* its part of 1 - confidence */
    double *values;       /* rows: u */
    bool negated;
    vg_grid_source source;
    vg_sample_units units;
    vg_threshold_grid grid;
    vg_tested_rows tested;
} contest;

static double as_uncertainty(double value, bool negated) { return negated ? -value : value; }

/* --- preparing ---------------------------------------------------------------------------------------------------- */
static vg_status load_values(contest *c, size_t rows) {
    const vg_measure *m = &c->candidate->measure;
    VG_TRY(vg_base__alloc(&c->values, rows, sizeof *c->values, "values of a measure"));
    for (size_t i = 0; i < rows; i++) {
        double value = m->values[i * m->stride];
        if (isnan(value))
            return vg_base__fail(VG_ERR_DATA, "select: value %zu of measure %s is NaN", i, m->name);
        c->values[i] = as_uncertainty(value, c->negated);
    }
    return VG_OK;
}

/* Whether the unlabelled values are the validation values themselves; they are then not independent of them. */
static bool is_same_data(const contest *c, size_t rows) {
    const vg_candidate *d = c->candidate;
    size_t stride = d->unlabelled_stride ? d->unlabelled_stride : 1, i = 0;
    if (d->unlabelled_rows != rows)
        return false;
    while (i < rows && as_uncertainty(d->unlabelled[i * stride], c->negated) == c->values[i])
        i++;
    return i == rows;
}

static vg_status grid_from_unlabelled(contest *c, size_t points) {
    const vg_candidate *d = c->candidate;
    size_t stride = d->unlabelled_stride ? d->unlabelled_stride : 1;
    double *copy;
    VG_TRY(vg_base__alloc(&copy, d->unlabelled_rows, sizeof *copy, "values to be decided"));
    vg_status status = VG_OK;
    for (size_t i = 0; i < d->unlabelled_rows && status == VG_OK; i++) {
        copy[i] = as_uncertainty(d->unlabelled[i * stride], c->negated);
        if (isnan(copy[i]))
            status =
                vg_base__fail(VG_ERR_DATA, "select: unlabelled value %zu of measure %s is NaN", i, d->measure.name);
    }
    if (status == VG_OK)
        status = vg_evaluate__quantile_grid(&c->grid, copy, d->unlabelled_rows, points, d->rule != 0);
    vg_base__release(copy);
    c->source = VG_GRID_UNLABELLED;
    return status;
}

/* Draws the samples to set aside, unless the caller has. */
static vg_status set_samples_aside(contest *c) {
    vg_sample_units *units = &c->units;
    size_t aside = c->o->set_aside ? c->o->set_aside : vg_evaluate__usual_aside(units->samples);
    if (c->marks)
        return VG_OK;
    if (aside >= units->samples)
        return vg_base__fail(VG_ERR_DATA,
                             "select: %zu of %zu validation samples are set aside to place thresholds: none is left",
                             aside, units->samples);
    return vg_evaluate__units_shuffle(units, aside, c->o->seed);
}

static vg_status grid_from_aside(contest *c, size_t points) {
    vg_sample_units *units = &c->units;
    VG_TRY(set_samples_aside(c));
    size_t aside = units->aside;
    double *copy;
    size_t count = 0;
    VG_TRY(vg_base__alloc(&copy, units->rows, sizeof *copy, "values set aside"));
    for (size_t i = 0; i < units->rows; i++)
        if (vg_evaluate__place(units, i) < aside)
            copy[count++] = c->values[i];
    vg_status status = vg_evaluate__quantile_grid(&c->grid, copy, count, points, c->candidate->rule != 0);
    vg_base__release(copy);
    c->source = VG_GRID_SET_ASIDE;
    return status;
}

static vg_status prepare(contest *c, size_t rows) {
    const vg_select_options *o = c->o;
    c->negated = c->candidate->rule || c->candidate->measure.certainty;
    VG_TRY(vg_evaluate__units_open(&c->units, rows, o));
    VG_TRY(load_values(c, rows));
    if (c->marks)
        VG_TRY(vg_evaluate__units_mark(&c->units, c->marks, o->seed));
    size_t points = o->grid_count ? o->grid_count : QUANTILES;
    if (o->grid) {
        c->source = VG_GRID_GIVEN;
        VG_TRY(vg_evaluate__given_grid(&c->grid, o, c->negated, c->candidate->rule != 0));
    } else if (!(o->target_coverage > 0)) { /* a coverage has one threshold */
        bool other = c->candidate->unlabelled && c->candidate->unlabelled_rows > 0 && !is_same_data(c, rows);
        VG_TRY(other ? grid_from_unlabelled(c, points) : grid_from_aside(c, points));
    }
    if (c->units.several && !c->units.place)
        VG_TRY(vg_evaluate__units_shuffle(&c->units, 0, o->seed));
    return vg_evaluate__tested_new(&c->tested, &c->units, c->values, c->candidate->errors, &c->grid);
}

static void release(contest *c) {
    vg_evaluate__tested_free(&c->tested);
    vg_evaluate__grid_free(&c->grid);
    vg_evaluate__units_close(&c->units);
    vg_base__release(c->values);
}

/* --- testing ------------------------------------------------------------------------------------------------------ */
typedef struct plan {
    double target, share; /* the level of each start */
    double tuned;         /* the level for which bets are tuned */
    vg_multiplicity method;
    size_t starts; /* of the sequence; 0: every point has its share */
    double first;  /* samples that the first start should keep */
} plan;

static plan make_plan(const contest *c, double target) {
    size_t g = c->grid.count;
    plan p = {.target = target, .method = c->o->multiplicity};
    if (p.method == VG_MULTIPLICITY_AUTO)
        p.method = VG_MULTIPLICITY_SEQUENCE;
    if (p.method == VG_MULTIPLICITY_SEQUENCE) {
        p.starts = c->o->starts    ? c->o->starts
                   : c->grid.share ? QUANTILE_STARTS
                                   : (g + POINTS_PER_START - 1) / POINTS_PER_START;
        p.starts = p.starts > g ? g : p.starts;
    }
    p.share = p.method == VG_MULTIPLICITY_NONE ? c->alpha : c->alpha / (double)(p.starts ? p.starts : g ? g : 1);
    p.tuned = p.share / 2;
    p.first = 1.1 * (double)vg_evaluate__fewest(target, p.share, c->units.several);
    return p;
}

/* The grid point of start s >= 0; the previous start is at `before` - 1. On a given grid starts are spread evenly.
 * On quantiles they begin where a test can pass (a few more samples than pass without an error) and grow by equal
 * factors up to all. The number of samples that a point keeps follows from the values that placed the grid, not from
 * the tested validation samples. */
static size_t start_at(const plan *p, const contest *c, size_t s, size_t before) {
    size_t g = c->grid.count, j = before;
    if (s >= p->starts)
        return g;
    size_t last = g - (p->starts - s);
    double all = (double)c->tested.samples;
    if (!c->grid.share || p->first > all) /* none can pass: these are tested for the message */
        return s * g / p->starts;
    double wanted = p->first * pow(all / p->first, (double)s / (double)p->starts);
    while (j < last && c->grid.share[j] * all < wanted)
        j++;
    return j;
}

/* What a point keeps. With several rows per sample its losses are in c->tested.losses afterwards. */
typedef struct outcome {
    size_t answered;
    double risk, p;
} outcome;

static outcome test_point(contest *c, size_t j, const plan *p) {
    size_t kept = c->tested.kept[j], errors = c->tested.errors[j];
    if (!c->units.several) {
        outcome o = {kept, kept ? (double)errors / (double)kept : NAN, 1};
        o.p = kept ? vg_evaluate__binomial_cdf((double)errors, (double)kept, p->target) : 1;
        return o;
    }
    outcome o = {vg_evaluate__losses_at(&c->tested, j), 0, 1};
    for (size_t i = 0; i < o.answered; i++)
        o.risk += c->tested.losses[i];
    o.risk = o.answered ? o.risk / (double)o.answered : NAN;
    o.p = vg_evaluate__bounded_p(c->tested.losses, o.answered, p->target, p->tuned);
    return o;
}

static double point_bound(const contest *c, size_t j, const outcome *found, double level, double tuned) {
    return c->units.several ? vg_evaluate__bounded_upper(c->tested.losses, found->answered, level, tuned)
                            : vg_bounds__clopper_pearson(c->tested.errors[j], c->tested.kept[j], 1 - level);
}

static void describe(vg_selection *out, const contest *c, size_t j, const outcome *found) {
    out->threshold = as_uncertainty(c->grid.threshold[j], c->negated);
    out->kept = c->tested.kept[j];
    out->errors = c->tested.errors[j];
    out->coverage = c->tested.rows ? (double)out->kept / (double)c->tested.rows : 0;
    out->risk = found->risk;
    out->answered = found->answered;
}

/* Tests point j; true when it passes. `out` becomes this point where it is better. */
static bool try_point(vg_selection *out, contest *c, size_t j, double level, const plan *p) {
    outcome found = test_point(c, j, p);
    bool passed = found.p <= level;
    if (!passed && out->met)
        return false;
    double bound = point_bound(c, j, &found, level, p->tuned);
    /* p-value and bound agree up to rounding; the test is by the p-value. */
    bound = passed ? fmin(bound, p->target) : fmax(bound, nextafter(p->target, 1));
    if (!passed && !(bound < out->risk_bound))
        return false;
    describe(out, c, j, &found);
    out->risk_bound = bound;
    out->level = level;
    out->met = passed;
    out->bound = !c->units.several ? VG_BOUND_CLOPPER_PEARSON
                                   : vg_evaluate__bounded_kind(c->tested.losses, found.answered, bound, p->tuned);
    return passed;
}

/* Validation samples at which the risk of the most promising point would meet the target; 0 when no number would. */
static size_t samples_needed(contest *c, const plan *p) {
    double least = INFINITY, all = (double)c->units.samples / (double)c->tested.samples;
    for (size_t j = 0; j < c->grid.count; j++) {
        outcome found = test_point(c, j, p);
        /* Half an error more, because none found does not mean that there are none, but at most half the distance to
         * the target. */
        double answered = (double)found.answered, risk = (found.risk * answered + 0.5) / (answered + 1);
        double half = (found.risk + p->target) / 2;
        risk = !(found.risk < p->target) ? 1 : risk < half ? risk : half;
        double needed = vg_evaluate__samples_for(risk, p->target, p->share, c->units.several);
        needed *= (double)c->tested.samples / answered * all;
        least = needed < least ? needed : least;
    }
    double more = 1.1 * (double)c->units.samples; /* the current samples were not enough */
    return least < 1e15 ? (size_t)ceil(least > more ? least : more) : 0;
}

static void bounded_risk(vg_selection *out, contest *c, double target) {
    plan p = make_plan(c, target);
    double carried = 0;
    size_t s = 0, start = p.starts ? start_at(&p, c, 0, 0) : 0;
    out->risk_bound = INFINITY;
    for (size_t j = 0; j < c->grid.count; j++) {
        double level = (p.starts == 0 || j == start ? p.share : 0) + carried;
        if (p.starts && j == start)
            start = start_at(&p, c, ++s, j + 1);
        carried = 0;
        if (!(level > 0)) /* without a share of the level it is not tested */
            continue;
        out->tested++;
        if (try_point(out, c, j, level, &p) && p.starts)
            carried = level;
    }
    out->starts = p.starts;
    out->multiplicity = p.method;
    out->target_risk = target;
    out->fewest = vg_evaluate__fewest(target, p.share, c->units.several);
    if (c->grid.count == 0) { /* all margins are 0: no k keeps anything */
        out->threshold = DBL_MIN;
        out->risk_bound = 1;
        out->risk = NAN;
        out->level = p.share;
    }
    if (!out->met)
        out->needed = samples_needed(c, &p);
}

/* --- target coverage ---------------------------------------------------------------------------------------------- */

/* Rows of sorted keys with u < t. */
static size_t kept_below(const uint64_t *keys, size_t rows, double t) {
    uint64_t key = vg_evaluate__key(t);
    size_t low = 0, high = rows;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (keys[middle] < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The most selective threshold that keeps at least `wanted` of the sorted rows and those tied with the last of them:
 * a decimal of few digits between that row and the next. */
static double share_threshold(const contest *c, const uint64_t *keys, size_t wanted) {
    size_t rows = c->units.rows;
    bool rule = c->candidate->rule != 0;
    if (c->grid.count > 0) {
        size_t j = 0;
        while (j + 1 < c->grid.count && kept_below(keys, rows, c->grid.threshold[j]) < wanted)
            j++;
        return c->grid.threshold[j];
    }
    size_t possible = rule ? kept_below(keys, rows, 0) : rows; /* no k > 0 keeps a ratio of 0 */
    if (possible == 0)
        return -DBL_MIN;
    double last = vg_evaluate__unkey(keys[(wanted < possible ? wanted : possible) - 1]);
    size_t kept = kept_below(keys, rows, nextafter(last, INFINITY));
    double next = kept < rows ? vg_evaluate__unkey(keys[kept]) : rule ? 0 : (double)INFINITY;
    return last == (double)INFINITY ? last : vg_evaluate__threshold_between(last, next, rule);
}

static vg_status kept_share(vg_selection *out, contest *c) {
    size_t rows = c->units.rows, wanted = (size_t)ceil(c->o->target_coverage * (double)rows - 1e-6);
    uint64_t *keys;
    wanted = wanted < 1 ? 1 : wanted;
    VG_TRY(vg_base__alloc(&keys, 2 * rows, sizeof *keys, "keys to sort"));
    for (size_t i = 0; i < rows; i++)
        keys[i] = vg_evaluate__key(c->values[i]);
    vg_evaluate__sort_keys(keys, keys + rows, rows);
    double t = share_threshold(c, keys, wanted);
    vg_base__release(keys);
    vg_threshold_grid one = {1, &t, NULL};
    vg_evaluate__tested_free(&c->tested);
    VG_TRY(vg_evaluate__tested_new(&c->tested, &c->units, c->values, c->candidate->errors, &one));
    plan p = {.target = 0.5, .tuned = c->alpha / 2};
    outcome found = test_point(c, 0, &p);
    size_t points = c->grid.count;
    vg_threshold_grid own = c->grid;
    c->grid = one;
    describe(out, c, 0, &found);
    c->grid = own;
    out->level = c->alpha;
    out->risk_bound = point_bound(c, 0, &found, c->alpha, p.tuned);
    out->bound = c->units.several
                     ? vg_evaluate__bounded_kind(c->tested.losses, found.answered, out->risk_bound, p.tuned)
                     : VG_BOUND_CLOPPER_PEARSON;
    out->met = out->kept >= wanted;
    out->grid_count = points;
    out->multiplicity = VG_MULTIPLICITY_NONE;
    return VG_OK;
}

/* --- calls -------------------------------------------------------------------------------------------------------- */
enum { FIRST_SELECTION = offsetof(vg_selection, samples) }; /* the size of the struct in the first release */

/* A full copy of the options; fields that an older caller lacks take their defaults. */
static vg_status read_options(vg_select_options *o, const vg_select_options *given) {
    static const vg_select_options defaults = VG_SELECT_OPTIONS_INIT;
    if (!given)
        return vg_base__fail(VG_ERR_ARGUMENT, "select: options must not be NULL");
    VG_TRY(vg_base__take_options(o, given, &defaults, sizeof *o, "vg_select_options"));
    if ((o->target_risk != 0) == (o->target_coverage != 0))
        return vg_base__fail(VG_ERR_ARGUMENT,
                             "select: target risk %g and target coverage %g, expected exactly one of them",
                             o->target_risk, o->target_coverage);
    if (o->target_risk != 0 && !(o->target_risk > 0 && o->target_risk < 1))
        return vg_base__fail(VG_ERR_ARGUMENT, "select: target risk %g, expected above 0 and below 1", o->target_risk);
    if (o->target_coverage != 0 && !(o->target_coverage > 0 && o->target_coverage <= 1))
        return vg_base__fail(VG_ERR_ARGUMENT, "select: target coverage %g, expected above 0 and at most 1",
                             o->target_coverage);
    if (!(o->confidence > 0 && o->confidence < 1))
        return vg_base__fail(VG_ERR_ARGUMENT, "select: confidence %g, expected above 0 and below 1", o->confidence);
    if ((unsigned)o->multiplicity > VG_MULTIPLICITY_NONE)
        return vg_base__fail(VG_ERR_ARGUMENT, "select: unknown multiplicity %d", (int)o->multiplicity);
    return VG_OK;
}

static vg_status check_candidate(const vg_candidate *c, size_t rows) {
    if (!c->measure.values || !c->errors)
        return vg_base__fail(VG_ERR_ARGUMENT, "select: values and errors of a candidate must not be NULL");
    if (rows == 0)
        return vg_base__fail(VG_ERR_DATA, "select: no validation rows");
    return VG_OK;
}

static vg_status check_result(const vg_selection *out) {
    if (!out)
        return vg_base__fail(VG_ERR_ARGUMENT, "select: out must not be NULL");
    if (out->struct_size < FIRST_SELECTION || out->struct_size > sizeof *out)
        return vg_base__fail(VG_ERR_ARGUMENT, "select: a result of size %zu, expected %zu to %zu", out->struct_size,
                             (size_t)FIRST_SELECTION, sizeof *out);
    return VG_OK;
}

/* Copies a result to the caller, up to the size of the caller's struct. */
static void copy_result(vg_selection *out, const vg_selection *found) {
    size_t size = out->struct_size;
    memcpy(out, found, size);
    out->struct_size = size;
}

static void fill_common(vg_selection *s, const contest *c, size_t candidates) {
    *s = (vg_selection)VG_SELECTION_INIT;
    s->rows = c->tested.rows;
    s->samples = c->tested.samples;
    s->set_aside = c->units.aside;
    s->grid_count = c->grid.count;
    s->source = c->source;
    s->candidates = candidates;
    s->confidence = c->o->confidence;
}

/* Whether `a` is a better answer than `b`. */
static bool is_better(const vg_selection *a, const vg_selection *b) {
    if (a->met != b->met)
        return a->met;
    return a->met ? a->coverage > b->coverage : a->risk_bound < b->risk_bound;
}

static vg_status run_candidates(vg_selection *best, size_t *chosen, const vg_candidate *list, size_t count, size_t rows,
                                const vg_select_options *o, const uint8_t *marks) {
    size_t tested = 0, needed = 0;
    for (size_t i = 0; i < count; i++) {
        VG_TRY(check_candidate(&list[i], rows));
        contest c = {.candidate = &list[i], .o = o, .marks = marks, .alpha = (1 - o->confidence) / (double)count};
        vg_selection s;
        vg_status status = prepare(&c, rows);
        if (status == VG_OK) {
            fill_common(&s, &c, count);
            if (o->target_risk > 0)
                bounded_risk(&s, &c, o->target_risk);
            else
                status = kept_share(&s, &c);
        }
        release(&c);
        VG_TRY(status);
        tested += s.tested;
        needed = s.needed && (!needed || s.needed < needed) ? s.needed : needed;
        if (i == 0 || is_better(&s, best)) {
            *best = s;
            *chosen = i;
        }
    }
    best->tested = tested;
    best->needed = best->met ? 0 : needed;
    return VG_OK;
}

vg_status vg_evaluate__select_marked(vg_selection *out, size_t *chosen, const vg_candidate *candidates, size_t count,
                                     size_t rows, const vg_select_options *options, const uint8_t *marks) {
    vg_select_options o;
    vg_selection found = VG_SELECTION_INIT;
    size_t which = 0;
    VG_TRY(check_result(out));
    VG_TRY(read_options(&o, options));
    if (!candidates || count == 0)
        return vg_base__fail(VG_ERR_ARGUMENT, "select: no candidates");
    if (count > 1 && (o.grid || o.target_coverage > 0))
        return vg_base__fail(VG_ERR_ARGUMENT,
                             "select: several candidates with a %s; expected a target risk and no grid",
                             o.grid ? "grid" : "target coverage");
    VG_TRY(run_candidates(&found, &which, candidates, count, rows, &o, marks));
    copy_result(out, &found);
    if (chosen)
        *chosen = which;
    return VG_OK;
}

vg_status vg_select_among(vg_selection *out, size_t *chosen, const vg_candidate *candidates, size_t count, size_t rows,
                          const vg_select_options *options) {
    return vg_evaluate__select_marked(out, chosen, candidates, count, rows, options, NULL);
}

static vg_status select_one(vg_selection *out, vg_candidate *one, size_t rows, const vg_select_options *options) {
    vg_select_options o;
    VG_TRY(read_options(&o, options));
    one->unlabelled = o.unlabelled;
    one->unlabelled_rows = o.unlabelled_rows;
    one->unlabelled_stride = o.unlabelled_stride;
    return vg_select_among(out, NULL, one, 1, rows, &o);
}

vg_status vg_select_threshold(vg_selection *out, const vg_measure *measure, const uint8_t *errors, size_t rows,
                              const vg_select_options *options) {
    if (!measure)
        return vg_base__fail(VG_ERR_ARGUMENT, "vg_select_threshold: measure must not be NULL");
    vg_candidate one = {.measure = *measure, .errors = errors};
    return select_one(out, &one, rows, options);
}

vg_status vg_select_k(vg_selection *out, const double *ratio, const uint8_t *errors, size_t rows,
                      const vg_select_options *options) {
    vg_candidate one = {.measure = {"margin ratio", ratio, 1, 1}, .rule = 1, .errors = errors};
    return select_one(out, &one, rows, options);
}

vg_status vg_select__k_targets(vg_selection *out, const double *targets, size_t count, const double *ratio,
                               const uint8_t *errors, size_t rows, const vg_select_options *options) {
    static const vg_select_options defaults = VG_SELECT_OPTIONS_INIT;
    vg_select_options asked, o = defaults;
    vg_candidate one = {.measure = {"margin ratio", ratio, 1, 1}, .rule = 1, .errors = errors};
    if (!options || !targets || !out)
        return vg_base__fail(VG_ERR_ARGUMENT, "select: out, targets and options must not be NULL");
    VG_TRY(vg_base__take_options(&asked, options, &defaults, sizeof asked, "vg_select_options"));
    for (size_t i = 0; i < count; i++) {
        asked.target_risk = targets[i];
        VG_TRY(read_options(&o, &asked));
        VG_TRY(check_result(&out[i]));
    }
    if (count == 0)
        return VG_OK;
    VG_TRY(check_candidate(&one, rows));
    one.unlabelled = o.unlabelled;
    one.unlabelled_rows = o.unlabelled_rows;
    one.unlabelled_stride = o.unlabelled_stride;
    contest c = {.candidate = &one, .o = &o, .alpha = 1 - o.confidence};
    vg_status status = prepare(&c, rows);
    for (size_t i = 0; i < count && status == VG_OK; i++) {
        vg_selection s;
        fill_common(&s, &c, 1);
        bounded_risk(&s, &c, targets[i]);
        copy_result(&out[i], &s);
    }
    release(&c);
    return status;
}
