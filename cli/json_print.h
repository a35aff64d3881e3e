/* json_print.h - JSON on standard output. */
#ifndef CLI_JSON_PRINT_H
#define CLI_JSON_PRINT_H

#include "vargate/status.h"

/* Prints the text of a result that the library made with that status, and frees it. Returns an exit code. */
int json_print_result(vg_status status, char **text);

#endif
