/* map_json.c - calibration maps written to and read from JSON. The keys are listed in vargate/temperatures.h. */
#include "calibrate/map_json.h"

#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/json_text.h"
#include "calibrate/calibration.h"
#include "vargate/temperatures.h"

/* The arrays of a curve, in the order x, low, high. */
static const char *const *curve_keys(vg_calibration_method method) {
    static const char *const keys[3][4] = {{"x", "y", NULL}, {"edges", "y", NULL}, {"x", "p0", "p1", NULL}};
    return keys[method - VG_CALIBRATE_ISOTONIC];
}

/* --- writing ------------------------------------------------------------------------------------------------------ */
static json_t *linear_object(const vg_calibration_map *map, const double *linear, bool *ok) {
    json_t *object = json_object(), *rows = json_array();
    size_t c = map->classes;
    double *row = NULL;
    if (map->method != VG_CALIBRATE_DIRICHLET) {
        vg_base__json_put(object, "scale", reals(linear, map->method == VG_CALIBRATE_TEMPERATURE ? 1 : c, ok), ok);
        json_decref(rows);
    } else {
        *ok &= vg_base__alloc(&row, c, sizeof *row, "a row of weights") == VG_OK;
        for (size_t i = 0; *ok && i < c; i++) {
            for (size_t j = 0; j < c; j++)
                row[j] = linear[j * c + i];
            vg_base__json_add(rows, reals(row, c, ok), ok);
        }
        vg_base__release(row);
        vg_base__json_put(object, "weights", rows, ok);
    }
    if (map->method != VG_CALIBRATE_TEMPERATURE)
        vg_base__json_put(object, "bias", reals(linear + map->width - c, c, ok), ok);
    return object;
}

static json_t *curves_object(const vg_calibration_map *map, size_t which, bool *ok) {
    json_t *object = json_object(), *classes = json_array();
    const double *const values[] = {map->x, map->low, map->high};
    const char *const *keys = curve_keys(map->method);
    for (size_t c = 0; c < map->classes; c++) {
        size_t at = map->at[which * map->classes + c], end = map->at[which * map->classes + c + 1];
        json_t *curve = json_object();
        for (size_t i = 0; keys[i]; i++)
            vg_base__json_put(curve, keys[i], reals(values[i] + at, end - at, ok), ok);
        vg_base__json_add(classes, curve, ok);
    }
    vg_base__json_put(object, "classes", classes, ok);
    return object;
}

void vg_calibration_map__put(json_t *root, const vg_calibration_map *map, bool *ok) {
    json_t *maps = json_array();
    for (size_t i = 0; i < map->count; i++)
        vg_base__json_add(maps,
                          vg_calibration_method__linear(map->method)
                              ? linear_object(map, map->linear + i * map->width, ok)
                              : curves_object(map, i, ok),
                          ok);
    vg_base__json_put(root, "input", json_string(map->probabilities ? "probabilities" : "logits"), ok);
    vg_base__json_put(root, "mean", json_boolean(map->mean), ok);
    vg_base__json_put(root, "maps", maps, ok);
}

void vg_calibration_map__put_fits(json_t *root, const vg_map_fit *fits, size_t count, bool *ok) {
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++) {
        json_t *fit = json_object();
        vg_base__json_put(fit, "loss", real(fits[i].loss), ok);
        vg_base__json_put(fit, "gradient", real(fits[i].gradient), ok);
        vg_base__json_put(fit, "iterations", json_integer(fits[i].iterations), ok);
        vg_base__json_put(fit, "converged", json_boolean(fits[i].converged), ok);
        vg_base__json_add(array, fit, ok);
    }
    vg_base__json_put(root, "fits", array, ok);
}

