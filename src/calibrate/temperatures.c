/* temperatures.c - temps.json, written and read. The keys are listed in vargate/temperatures.h.
 *
 * Numbers are written with 17 digits, so that reading gives the same doubles. A reader takes "temperatures" and
 * checks it; every other key is for readers and reports. */
#include "vargate/temperatures.h"

#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/file.h"
#include "base/json_text.h"
#include "calibrate/calibration.h"
#include "calibrate/map_json.h"

enum { DIGITS = 17 };

/* --- writing ---------------------------------------------------------------------------------------------------- */
/* One field of every fit. */
static json_t *fit_reals(const vg_temperature_fit *fits, size_t count, size_t offset, bool *ok) {
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        vg_base__json_add(array, real(*(const double *)((const char *)&fits[i] + offset)), ok);
    return array;
}

static json_t *fit_flags(const vg_temperature_fit *fits, size_t count, uint32_t flag, bool *ok) {
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        vg_base__json_add(array, json_boolean((fits[i].flags & flag) != 0), ok);
    return array;
}

static json_t *fit_object(const vg_temperature_fit *fits, size_t count, unsigned sweeps, bool newton, bool *ok) {
    json_t *object = json_object();
    vg_base__json_put(object, "temperatures", fit_reals(fits, count, offsetof(vg_temperature_fit, temperature), ok),
                      ok);
    vg_base__json_put(object, "losses", fit_reals(fits, count, offsetof(vg_temperature_fit, loss), ok), ok);
    vg_base__json_put(object, "gradients", fit_reals(fits, count, offsetof(vg_temperature_fit, gradient), ok), ok);
    vg_base__json_put(object, "curvatures", fit_reals(fits, count, offsetof(vg_temperature_fit, curvature), ok), ok);
    vg_base__json_put(object, "steps", fit_reals(fits, count, offsetof(vg_temperature_fit, step), ok), ok);
    if (newton) {
        vg_base__json_put(object, "converged", fit_flags(fits, count, VG_FIT_CONVERGED, ok), ok);
        vg_base__json_put(object, "flat", fit_flags(fits, count, VG_FIT_FLAT, ok), ok);
    }
    vg_base__json_put(object, "at_min", fit_flags(fits, count, VG_FIT_AT_MIN, ok), ok);
    vg_base__json_put(object, "at_max", fit_flags(fits, count, VG_FIT_AT_MAX, ok), ok);
    vg_base__json_put(object, "sweeps", json_integer(sweeps), ok);
    return object;
}

static void put_metrics(json_t *root, const vg_calibration *c, bool *ok) {
    const struct {
        const char *name;
        double value;
    } metrics[] = {{"nll_before", c->before.nll},
                   {"nll_after", c->after.nll},
                   {"ece_before", c->before.ece},
                   {"ece_after", c->after.ece},
                   {"accuracy_before", c->before.accuracy},
                   {"accuracy_after", c->after.accuracy},
                   {"member_nll_before", c->before.member_nll},
                   {"member_nll_after", c->after.member_nll},
                   {"member_ece_before", c->before.member_ece},
                   {"member_ece_after", c->after.member_ece},
                   {"member_accuracy_before", c->before.member_accuracy},
                   {"member_accuracy_after", c->after.member_accuracy}};
    for (size_t i = 0; i < sizeof metrics / sizeof metrics[0]; i++)
        vg_base__json_put(root, metrics[i].name, real(metrics[i].value), ok);
}

static void put_held_out(json_t *root, const vg_calibration *c, bool *ok) {
    json_t *object = json_object();
    vg_base__json_put(object, "folds", json_integer(c->folds), ok);
    vg_base__json_put(object, "nll", real(c->held_out.nll), ok);
    vg_base__json_put(object, "nll_change_error", real(c->held_out_nll_error), ok);
    vg_base__json_put(object, "nll_change_low", real(c->nll_change[0]), ok);
    vg_base__json_put(object, "nll_change_high", real(c->nll_change[1]), ok);
    vg_base__json_put(object, "ece", real(c->held_out.ece), ok);
    vg_base__json_put(object, "ece_change_low", real(c->ece_change[0]), ok);
    vg_base__json_put(object, "ece_change_high", real(c->ece_change[1]), ok);
    vg_base__json_put(object, "accuracy", real(c->held_out.accuracy), ok);
    vg_base__json_put(object, "member_nll", real(c->held_out.member_nll), ok);
    vg_base__json_put(object, "member_ece", real(c->held_out.member_ece), ok);
    vg_base__json_put(object, "member_accuracy", real(c->held_out.member_accuracy), ok);
    vg_base__json_put(root, "held_out", object, ok);
}

