/* json_print.c - JSON on standard output. See json_print.h. */
#include "json_print.h"

#include <stdio.h>
#include <stdlib.h>

#include "console.h"
#include "workflow/json_build.h"

int json_print(json_t *value) {
    char *text;
    if (vg_json__text(&text, value) != VG_OK)
        return console_fail_library();
    console_print(text);
    putchar('\n');
    free(text);
    return CLI_OK;
}
