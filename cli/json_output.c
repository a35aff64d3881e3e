/* json_output.c - building and printing JSON results. See json_output.h. */
#include "json_output.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "console.h"

static bool out_of_memory;

json_t *json_number(double value) { return isfinite(value) ? json_real(value) : json_null(); }

void json_put(json_t *object, const char *key, json_t *value) {
    if (!value || json_object_set_new(object, key, value) != 0)
        out_of_memory = true;
}

void json_put_number(json_t *object, const char *key, double value) { json_put(object, key, json_number(value)); }

void json_put_count(json_t *object, const char *key, unsigned long long value) {
    json_put(object, key, json_integer((json_int_t)value));
}

/* Names may hold any bytes; those that are not UTF-8 are shown as '?'. */
void json_put_text(json_t *object, const char *key, const char *value) {
    json_t *text = json_string(value);
    if (!text) {
        char plain[1024];
        size_t i = 0;
        for (; value[i] && i < sizeof plain - 1; i++)
            plain[i] = (unsigned char)value[i] < 0x80 ? value[i] : '?';
        plain[i] = '\0';
        text = json_string(plain);
    }
    json_put(object, key, text);
}

json_t *json_numbers(const double *values, size_t count) {
    json_t *array = json_array();
    for (size_t i = 0; array && i < count; i++) {
        if (json_array_append_new(array, json_number(values[i])) != 0)
            out_of_memory = true;
    }
    return array;
}

int json_print(json_t *value) {
    char *text = value && !out_of_memory ? json_dumps(value, JSON_INDENT(2) | JSON_REAL_PRECISION(17)) : NULL;
    json_decref(value);
    if (!text)
        return console_fail_memory("the JSON result");
    puts(text);
    free(text);
    return CLI_OK;
}
