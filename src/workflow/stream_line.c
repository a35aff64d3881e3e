/* stream_line.c - reads a line of the decision stream.
 *
 * Two readers. The fast one takes the form that model servers send: keys id and p or z in any order, a plain id, nested
 * arrays of numbers. Any other line goes to a full JSON parser, which reads what the fast one does not support and
 * reports what is wrong with the rest. */
#include "workflow/stream_line.h"

#include "vargate/temperatures.h"

#include <jansson.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_text.h"
#include "formats/json_records.h"

static bool fail(vg_stream_line *line, const char *text) {
    snprintf(line->error, sizeof line->error, "%s", text);
    return false;
}

static bool fail_memory(vg_stream_line *line) {
    line->no_memory = true;
    return fail(line, "out of memory");
}

static bool set_id(vg_stream_line *line, const char *text, size_t length) {
    if (length + 1 > line->id_room) {
        char *id = realloc(line->id, length + 64);
        if (!id)
            return false;
        line->id = id;
        line->id_room = length + 64;
    }
    memcpy(line->id, text, length);
    line->id[length] = '\0';
    return true;
}

static bool make_room(vg_stream_line *line, size_t count) {
    if (count <= line->room)
        return true;
    size_t room = 2 * count + 64;
    double *values = count < SIZE_MAX / 32 ? realloc(line->values, room * sizeof *values) : NULL;
    if (!values)
        return false;
    line->values = values;
    line->room = room;
    return true;
}

/* --- the fast reader ---------------------------------------------------------------------------------------------- */
static const char *skip_space(const char *p) {
    while (*p == ' ' || *p == '\t' || *p == '\r' || *p == '\n')
        p++;
    return p;
}

static bool digit(char c) { return c >= '0' && c <= '9'; }

typedef struct decimal {
    uint64_t mantissa;
    int digits, exponent; /* significant digits taken; power of ten */
    bool negative;
} decimal;

/* Reads the digits of a number by JSON's grammar; NULL where there is no number. */
static const char *read_decimal(const char *p, decimal *out) {
    *out = (decimal){0};
    if (*p == '-') {
        out->negative = true;
        p++;
    }
    if (!digit(*p) || (*p == '0' && digit(p[1])))
        return NULL;
    for (bool fraction = false;; p++) {
        if (*p == '.' && !fraction) {
            fraction = true;
            if (!digit(p[1]))
                return NULL;
            continue;
        }
        if (!digit(*p))
            break;
        if (out->digits < 19) {
            out->mantissa = out->mantissa * 10 + (uint64_t)(*p - '0');
            out->digits += out->mantissa != 0;
            out->exponent -= fraction;
        } else {
            out->digits++;
            out->exponent += !fraction;
        }
    }
    if (*p == 'e' || *p == 'E') {
        p++;
        bool down = *p == '-';
        int exponent = 0;
        p += *p == '-' || *p == '+';
        if (!digit(*p))
            return NULL;
        for (; digit(*p); p++)
            exponent = exponent < 10000 ? exponent * 10 + (*p - '0') : exponent;
        out->exponent += down ? -exponent : exponent;
    }
    return p;
}

/* Where mantissa and power of ten are both exact doubles one rounding gives the nearest double; strtod does the rest.
 */
static const char *read_number(const char *p, double *out) {
    static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                  1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    decimal number;
    const char *end = read_decimal(p, &number);
    if (!end && strncmp(p, "-Infinity", 9) == 0) {
        *out = -INFINITY;
        return p + 9;
    }
    if (!end)
        return NULL;
    if (number.digits <= 19 && number.mantissa <= (uint64_t)1 << 53 && number.exponent >= -22 &&
        number.exponent <= 22) {
        double value = (double)number.mantissa;
        value = number.exponent < 0 ? value / tens[-number.exponent] : value * tens[number.exponent];
        *out = number.negative ? -value : value;
    } else {
        *out = strtod(p, NULL);
    }
    return end;
}

