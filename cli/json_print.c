/* json_print.c - JSON on standard output. See json_print.h. */
#include "json_print.h"

#include <stdio.h>

#include "console.h"
#include "vargate/workflow.h"

int json_print_result(vg_status status, char **text) {
    if (status != VG_OK)
        return console_fail_library();
    console_print(*text);
    putchar('\n');
    vg_free(*text);
    return CLI_OK;
}
