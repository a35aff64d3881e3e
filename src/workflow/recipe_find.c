/* recipe_find.c - a recipe by the name a person types: a file, or one that ships, with changes to its keys. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "base/file.h"
#include "nn/recipe.h"
#include "vargate/workflow.h"

enum { PATH_ROOM = 8300 };

/* PLACE/NAME.yaml, if there is one. */
static bool recipe_in(char out[PATH_ROOM], const char *place, const char *name) {
    size_t length = strlen(name);
    bool yaml = length > 5 && strcmp(name + length - 5, ".yaml") == 0;
    int written = snprintf(out, PATH_ROOM, "%s/%s%s", place, name, yaml ? "" : ".yaml");
    return written > 0 && written < PATH_ROOM && access(out, R_OK) == 0;
}

/* A recipe that ships: recipes/ here, beside the program, then where the library was configured to be installed. */
static bool shipped_recipe(char out[PATH_ROOM], const char *name) {
    char prefix[4096], place[4200];
    if (recipe_in(out, "recipes", name))
        return true;
    if (vg_file__install_prefix(prefix, sizeof prefix)) {
        snprintf(place, sizeof place, "%s/share/vargate/recipes", prefix);
        if (recipe_in(out, place, name))
            return true;
    }
    return recipe_in(out, VG_RECIPEDIR, name);
}

vg_status vg_recipe_find(vg_recipe *recipe, const char *name, const char *const *changes, size_t change_count) {
    char path[PATH_ROOM];
    if (!recipe || !name || (!changes && change_count))
        return vg_base__fail(VG_ERR_ARGUMENT, "recipe: a name and a place for the recipe are needed");
    if (access(name, R_OK) != 0 && !strchr(name, '/') && shipped_recipe(path, name))
        name = path;
    VG_TRY(vg_recipe__read(recipe, name));
    for (size_t i = 0; i < change_count; i++)
        VG_TRY(vg_recipe_set(recipe, changes[i]));
    return vg_recipe__check(recipe);
}
