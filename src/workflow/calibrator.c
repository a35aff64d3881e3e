/* calibrator.c - a calibration given as text: numbers, or the name of a file; and its application to blocks. See
 * prediction_input.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/calibration.h"
#include "vargate/temperatures.h"
#include "workflow/prediction_input.h"

static vg_status check_temperatures(const double *values, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(values[i]) || values[i] <= 0)
            return vg_base__fail(VG_ERR_ARGUMENT, "--calibration-map: %g is not a positive number", values[i]);
    }
    return VG_OK;
}

/* "1.3" or "1.3,1.2,...": false when the text is not numbers (it is then a file name). */
static bool parse_numbers(const char *text, double **out, size_t *count) {
    size_t items = 1;
    double *values;
    for (const char *p = text; *p; p++)
        items += *p == ',';
    if (vg_base__alloc(&values, items, sizeof *values, "numbers") != VG_OK)
        return false;
    const char *p = text;
    for (size_t i = 0; i < items; i++) {
        char *end;
        values[i] = strtod(p, &end);
        if (end == p || *end != (i + 1 < items ? ',' : '\0')) {
            vg_base__release(values);
            return false;
        }
        p = end + 1;
    }
    *out = values;
    *count = items;
    return true;
}

vg_status vg_class_k__read(double **out, size_t *count, const char *text) {
    if (!strchr(text, ',') || !parse_numbers(text, out, count))
        return vg_class_k__load(out, count, text);
    for (size_t i = 0; i < *count; i++)
        if (!((*out)[i] > 0 && isfinite((*out)[i]))) {
            double found = (*out)[i];
            vg_base__release(*out);
            *out = NULL;
            return vg_base__fail(VG_ERR_ARGUMENT, "a k for every class: number %zu is %g, expected a finite number > 0",
                                 i + 1, found);
        }
    return VG_OK;
}

static vg_status read(vg_calibrator *out, const char *text) {
    if (parse_numbers(text, &out->temperature, &out->count))
        return check_temperatures(out->temperature, out->count);
    VG_TRY(vg_calibration_map_load(&out->map, text));
    if (!vg_calibration_map__is_temperatures(out->map))
        return VG_OK;
    vg_free(out->map);
    out->map = NULL;
    return vg_temperatures_load(&out->temperature, &out->count, text);
}

vg_status vg_calibrator__read(vg_calibrator **out, const char *text) {
    *out = NULL;
    if (!text)
        return VG_OK;
    VG_TRY(vg_base__zalloc(out, 1, sizeof **out, "a calibration"));
    vg_status status = read(*out, text);
    if (status != VG_OK) {
        vg_calibrator__free(*out);
        *out = NULL;
    }
    return status;
}

void vg_calibrator__free(vg_calibrator *calibrator) {
    if (!calibrator)
        return;
    vg_free(calibrator->temperature);
    vg_free(calibrator->map);
    vg_base__release(calibrator->room);
    vg_base__release(calibrator);
}

vg_status vg_calibrator__check(const vg_calibrator *calibrator, const vg_score_layout *layout, bool logits,
                               const char *path) {
    char what[256];
    if (calibrator->temperature && !logits)
        return vg_base__fail(VG_ERR_ARGUMENT,
                             "--calibration-map: a temperature, also a policy's, applies to logits; %s holds "
                             "probabilities",
                             path);
    if (calibrator->temperature && calibrator->count != 1 && calibrator->count != layout->m)
        return vg_base__fail(VG_ERR_ARGUMENT, "--calibration-map: %zu values for %zu members; give 1 or %zu",
                             calibrator->count, layout->m, layout->m);
    if (!calibrator->map)
        return VG_OK;
    const char *method = vg_calibration_method__name(vg_calibration_map__method(calibrator->map));
    if (layout->multilabel)
        return vg_base__fail(VG_ERR_ARGUMENT,
                             "--calibration-map: a %s map is for classes that exclude each other, not "
                             "for --multilabel",
                             method);
    snprintf(what, sizeof what, "%.200s has", path);
    vg_status status = vg_calibration_map__check(calibrator->map, layout->m, layout->c, logits, what);
    return status == VG_OK ? VG_OK : vg_base__fail(status, "--calibration-map: %s", vg_error_message());
}

vg_status vg_calibrator__map(void *calibrator, vg_predictions *view) {
    vg_calibrator *c = calibrator;
    size_t size;
    if (!vg_base__mul(&size, view->m, view->c) || !vg_base__mul(&size, size, view->n))
        return vg_base__fail(VG_ERR_MEMORY, "a block of %zu samples does not fit memory", view->n);
    if (size > c->room_size) {
        vg_base__release(c->room);
        c->room = NULL;
        c->room_size = 0;
        VG_TRY(vg_base__alloc(&c->room, size, sizeof *c->room, "calibrated predictions"));
        c->room_size = size;
    }
    VG_TRY(vg_calibration_map_apply(c->room, NULL, NULL, c->map, view, c->logits, c->threads));
    *view = vg_predictions_f64(c->room, view->n, view->m, view->c);
    return VG_OK;
}
