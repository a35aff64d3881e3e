/* json_print.h - JSON on standard output. */
#ifndef CLI_JSON_PRINT_H
#define CLI_JSON_PRINT_H

#include <jansson.h>

/* Prints the value and drops it. Returns an exit code. */
int json_print(json_t *value);

#endif
