/* select.c - a threshold chosen on validation data: the largest coverage at a bounded risk, or the most selective threshold at
 * a coverage.
 *
 * Everything runs on uncertainties u (a certainty or margin ratio v is -v) and keeps rows with u < t. Grid points are ordered
 * from the most selective. Point j keeps n_j rows with e_j errors; its hypothesis "the risk exceeds the target" is rejected at
 * level a_j when the Clopper-Pearson upper bound at 1 - a_j is at most the target. How the levels a_j share 1 - confidence:
 *     Bonferroni   a_j = a / G
 *     sequence     a_j = [j is one of S starts] a / S + [j - 1 was rejected] a_{j-1}      (the fallback procedure)
 * docs/evaluation.md says why each is valid and when. */
#include <float.h>
#include <stdlib.h>

#include "evaluate/evaluate_internal.h"

enum { DEFAULT_KS = 121, DEFAULT_QUANTILES = 40, DECADES = 6, POINTS_PER_START = 4 };

typedef struct validation {
    size_t rows;
    bool rule;        /* thresholds are ks */
    bool negated;     /* values are certainties */
    uint64_t *keys;   /* of u, rising */
    uint32_t *errors; /* rows + 1: errors among the first i */
} validation;

static vg_status load(validation *v, const vg_measure *measure, const uint8_t *errors, size_t rows) {
    vg_keyed *pairs = NULL;
    size_t both;
    if (rows > UINT32_MAX || !vg_base__mul(&both, rows, 2))
        return vg_base__fail(VG_ERR_ARGUMENT, "select: %zu rows, at most %u", rows, UINT32_MAX);
    VG_TRY(vg_base__alloc(&v->keys, rows, sizeof *v->keys, "sorted values"));
    VG_TRY(vg_base__alloc(&v->errors, rows + 1, sizeof *v->errors, "counts of errors"));
    VG_TRY(vg_base__alloc(&pairs, both, sizeof *pairs, "keys to sort"));
    v->rows = rows;
    v->negated = measure->certainty != 0;
    for (size_t i = 0; i < rows; i++) {
        double value = measure->values[i * measure->stride];
        if (isnan(value)) {
            vg_base__release(pairs);
            return vg_base__fail(VG_ERR_DATA, "select: value %zu of measure %s is NaN", i, measure->name);
        }
        pairs[i] = (vg_keyed){vg_evaluate__key(v->negated ? -value : value), errors[i] != 0};
    }
    vg_evaluate__sort_pairs(pairs, pairs + rows, rows, NULL, 0);
    v->errors[0] = 0;
    for (size_t i = 0; i < rows; i++) {
        v->keys[i] = pairs[i].key;
        v->errors[i + 1] = v->errors[i] + pairs[i].row;
    }
    vg_base__release(pairs);
    return VG_OK;
}

