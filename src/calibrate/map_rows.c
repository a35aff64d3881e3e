/* map_rows.c - applies a calibration map to predictions: to rows of members, or to their mean, to which the members
 * are then adjusted. */
#include <math.h>
#include <string.h>

#include "calibrate/calibrate_data.h"
#include "calibrate/map.h"
#include "vargate/temperatures.h"

/* Members are adjusted until their mean is within ADJUST_NEAR of its target, summed over classes. */
enum { ADJUST_ROUNDS = 500, CHUNK_ELEMENTS = 1 << 14 };
#define ADJUST_NEAR 1e-12

const char *vg_calibration_method__name(vg_calibration_method method) {
    static const char *const names[] = {"temperature", "vector", "dirichlet", "isotonic", "histogram", "venn-abers"};
    return (unsigned)method < 6 ? names[method] : "unknown";
}

vg_calibration_method vg_calibration_map__method(const vg_calibration_map *map) { return map->method; }

bool vg_calibration_map__is_temperatures(const vg_calibration_map *map) {
    return map->method == VG_CALIBRATE_TEMPERATURE && !map->mean;
}

bool vg_calibration_method__linear(vg_calibration_method method) { return method <= VG_CALIBRATE_DIRICHLET; }

size_t vg_calibration_map__width(vg_calibration_method method, size_t c) {
    return method == VG_CALIBRATE_TEMPERATURE ? 1 : method == VG_CALIBRATE_VECTOR ? 2 * c : c * c + c;
}

vg_status vg_calibration_map__new(vg_calibration_map **out, const vg_calibration_map *like, size_t points) {
    bool linear = vg_calibration_method__linear(like->method);
    size_t width = linear ? vg_calibration_map__width(like->method, like->classes) : 0, numbers, curves = 0, bytes;
    if (!vg_base__mul(&numbers, width, like->count) || (!linear && !vg_base__mul(&numbers, points, 3)) ||
        (!linear && !vg_base__mul(&curves, like->count, like->classes)) || !vg_base__add(&numbers, numbers, 1) ||
        !vg_base__add(&bytes, numbers, curves + 1) || !vg_base__mul(&bytes, bytes, sizeof(double)))
        return vg_base__fail(VG_ERR_MEMORY, "a calibration map of %zu classes does not fit memory", like->classes);
    char *room;
    VG_TRY(vg_base__zalloc(&room, sizeof **out + bytes, 1, "a calibration map"));
    vg_calibration_map *map = (vg_calibration_map *)(void *)room;
    *map = *like;
    map->width = width;
    map->linear = (double *)(void *)(map + 1);
    map->x = map->linear;
    map->low = map->x + points;
    map->high = map->low + points;
    map->at = (size_t *)(void *)(map->linear + numbers);
    *out = map;
    return VG_OK;
}

vg_status vg_calibration_map__check(const vg_calibration_map *map, size_t m, size_t c, bool logits, const char *what) {
    const char *name = vg_calibration_method__name(map->method);
    if (map->classes && map->classes != c)
        return vg_base__fail(VG_ERR_DATA, "the %s map is for %zu classes, %s %zu", name, map->classes, what, c);
    if (map->count > 1 && map->count != m)
        return vg_base__fail(VG_ERR_DATA, "the %s map is for %zu members, %s %zu", name, map->count, what, m);
    if (map->method <= VG_CALIBRATE_VECTOR && !map->mean && map->probabilities == logits)
        return vg_base__fail(VG_ERR_DATA, "the %s map is for %s, %s %s", name,
                             map->probabilities ? "probabilities" : "logits", what,
                             logits ? "logits" : "probabilities");
    return VG_OK;
}

/* --- one row ------------------------------------------------------------------------------------------------------ */
bool vg_map__probabilities(double *to, const double *row, size_t c, bool logits, const vg_softmax_kernels *kernels) {
    vg_row_sums s;
    if (!logits) {
        if (to != row)
            memcpy(to, row, c * sizeof *to);
        return true;
    }
    if (!kernels->exps_f64(&s, to, row, c, 1))
        return false;
    for (size_t i = 0; i < c; i++)
        to[i] /= s.s0;
    return true;
}

void vg_map__features(double *to, const double *row, size_t c, bool logits, vg_calibration_method method,
                      const vg_softmax_kernels *kernels) {
    vg_row_sums s;
    double shift = 0;
    if (logits && method == VG_CALIBRATE_DIRICHLET) {
        kernels->sums_f64(&s, row, c, 1);
        shift = s.top + log(s.s0);
    }
    for (size_t i = 0; i < c; i++)
        to[i] = logits ? row[i] - shift : log(fmax(row[i], VG_MAP_FLOOR));
}

