/* rank_sums.c - selective prediction and error detection from one ordering of the rows.
 *
 * Walk the rows from the most certain on. Rows of equal uncertainty form a group and enter together: every figure is the mean
 * over the orders in which a group could enter, which is exact and closed. A group of m rows with e errors, n rows and E errors
 * before it, N rows and T errors in all:
 *
 *     expected errors among the first n + j       E + j e / m
 *     AURC  = 1/N sum_i risk_i         adds       e (1/(n+m+1) + ... + 1/N) + (e/m) sum_{j=1..m} j / (n + j)
 *     AUGRC = 1/N sum_i errors_i / N   adds       e (N - n - m) + e (m + 1) / 2                            over N^2
 *     AUROC = P(error above correct)   adds       e ((n - E) + (m - e) / 2)                                over T (N - T)
 *     AUPR  = recall steps x precision adds       (e / T) (T - E) / (N - n)
 *
 * Only groups with an error change any sum, so the walk stops at those alone. The sum within a group is
 *     sum_{j=1..m} j / (n + j) = m - n (1/(n+1) + ... + 1/(n+m)). */
#include "evaluate/evaluate_internal.h"

vg_status vg_evaluate__harmonic_tail(double **tail, size_t n) {
    size_t count;
    if (!vg_base__add(&count, n, 1))
        return vg_base__fail(VG_ERR_MEMORY, "harmonic sums: %zu rows do not fit memory", n);
    VG_TRY(vg_base__alloc(tail, count, sizeof(double), "harmonic sums"));
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

vg_status vg_evaluate__rank_plan(vg_rank_plan *plan, const double *tail, size_t rows, const vg_evaluate_options *options) {
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
        double position = ceil(coverage[i] * plan->n - 1e-6); /* 0.95 * 20 is 19, whatever its last bit says */
        plan->position[i] = position < 1 ? 1 : position;
    }
    for (size_t i = 0; i < plan->risk_count; i++) {
        if (!(risk[i] >= 0 && risk[i] <= 1))
            return vg_base__fail(VG_ERR_ARGUMENT, "evaluate: risk %zu is %g, expected 0 to 1", i, risk[i]);
        plan->risk[i] = risk[i];
    }
    return VG_OK;
}

/* Rows kept at each risk, if the threshold lies before row `before`. Between errors the risk only falls, so the place just
 * before an error is the best of its stretch. */
static void cover(vg_rank_sums *sums, const vg_rank_plan *plan, double before) {
    for (size_t i = 0; i < plan->risk_count; i++)
        if (before > 0 && sums->seen <= plan->risk[i] * before * (1 + 1e-12))
            sums->covered[i] = before;
}

void vg_evaluate__rank_event(vg_rank_sums *sums, const vg_rank_plan *plan, double before, double mass, double errors) {
    double after = before + mass, n = plan->n;
    double later = plan->tail[(size_t)after];
    double within = mass == 1 ? 1 / after : (mass - before * (plan->tail[(size_t)before] - later)) / mass;
    sums->aurc += errors * (later + within);
    sums->augrc += errors * ((n - after) + (mass + 1) / 2);
    sums->pairs += errors * ((before - sums->seen) + (mass - errors) / 2);
    sums->precision += errors * ((sums->total - sums->seen) / (n - before));
    for (size_t i = 0; i < plan->coverage_count; i++) {
        double reached = plan->position[i] - before;
        if (reached > 0)
            sums->hits[i] += reached >= mass ? errors : errors * (reached / mass);
    }
    cover(sums, plan, before);
    sums->seen += errors;
}

void vg_evaluate__rank_figures(double *values, vg_rank_sums *sums, const vg_rank_plan *plan) {
    double n = plan->n, wrong = sums->total, right = n - wrong;
    cover(sums, plan, n);
    /* The best order has the errors last: risk 0, then (i - right) / i. */
    double best = n > 0 ? (wrong - right * plan->tail[(size_t)right]) / n : NAN;
    values[VG_RANK_AURC] = n > 0 ? sums->aurc / n : NAN;
    values[VG_RANK_EAURC] = values[VG_RANK_AURC] - best;
    values[VG_RANK_AUGRC] = n > 0 ? sums->augrc / (n * n) : NAN;
    values[VG_RANK_AUROC] = wrong > 0 && right > 0 ? sums->pairs / (wrong * right) : NAN;
    values[VG_RANK_AUPR] = wrong > 0 ? sums->precision / wrong : NAN;
    double *at = values + VG_RANK_FIXED;
    for (size_t i = 0; i < plan->coverage_count; i++)
        *at++ = n > 0 ? sums->hits[i] / plan->position[i] : NAN;
    for (size_t i = 0; i < plan->risk_count; i++)
        *at++ = n > 0 ? sums->covered[i] / n : NAN;
}

void vg_evaluate__rank_walk(vg_rank_sums *sums, const vg_rank_plan *plan, const vg_rank_groups *groups) {
    *sums = (vg_rank_sums){.total = (double)groups->wrong};
    size_t before = 0;
    for (size_t g = 0; g < groups->count; g++) {
        before += groups->correct[2 * g];
        size_t mass = (size_t)groups->correct[2 * g + 1] + groups->errors[g];
        vg_evaluate__rank_event(sums, plan, (double)before, (double)mass, (double)groups->errors[g]);
        before += mass;
    }
}

void vg_evaluate__rank_curve(double *risk, size_t points, const vg_rank_groups *groups) {
    size_t g = 0, seen = 0, rows = groups->rows;
    size_t start = groups->correct[0]; /* the first row of group g */
    for (size_t i = 0; i < points; i++) {
        size_t position = (size_t)ceil((double)rows * ((double)(i + 1) / (double)points) - 1e-6), mass = 0;
        position = position < 1 ? 1 : position > rows ? rows : position;
        for (; g < groups->count; g++) {
            mass = (size_t)groups->correct[2 * g + 1] + groups->errors[g];
            if (start + mass > position)
                break;
            seen += groups->errors[g];
            start += mass + groups->correct[2 * g + 2];
        }
        double hits = (double)seen;
        if (g < groups->count && position > start) /* part of a group: its errors in proportion */
            hits += (double)groups->errors[g] * ((double)(position - start) / (double)mass);
        risk[i] = hits / (double)position;
    }
}
