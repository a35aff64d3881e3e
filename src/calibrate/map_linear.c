/* map_linear.c - linear calibration maps (temperature of the mean, vector, dirichlet) by the likelihood of the labels.
 *
 * With features f and u = A f + b, the loss of a row is log sum exp u - u(y). With p = softmax(u):
 *     d loss / d u = p - e_y        second derivative in direction du:  p (du - p du)
 * and u is linear in the parameters of the map, so that the loss is convex. The probabilities at the current point are
 * kept, because several products with the Hessian are asked for at the same point. Rows are summed chunk by chunk in a
 * fixed order: the same bits at any thread count. */
#include <math.h>
#include <string.h>

#include "calibrate/map.h"

enum { CHUNKS_MOST = 32, CHUNK_LEAST = 64, ITERATIONS_MOST = 500 };
/* Of the gradient. The loss is off by about its square over the curvature. */
#define TOLERANCE 1e-8
#define ROUGH_TOLERANCE 1e-5

typedef struct linear_work {
    const vg_map_rows *rows;
    const double *f; /* features of all rows */
    vg_calibration_method method;
    size_t c, width, chunk, chunks;
    const vg_calibrate_options *options;
    double *p, *at;      /* count x c: probabilities at the map `at` */
    double *sums;        /* chunks x (width + 1) */
    double *scratch;     /* workers x 2 c */
    const double *x, *v; /* the point; the direction, NULL: the gradient */
    bool known;          /* p belongs to `at` */
    bool diagonal;       /* the Hessian's diagonal is asked for */
    const vg_softmax_kernels *kernels;
} linear_work;

/* Adds to `sums` the derivative in the map's parameters that follows from g, the derivative in u, at features f. */
static void add_back(double *sums, const double *g, const double *f, const linear_work *w) {
    size_t c = w->c;
    if (w->method == VG_CALIBRATE_TEMPERATURE) {
        for (size_t i = 0; i < c; i++)
            sums[0] += g[i] * f[i];
    } else if (w->method == VG_CALIBRATE_VECTOR) {
        for (size_t i = 0; i < c; i++) {
            sums[i] += g[i] * f[i];
            sums[c + i] += g[i];
        }
    } else {
        for (size_t j = 0; j < c; j++)
            w->kernels->add_scaled(sums + j * c, g, f[j], c);
        w->kernels->add_scaled(sums + c * c, g, 1, c);
    }
}

/* Adds the diagonal of the Hessian: in u it is p (1 - p), and a parameter's share of u is a feature or 1. */
static void add_diagonal(double *sums, double *g, const double *p, const double *f, const linear_work *w) {
    size_t c = w->c;
    for (size_t i = 0; i < c; i++)
        g[i] = p[i] * (1 - p[i]);
    if (w->method == VG_CALIBRATE_VECTOR) {
        for (size_t i = 0; i < c; i++) {
            sums[i] += g[i] * f[i] * f[i];
            sums[c + i] += g[i];
        }
    } else {
        for (size_t j = 0; j < c; j++)
            w->kernels->add_scaled(sums + j * c, g, f[j] * f[j], c);
        w->kernels->add_scaled(sums + c * c, g, 1, c);
    }
}

/* Probabilities of row i at w->x into p[c]; returns its loss. */
static double place(double *p, double *u, const double *f, size_t y, const linear_work *w) {
    vg_row_sums s = {0};
    vg_map__linear(u, f, w->x, w->method, w->c, w->kernels);
    if (!w->kernels->exps_f64(&s, p, u, w->c, 1))
        return NAN;
    for (size_t i = 0; i < w->c; i++)
        p[i] /= s.s0;
    return log(s.s0) + s.top - u[y];
}

static vg_status sum_chunk(void *context, size_t index, unsigned worker) {
    linear_work *w = context;
    size_t c = w->c, first = index * w->chunk, end = first + w->chunk;
    double *sums = w->sums + index * (w->width + 1), *u = w->scratch + (size_t)worker * 2 * c, *g = u + c;
    memset(sums, 0, (w->width + 1) * sizeof *sums);
    end = end < w->rows->count ? end : w->rows->count;
    for (size_t i = first; i < end; i++) {
        const double *f = w->f + w->rows->take[i] * c;
        double *p = w->p + i * c;
        size_t y = (size_t)w->rows->y[i];
        if (!w->known)
            sums[w->width] += place(p, u, f, y, w);
        if (w->diagonal) {
            add_diagonal(sums, g, p, f, w);
            continue;
        }
        if (w->v) {
            double along = 0;
            vg_map__linear(u, f, w->v, w->method, c, w->kernels);
            for (size_t j = 0; j < c; j++)
                along += p[j] * u[j];
            for (size_t j = 0; j < c; j++)
                g[j] = p[j] * (u[j] - along);
        } else {
            memcpy(g, p, c * sizeof *g);
            g[y] -= 1;
        }
        add_back(sums, g, f, w);
    }
    return VG_OK;
}

/* The weight of parameter i in the penalty of dirichlet. */
static double weight_of(size_t i, const linear_work *w) {
    size_t c = w->c;
    if (i < c * c && i % (c + 1) == 0)
        return 0;
    return i >= c * c ? w->options->intercept / (double)c : w->options->off_diagonal / (double)(c * (c - 1));
}