static void put_comparison(json_t *root, const vg_calibration *c, bool *ok) {
    json_t *object = json_object(), *rows = json_array();
    for (size_t i = 0; i < c->candidate_count; i++) {
        const vg_calibration_candidate *from = &c->candidates[i];
        json_t *row = json_object();
        vg_base__json_put(row, "method", json_string(from->name), ok);
        vg_base__json_put(row, "nll", real(from->nll), ok);
        vg_base__json_put(row, "ece", real(from->ece), ok);
        vg_base__json_put(row, "nll_change", real(from->nll_change), ok);
        vg_base__json_put(row, "interval", json_pack("[o, o]", real(from->low), real(from->high)), ok);
        vg_base__json_put(row, "p_value", real(from->p_value), ok);
        vg_base__json_put(row, "p_corrected", real(from->corrected), ok);
        vg_base__json_put(row, "supported", json_boolean(from->supported), ok);
        vg_base__json_add(rows, row, ok);
    }
    vg_base__json_put(object, "supported", json_string(c->supported), ok);
    vg_base__json_put(object, "text", json_string(c->advice), ok);
    vg_base__json_put(object, "methods", rows, ok);
    vg_base__json_put(root, "comparison", object, ok);
}

static json_t *calibration_object(const vg_calibration *c, bool *ok) {
    json_t *root = json_object();
    vg_base__json_put(root, "schema", json_string("vargate/1"), ok); /* docs/schema/calibrate.schema.json */
    vg_base__json_put(root, "command", json_string("calibrate"), ok);
    vg_base__json_put(root, "method", json_string(vg_calibration_method__name(c->method)), ok);
    if (c->map) {
        vg_calibration_map__put(root, c->map, ok);
        vg_calibration_map__put_fits(root, c->map_fits, c->count, ok);
    } else {
        vg_base__json_put(root, "temperatures", reals(c->temperatures, c->count, ok), ok);
        vg_base__json_put(root, "solver", json_string(vg_solver__name(c->solver)), ok);
    }
    vg_base__json_put(root, "shared", json_boolean(c->shared), ok);
    vg_base__json_put(root, "samples", json_integer((json_int_t)c->samples), ok);
    if (c->images > 0)
        vg_base__json_put(root, "images", json_integer((json_int_t)c->images), ok);
    vg_base__json_put(root, "members", json_integer((json_int_t)c->members), ok);
    vg_base__json_put(root, "classes", json_integer((json_int_t)c->classes), ok);
    vg_base__json_put(root, "bins", json_integer(c->bins), ok);
    if (!c->map) {
        vg_base__json_put(root, "t_min", json_real(c->t_min), ok);
        vg_base__json_put(root, "t_max", json_real(c->t_max), ok);
    }
    put_metrics(root, c, ok);
    if (c->folds > 0)
        put_held_out(root, c, ok);
    if (c->supported[0] != '\0')
        put_comparison(root, c, ok);
    if (c->warning[0] != '\0')
        vg_base__json_put(root, "warning", json_string(c->warning), ok);
    if (c->newton != NULL)
        vg_base__json_put(root, "newton", fit_object(c->newton, c->count, c->newton_sweeps, true, ok), ok);
    if (c->bayes != NULL)
        vg_base__json_put(root, "bayes", fit_object(c->bayes, c->count, c->bayes_sweeps, false, ok), ok);
    if (c->newton != NULL && c->bayes != NULL) {
        json_t *gap = json_object();
        vg_base__json_put(gap, "log_t_median", real(c->gap_log_t_median), ok);
        vg_base__json_put(gap, "log_t_max", real(c->gap_log_t_max), ok);
        vg_base__json_put(gap, "loss_max", real(c->gap_loss_max), ok);
        vg_base__json_put(root, "gap", gap, ok);
    }
    return root;
}

