/* temperatures.h - temps.json: fitted temperatures in a file. An object with the keys
 *
 *     temperatures            array of 1 or M numbers, finite, > 0: all that a reader needs
 *     solver, shared          "newton", "bayes" or "both" (whose temperatures are newton's); true for one temperature
 *     samples, members, classes, bins, t_min, t_max
 *     nll_before, nll_after, ece_before, ece_after, accuracy_before, accuracy_after    of the mean distribution
 *     member_nll_before, ...  the same six, means over members
 *     held_out                object, if folds were held out: folds, nll, nll_change_error, ece, accuracy, member_nll,
 *                             member_ece, member_accuracy
 *     warning                 text, if there is something to be said: ends of the range, figures that became worse
 *     newton                  object, if it ran: arrays temperatures, losses, gradients, curvatures, steps of numbers
 *                             and converged, flat, at_min, at_max of booleans (vg_temperature_fit); and the
 *                             number sweeps
 *     bayes                   the same without converged and flat, if it ran
 *     gap                     if both ran: log_t_median, log_t_max, loss_max
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

#ifdef __cplusplus
}
#endif
#endif
