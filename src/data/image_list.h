/* image_list.h - which image files make a set: folders of classes, flat folders, lists in CSV or TSV. Internal. */
#ifndef VG_IMAGE_LIST_H
#define VG_IMAGE_LIST_H

#include "data/dataset.h"

typedef struct vg_image_entry {
    char *path, *class; /* class NULL: no label */
    unsigned char held; /* belongs to the validation part */
    size_t line;        /* of a list, for messages; 0: none */
} vg_image_entry;

/* What folders hold besides the images that are read. */
typedef enum vg_image_leftover {
    VG_LEFT_FORMAT = 0, /* image files of formats that are not read */
    VG_LEFT_NESTED = 1, /* folders of images inside the folder of a class */
    VG_LEFT_BESIDE = 2, /* images beside the folders of classes */
    VG_LEFT_EMPTY = 3,  /* folders without images among those of the classes */
    VG_LEFT_KINDS = 4
} vg_image_leftover;

typedef struct vg_image_list {
    vg_image_entry *entries;
    size_t count, room;
    char **classes; /* after vg_image_list__number: the distinct classes in byte order */
    size_t class_count;
    int32_t *labels; /* after vg_image_list__number: count, or NULL where entries have no classes */
    bool fixed_split;
    struct {
        size_t count;
        char *first; /* a path */
    } left[VG_LEFT_KINDS];
} vg_image_list;

void vg_image_list__free(vg_image_list *list);
/* Copies the names. */
vg_status vg_image_list__add(vg_image_list *list, const char *path, const char *class, bool held, size_t line);
/* Collects the classes and numbers the labels. */
vg_status vg_image_list__number(vg_image_list *list);

typedef enum vg_image_folder { VG_FOLDER_NONE = 0, VG_FOLDER_CLASSES = 1, VG_FOLDER_FLAT = 2 } vg_image_folder;
/* CLASSES: a sub-folder holds images; FLAT: the folder itself does. */
vg_image_folder vg_image_list__kind(const char *folder);
/* Adds FOLDER/CLASS/IMAGE, class by class, each in byte order of the names; `held`: to the validation part. */
vg_status vg_image_list__classes(vg_image_list *list, const char *folder, bool held);
/* Adds FOLDER/IMAGE in byte order of the names, without labels. */
vg_status vg_image_list__flat(vg_image_list *list, const char *folder);
/* Adds the rows of a CSV or TSV that belong to the part; docs/data.md describes the columns. *one_part: it has no
 * column of splits. */
vg_status vg_image_list__table(vg_image_list *list, bool *one_part, const char *path, vg_part part);
/* True for names that end in .csv or .tsv. */
bool vg_image_list__is_table(const char *path);

/* One line about what was left out, or "" in out[room] where there is nothing of that kind. */
void vg_image_list__left_out(char *out, size_t room, const vg_image_list *list, vg_image_leftover kind);
/* Makes a set of the files, in their order; the list is numbered here and stays owned by the caller. */
vg_status vg_image_set__open(vg_dataset **out, vg_image_list *list, const char *name,
                             const vg_dataset_options *options);

#endif
