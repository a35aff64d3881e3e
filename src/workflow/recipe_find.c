/* recipe_find.c - finds a recipe: a file, or one that ships by its name, with changes to its keys. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/base.h"
#include "base/c_locale.h"
#include "nn/recipe.h"
#include "vargate/workflow.h"

enum { PATH_ROOM = 8300, MOST_RECIPES = 64, NAME_ROOM = 64 };

/* The recipes that ship, in sequence, each after a line "%%% NAME" (cmake/Embed.cmake). */
extern const unsigned char vg_recipes__shipped[];
extern const size_t vg_recipes__shipped_size;

typedef struct shipped_recipe {
    char name[NAME_ROOM];
    const char *text;
    size_t size;
} shipped_recipe;

static size_t list_shipped(shipped_recipe *out, size_t room) {
    const char *at = (const char *)vg_recipes__shipped, *end = at + vg_recipes__shipped_size;
    size_t count = 0;
    while (at < end) {
        const char *line = memchr(at, '\n', (size_t)(end - at)), *next = line ? line + 1 : end;
        if (strncmp(at, "%%% ", 4) == 0 && line && count < room) {
            snprintf(out[count].name, NAME_ROOM, "%.*s", (int)(line - at - 4), at + 4);
            out[count].text = next;
            out[count++].size = 0;
        } else if (count > 0) {
            out[count - 1].size += (size_t)(next - at);
        }
        at = next;
    }
    return count;
}

/* A folder of that name, such as a run, is not a recipe. */
static bool is_file(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && !S_ISDIR(info.st_mode);
}

/* recipes/NAME.yaml in the working folder, if there is one: a copy that the user may have changed. */
static bool recipe_here(char out[PATH_ROOM], const char *name) {
    size_t length = strlen(name);
    bool yaml = length > 5 && strcmp(name + length - 5, ".yaml") == 0;
    int written = snprintf(out, PATH_ROOM, "recipes/%s%s", name, yaml ? "" : ".yaml");
    return written > 0 && written < PATH_ROOM && is_file(out);
}

static void join_names(char *out, size_t room, const char *const *names, size_t count) {
    size_t length = 0;
    out[0] = '\0';
    for (size_t i = 0; i < count && length < room; i++)
        length += (size_t)snprintf(out + length, room - length, "%s%s", i ? ", " : "", names[i]);
}

static vg_status read_shipped(vg_recipe *recipe, const char *name) {
    shipped_recipe shipped[MOST_RECIPES];
    const char *names[MOST_RECIPES];
    size_t count = list_shipped(shipped, MOST_RECIPES);
    for (size_t i = 0; i < count; i++) {
        names[i] = shipped[i].name;
        if (strcmp(names[i], name) == 0)
            return vg_recipe__parse(recipe, shipped[i].text, shipped[i].size, name);
    }
    const char *near = vg_nearest_name(name, names, count);
    if (near)
        return vg_base__fail(VG_ERR_IO, "%s: no such file, and no recipe of that name ships; did you mean '%s'?", name,
                             near);
    char list[768];
    join_names(list, sizeof list, names, count);
    return vg_base__fail(VG_ERR_IO, "%s: no such file, and no recipe of that name ships; those that do: %s", name,
                         list);
}

vg_status vg_recipe_find(vg_recipe *recipe, const char *name, const char *const *changes, size_t change_count) {
    VG_IN_C_LOCALE;
    char path[PATH_ROOM];
    if (!recipe || !name || (!changes && change_count))
        return vg_base__fail(VG_ERR_ARGUMENT,
                             "vg_recipe_find: recipe and name must not be NULL, nor changes where change_count > 0");
    bool plain = !is_file(name) && !strchr(name, '/');
    if (plain && recipe_here(path, name))
        VG_TRY(vg_recipe__read(recipe, path));
    else
        VG_TRY(plain && !strchr(name, '.') ? read_shipped(recipe, name) : vg_recipe__read(recipe, name));
    for (size_t i = 0; i < change_count; i++)
        VG_TRY(vg_recipe_set(recipe, changes[i]));
    return vg_recipe__check(recipe);
}
