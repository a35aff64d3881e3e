/* run_networks.c - the networks of run folders. See run_networks.h. */
#include "workflow/run_networks.h"

#include "nn/recipe.h"
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static bool is_there(const char *folder, const char *name) {
    char path[VG_NETWORK_PATH];
    struct stat st;
    return snprintf(path, sizeof path, "%s/%s", folder, name) < (int)sizeof path && stat(path, &st) == 0;
}

static vg_status add(vg_run_list *list, const char *path) {
    if (list->count == VG_MAX_RUNS)
        return vg_base__fail(VG_ERR_ARGUMENT, "predict: 1 to %d networks make an ensemble, found more", VG_MAX_RUNS);
    if (strlen(path) >= VG_NETWORK_PATH)
        return vg_base__fail(VG_ERR_ARGUMENT, "%.100s...: the name is too long", path);
    strcpy(list->paths[list->count], path);
    list->items[list->count] = list->paths[list->count];
    list->count++;
    return VG_OK;
}

/* The snapshots of a run, or the run itself where there are none. */
static vg_status add_run(vg_run_list *list, const char *run, int checkpoint) {
    char path[VG_NETWORK_PATH];
    vg_recipe recipe;
    snprintf(path, sizeof path, "%.4000s/recipe.yaml", run);
    if (checkpoint >= 0 || !is_there(run, "snapshot-1.safetensors") || !is_there(run, "recipe.yaml"))
        return add(list, run);
    VG_TRY(vg_recipe__read(&recipe, path));
    if (!recipe.snapshots)
        return add(list, run);
    for (size_t i = 1; i <= recipe.snapshots; i++) {
        char name[64];
        snprintf(name, sizeof name, "snapshot-%zu.safetensors", i);
        if (!is_there(run, name))
            return vg_base__fail(VG_ERR_DATA,
                                 "%s: snapshot %zu of %zu does not exist yet; --resume continues the training", run, i,
                                 recipe.snapshots);
        snprintf(path, sizeof path, "%.4000s/%s", run, name);
        VG_TRY(add(list, path));
    }
    return VG_OK;
}

/* A deep ensemble's folder has a recipe and no checkpoint of its own. */
static bool is_deep(const char *run) { return is_there(run, "recipe.yaml") && is_there(run, "network-1"); }

static vg_status add_networks(vg_run_list *list, const char *run, int checkpoint) {
    char path[VG_NETWORK_PATH];
    vg_recipe recipe;
    snprintf(path, sizeof path, "%.4000s/recipe.yaml", run);
    VG_TRY(vg_recipe__read(&recipe, path));
    for (size_t i = 0; i < vg_recipe__networks(&recipe); i++) {
        snprintf(path, sizeof path, "%.4000s/network-%zu", run, i + 1);
        if (!is_there(path, "last.safetensors"))
            return vg_base__fail(VG_ERR_DATA, "%s: network %zu of %zu is not trained yet; --resume trains it", run,
                                 i + 1, vg_recipe__networks(&recipe));
        VG_TRY(add_run(list, path, checkpoint));
    }
    return VG_OK;
}

vg_status vg_run_list__expand(vg_run_list *list, const char *const *runs, size_t count, int checkpoint) {
    memset(list, 0, sizeof *list);
    VG_TRY(vg_base__alloc(&list->paths, VG_MAX_RUNS, sizeof *list->paths, "names of runs"));
    for (size_t i = 0; i < count; i++)
        VG_TRY(is_deep(runs[i]) ? add_networks(list, runs[i], checkpoint) : add_run(list, runs[i], checkpoint));
    return VG_OK;
}

void vg_run_list__free(vg_run_list *list) {
    vg_base__release(list->paths);
    memset(list, 0, sizeof *list);
}