vg_status vg_temperatures_text(char **out, const vg_calibration *calibration) {
    VG_IN_C_LOCALE;
    if (out == NULL || calibration == NULL)
        return vg_base__fail(VG_ERR_ARGUMENT, "vg_temperatures_text: out and calibration must not be NULL");
    bool ok = true;
    json_t *root = calibration_object(calibration, &ok);
    char *text = ok ? vg_base__json_text(root, JSON_INDENT(1) | JSON_REAL_PRECISION(DIGITS)) : NULL;
    json_decref(root);
    if (text == NULL)
        return vg_base__fail(VG_ERR_MEMORY, "out of memory for the text of %zu temperatures", calibration->count);
    size_t size = strlen(text);
    char *copy;
    vg_status status = vg_base__alloc(&copy, size + 2, 1, "text of temperatures");
    if (status == VG_OK) {
        memcpy(copy, text, size);
        memcpy(copy + size, "\n", 2);
        *out = copy;
    }
    free(text);
    return status;
}

vg_status vg_temperatures__save(const char *path, const vg_calibration *calibration) {
    if (path == NULL)
        return vg_base__fail(VG_ERR_ARGUMENT, "vg_temperatures__save: path must not be NULL");
    char *text;
    VG_TRY(vg_temperatures_text(&text, calibration));
    vg_output *output;
    vg_status status = vg_output__open(&output, path);
    if (status == VG_OK) {
        status = vg_output__write(output, text, strlen(text));
        if (status == VG_OK)
            status = vg_output__commit(output);
        else
            vg_output__abandon(output);
    }
    vg_free(text);
    return status;
}

/* --- reading ---------------------------------------------------------------------------------------------------- */
const char *vg_calibrate__type_name(const json_t *value) {
    if (value == NULL)
        return "nothing";
    switch (json_typeof(value)) {
    case JSON_OBJECT: return "an object";
    case JSON_ARRAY: return "an array";
    case JSON_STRING: return "a string";
    case JSON_INTEGER:
    case JSON_REAL: return "a number";
    case JSON_NULL: return "null";
    default: return "a boolean";
    }
}

vg_status vg_calibrate__take(double **out, size_t *count, const json_t *root, const char *path, const char *key) {
    const json_t *array = json_object_get(root, key);
    if (!json_is_object(root))
        return vg_base__fail(VG_ERR_FORMAT, "%s: found %s, expected an object with the key \"%s\"", path,
                             vg_calibrate__type_name(root), key);
    if (!json_is_array(array) || json_array_size(array) == 0)
        return vg_base__fail(VG_ERR_FORMAT, "%s: key \"%s\" holds %s, expected an array of one or more numbers", path,
                             key, json_is_array(array) ? "an empty array" : vg_calibrate__type_name(array));
    size_t size = json_array_size(array);
    double *values;
    VG_TRY(vg_base__alloc(&values, size, sizeof *values, key));
    for (size_t i = 0; i < size; i++) {
        const json_t *item = json_array_get(array, i);
        values[i] = json_number_value(item);
        if (json_is_number(item) && values[i] > 0 && isfinite(values[i]) && isfinite(1 / values[i]))
            continue;
        vg_base__release(values);
        if (!json_is_number(item))
            return vg_base__fail(VG_ERR_FORMAT, "%s: %s[%zu] is %s, expected a number > 0", path, key, i,
                                 vg_calibrate__type_name(item));
        return vg_base__fail(VG_ERR_FORMAT, "%s: %s[%zu] is %g, expected a finite number > 0", path, key, i,
                             json_number_value(item));
    }
    *out = values;
    *count = size;
    return VG_OK;
}

static vg_status load_numbers(double **out, size_t *count, const char *path, const char *key) {
    json_t *root;
    VG_TRY(vg_base__json_load_file(&root, path, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY));
    vg_status status = vg_calibrate__take(out, count, root, path, key);
    json_decref(root);
    return status;
}

vg_status vg_temperatures_load(double **out, size_t *count, const char *path) {
    VG_IN_C_LOCALE;
    if (out == NULL || count == NULL || path == NULL)
        return vg_base__fail(VG_ERR_ARGUMENT, "vg_temperatures_load: out, count and path must not be NULL");
    return load_numbers(out, count, path, "temperatures");
}

vg_status vg_class_k__load(double **out, size_t *count, const char *path) {
    return load_numbers(out, count, path, "k");
}
