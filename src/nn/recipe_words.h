/* recipe_words.h - advice about unknown keys of a recipe. Internal. */
#ifndef VG_RECIPE_WORDS_H
#define VG_RECIPE_WORDS_H

#include <stddef.h>

enum { VG_RECIPE__ADVICE = 160 };

/* The text that follows "unknown key 'NAME'" in the message: the key that other programs call by this name, or the
 * known key with the fewest edits. Hyphens count as underscores and upper case as lower case. */
void vg_recipe__advise(char out[VG_RECIPE__ADVICE], const char *name, const char *const *known, size_t count);

#endif
