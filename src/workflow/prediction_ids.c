/* prediction_ids.c - ids of the images that networks predict: the names of their files, where they are files. */
#include <string.h>
#include <strings.h>

#include "workflow/prediction.h"

/* Name of sample i below the folder (of the list) that was read, "cat/17.jpg". */
static const char *file_name(const vg_prediction *p, const vg_dataset_info *info, size_t i) {
    const char *path = info->files[p->indices ? p->indices[i] : i], *source = info->source;
    size_t length = strlen(source);
    bool table = length > 4 && (!strcasecmp(source + length - 4, ".csv") || !strcasecmp(source + length - 4, ".tsv"));
    if (table) {
        const char *slash = strrchr(source, '/');
        length = slash ? (size_t)(slash - source) : 0;
    }
    return length && strncmp(path, source, length) == 0 && path[length] == '/' ? path + length + 1 : path;
}

vg_status vg_prediction__id_names(vg_prediction *p) {
    vg_dataset_info info = vg_dataset__info(p->source);
    if (!info.files || p->id_names)
        return VG_OK;
    VG_TRY(vg_base__alloc(&p->id_names, p->n, sizeof *p->id_names, "names of files"));
    for (size_t i = 0; i < p->n; i++)
        p->id_names[i] = file_name(p, &info, i);
    return VG_OK;
}
