/* rank_sums.c - selective prediction and error detection from one ordering of the rows.
 *
 * Walk the rows from the most certain on. Rows of equal uncertainty form a group and enter together: every figure is
 * the mean over the orders in which a group could enter, in closed form. A group of m rows with e errors,
 * n rows and E errors before it, N rows and T errors in all:
 *
 *     figure                            what the group adds                                          divided by
 *     AURC  = 1/N sum_i risk_i          e (1/(n+m+1) + ... + 1/N) + (e/m) sum_{j=1..m} j / (n + j)   N
 *     AUGRC = 1/N sum_i errors_i / N    e (N - n - m) + e (m + 1) / 2                                N^2
 *     AUROC = P(error above correct)    e ((n - E) + (m - e) / 2)                                    T (N - T)
 *     AUPR  = recall steps x precision  (e / T) (T - E) / (N - n)                                    1
 *
 * The expected number of errors among the first n + j rows is E + j e / m.
 *
 * Only groups with an error change any sum, so the walk visits only those. The sum within a group is
 *     sum_{j=1..m} j / (n + j) = m - n (1/(n+1) + ... + 1/(n+m)). */
#include "evaluate/evaluate_internal.h"

enum { STRETCH = 2048 };

vg_status vg_evaluate__harmonic_tail(double **tail, size_t n) {
    size_t count;
    if (!vg_base__add(&count, n, 1))
        return vg_base__fail(VG_ERR_MEMORY, "harmonic sums: %zu rows do not fit memory", n);
    VG_TRY(vg_base__alloc(tail, count, sizeof(double), "harmonic sums"));
    vg_base__populate(*tail, count * sizeof(double));
    double sum = 0, lost = 0; /* compensated: the sum is kept to full precision whatever n */
    (*tail)[n] = 0;
    for (size_t i = n; i-- > 0;) {
        double term = 1 / (double)(i + 1), next = sum + term;
        lost += sum >= term ? (sum - next) + term : (term - next) + sum;
        sum = next;
        (*tail)[i] = sum + lost;
    }
    return VG_OK;
}

vg_status vg_evaluate__rank_plan(vg_rank_plan *plan, const double *tail, size_t rows,
                                 const vg_evaluate_options *options) {
    static const double coverages[] = {0.8, 0.9, 0.95}, risks[] = {0.01, 0.05};
    const double *coverage = options->coverages ? options->coverages : coverages;
    const double *risk = options->risks ? options->risks : risks;
    *plan = (vg_rank_plan){.n = (double)rows, .tail = tail};
    plan->coverage_count = options->coverages ? options->coverage_count : 3;
    plan->risk_count = options->risks ? options->risk_count : 2;
    if (plan->coverage_count > VG_MAX_OPERATING_POINTS || plan->risk_count > VG_MAX_OPERATING_POINTS)
        return vg_base__fail(VG_ERR_ARGUMENT, "evaluate: %zu coverages and %zu risks asked for, at most %d of each",
                             plan->coverage_count, plan->risk_count, VG_MAX_OPERATING_POINTS);
    for (size_t i = 0; i < plan->coverage_count; i++) {
        if (!(coverage[i] > 0 && coverage[i] <= 1))
            return vg_base__fail(VG_ERR_ARGUMENT, "evaluate: coverage %zu is %g, expected above 0 and at most 1", i,
                                 coverage[i]);
        double position = ceil(coverage[i] * plan->n - 1e-6); /* 0.95 * 20 is 19 in spite of rounding */
        plan->position[i] = position < 1 ? 1 : position;
    }
    for (size_t i = 0; i < plan->risk_count; i++) {
        if (!(risk[i] >= 0 && risk[i] <= 1))
            return vg_base__fail(VG_ERR_ARGUMENT, "evaluate: risk %zu is %g, expected 0 to 1", i, risk[i]);
        plan->risk[i] = risk[i];
    }
    return VG_OK;
}

/* Rows kept at each risk, if the threshold lies before row `before`. Between errors the risk falls, so the
 * threshold just before an error is the best between two errors. */