vg_status vg_calibration_map__text(char **out, const vg_calibration_map *map) {
    bool ok = true;
    json_t *root = json_object();
    vg_base__json_put(root, "method", json_string(vg_calibration_method__name(map->method)), &ok);
    vg_base__json_put(root, "members", json_integer((json_int_t)map->members), &ok);
    vg_base__json_put(root, "classes", json_integer((json_int_t)map->classes), &ok);
    vg_calibration_map__put(root, map, &ok);
    char *text = ok ? vg_base__json_text(root, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
    json_decref(root);
    vg_status status =
        text ? vg_base__strdup(out, text) : vg_base__fail(VG_ERR_MEMORY, "out of memory for the text of a map");
    free(text);
    return status;
}

/* --- reading ------------------------------------------------------------------------------------------------------ */
/* The map that is being read, and its name in messages. */
typedef struct reading {
    const char *name;
    const json_t *root;
    vg_calibration_map like, *map;
    size_t points; /* read so far */
} reading;

static vg_status wrong(const reading *r, const char *key, const char *expected) {
    return vg_base__fail(VG_ERR_FORMAT, "%s: key \"%s\" of a %s map: expected %s", r->name, key,
                         vg_calibration_method__name(r->like.method), expected);
}

/* `count` finite numbers at `key` of an object into to[]. */
static vg_status take_numbers(double *to, const reading *r, const json_t *array, const char *key, size_t count) {
    if (!json_is_array(array) || json_array_size(array) != count)
        return wrong(r, key, "an array with a number for each class, or as many as its neighbours have");
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(array, i);
        to[i] = json_number_value(item);
        if (!json_is_number(item) || !isfinite(to[i]))
            return wrong(r, key, "finite numbers");
    }
    return VG_OK;
}

static vg_status read_linear(reading *r, const json_t *object, double *linear) {
    size_t c = r->like.classes;
    const json_t *rows = json_object_get(object, "weights"), *scale = json_object_get(object, "scale");
    if (r->like.method == VG_CALIBRATE_TEMPERATURE)
        return take_numbers(linear, r, scale, "scale", 1);
    if (r->like.method == VG_CALIBRATE_VECTOR) {
        VG_TRY(take_numbers(linear, r, scale, "scale", c));
    } else {
        if (json_array_size(rows) != c)
            return wrong(r, "weights", "an array of C arrays");
        /* The room for the biases holds a row until they are read. */
        for (size_t i = 0; i < c; i++) {
            VG_TRY(take_numbers(linear + c * c, r, json_array_get(rows, i), "weights", c));
            for (size_t j = 0; j < c; j++)
                linear[j * c + i] = linear[c * c + j];
        }
    }
    return take_numbers(linear + r->map->width - c, r, json_object_get(object, "bias"), "bias", c);
}

static vg_status read_curves(reading *r, const json_t *object, size_t which) {
    const json_t *classes = json_object_get(object, "classes");
    const char *const *keys = curve_keys(r->like.method);
    vg_calibration_map *map = r->map;
    for (size_t c = 0; c < map->classes; c++) {
        const json_t *curve = json_array_get(classes, c);
        size_t count = json_array_size(json_object_get(curve, keys[0])), at = r->points;
        double *places[] = {map->x + at, map->low + at, map->high + at};
        for (size_t i = 0; keys[i]; i++)
            VG_TRY(take_numbers(places[i], r, json_object_get(curve, keys[i]), keys[i], count));
        for (size_t i = 1; i < count; i++)
            if (!(map->x[at + i - 1] < map->x[at + i]))
                return wrong(r, keys[0], "numbers that increase");
        for (size_t i = 0; i < count; i++)
            if (!(map->low[at + i] >= 0 && map->low[at + i] <= 1 && map->high[at + i] <= 1 && map->high[at + i] >= 0))
                return wrong(r, keys[1], "probabilities");
        map->at[which * map->classes + c] = at;
        r->points = map->at[which * map->classes + c + 1] = at + count;
    }
    return VG_OK;
}

/* The number of points of the curves of all maps; every class of every map has at least one. */
static vg_status count_points(size_t *out, const reading *r, const json_t *maps) {
    const char *key = curve_keys(r->like.method)[0];
    *out = 0;
    for (size_t i = 0; i < r->like.count; i++) {
        const json_t *classes = json_object_get(json_array_get(maps, i), "classes");
        if (json_array_size(classes) != r->like.classes)
            return wrong(r, "classes", "an array with an object for each class");
        for (size_t c = 0; c < r->like.classes; c++) {
            size_t points = json_array_size(json_object_get(json_array_get(classes, c), key));
            if (points == 0 && r->like.method != VG_CALIBRATE_VENN_ABERS)
                return wrong(r, key, "an array of one or more numbers");
            *out += points;
        }
    }
    return VG_OK;
}

