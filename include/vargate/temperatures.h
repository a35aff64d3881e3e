/* temperatures.h - temps.json: fitted temperatures in a file.
 *
 *     { "temperatures": [1.31, 1.28, ...],           1 or M numbers, finite, > 0: all that a reader needs
 *       "solver": "newton", "shared": false, "samples": N, "members": M, "classes": C, "bins": 15,
 *       "nll_before": .., "nll_after": .., "ece_before": .., "ece_after": ..,        of the mean distribution
 *       "accuracy_before", "accuracy_after", "member_nll_before", "member_nll_after",
 *       "member_ece_before", "member_ece_after", "member_accuracy_before", "member_accuracy_after",
 *       "newton": {"temperatures", "losses", "gradients", "curvatures", "steps", "converged", "at_min", "at_max", "flat",
 * "sweeps"}, "bayes": {the same keys without "converged" and "flat"},                                arrays, one value a
 * temperature "gap": {"log_t_median", "log_t_max", "loss_max"} }                           when both solvers ran
 */
#ifndef VARGATE_TEMPERATURES_H
#define VARGATE_TEMPERATURES_H

#include "vargate/calibrate.h"
#include "vargate/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The text of temps.json, NUL-terminated; the caller's, freed with vg_temperatures_text_free. */
VG_API vg_status vg_temperatures_text(char **out, const vg_calibration *calibration);
VG_API void vg_temperatures_text_free(char *text);
/* Writes that text to `path`: beside, then renamed. */
VG_API vg_status vg_temperatures_save(const char *path, const vg_calibration *calibration);

/* Reads "temperatures" of a temps.json, which may hold any other keys. `*out` is the caller's, freed with vg_temperatures_free.
 */
VG_API vg_status vg_temperatures_load(double **out, size_t *count, const char *path);
VG_API void vg_temperatures_free(double *temperatures);

#ifdef __cplusplus
}
#endif
#endif
