/* json_output.h - results as JSON: numbers with 17 significant digits, NaN and infinities as null, keys in the order
 * given. */
#ifndef CLI_JSON_OUTPUT_H
#define CLI_JSON_OUTPUT_H

#include <jansson.h>
#include <stddef.h>

/* A number, or null when it is not finite. */
json_t *json_number(double value);
/* A result: an object that begins with "schema" (JSON_SCHEMA) and "command". Its keys:
 * docs/schema/COMMAND.schema.json. */
#define JSON_SCHEMA "vargate/1"
json_t *json_document(const char *command);
/* Sets object[key]; a NULL value (out of memory) makes json_print fail. */
void json_put(json_t *object, const char *key, json_t *value);
void json_put_number(json_t *object, const char *key, double value);
void json_put_count(json_t *object, const char *key, unsigned long long value);
void json_put_text(json_t *object, const char *key, const char *value);
json_t *json_numbers(const double *values, size_t count);
/* Prints the value to standard output and drops it. Returns an exit code. */
int json_print(json_t *value);

#endif
