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

json_t *json_document(const char *command) {
    json_t *object = json_object();
    json_put_text(object, "schema", JSON_SCHEMA);
    json_put_text(object, "command", command);
    return object;
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

static bool holds_containers(const json_t *value) {
    if (json_is_object(value))
        return true;
    size_t count = json_array_size(value);
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(value, i);
        if (json_is_object(item) || json_is_array(item))
            return true;
    }
    return false;
}

static void print_leaf(const json_t *value) {
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));
    if (text)
        fputs(text, stdout);
    else
        out_of_memory = true;
    free(text);
}

/* Objects and arrays of arrays on lines of their own, plain arrays on one line. */
static void print_value(const json_t *value, int depth) {
    const char *key, *separator = "\n";
    json_t *item;
    size_t index;
    if (!holds_containers(value)) {
        print_leaf(value);
        return;
    }
    putchar(json_is_object(value) ? '{' : '[');
    if (json_is_object(value)) {
        json_object_foreach((json_t *)value, key, item) {
            json_t *name = json_string(key);
            printf("%s%*s", separator, 2 * (depth + 1), "");
            print_leaf(name);
            printf(": ");
            print_value(item, depth + 1);
            json_decref(name);
            separator = ",\n";
        }
    } else {
        json_array_foreach(value, index, item) {
            printf("%s%*s", separator, 2 * (depth + 1), "");
            print_value(item, depth + 1);
            separator = ",\n";
        }
    }
    printf("\n%*s%c", 2 * depth, "", json_is_object(value) ? '}' : ']');
}

int json_print(json_t *value) {
    if (value && !out_of_memory) {
        print_value(value, 0);
        putchar('\n');
    }
    json_decref(value);
    return value && !out_of_memory ? CLI_OK : console_fail_memory("the JSON result");
}