/* Rows with u < t. */
static size_t kept_below(const validation *v, double t) {
    uint64_t key = vg_evaluate__key(t);
    size_t low = 0, high = v->rows;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (v->keys[middle] < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Point j of g on the data's own quantiles: rows strictly below the value of a rank are kept, at the last point all rows. The
 * ranks run evenly from the fewest rows that, without an error, could meet the target. They depend on nothing but N and the
 * options, as the bounds' validity needs. */
static double quantile_point(const validation *v, const vg_select_options *o, size_t j, size_t g) {
    double rows = (double)v->rows, least = 0;
    if (o->target_risk > 0)
        least = ceil(log((1 - o->confidence) / (double)g) / log1p(-o->target_risk));
    if (!(least < rows))
        least = 0;
    if (j + 1 == g)
        return INFINITY;
    size_t rank = (size_t)(least + (rows - least) * ((double)(least > 0 ? j : j + 1) / (double)(least > 0 ? g - 1 : g)));
    return vg_evaluate__unkey(v->keys[rank < v->rows ? rank : v->rows - 1]);
}

/* Thresholds on u, most selective first. */
static vg_status make_grid(double **out, size_t *count, const validation *v, const vg_select_options *o) {
    size_t g = o->grid_count;
    if (!o->grid)
        g = g ? g : v->rule ? (size_t)DEFAULT_KS : (size_t)DEFAULT_QUANTILES;
    if (!o->grid && !v->rule && g > v->rows)
        g = v->rows;
    if (g == 0)
        return vg_base__fail(VG_ERR_ARGUMENT, "select: the grid is empty");
    double *grid;
    VG_TRY(vg_base__alloc(&grid, g, sizeof *grid, "grid of thresholds"));
    for (size_t j = 0; j < g; j++) {
        if (o->grid)
            grid[j] = v->negated ? -o->grid[j] : o->grid[j];
        else if (v->rule)
            grid[j] = g > 1 ? -pow(10, DECADES * (double)(g - 1 - j) / (double)(g - 1) - 2) : -1;
        else
            grid[j] = quantile_point(v, o, j, g);
        if (isnan(grid[j]) || (v->rule && !(grid[j] < 0 && isfinite(grid[j])))) {
            double found = o->grid ? o->grid[j] : -grid[j];
            vg_base__release(grid);
            return vg_base__fail(VG_ERR_ARGUMENT, "select: grid point %zu is %g, expected a %s", j, found,
                                 v->rule ? "positive k" : "number");
        }
    }
    qsort(grid, g, sizeof *grid, compare_doubles);
    *out = grid;
    *count = g;
    return VG_OK;
}

static void describe(vg_selection *out, const validation *v, double t, double level) {
    out->threshold = v->negated ? -t : t;
    out->rows = v->rows;
    out->kept = kept_below(v, t);
    out->errors = v->errors[out->kept];
    out->coverage = (double)out->kept / (double)v->rows;
    out->risk = out->kept ? (double)out->errors / (double)out->kept : NAN;
    out->level = level;
    out->risk_bound = vg_clopper_pearson_upper(out->errors, out->kept, 1 - level);
}

/* Whether grid point j is where the sequence starts anew. */
static bool is_start(size_t j, size_t g, size_t starts) {
    size_t s = (j * starts + g - 1) / g; /* the first start at or after j */
    return s < starts && s * g / starts == j;
}

static void bounded_risk(vg_selection *out, const validation *v, const double *grid, size_t g, const vg_select_options *o) {
    double alpha = 1 - o->confidence, carried = 0;
    vg_multiplicity method = o->multiplicity;
    if (method == VG_MULTIPLICITY_AUTO)
        method = o->grid || v->rule ? VG_MULTIPLICITY_SEQUENCE : VG_MULTIPLICITY_BONFERRONI;
    size_t starts = 0;
    if (method == VG_MULTIPLICITY_SEQUENCE) {
        starts = o->starts ? o->starts : (g + POINTS_PER_START - 1) / POINTS_PER_START;
        starts = starts > g ? g : starts;
    }
    double share = method == VG_MULTIPLICITY_NONE ? alpha : alpha / (double)(starts ? starts : g);
    vg_selection best = *out, here = *out;
    best.risk_bound = INFINITY;
    for (size_t j = 0; j < g; j++) {
        bool start = starts == 0 || is_start(j, g, starts);
        double level = (start ? share : 0) + carried;
        if (!(level > 0)) { /* no share of the level: not tested */
            carried = 0;
            continue;
        }
        describe(&here, v, grid[j], level);
        bool passed = here.risk_bound <= o->target_risk;
        carried = passed && starts ? level : 0;
        if (passed || (!best.met && here.risk_bound < best.risk_bound)) {
            best = here;
            best.met = passed;
        }
    }
    *out = best;
    out->grid_count = g;
    out->starts = starts;
    out->multiplicity = method;
}

/* A threshold that keeps the first `count` >= 1 rows and those tied with the last of them. A measure is compared with it as it
 * is here: just above the last. The rule compares mu_i - k sigma_i with mu_j + k sigma_j, which rounds otherwise than the
 * ratio: k lies in the middle between the last that stays and the next. */
static double threshold_after(const validation *v, size_t count) {
    double last = vg_evaluate__unkey(v->keys[count - 1]), t = nextafter(last, INFINITY);
    if (!v->rule || isinf(last))
        return t;
    size_t kept = kept_below(v, t);
    double next = kept < v->rows ? vg_evaluate__unkey(v->keys[kept]) : 0, middle = last + (next - last) / 2;
    return middle > last ? middle : t;
}

/* The most selective threshold that keeps at least `wanted` rows. */
static void kept_share(vg_selection *out, const validation *v, const double *grid, size_t g, size_t wanted, double alpha) {
    double t;
    if (g > 0) {
        size_t j = 0;
        while (j + 1 < g && kept_below(v, grid[j]) < wanted)
            j++;
        t = grid[j];
    } else {
        size_t possible = v->rule ? kept_below(v, 0) : v->rows; /* no k > 0 keeps a ratio of 0 */
        t = possible ? threshold_after(v, wanted < possible ? wanted : possible) : -DBL_MIN;
        if (v->rule && !(t < 0))
            t = -DBL_TRUE_MIN;
    }
    describe(out, v, t, alpha);
    out->met = out->kept >= wanted;
    out->grid_count = g;
    out->multiplicity = VG_MULTIPLICITY_NONE;
}

static vg_status check(const vg_selection *out, const vg_measure *measure, const uint8_t *errors, size_t rows,
                       const vg_select_options *o) {
    if (!out || !measure || !measure->values || !errors || !o)
        return vg_base__fail(VG_ERR_ARGUMENT, "select: result, values, errors or options are NULL");
    if (o->struct_size != sizeof *o || out->struct_size != sizeof *out)
        return vg_base__fail(VG_ERR_ARGUMENT, "select: options and result of size %zu and %zu, expected %zu and %zu",
                             o->struct_size, out->struct_size, sizeof *o, sizeof *out);
    if (rows == 0)
        return vg_base__fail(VG_ERR_DATA, "select: no validation rows");
    if ((o->target_risk != 0) == (o->target_coverage != 0))
        return vg_base__fail(VG_ERR_ARGUMENT, "select: target risk %g and target coverage %g, expected exactly one of them",
                             o->target_risk, o->target_coverage);
    if (o->target_risk != 0 && !(o->target_risk > 0 && o->target_risk < 1))
        return vg_base__fail(VG_ERR_ARGUMENT, "select: target risk %g, expected above 0 and below 1", o->target_risk);
    if (o->target_coverage != 0 && !(o->target_coverage > 0 && o->target_coverage <= 1))
        return vg_base__fail(VG_ERR_ARGUMENT, "select: target coverage %g, expected above 0 and at most 1", o->target_coverage);
    if (!(o->confidence > 0 && o->confidence < 1))
        return vg_base__fail(VG_ERR_ARGUMENT, "select: confidence %g, expected above 0 and below 1", o->confidence);
    if ((unsigned)o->multiplicity > VG_MULTIPLICITY_NONE)
        return vg_base__fail(VG_ERR_ARGUMENT, "select: unknown multiplicity %d", (int)o->multiplicity);
    return VG_OK;
}

static vg_status choose(vg_selection *out, const vg_measure *measure, const uint8_t *errors, size_t rows,
                        const vg_select_options *o, bool rule) {
    VG_TRY(check(out, measure, errors, rows, o));
    validation v = {.rule = rule};
    double *grid = NULL;
    size_t g = 0;
    *out = (vg_selection)VG_SELECTION_INIT;
    vg_status status = load(&v, measure, errors, rows);
    if (status == VG_OK && (o->target_risk > 0 || o->grid))
        status = make_grid(&grid, &g, &v, o);
    if (status == VG_OK && o->target_risk > 0) {
        bounded_risk(out, &v, grid, g, o);
    } else if (status == VG_OK) {
        size_t wanted = (size_t)ceil(o->target_coverage * (double)rows - 1e-6);
        kept_share(out, &v, grid, g, wanted < 1 ? 1 : wanted, 1 - o->confidence);
    }
    vg_base__release(grid);
    vg_base__release(v.keys);
    vg_base__release(v.errors);
    return status;
}

vg_status vg_select_threshold(vg_selection *out, const vg_measure *measure, const uint8_t *errors, size_t rows,
                              const vg_select_options *options) {
    return choose(out, measure, errors, rows, options, false);
}

vg_status vg_select_k(vg_selection *out, const double *ratio, const uint8_t *errors, size_t rows,
                      const vg_select_options *options) {
    vg_measure measure = {"margin ratio", ratio, 1, 1};
    return choose(out, &measure, errors, rows, options, true);
}

vg_status vg_select_apply(uint8_t *keep, const vg_measure *measure, double threshold, size_t rows) {
    if (rows > 0 && (!keep || !measure || !measure->values))
        return vg_base__fail(VG_ERR_ARGUMENT, "select: keep, measure or its values are NULL");
    if (isnan(threshold))
        return vg_base__fail(VG_ERR_ARGUMENT, "select: the threshold is NaN");
    for (size_t i = 0; i < rows; i++) {
        double value = measure->values[i * measure->stride];
        if (isnan(value))
            return vg_base__fail(VG_ERR_DATA, "select: value %zu of measure %s is NaN", i, measure->name);
        keep[i] = measure->certainty ? value > threshold : value < threshold;
    }
    return VG_OK;
}