static void cover(vg_rank_sums *sums, const vg_rank_plan *plan, double before) {
    for (size_t i = 0; i < plan->risk_count; i++)
        if (before > 0 && sums->seen <= plan->risk[i] * before * (1 + 1e-12))
            sums->covered[i] = before;
    for (size_t i = 0; plan->z > 0 && i < plan->risk_count; i++)
        vg_evaluate__pass_risk(&sums->below[i], &sums->within[i], plan, plan->risk[i], before, sums->seen);
}

/* What a group adds to the areas. */
static inline void add_group(vg_rank_sums *sums, const vg_rank_plan *plan, double before, double mass, double errors) {
    double after = before + mass, n = plan->n;
    double later = vg_evaluate__tail_at(plan, after);
    double within = mass == 1 ? 1 / after : (mass - before * (vg_evaluate__tail_at(plan, before) - later)) / mass;
    sums->aurc += errors * (later + within);
    sums->augrc += errors * ((n - after) + (mass + 1) / 2);
    sums->pairs += errors * ((before - sums->seen) + (mass - errors) / 2);
    sums->precision += errors * ((sums->total - sums->seen) / (n - before));
}

void vg_evaluate__rank_event(vg_rank_sums *sums, const vg_rank_plan *plan, double before, double mass, double errors) {
    add_group(sums, plan, before, mass, errors);
    for (size_t i = 0; i < plan->coverage_count; i++) {
        double reached = plan->position[i] - before;
        if (reached > 0)
            sums->hits[i] += reached >= mass ? errors : errors * (reached / mass);
    }
    cover(sums, plan, before);
    sums->seen += errors;
}

/* Of the best order the difference of two sums is no more than their rounding errors, and E-AURC is 0. */
#define ROUNDING 1e-14

void vg_evaluate__rank_figures(double *values, vg_rank_sums *sums, const vg_rank_plan *plan) {
    double n = plan->n, wrong = sums->total, right = n - wrong;
    if (n == 0) {
        for (size_t i = 0; i < VG_RANK_FIXED + plan->coverage_count + plan->risk_count; i++)
            values[i] = NAN;
        return;
    }
    cover(sums, plan, n);
    /* The best order has the errors last: risk 0, then (i - right) / i. */
    double best = (wrong - right * vg_evaluate__tail_at(plan, right)) / n;
    values[VG_RANK_AURC] = sums->aurc / n;
    double excess = values[VG_RANK_AURC] - best;
    values[VG_RANK_EAURC] = fabs(excess) <= ROUNDING * (wrong / n) ? 0 : excess;
    values[VG_RANK_AUGRC] = sums->augrc / (n * n);
    values[VG_RANK_AUROC] = wrong > 0 && right > 0 ? sums->pairs / (wrong * right) : NAN;
    values[VG_RANK_AUPR] = wrong > 0 ? sums->precision / wrong : NAN;
    double *at = values + VG_RANK_FIXED;
    for (size_t i = 0; i < plan->coverage_count; i++)
        *at++ = sums->hits[i] / plan->position[i];
    for (size_t i = 0; i < plan->risk_count; i++)
        *at++ = sums->covered[i] / n;
}

/* Groups first .. last - 1, each a single error. Four partial sums over short ranges: additions do not wait for each
 * other, and rounding stays small. Sums of whole numbers are exact in any order. */
static void walk_singles(vg_rank_sums *sums, const vg_rank_plan *plan, const vg_rank_groups *g, size_t first,
                         size_t last) {
    double part[8] = {0};
    uint64_t count = last - first, seen = (uint64_t)sums->seen;
    /* the tail: 1 / (b + 1) for itself and the rest for all after it */
    uint64_t before_all = vg_evaluate__rows()->walk(part, g->before + first, (size_t)count, plan->tail,
                                                    sums->total - sums->seen, plan->n);
    sums->aurc += (part[0] + part[1]) + (part[2] + part[3]);
    sums->precision += (part[4] + part[5]) + (part[6] + part[7]);
    sums->augrc += (double)(count * g->rows - before_all);
    sums->pairs += (double)(before_all - count * seen - count * (count - 1) / 2);
    sums->seen += (double)count;
}