static vg_status read_maps(reading *r) {
    const json_t *maps = json_object_get(r->root, "maps");
    bool linear = vg_calibration_method__linear(r->like.method);
    size_t points = 0;
    if (!linear)
        VG_TRY(count_points(&points, r, maps));
    VG_TRY(vg_calibration_map__new(&r->map, &r->like, points));
    for (size_t i = 0; i < r->like.count; i++) {
        const json_t *object = json_array_get(maps, i);
        VG_TRY(linear ? read_linear(r, object, r->map->linear + i * r->map->width) : read_curves(r, object, i));
    }
    return VG_OK;
}

static vg_status read_temperatures(reading *r) {
    double *values;
    r->like = (vg_calibration_map){.method = VG_CALIBRATE_TEMPERATURE};
    VG_TRY(vg_calibrate__take(&values, &r->like.count, r->root, r->name, "temperatures"));
    vg_status status = vg_calibration_map__new(&r->map, &r->like, 0);
    for (size_t i = 0; status == VG_OK && i < r->like.count; i++)
        r->map->linear[i] = 1 / values[i];
    vg_base__release(values);
    return status;
}

/* Reads the description of the maps, which comes before them. */
static vg_status read_head(reading *r, const char *method) {
    const char *input = json_string_value(json_object_get(r->root, "input"));
    size_t maps = json_array_size(json_object_get(r->root, "maps"));
    int which = 0;
    while (which <= VG_CALIBRATE_VENN_ABERS &&
           strcmp(vg_calibration_method__name((vg_calibration_method)which), method) != 0)
        which++;
    if (which > VG_CALIBRATE_VENN_ABERS)
        return vg_base__fail(VG_ERR_FORMAT, "%s: unknown method \"%.40s\"", r->name, method);
    json_int_t members = json_integer_value(json_object_get(r->root, "members"));
    json_int_t classes = json_integer_value(json_object_get(r->root, "classes"));
    r->like = (vg_calibration_map){.method = (vg_calibration_method)which,
                                   .mean = json_is_true(json_object_get(r->root, "mean")),
                                   .probabilities = input && strcmp(input, "probabilities") == 0,
                                   .members = members > 0 ? (size_t)members : 0,
                                   .classes = classes > 0 ? (size_t)classes : 0,
                                   .count = maps};
    if (!input || (!r->like.probabilities && strcmp(input, "logits") != 0))
        return wrong(r, "input", "\"logits\" or \"probabilities\"");
    if (classes < 2 || classes > 1 << 24)
        return wrong(r, "classes", "a whole number of 2 or more");
    if (maps == 0 || (maps > 1 && maps != r->like.members) || (maps > 1 && r->like.mean))
        return wrong(r, "maps", "an array with one map, or one for each member");
    return VG_OK;
}

static vg_status read_map(reading *r) {
    const char *method = json_string_value(json_object_get(r->root, "method"));
    if (!method || !json_object_get(r->root, "maps"))
        return read_temperatures(r);
    VG_TRY(read_head(r, method));
    return read_maps(r);
}

vg_status vg_calibration_map_load(vg_calibration_map **out, const char *source) {
    VG_IN_C_LOCALE;
    json_error_t error;
    json_t *root = NULL;
    if (!out || !source)
        return vg_base__fail(VG_ERR_ARGUMENT, "vg_calibration_map_load: out and source must not be NULL");
    *out = NULL;
    reading r = {.name = source[0] == '{' ? "the calibration map" : source};
    if (source[0] != '{')
        VG_TRY(vg_base__json_load_file(&root, source, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY));
    else if (!(root = vg_base__json_load(source, strlen(source), JSON_REJECT_DUPLICATES, &error)))
        return vg_base__fail(vg_base__json_no_memory(&error) ? VG_ERR_MEMORY : VG_ERR_FORMAT,
                             "%s: not JSON at line %d, column %d: %s", r.name, error.line, error.column, error.text);
    r.root = root;
    vg_status status = read_map(&r);
    json_decref(root);
    if (status == VG_OK)
        *out = r.map;
    else
        vg_base__release(r.map);
    return status;
}
