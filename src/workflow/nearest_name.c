/* nearest_name.c - suggestions for mistyped words. */
#include "base/names.h"
#include "vargate/workflow.h"

const char *vg_nearest_name(const char *word, const char *const *names, size_t count) {
    return word && names ? vg_names__meant(word, names, count) : NULL;
}
