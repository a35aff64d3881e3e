/* data_walk.h - visits one data set piece by piece: the catalogue's entry, the places that are searched, its files,
 * the contents of its parts. Internal. vg_data_json and vg_data_text are written with it. */
#ifndef VG_WORKFLOW_DATA_WALK_H
#define VG_WORKFLOW_DATA_WALK_H

#include <stdbool.h>

#include "vargate/data.h"

/* Called in the order of the members; a user's own set has only contents. Everything is borrowed for the call. */
typedef struct vg_data_visitor {
    void *context;
    void (*entry)(void *context, const vg_data_entry *entry);
    void (*places)(void *context, char *const *places, size_t count);
    /* Compared with its checksum; part and state in words. */
    void (*file)(void *context, const vg_data_file *file, const char *part, const char *state,
                 const vg_data_found *found);
    /* title: "train", "test", or "holds" for a user's own set without both parts. */
    void (*contents)(void *context, const char *title, const vg_dataset_info *info, const vg_statistics *statistics);
} vg_data_visitor;

/* name: of the catalogue, or "path:FILE_OR_FOLDER". statistics: read the parts of a known set whose files are all
 * good; a user's own set is always read. */
vg_status vg_data__walk(const vg_data_visitor *visitor, const char *name, const vg_dataset_options *options,
                        bool statistics);

#endif
