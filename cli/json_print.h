/* json_print.h - JSON on standard output. */
#ifndef CLI_JSON_PRINT_H
#define CLI_JSON_PRINT_H

#include <jansson.h>

#include "vargate/status.h"

/* Prints the value and drops it. Returns an exit code. */
int json_print(json_t *value);
/* Prints the text of a result that the library made with that status, and frees it. Returns an exit code. */
int json_print_result(vg_status status, char **text);

#endif
