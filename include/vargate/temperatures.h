/* temperatures.h - temps.json: fitted temperatures, or maps of another method, in a file. An object with the keys
 *
 *     temperatures            array of 1 or M numbers, finite, > 0: all that a reader needs
 *     method                  "temperature", "vector", "dirichlet", "isotonic", "histogram", "venn-abers"; absent:
 *                             temperature
 *     solver, shared          "newton", "bayes" or "both" (whose temperatures are newton's); true for one temperature
 *     samples, members, classes, bins, t_min, t_max
 *     nll_before, nll_after, ece_before, ece_after, accuracy_before, accuracy_after    of the mean distribution
 *     member_nll_before, ...  the same six, means over members
 *     held_out                object, if folds were held out: folds, nll, nll_change_error, ece, accuracy, member_nll,
 *                             member_ece, member_accuracy, and the ends of intervals
 *     warning                 text, if an end of the range was reached or a figure became worse
 *     newton                  object, if it ran: arrays temperatures, losses, gradients, curvatures, steps of numbers
 *                             and converged, flat, at_min, at_max of booleans (vg_temperature_fit); and the
 *                             number sweeps
 *     bayes                   the same without converged and flat, if it ran
 *     gap                     if both ran: log_t_median, log_t_max, loss_max
 * In place of temperatures, solver, t_min, t_max, newton, bayes and gap a file of another method, or of a temperature
 * of the mean, has
 *     input                   "logits" or "probabilities": what the map was fitted to, and, of temperature and vector,
 *                             what it is for
 *     mean                    true: the map of the mean over members; members are adjusted to it
 *     maps                    array of 1 or M objects: scale (C numbers; of temperature 1: 1/T) and bias (C) of vector;
 *                             weights (C arrays of C) and bias of dirichlet; classes of the others: C objects with
 *                             arrays x and y of isotonic, edges and y of histogram, x, p0 and p1 of venn-abers
 *     fits                    array of as many objects: loss, gradient, iterations, converged (vg_map_fit)
 * Numbers that are not finite are null. These functions keep no state; any thread may call them at any time. */
#ifndef VARGATE_TEMPERATURES_H
#define VARGATE_TEMPERATURES_H

#include "vargate/calibrate.h"
#include "vargate/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The text of temps.json, NUL-terminated; the caller's, freed with vg_free. */
VG_API vg_status vg_temperatures_text(char **out, const vg_calibration *calibration);

/* Reads "temperatures" of a temps.json, which may hold any other keys. `*out` is the caller's, freed with
 * vg_free. VG_ERR_FORMAT for a file without them, or with one that is not > 0. */
VG_API vg_status vg_temperatures_load(double **out, size_t *count, const char *path);

/* A map from the file that vg_temperatures_text gives, of any method, temperatures included. `source` is its path or,
 * where it begins with "{", its text. `*out` is the caller's, one block of memory, freed with vg_free. */
VG_API vg_status vg_calibration_map_load(vg_calibration_map **out, const char *source);
/* Applies a map to predictions (N, M, C) and writes probabilities to out[n][m][c]. logits: 1 where the predictions
 * are logits. low, high: NULL or [n][c] of a venn-abers map of the mean or of one member: the probabilities p0 and p1
 * of each class, not divided by their sum. threads 0: one per core. VG_ERR_DATA where the map is for other numbers of
 * members or classes or for the other kind of predictions, and for the first row that is not finite or not a
 * distribution. Any thread may call it. */
VG_API vg_status vg_calibration_map_apply(double *out, double *low, double *high, const vg_calibration_map *map,
                                          const vg_predictions *predictions, int logits, unsigned threads);

#ifdef __cplusplus
}
#endif
#endif
