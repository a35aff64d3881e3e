/* gaussian_process.c - fitting and prediction of gaussian_process.h.
 *
 * Objective and gradient, with t the targets, alpha = A^-1 t, s2 = t' alpha / n, D the derivative of A in a
 * hyperparameter:
 *     f  = n/2 log s2 + sum_i log L_ii          df = 1/2 tr(A^-1 D) - alpha' D alpha / (2 s2)
 *     in log l: D = a^2 (1 + a) / 3 e^-a        in log nu: D = nu I
 * Minimised by BFGS in two variables inside a box. */
#include "calibrate/gaussian_process.h"

#include <math.h>
#include <string.h>

#include "base/base.h"
#include "calibrate/cholesky.h"

static const double LOWER[2] = {VG_GP_LOG_LENGTH_MIN, VG_GP_LOG_NOISE_MIN};
static const double UPPER[2] = {VG_GP_LOG_LENGTH_MAX, VG_GP_LOG_NOISE_MAX};
static const double ROOT5 = 2.23606797749978969641;

vg_status vg_gp__new(vg_gp **out, size_t capacity, size_t candidates) {
    vg_gp *gp;
    VG_TRY(vg_base__zalloc(&gp, 1, sizeof *gp, "Gaussian process"));
    gp->capacity = capacity;
    gp->candidates = candidates;
    gp->log_noise = -16;
    size_t square = 0, cross = 0;
    vg_status status = VG_OK;
    if (!vg_base__mul(&square, capacity, capacity) || !vg_base__mul(&cross, capacity, candidates))
        status = vg_base__fail(VG_ERR_MEMORY, "a Gaussian process of %zu points does not fit memory", capacity);
    double **places[] = {&gp->target, &gp->alpha, &gp->factor, &gp->slope, &gp->inverse, &gp->cross};
    const size_t sizes[] = {capacity, capacity, square, square, square, cross};
    for (size_t i = 0; status == VG_OK && i < sizeof places / sizeof places[0]; i++)
        status = vg_base__alloc(places[i], sizes[i], sizeof(double), "Gaussian process");
    if (status != VG_OK) {
        vg_gp__free(gp);
        return status;
    }
    *out = gp;
    return VG_OK;
}

void vg_gp__free(vg_gp *gp) {
    if (gp == NULL)
        return;
    vg_base__release(gp->target);
    vg_base__release(gp->alpha);
    vg_base__release(gp->factor);
    vg_base__release(gp->slope);
    vg_base__release(gp->inverse);
    vg_base__release(gp->cross);
    vg_base__release(gp);
}

/* Lower triangles of A and of its derivative in log l. */
static void build(vg_gp *gp, double length, double noise) {
    size_t n = gp->n;
    for (size_t j = 0; j < n; j++) {
        gp->factor[j * n + j] = 1 + noise;
        gp->slope[j * n + j] = 0;
        for (size_t i = j + 1; i < n; i++) {
            double a = ROOT5 * fabs(gp->x[i] - gp->x[j]) / length, e = exp(-a);
            gp->factor[j * n + i] = (1 + a + a * a / 3) * e;
            gp->slope[j * n + i] = a * a * (1 + a) / 3 * e;
        }
    }
}

