/* map.h - calibration maps: fitting them to rows of predictions, and applying them to make rows of probabilities.
 * Internal to calibrate.
 *
 * A map is one block of memory. Of linear methods `linear` holds, for each of `count` maps, `width` numbers:
 *     temperature [1/T]    vector [w: c][b: c]    dirichlet [W transposed: c x c][b: c], W transposed so that row j is
 *                                                 the contribution of input class j
 * Of the others, class k of map i has the curve of points at[i c + k] .. at[i c + k + 1] - 1:
 *     isotonic    (x, low): linear between the points, constant outside
 *     histogram   x: upper edges of the bins, low: their values; a value above the last edge is in the last bin
 *     venn-abers  x: scores; low: p0 from x on (0 before the first); high: p1 up to x (1 after the last) */
#ifndef VG_CALIBRATE_MAP_H
#define VG_CALIBRATE_MAP_H

#include "base/base.h"
#include "calibrate/calibration.h"
#include "calibrate/newton_cg.h"
#include "calibrate/softmax_rows.h"
#include "vargate/calibrate.h"

struct vg_calibration_map {
    vg_calibration_method method;
    bool mean, probabilities;       /* of the mean over members; fitted to probabilities */
    size_t members, classes, count; /* members of the predictions that it was fitted to (0: any); 1 or M maps */
    size_t width;
    double *linear;
    size_t *at;
    double *x, *low, *high;
};

#define VG_MAP_FLOOR 1e-12 /* smallest probability whose logarithm is taken, in maps and in the NLL of their results */

bool vg_calibration_method__linear(vg_calibration_method method);
size_t vg_calibration_map__width(vg_calibration_method method, size_t c);
/* Allocates a map with `points` curve points in all; its description is copied from `like`. */
vg_status vg_calibration_map__new(vg_calibration_map **out, const vg_calibration_map *like, size_t points);

/* --- rows --------------------------------------------------------------------------------------------------------- */
/* Row (row, m) of a view as doubles; checked to be finite logits or a distribution. `number`: that of the sample,
 * for messages. */
vg_status vg_map__read_row(double *to, const vg_predictions *view, size_t row, size_t m, bool logits, size_t number);
/* to[c]: the features of a linear map, from a row of logits or probabilities. */
void vg_map__features(double *to, const double *row, size_t c, bool logits, vg_calibration_method method,
                      const vg_softmax_kernels *kernels);
/* u[c]: the logits that a linear map gives to features f. */
void vg_map__linear(double *u, const double *f, const double *linear, vg_calibration_method method, size_t c,
                    const vg_softmax_kernels *kernels);
/* A row to probabilities, softmax of logits. to may be row. False where it is not finite. */
bool vg_map__probabilities(double *to, const double *row, size_t c, bool logits, const vg_softmax_kernels *kernels);
/* The members of one sample, rows[m][c], logits or probabilities, to probabilities at the map, in place.
 * scratch: 3 c. low, high: NULL, or c each (vg_calibration_map_apply). */
void vg_map__sample(double *rows, size_t m, const vg_calibration_map *map, bool logits, double *scratch, double *low,
                    double *high);

/* --- fits --------------------------------------------------------------------------------------------------------- */
/* The rows that one map is fitted to: row take[i] of the inputs [..][c], with label y[i]. */
typedef struct vg_map_rows {
    const size_t *take;
    const int64_t *y;
    size_t count, c;
    vg_pool *pool;
    size_t done, total; /* fits done before this one, and fits in all, for progress */
    bool rough;         /* the loss is wanted to about 1e-9, not the parameters */
} vg_map_rows;

/* Moves linear[width] to the minimiser. features: row take[i] of f. */
vg_status vg_map__fit_linear(vg_map_fit *out, double *linear, const double *f, const vg_map_rows *rows,
                             const vg_calibrate_options *options);

/* The curve of one class while it is fitted; arrays of `room` points. */
typedef struct vg_curve {
    size_t count;
    double *x, *low, *high;
} vg_curve;
/* A score and whether its label is the class; `groups` of equal scores after grouping. */
typedef struct vg_scored {
    uint64_t key;         /* bits of the score, >= 0 */
    uint32_t hits, count; /* of the group */
} vg_scored;
double vg_scored__value(const vg_scored *s);
/* The arrays of `out` have room for `count` points; those of a histogram for `map_bins`. */
void vg_curve__isotonic(vg_curve *out, const vg_scored *groups, size_t count, double *scratch);
void vg_curve__histogram(vg_curve *out, const vg_scored *groups, size_t count, unsigned bins, bool equal_mass);
/* scratch: 6 (count + 2) */
void vg_curve__venn_abers(vg_curve *out, const vg_scored *groups, size_t count, double *scratch);
/* Curves of all classes, appended to curves[c]: allocated, released with vg_base__release(curves[k].x). */
vg_status vg_map__fit_curves(vg_curve *curves, const double *p, const vg_map_rows *rows,
                             const vg_calibrate_options *options);

/* Fits maps instead of temperatures (map_fit.c): all that vg_calibrate_blocks does for them. */
struct vg_logits;
/* Checks the options of maps; VG_ERR_ARGUMENT names the one that is wrong. */
vg_status vg_calibrate__check_method(const vg_calibrate_options *options);
/* held_out_only: of the result only `held_out`, `folds` and sample_nll[1] are set, which takes about a third of the
 * time: the fit of a fold starts from that of the one before. */
vg_status vg_calibrate__maps(vg_calibration **out, struct vg_logits *logits, const vg_calibrate_options *options,
                             bool held_out_only);

#endif
