/* comparison_print.h - the table of 'vargate compare', for the commands that end in it. */
#ifndef CLI_COMPARISON_PRINT_H
#define CLI_COMPARISON_PRINT_H

#include "vargate/compare.h"

/* Prints the figures of every row. Returns an exit code. */
int comparison_print_figures(const vg_compare_result *result);

#endif
