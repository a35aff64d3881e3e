/* fuzz_recipe.c - recipes on any bytes: YAML files, and `key=value` where the bytes are one line with an equals sign.
 * A recipe that is accepted and written again must be read as the same recipe. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "fuzz_check.h"
#include "nn/recipe.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void round_trip(const vg_recipe *recipe) {
    char *text;
    vg_recipe again;
    if (vg_recipe_text(&text, recipe) != VG_OK || vg_recipe__parse(&again, text, strlen(text), "written") != VG_OK)
        abort();
    char *text_again;
    if (vg_recipe_text(&text_again, &again) != VG_OK || strcmp(text, text_again) != 0)
        abort();
    vg_base__release(text_again);
    vg_base__release(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    vg_recipe recipe;
    char line[256];
    if (size < sizeof line && memchr(data, '=', size) && !memchr(data, '\n', size)) {
        memcpy(line, data, size);
        line[size] = '\0';
        vg_recipe_defaults(&recipe);
        vg_status status = vg_recipe_set(&recipe, line);
        fuzz_check(status);
        return 0;
    }
    vg_status status = vg_recipe__parse(&recipe, (const char *)data, size, "fuzz.yaml");
    fuzz_check(status);
    if (status == VG_OK)
        round_trip(&recipe);
    return 0;
}
