/* npz_texts.h - a list of texts in an .npz: labels that are names, names of classes. Internal. */
#ifndef VG_NPZ_TEXTS_H
#define VG_NPZ_TEXTS_H

#include <stdbool.h>
#include <stddef.h>

#include "vargate/status.h"

typedef struct vg_texts {
    char **items; /* UTF-8; spaces and zeros at the end are no part of a text */
    size_t count;
} vg_texts;

/* Array NAME of NumPy's str_ ('U') or bytes_ ('S') type, of shape (N) or (N, 1). *found is false, and *out empty, when
 * there is no such array or it is of another type. */
vg_status vg_npz_texts__read(vg_texts *out, bool *found, const char *path, const char *name);
void vg_npz_texts__free(vg_texts *texts);

#endif
