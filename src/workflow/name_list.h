/* name_list.h - names of classes and ids of samples in a file of arrays. Internal. */
#ifndef VG_WORKFLOW_NAME_LIST_H
#define VG_WORKFLOW_NAME_LIST_H

#include "vargate/formats.h"

/* Writes `count` texts under `key`: an array of texts, or in .safetensors, which has none, metadata with a JSON list.
 * `path` is the name of the file that the writer writes. */
vg_status vg_name_list__write(vg_writer *writer, const char *path, const char *key, const char *const *texts,
                              size_t count);

#endif