/* Appends the numbers of a list [x, y, ...] to the values; NULL where there is no such list. */
static const char *read_row(vg_stream_line *line, const char *p, size_t *count, size_t *c) {
    size_t before = *count;
    if (*p != '[')
        return NULL;
    do {
        if (!make_room(line, *count + 1))
            return NULL;
        p = read_number(skip_space(p + 1), &line->values[*count]);
        if (!p)
            return NULL;
        (*count)++;
        p = skip_space(p);
    } while (*p == ',');
    *c = *count - before;
    return *p == ']' ? p + 1 : NULL;
}

static const char *read_rows(vg_stream_line *line, const char *p) {
    size_t count = 0;
    line->m = 0;
    if (*p != '[')
        return NULL;
    do {
        size_t c;
        p = read_row(line, skip_space(p + 1), &count, &c);
        if (!p || (line->m > 0 && c != line->c))
            return NULL;
        line->c = c;
        line->m++;
        p = skip_space(p);
    } while (*p == ',');
    return *p == ']' ? p + 1 : NULL;
}

/* A number, or a string of plain ASCII without escapes. */
static const char *read_plain_id(vg_stream_line *line, const char *p) {
    const char *begin = p;
    if (*p == '"') {
        for (p++; *p != '"'; p++) {
            if (*p < 0x20 || *p > 0x7e || *p == '\\')
                return NULL;
        }
        p++;
    } else {
        decimal unused;
        p = read_decimal(p, &unused);
    }
    return p && set_id(line, begin, (size_t)(p - begin)) ? p : NULL;
}

static bool read_fast(vg_stream_line *line, const char *p) {
    bool has_id = false, has_rows = false;
    p = skip_space(p);
    if (*p != '{')
        return false;
    do {
        p = skip_space(p + 1);
        char key = 0;
        if (strncmp(p, "\"id\"", 4) == 0) {
            key = 'i';
            p += 4;
        } else if (p[0] == '"' && (p[1] == 'p' || p[1] == 'z') && p[2] == '"') {
            key = p[1];
            p += 3;
        }
        p = skip_space(p);
        if (key == 0 || *p != ':' || (key == 'i' ? has_id : has_rows))
            return false;
        p = skip_space(p + 1);
        if (key == 'i') {
            has_id = true;
            p = read_plain_id(line, p);
        } else {
            has_rows = true;
            line->logits = key == 'z';
            p = read_rows(line, p);
        }
        if (!p)
            return false;
        p = skip_space(p);
    } while (*p == ',');
    return *p == '}' && *skip_space(p + 1) == '\0' && has_rows && (has_id || set_id(line, "null", 4));
}

/* --- the full reader ---------------------------------------------------------------------------------------------- */
/* The id is answered as it was, without spaces; a real number in its shortest form. */
static bool take_id(vg_stream_line *line, const json_t *id) {
    if (json_is_real(id)) {
        char shortest[40];
        double value = json_real_value(id);
        for (int digits = 1; digits <= 17; digits++) {
            snprintf(shortest, sizeof shortest, "%.*g", digits, value);
            if (strtod(shortest, NULL) == value)
                break;
        }
        return set_id(line, shortest, strlen(shortest));
    }
    if (!id)
        return set_id(line, "null", 4);
    char *text = vg_base__json_text(id, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(17));
    bool done = text && set_id(line, text, strlen(text));
    free(text);
    return done;
}

static bool take_row(vg_stream_line *line, const json_t *row, size_t member, const char *key) {
    size_t c = json_array_size(row);
    if (!json_is_array(row) || c == 0 || (member > 0 && c != line->c)) {
        snprintf(line->error, sizeof line->error, "\"%s\": member %zu has %zu values, expected %zu", key, member, c,
                 member ? line->c : 1);
        return false;
    }
    line->c = c;
    if (!make_room(line, (member + 1) * c))
        return fail_memory(line);
    for (size_t i = 0; i < c; i++) {
        const json_t *value = json_array_get(row, i);
        if (!json_is_number(value)) {
            snprintf(line->error, sizeof line->error, "\"%s\": member %zu, class %zu is not a number", key, member, i);
            return false;
        }
        line->values[member * c + i] = vg_base__json_number(value);
    }
    return true;
}

