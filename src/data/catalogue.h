/* catalogue.h - facts about the named data sets that are not public. Internal. */
#ifndef VG_CATALOGUE_H
#define VG_CATALOGUE_H

#include "data/dataset.h"

typedef enum vg_data_kind { VG_KIND_IDX, VG_KIND_CIFAR10, VG_KIND_CIFAR100, VG_KIND_SVHN } vg_data_kind;

typedef struct vg_data_known {
    vg_data_kind kind;
    const char *const *class_names;
    const char *const *folders; /* names of its folder in a place, NULL-terminated; the first is vargate's own */
    const char *const *urls;    /* addresses of its files (or its archive), NULL-terminated; NULL: not published */
    const char *archive;        /* name of the tar.gz that holds the files, or NULL */
    const char *archive_md5;
    const char *npm, *debian; /* packages that hold the files, or NULL */
} vg_data_known;

/* The internal facts about an entry of the catalogue. */
const vg_data_known *vg_catalogue__known(const vg_data_entry *entry);

/* Looks for a file of a set in one folder, under any of its usual names (.gz or unpacked, .npz for .mat). */
vg_status vg_catalogue__probe(vg_data_found *out, const char *folder, const vg_data_file *file, bool verify);
/* Compares a file with its published size and checksum, whatever its name. Sets state and problem. */
vg_status vg_catalogue__verify(vg_data_found *out, const char *path, const vg_data_file *file);
/* The folder for fetched sets when none is named: $VARGATE_DATA, else the XDG one. The caller frees it. */
vg_status vg_catalogue__home(char **out);

#endif
