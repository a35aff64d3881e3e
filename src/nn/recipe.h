/* recipe.h - recipes read from files, and which of them fit together. For the modules above nn; the public functions
 * are in vargate/nn.h. */
#ifndef VG_RECIPE_H
#define VG_RECIPE_H

#include "vargate/nn.h"
#include "vargate/status.h"

/* Sets the defaults, then what the YAML file at `path` says: one mapping of keys to values or lists. VG_ERR_IO when the
 * file cannot be read, VG_ERR_FORMAT when it is not such a mapping, VG_ERR_ARGUMENT for an unknown key (the message
 * names the line and the nearest known key), a value out of range, or what vg_recipe__check refuses. */
vg_status vg_recipe__read(vg_recipe *recipe, const char *path);
/* VG_ERR_ARGUMENT for settings that cannot be combined. vg_train calls it. */
vg_status vg_recipe__check(const vg_recipe *recipe);
/* VG_ERR_DATA, saying why, when two recipes do not hold out the same validation images: what one held out the other may
 * have been trained on. */
vg_status vg_recipe__check_split(const vg_recipe *a, const vg_recipe *b);

#endif
