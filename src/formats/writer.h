/* writer.h - what the kinds of files share when they are written. Internal to formats. */
#ifndef VG_WRITER_H
#define VG_WRITER_H

#include <jansson.h>

#include "base/file.h"
#include "formats/source.h"

typedef enum vg_kind { VG_KIND_NPY, VG_KIND_NPZ, VG_KIND_SAFETENSORS } vg_kind;

/* An array that was begun: what its directory entry or header line will need. */
typedef struct vg_entry {
    char *name;
    vg_element element;
    size_t rank, shape[VG_MAX_RANK];
    size_t characters; /* of every text in an array of texts, stored as uint32; 0: an array of numbers */
    size_t bytes;      /* of its elements */
    uint64_t offset;   /* .npz: of its local header; .safetensors: in the scratch file */
    uint64_t size;     /* .npz: header and elements */
    uint32_t crc;
} vg_entry;

struct vg_writer {
    vg_busy busy;
    vg_kind kind;
    vg_output *output;
    vg_entry *entries;
    size_t count, room;
    size_t left; /* bytes of the last array that were not written yet */
    int scratch; /* .safetensors: elements, until the header is known */
    uint64_t scratch_size;
    vg_pair *metadata;
    size_t metadata_count, metadata_room;
    bool failed; /* a step failed: close will not rename */
};

/* Begins an array of `count` texts of `characters` UTF-32 code points each; their bytes follow by vg_writer__append. */
vg_status vg_writer__begin_texts(vg_writer *writer, const char *name, size_t characters, size_t count);
/* Puts the metadata into a JSON object. */
vg_status vg_writer__put_metadata(const vg_writer *writer, json_t *object);
/* The .npy header of an entry; owned by the caller. */
vg_status vg_writer__header(uint8_t **out, size_t *size, const vg_entry *entry);
/* Write what precedes the elements of an array; what follows them; and the end of the file. */
vg_status vg_npz__begin(vg_writer *writer, vg_entry *entry);
vg_status vg_npz__end(vg_writer *writer, vg_entry *entry);
vg_status vg_npz__finish(vg_writer *writer);
vg_status vg_safetensors__begin(vg_writer *writer, vg_entry *entry);
vg_status vg_safetensors__finish(vg_writer *writer);

#endif