static void walk_single(vg_rank_sums *sums, const vg_rank_plan *plan, const vg_rank_groups *g, size_t first,
                        size_t last) {
    for (size_t end; first < last; first = end) {
        end = last - first < STRETCH ? last : first + STRETCH;
        walk_singles(sums, plan, g, first, end);
    }
}

/* Errors expected among the first `position` rows. */
static double errors_among(const vg_rank_groups *g, double position) {
    size_t low = 0, high = g->count;
    while (low < high) { /* the number of groups that start before it */
        size_t middle = low + (high - low) / 2;
        if ((double)g->before[middle] < position)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return 0;
    size_t last = low - 1, first = 0;
    for (high = g->tied_count; first < high;) { /* the number of tied groups among them */
        size_t middle = first + (high - first) / 2;
        if (g->tied[middle].group <= last)
            first = middle + 1;
        else
            high = middle;
    }
    if (first == 0)
        return (double)low;
    vg_tied_group tied = g->tied[first - 1];
    double reached = position - g->before[tied.group], errors = tied.errors;
    if (last > tied.group || reached >= tied.mass)
        return (double)tied.seen + errors + (double)(last - tied.group);
    return (double)tied.seen + errors * (reached / tied.mass);
}

/* Errors before group `group`; t is the first tied group at or after it. */
static inline double seen_before(const vg_rank_groups *g, size_t group, size_t t) {
    if (t == 0)
        return (double)group;
    const vg_tied_group *tied = &g->tied[t - 1];
    return (double)tied->seen + tied->errors + (double)(group - tied->group - 1);
}

/* Rows kept at a risk: the largest before[g] with seen <= risk before (see `cover`). Searches from the end, skipping
 * blocks of groups in which even the fewest errors are too many for the most rows. */
static double covered_at(const vg_rank_groups *g, double risk) {
    size_t t = g->tied_count;
    for (size_t end = g->count, first; end > 0; end = first) {
        first = end > 64 ? end - 64 : 0;
        size_t low = t;
        while (low > 0 && g->tied[low - 1].group >= first)
            low--;
        if (seen_before(g, first, low) <= risk * g->before[end - 1] * (1 + 1e-12))
            for (size_t i = end; i-- > first;) {
                while (t > 0 && g->tied[t - 1].group >= i)
                    t--;
                if (seen_before(g, i, t) <= risk * g->before[i] * (1 + 1e-12))
                    return g->before[i];
            }
        t = low;
    }
    return 0;
}

void vg_evaluate__rank_walk(vg_rank_sums *sums, const vg_rank_plan *plan, const vg_rank_groups *g) {
    *sums = (vg_rank_sums){.total = (double)g->wrong};
    size_t next = 0;
    for (size_t t = 0; t < g->tied_count; t++) {
        const vg_tied_group *tied = &g->tied[t];
        walk_single(sums, plan, g, next, tied->group);
        add_group(sums, plan, g->before[tied->group], tied->mass, tied->errors);
        sums->seen += tied->errors;
        next = tied->group + 1;
    }
    walk_single(sums, plan, g, next, g->count);
    for (size_t i = 0; i < plan->coverage_count; i++)
        sums->hits[i] = errors_among(g, plan->position[i]);
    for (size_t i = 0; i < plan->risk_count; i++)
        sums->covered[i] = covered_at(g, plan->risk[i]);
}

double vg_evaluate__curve_position(size_t i, size_t points, double rows) {
    double position = ceil(rows * ((double)(i + 1) / (double)points) - 1e-6);
    return position < 1 ? 1 : position;
}

void vg_evaluate__rank_curve(double *risk, size_t points, const vg_rank_groups *g, const vg_rank_part *part) {
    double before = part ? (double)part->rows_before : 0, wrong = part ? (double)part->errors_before : 0;
    double all = part ? (double)part->rows_total : (double)g->rows;
    for (size_t i = 0; i < points; i++) {
        double position = vg_evaluate__curve_position(i, points, all);
        if (position > before && position <= before + (double)g->rows)
            risk[i] = (wrong + errors_among(g, position - before)) / position;
    }
}
