/* prediction_file.h - functions of opened predictions that the modules above formats need besides the public ones. */
#ifndef VG_PREDICTION_FILE_H
#define VG_PREDICTION_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vargate/formats.h"
#include "vargate/status.h"

/* vg_prediction_file_open from memory (borrowed until the file is closed); `name` is used in messages, and its
 * ending as that of a file. */
vg_status vg_prediction_file__open_memory(vg_prediction_file **out, const void *bytes, size_t size, const char *name,
                                          const vg_prediction_options *options);
/* Every later block is passed through `map`; the file then holds probabilities. `map` may replace the view by one
 * that is valid until its next call. */
typedef vg_status (*vg_block_map_fn)(void *context, vg_predictions *view);
void vg_prediction_file__map_blocks(vg_prediction_file *file, vg_block_map_fn map, void *context);
/* vg_prediction_file_labels from a separate file; names are matched with the classes of the predictions. Borrowed
 * until the next such call. */
vg_status vg_prediction_file__read_labels(vg_prediction_file *file, const int64_t **out, size_t *columns,
                                          const char *path, const char *key);
/* The axes of the sites: shape[0 .. 3] are N, H, W, D. Blocks within runs of sites.run samples are viewed without a
 * copy. Borrowed. */
const vg_sites *vg_prediction_file__sites(const vg_prediction_file *file);
/* Texts of a stored array with one entry per image (`key`). Borrowed. */
vg_status vg_prediction_file__image_texts(vg_prediction_file *file, const char *key, const char *const **out);
/* Label maps of the sites, read one block at a time, so that any size is possible. */
typedef struct vg_label_maps {
    struct vg_source *source;
    bool owned; /* the source is closed with the maps */
    size_t index, classes;
    int64_t from;
} vg_label_maps;
/* The maps beside the predictions (`path` NULL), or in a separate file. out->source is NULL where there are none.
 * The file must outlive them. */
vg_status vg_prediction_file__label_maps(vg_prediction_file *file, vg_label_maps *out, const char *path,
                                         const char *key);
/* Sites first .. first + rows - 1 as classes from 0 on; -1 where the label is *ignore (NULL: no label is ignored). */
vg_status vg_label_maps__read(const vg_label_maps *maps, size_t first, size_t rows, const int64_t *ignore,
                              int64_t *out);
void vg_label_maps__close(vg_label_maps *maps);

/* One line about something that is probably a mistake (axes that look exchanged), or NULL. Borrowed. */
const char *vg_prediction_file__notice(const vg_prediction_file *file);

/* Labels without predictions: integers (N) or (N, C); key NULL takes the usual names, or the only array. `*out` is the
 * caller's, freed with vg_labels__free. */
vg_status vg_labels__read(int64_t **out, size_t *n, size_t *columns, const char *path, const char *key);
void vg_labels__free(int64_t *labels);

#endif
