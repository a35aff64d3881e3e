/* calibration.h - functions of temperature scaling that the modules above calibrate need besides the public ones:
 * names of solvers, figures at given temperatures, temps.json written to a file. */
#ifndef VG_CALIBRATION_H
#define VG_CALIBRATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vargate/calibrate.h"
#include "vargate/status.h"

/* "newton", "bayes", "both". */
const char *vg_solver__name(vg_solver solver);

/* NLL, ECE and accuracy of logits at given temperatures (count 1 or M; NULL: 1). options: bins, threads; NULL: the
 * defaults. */
vg_status vg_calibrate__measure(vg_calibration_metrics *out, const vg_predictions *logits, const int64_t *labels,
                                const double *temperatures, size_t count, const vg_calibrate_options *options);

/* Writes vg_temperatures_text to `path`: beside, then renamed. */
vg_status vg_temperatures__save(const char *path, const vg_calibration *calibration);

/* A map as the text that vg_calibration_map_load reads; released with vg_base__release. */
vg_status vg_calibration_map__text(char **out, const vg_calibration_map *map);
/* Whether the map consists of temperatures only, by which logits are divided. */
bool vg_calibration_map__is_temperatures(const vg_calibration_map *map);
/* "temperature", "vector", ... */
const char *vg_calibration_method__name(vg_calibration_method method);
vg_calibration_method vg_calibration_map__method(const vg_calibration_map *map);
/* VG_ERR_DATA unless the map is for such predictions; `what` names them: "test.npz has". */
vg_status vg_calibration_map__check(const vg_calibration_map *map, size_t m, size_t c, bool logits, const char *what);

/* The key "k" of a file that `vargate fit-k` wrote: a k for every class, or one for all. Freed with
 * vg_base__release. */
vg_status vg_class_k__load(double **out, size_t *count, const char *path);

#endif
