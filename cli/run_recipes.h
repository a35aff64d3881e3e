/* run_recipes.h - recipes from training to results, for the commands that run them. */
#ifndef CLI_RUN_RECIPES_H
#define CLI_RUN_RECIPES_H

#include "command_options.h"

/* What the commands' options say. */
typedef struct run_values {
    const char *data, *out, *device;
    option_texts set;
    size_t threads, jobs;
    bool tensorboard;
    bool mcd_lle; /* evaluate MCD-LLE beside a last-layer ensemble; set by reproduce */
} run_values;

/* Runs the recipes one after the other, draws their pages and prints their figures. Returns an exit code. */
int run_recipes(const char *const *names, size_t count, const run_values *own);

#endif