static bool take_rows(vg_stream_line *line, const json_t *rows, const char *key) {
    if (!json_is_array(rows) || json_array_size(rows) == 0) {
        snprintf(line->error, sizeof line->error, "\"%s\" is not an array with one array of numbers per member", key);
        return false;
    }
    if (json_is_number(json_array_get(rows, 0))) {
        line->m = 1;
        return take_row(line, rows, 0, key);
    }
    line->m = json_array_size(rows);
    for (size_t m = 0; m < line->m; m++) {
        if (!take_row(line, json_array_get(rows, m), m, key))
            return false;
    }
    return true;
}

/* The answers of a language model, one per member. */
static bool take_answers(vg_stream_line *line, const json_t *object) {
    char why[160] = "";
    vg_answers__clear(&line->answers);
    if (vg_answers__add(&line->answers, object, why) != VG_OK)
        return *why ? fail(line, why) : fail_memory(line);
    line->m = line->answers.members;
    line->c = line->answers.tokens.count + 1;
    if (!make_room(line, line->m * line->c))
        return fail_memory(line);
    vg_answers__fill(&line->answers, line->values);
    line->logits = false;
    line->answered = true;
    return line->c > 1 || fail(line, "no token of its answers is a class");
}

static bool take_object(vg_stream_line *line, const json_t *object) {
    const char *key, *found = NULL;
    const json_t *rows = NULL;
    json_t *value;
    if (!json_is_object(object))
        return fail(line, "not a JSON object");
    if (!take_id(line, json_object_get(object, "id")))
        return fail_memory(line);
    json_object_foreach((json_t *)object, key, value) {
        vg_json_role role = vg_json__role(&(vg_roles){0}, key);
        if (role != VG_JSON_PROBABILITIES && role != VG_JSON_LOGITS)
            continue;
        if (rows) {
            snprintf(line->error, sizeof line->error, "both \"%s\" and \"%s\"; give one", found, key);
            return false;
        }
        found = key, rows = value, line->logits = role == VG_JSON_LOGITS;
    }
    if (rows)
        return take_rows(line, rows, found);
    if (vg_answers__has(object))
        return take_answers(line, object);
    return fail(line, "neither \"p\" (probabilities) nor \"z\" (logits)");
}

static bool read_full(vg_stream_line *line, const char *text, size_t length) {
    json_error_t error;
    json_t *object =
        vg_base__json_load(text, length, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | VG_JSON_INFINITY, &error);
    if (!object) {
        line->no_memory = vg_base__json_no_memory(&error);
        snprintf(line->error, sizeof line->error, "not JSON at byte %d: %.180s", error.position, error.text);
        return false;
    }
    bool done = take_object(line, object);
    json_decref(object);
    return done;
}

bool vg_stream_line__read(vg_stream_line *line, const char *text, size_t length) {
    line->error[0] = '\0';
    line->no_memory = line->answered = false;
    if (strlen(text) == length && read_fast(line, text))
        return true;
    if (!set_id(line, "null", 4))
        return fail_memory(line);
    return read_full(line, text, length);
}

void vg_stream_line__free(vg_stream_line *line) {
    free(line->id);
    free(line->values);
    vg_answers__free(&line->answers);
    *line = (vg_stream_line){0};
}

bool vg_stream_line__map(vg_stream_line *line, const vg_calibration_map *map) {
    vg_predictions view = vg_predictions_f64(line->values, 1, line->m, line->c);
    vg_status status = vg_calibration_map_apply(line->values, NULL, NULL, map, &view, line->logits, 1);
    if (status != VG_OK) {
        line->no_memory = status == VG_ERR_MEMORY;
        snprintf(line->error, sizeof line->error, "%s", vg_error_message());
        return false;
    }
    line->logits = false;
    return true;
}