/* The penalty of dirichlet at x and, in `to`, its derivative, which is also its Hessian times x. */
static double penalise(double *to, const double *x, const linear_work *w) {
    double sum = 0;
    if (w->method != VG_CALIBRATE_DIRICHLET)
        return 0;
    for (size_t i = 0; i < w->width; i++) {
        double weight = weight_of(i, w);
        sum += weight * x[i] * x[i];
        to[i] += 2 * weight * x[i];
    }
    return sum;
}

/* Sums over all rows into to[width], divided by their number; *loss where it was computed. */
static vg_status run(linear_work *w, double *to, double *loss) {
    double n = (double)w->rows->count;
    VG_TRY(vg_pool__run(w->rows->pool, w->chunks, sum_chunk, w));
    memset(to, 0, w->width * sizeof *to);
    *loss = 0;
    for (size_t k = 0; k < w->chunks; k++) {
        const double *sums = w->sums + k * (w->width + 1);
        for (size_t i = 0; i < w->width; i++)
            to[i] += sums[i] / n;
        *loss += sums[w->width] / n;
    }
    return VG_OK;
}

static vg_status value(void *context, const double *x, double *f, double *g) {
    linear_work *w = context;
    const vg_calibrate_options *o = w->options;
    if (o->progress && o->progress(o->progress_context, w->rows->done, w->rows->total) != 0)
        return vg_base__fail(VG_ERR_INTERRUPTED, "calibration stopped after %zu fits", w->rows->done);
    w->x = x;
    w->v = NULL;
    w->known = w->diagonal = false;
    VG_TRY(run(w, g, f));
    memcpy(w->at, x, w->width * sizeof *x);
    *f += penalise(g, x, w);
    return VG_OK;
}

static vg_status product(void *context, const double *x, const double *v, double *hv) {
    linear_work *w = context;
    double loss;
    w->x = x;
    w->v = v;
    w->diagonal = false;
    w->known = memcmp(w->at, x, w->width * sizeof *x) == 0; /* false after a step that was rejected */
    VG_TRY(run(w, hv, &loss));
    memcpy(w->at, x, w->width * sizeof *x);
    penalise(hv, v, w);
    return VG_OK;
}

static vg_status diagonal(void *context, const double *x, double *d) {
    linear_work *w = context;
    double loss;
    w->x = x;
    w->diagonal = true;
    w->known = memcmp(w->at, x, w->width * sizeof *x) == 0;
    VG_TRY(run(w, d, &loss));
    memcpy(w->at, x, w->width * sizeof *x);
    for (size_t i = 0; w->method == VG_CALIBRATE_DIRICHLET && i < w->width; i++)
        d[i] += 2 * weight_of(i, w);
    return VG_OK;
}

static vg_status make_room(linear_work *w) {
    size_t count = w->rows->count, c = w->c, all, sums;
    w->chunk = (count + CHUNKS_MOST - 1) / CHUNKS_MOST;
    w->chunk = w->chunk > CHUNK_LEAST ? w->chunk : CHUNK_LEAST;
    w->chunks = (count + w->chunk - 1) / w->chunk;
    if (!vg_base__mul(&all, count, c) || !vg_base__mul(&sums, w->chunks, w->width + 1))
        return vg_base__fail(VG_ERR_MEMORY, "%zu rows of %zu classes do not fit memory", count, c);
    VG_TRY(vg_base__alloc(&w->p, all, sizeof *w->p, "probabilities"));
    VG_TRY(vg_base__alloc(&w->at, w->width, sizeof *w->at, "a map"));
    VG_TRY(vg_base__alloc(&w->sums, sums, sizeof *w->sums, "sums"));
    return vg_base__alloc(&w->scratch, c, 2 * sizeof(double) * vg_pool__threads(w->rows->pool), "scratch");
}

/* Biases are determined up to a constant that is added to all of them: their mean is made 0. */
static void centre(double *b, size_t c) {
    double mean = 0;
    for (size_t i = 0; i < c; i++)
        mean += b[i] / (double)c;
    for (size_t i = 0; i < c; i++)
        b[i] -= mean;
}

vg_status vg_map__fit_linear(vg_map_fit *out, double *linear, const double *f, const vg_map_rows *rows,
                             const vg_calibrate_options *options) {
    linear_work w = {.rows = rows,
                     .f = f,
                     .method = options->method,
                     .c = rows->c,
                     .width = vg_calibration_map__width(options->method, rows->c),
                     .options = options,
                     .kernels = vg_calibrate__softmax_kernels(vg_base__cpu_tier())};
    vg_objective objective = {.n = w.width, .context = &w, .value = value, .product = product};
    if (options->method != VG_CALIBRATE_TEMPERATURE)
        objective.diagonal = diagonal;
    vg_minimum found = {0};
    vg_status status = make_room(&w);
    if (status == VG_OK)
        status = vg_newton_cg(&found, linear, &objective, rows->rough ? ROUGH_TOLERANCE : TOLERANCE, ITERATIONS_MOST);
    vg_base__release(w.p);
    vg_base__release(w.at);
    vg_base__release(w.sums);
    vg_base__release(w.scratch);
    *out = (vg_map_fit){found.value, found.gradient, found.iterations, found.converged};
    if (status == VG_OK && options->method != VG_CALIBRATE_TEMPERATURE)
        centre(linear + w.width - rows->c, rows->c);
    return status;
}
