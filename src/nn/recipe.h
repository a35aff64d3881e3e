/* recipe.h - recipes read from files, and which settings can be combined. For the modules above nn; the public
 * functions are in vargate/nn.h. */
#ifndef VG_RECIPE_H
#define VG_RECIPE_H

#include "vargate/nn.h"
#include "vargate/status.h"

/* Sets the defaults, then what the YAML file at `path` says: one mapping of keys to values or lists. VG_ERR_IO when the
 * file cannot be read, VG_ERR_FORMAT when it is not such a mapping, VG_ERR_ARGUMENT for an unknown key (the message
 * names the line and the nearest known key), a value out of range, or what vg_recipe__check refuses. */
vg_status vg_recipe__read(vg_recipe *recipe, const char *path);
/* The same from `size` bytes of text; `name` replaces the file's name in messages. */
vg_status vg_recipe__parse(vg_recipe *recipe, const char *text, size_t size, const char *name);
/* VG_ERR_ARGUMENT for settings that cannot be combined. vg_train calls it. */
vg_status vg_recipe__check(const vg_recipe *recipe);
/* Whether the networks of a deep ensemble are trained together, by the one loss of their gated mean: as one network of
 * several trunks, in one run. */
int vg_recipe__is_joint(const vg_recipe *recipe);
/* Whether the networks are trained one by one, each in a run of its own. */
int vg_recipe__is_deep(const vg_recipe *recipe);
/* The heads of one network, of all its trunks together. */
size_t vg_recipe__heads(const vg_recipe *recipe);
/* The number of networks that a recipe trains one by one: 1, or `members` of a deep ensemble. */
size_t vg_recipe__networks(const vg_recipe *recipe);
/* The recipe of network i of a deep ensemble, from 0: an ensemble of the other kind with seed + i, the same split and
 * the same sample of train_limit. Of any other recipe: itself. */
void vg_recipe__network(vg_recipe *out, const vg_recipe *recipe, size_t i);
/* The seed of the samples that train_limit and test_limit draw. */
uint64_t vg_recipe__limit_seed(const vg_recipe *recipe);
/* Whether one temperature serves all members: the passes of one network do not differ in their calibration. */
int vg_recipe__shares_temperature(const vg_recipe *recipe);
/* Whether the networks of this ensemble have one head each. */
int vg_recipe__has_one_head(const vg_recipe *recipe);
/* VG_ERR_DATA, with the reason, when two recipes split the same data set differently: images that one held out the
 * other may have been trained on. The caller checks that the data set is the same. */
vg_status vg_recipe__check_split(const vg_recipe *a, const vg_recipe *b);
/* VG_ERR_DATA, with the reason, when two recipes read images differently. */
vg_status vg_recipe__check_reading(const vg_recipe *a, const vg_recipe *b);

#endif