static double dot(const double *a, const double *b, size_t count) {
    double sum[4] = {0, 0, 0, 0};
    size_t i = 0;
    for (; i + 4 <= count; i += 4) {
        for (size_t k = 0; k < 4; k++)
            sum[k] += a[i + k] * b[i + k];
    }
    for (; i < count; i++)
        sum[0] += a[i] * b[i];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

double vg_gp__objective(vg_gp *gp, const double point[2], double gradient[2]) {
    size_t n = gp->n;
    double noise = exp(point[1]), value = 0;
    build(gp, exp(point[0]), noise);
    gradient[0] = gradient[1] = 0;
    if (!vg_cholesky__factor(gp->factor, n))
        return INFINITY;
    memcpy(gp->alpha, gp->target, n * sizeof(double));
    vg_cholesky__solve(gp->factor, n, gp->alpha);
    double fit = 0;
    for (size_t i = 0; i < n; i++) {
        fit += gp->target[i] * gp->alpha[i];
        value += log(gp->factor[i * n + i]);
    }
    gp->signal = fmax(fit / (double)n, 1e-300);
    value += 0.5 * (double)n * log(gp->signal);
    /* inverse = L^-1; (A^-1)_ij is the product of its columns i and j from max(i, j) down. */
    memcpy(gp->inverse, gp->factor, n * n * sizeof(double));
    vg_cholesky__invert_lower(gp->inverse, n);
    for (size_t j = 0; j < n; j++) {
        const double *column = gp->inverse + j * n;
        gradient[1] += 0.5 * noise * (dot(column + j, column + j, n - j) - gp->alpha[j] * gp->alpha[j] / gp->signal);
        for (size_t i = j + 1; i < n; i++) { /* twice the lower triangle */
            double entry = dot(gp->inverse + i * n + i, column + i, n - i);
            gradient[0] += gp->slope[j * n + i] * (entry - gp->alpha[i] * gp->alpha[j] / gp->signal);
        }
    }
    return value;
}

/* Removes the components of a descent direction that would leave the box. */
static void hold_at_box(const double point[2], double direction[2]) {
    for (int i = 0; i < 2; i++) {
        if ((point[i] <= LOWER[i] && direction[i] < 0) || (point[i] >= UPPER[i] && direction[i] > 0))
            direction[i] = 0;
    }
}

/* h, the inverse Hessian {h00, h01, h11}, updated by step s and gradient difference y. */
static void update_bfgs(double h[3], const double s[2], const double y[2]) {
    double sy = s[0] * y[0] + s[1] * y[1];
    if (sy <= 1e-12)
        return;
    double hy[2] = {h[0] * y[0] + h[1] * y[1], h[1] * y[0] + h[2] * y[1]};
    double scale = (1 + (y[0] * hy[0] + y[1] * hy[1]) / sy) / sy;
    h[0] += scale * s[0] * s[0] - 2 * hy[0] * s[0] / sy;
    h[1] += scale * s[0] * s[1] - (hy[0] * s[1] + hy[1] * s[0]) / sy;
    h[2] += scale * s[1] * s[1] - 2 * hy[1] * s[1] / sy;
}

/* Minimises the objective from `point`, in place; returns its value. */
static double descend(vg_gp *gp, double point[2], unsigned steps) {
    double gradient[2], value = vg_gp__objective(gp, point, gradient), h[3] = {0.5, 0, 0.5};
    for (unsigned step = 0; step < steps && isfinite(value); step++) {
        double direction[2] = {-(h[0] * gradient[0] + h[1] * gradient[1]), -(h[1] * gradient[0] + h[2] * gradient[1])};
        if (direction[0] * gradient[0] + direction[1] * gradient[1] >= 0) {
            h[0] = h[2] = 0.5;
            h[1] = 0;
            direction[0] = -0.5 * gradient[0];
            direction[1] = -0.5 * gradient[1];
        }
        hold_at_box(point, direction);
        double largest = fmax(fabs(direction[0]), fabs(direction[1])), factor = largest > 2 ? 2 / largest : 1;
        if (largest < 1e-3)
            break;
        double next[2], next_gradient[2], next_value = INFINITY;
        for (int halving = 0; halving < 8; halving++, factor *= 0.4) {
            for (int i = 0; i < 2; i++)
                next[i] = fmin(fmax(point[i] + factor * direction[i], LOWER[i]), UPPER[i]);
            next_value = vg_gp__objective(gp, next, next_gradient);
            if (next_value < value)
                break;
        }
        if (!(next_value < value))
            break;
        double s[2] = {next[0] - point[0], next[1] - point[1]};
        double y[2] = {next_gradient[0] - gradient[0], next_gradient[1] - gradient[1]}, gained = value - next_value;
        update_bfgs(h, s, y);
        memcpy(point, next, sizeof next);
        memcpy(gradient, next_gradient, sizeof next_gradient);
        value = next_value;
        if (gained < 1e-4)
            break;
    }
    return value;
}

static void standardise(vg_gp *gp, const double *y) {
    double sum = 0, squares = 0, n = (double)gp->n;
    for (size_t i = 0; i < gp->n; i++)
        sum += y[i];
    gp->mean = sum / n;
    for (size_t i = 0; i < gp->n; i++)
        squares += (y[i] - gp->mean) * (y[i] - gp->mean);
    gp->deviation = squares > 0 ? sqrt(squares / n) : 1;
    for (size_t i = 0; i < gp->n; i++)
        gp->target[i] = (y[i] - gp->mean) / gp->deviation;
}

vg_status vg_gp__fit(vg_gp *gp, const double *x, const double *y, size_t n, bool fresh, unsigned steps) {
    static const double starts[][2] = {{-0.7, -18}, {0.7, -18}, {2, -18}, {0.7, -8}};
    gp->n = n;
    gp->x = x;
    standardise(gp, y);
    double best[2] = {gp->log_length, gp->log_noise}, gradient[2];
    double value = descend(gp, best, steps);
    for (size_t i = 0; fresh && i < sizeof starts / sizeof starts[0]; i++) {
        double point[2] = {starts[i][0], starts[i][1]};
        double other = descend(gp, point, steps);
        if (other < value) {
            value = other;
            memcpy(best, point, sizeof best);
        }
    }
    value = vg_gp__objective(gp, best, gradient);
    while (!isfinite(value) && best[1] < VG_GP_LOG_NOISE_MAX) { /* no Cholesky factor: add noise until there is one */
        best[1] += 1;
        value = vg_gp__objective(gp, best, gradient);
    }
    gp->log_length = best[0];
    gp->log_noise = best[1];
    if (!isfinite(value))
        return vg_base__fail(VG_ERR_NUMERIC,
                             "the Gaussian process of %zu points has a covariance without a Cholesky factor", n);
    return VG_OK;
}

void vg_gp__predict(vg_gp *gp, const double *at, size_t count, double *mean, double *deviation) {
    size_t n = gp->n;
    double length = exp(gp->log_length);
    for (size_t j = 0; j < count; j++) {
        double sum = 0;
        for (size_t i = 0; i < n; i++) {
            double a = ROOT5 * fabs(at[j] - gp->x[i]) / length;
            gp->cross[j * n + i] = (1 + a + a * a / 3) * exp(-a);
            sum += gp->cross[j * n + i] * gp->alpha[i];
        }
        mean[j] = sum;
    }
    if (deviation == NULL)
        return;
    for (size_t j = 0; j < count; j++) {
        double *column = gp->cross + j * n;
        vg_cholesky__solve_lower(gp->factor, n, column);
        deviation[j] = sqrt(gp->signal * fmax(1 - dot(column, column, n), 0));
    }
}

double vg_gp__mean_slope(const vg_gp *gp, double at) {
    double length = exp(gp->log_length), sum = 0;
    for (size_t i = 0; i < gp->n; i++) {
        double r = at - gp->x[i], a = ROOT5 * fabs(r) / length;
        sum -= gp->alpha[i] * 5 * r / (3 * length * length) * (1 + a) * exp(-a);
    }
    return sum;
}