void vg_map__linear(double *u, const double *f, const double *linear, vg_calibration_method method, size_t c,
                    const vg_softmax_kernels *kernels) {
    if (method == VG_CALIBRATE_TEMPERATURE) {
        for (size_t i = 0; i < c; i++)
            u[i] = linear[0] * f[i];
    } else if (method == VG_CALIBRATE_VECTOR) {
        for (size_t i = 0; i < c; i++)
            u[i] = linear[i] * f[i] + linear[c + i];
    } else {
        memcpy(u, linear + c * c, c * sizeof *u);
        for (size_t j = 0; j < c; j++)
            kernels->add_scaled(u, linear + j * c, f[j], c);
    }
}

/* The first point whose x is at least `value`; `end` when there is none. */
static size_t first_from(const double *x, size_t begin, size_t end, double value) {
    while (begin < end) {
        size_t middle = begin + (end - begin) / 2;
        if (x[middle] < value)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

/* p0 and p1 of a curve at p; for other methods its value, twice. */
static void curve_at(double *p0, double *p1, const vg_calibration_map *map, size_t curve, double p) {
    size_t begin = map->at[curve], end = map->at[curve + 1], i = first_from(map->x, begin, end, p);
    const double *x = map->x, *low = map->low;
    if (map->method == VG_CALIBRATE_VENN_ABERS) {
        *p1 = i < end ? map->high[i] : 1;
        *p0 = i < end && x[i] == p ? low[i] : i > begin ? low[i - 1] : 0;
    } else if (map->method == VG_CALIBRATE_HISTOGRAM) {
        *p0 = *p1 = low[i < end ? i : end - 1];
    } else if (i == begin || i == end) {
        *p0 = *p1 = low[i == end ? end - 1 : begin];
    } else {
        double t = (p - x[i - 1]) / (x[i] - x[i - 1]);
        *p0 = *p1 = low[i - 1] + t * (low[i] - low[i - 1]);
    }
}

/* With two classes the curve of the second decides and the first takes the rest: 1 - p differs from p(0) in the last
 * bit, and a step of the curve could lie between. */
static void curves(double *row, const vg_calibration_map *map, size_t which, double *low, double *high) {
    size_t c = map->classes;
    double sum = 0;
    for (size_t i = c; i-- > 0;) {
        double p0, p1;
        if (c == 2 && i == 0) {
            row[0] = 1 - row[1];
            p0 = high ? 1 - high[1] : 0;
            p1 = low ? 1 - low[1] : 0;
        } else {
            curve_at(&p0, &p1, map, which * c + i, row[i]);
            row[i] = map->method == VG_CALIBRATE_VENN_ABERS ? p1 / (1 - p0 + p1) : p0;
        }
        sum += row[i];
        if (low)
            low[i] = p0;
        if (high)
            high[i] = p1;
    }
    for (size_t i = 0; i < c; i++)
        row[i] = sum > 0 ? row[i] / sum : 1 / (double)c;
}

/* One row in place. scratch: 2 c. */
static void map_row(double *row, const vg_calibration_map *map, size_t which, bool logits, double *scratch, double *low,
                    double *high) {
    const vg_softmax_kernels *kernels = vg_calibrate__softmax_kernels(vg_base__cpu_tier());
    size_t c = map->classes;
    if (!vg_calibration_method__linear(map->method)) {
        vg_map__probabilities(scratch, row, c, logits, kernels);
        memcpy(row, scratch, c * sizeof *row);
        curves(row, map, which, low, high);
        return;
    }
    vg_map__features(scratch, row, c, logits, map->method, kernels);
    vg_map__linear(scratch + c, scratch, map->linear + which * map->width, map->method, c, kernels);
    vg_map__probabilities(row, scratch + c, c, true, kernels);
}

/* --- members ------------------------------------------------------------------------------------------------------ */
/* rows[m][c] become a_m rows[m][c] b_c with sums 1 and the mean `target`. The factors of the classes are the
 * solution of iterative proportional fitting, which starts from the members and converges to the nearest such table.
 * A probability of 0 in all members is raised to the floor first, because no factor changes it. */
static void adjust_members(double *rows, size_t m, size_t c, const double *target, double *mean) {
    for (size_t i = 0; i < m * c; i++)
        rows[i] = fmax(rows[i], VG_MAP_FLOOR);
    for (int round = 0; round < ADJUST_ROUNDS; round++) {
        double far = 0;
        memset(mean, 0, c * sizeof *mean);
        for (size_t j = 0; j < m; j++) {
            double sum = 0;
            for (size_t i = 0; i < c; i++)
                sum += rows[j * c + i];
            for (size_t i = 0; i < c; i++) {
                rows[j * c + i] /= sum;
                mean[i] += rows[j * c + i] / (double)m;
            }
        }
        for (size_t i = 0; i < c; i++)
            far += fabs(mean[i] - target[i]);
        if (far <= ADJUST_NEAR || round + 1 == ADJUST_ROUNDS)
            return;
        for (size_t j = 0; j < m; j++)
            for (size_t i = 0; i < c; i++)
                rows[j * c + i] *= mean[i] > 0 ? target[i] / mean[i] : 0;
    }
}

void vg_map__sample(double *rows, size_t m, const vg_calibration_map *map, bool logits, double *scratch, double *low,
                    double *high) {
    const vg_softmax_kernels *kernels = vg_calibrate__softmax_kernels(vg_base__cpu_tier());
    size_t c = map->classes;
    double *target = scratch + 2 * c;
    if (!map->mean) {
        for (size_t j = 0; j < m; j++)
            map_row(rows + j * c, map, map->count > 1 ? j : 0, logits, scratch, low, high);
        return;
    }
    memset(target, 0, c * sizeof *target);
    for (size_t j = 0; j < m; j++) {
        if (logits) {
            vg_map__probabilities(scratch, rows + j * c, c, true, kernels);
            memcpy(rows + j * c, scratch, c * sizeof *rows);
        }
        for (size_t i = 0; i < c; i++)
            target[i] += rows[j * c + i] / (double)m;
    }
    map_row(target, map, 0, false, scratch, low, high);
    if (m == 1)
        memcpy(rows, target, c * sizeof *rows);
    else
        adjust_members(rows, m, c, target, scratch);
}

/* --- the public call ---------------------------------------------------------------------------------------------- */
typedef struct apply_work {
    double *out, *low, *high, *scratch;
    const vg_calibration_map *map;
    const vg_predictions *view;
    bool logits;
    size_t chunk;
} apply_work;

static vg_status apply_chunk(void *context, size_t index, unsigned worker) {
    apply_work *w = context;
    const vg_predictions *view = w->view;
    size_t first = index * w->chunk, end = first + w->chunk < view->n ? first + w->chunk : view->n;
    double *scratch = w->scratch + (size_t)worker * 3 * view->c;
    for (size_t n = first; n < end; n++) {
        double *rows = w->out + n * view->m * view->c;
        for (size_t m = 0; m < view->m; m++)
            VG_TRY(vg_map__read_row(rows + m * view->c, view, n, m, w->logits, n));
        vg_map__sample(rows, view->m, w->map, w->logits, scratch, w->low ? w->low + n * view->c : NULL,
                       w->high ? w->high + n * view->c : NULL);
    }
    return VG_OK;
}

vg_status vg_calibration_map_apply(double *out, double *low, double *high, const vg_calibration_map *map,
                                   const vg_predictions *predictions, int logits, unsigned threads) {
    if (!out || !map || !predictions || !predictions->data)
        return vg_base__fail(VG_ERR_ARGUMENT, "vg_calibration_map_apply: out, map and predictions must not be NULL");
    vg_calibration_map own = *map;
    own.classes = predictions->c; /* temperatures are for any number of classes */
    VG_TRY(vg_calibration_map__check(map, predictions->m, predictions->c, logits != 0, "the predictions have"));
    if ((low || high) && (map->method != VG_CALIBRATE_VENN_ABERS || (!map->mean && predictions->m > 1)))
        return vg_base__fail(VG_ERR_ARGUMENT, "intervals come from a venn-abers map of the mean, or of one member");
    vg_pool *pool;
    size_t row = predictions->m * predictions->c;
    apply_work w = {.out = out, .low = low, .high = high, .map = &own, .view = predictions, .logits = logits != 0};
    w.chunk = row && row < CHUNK_ELEMENTS ? CHUNK_ELEMENTS / row : 1;
    VG_TRY(vg_pool__new(&pool, predictions->n <= w.chunk ? 1 : threads));
    vg_status status = vg_base__alloc(&w.scratch, predictions->c, 3 * sizeof(double) * vg_pool__threads(pool),
                                      "scratch of a calibration map");
    if (status == VG_OK)
        status = vg_pool__run(pool, (predictions->n + w.chunk - 1) / w.chunk, apply_chunk, &w);
    vg_base__release(w.scratch);
    vg_pool__free(pool);
    return status;
}
