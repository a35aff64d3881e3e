/* source.h - an opened file and its arrays, as readers fill it in. Internal to formats. */
#ifndef VG_SOURCE_H
#define VG_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "base/file.h"
#include "base/number.h"
#include "formats/arrays.h"
#include "formats/strings.h"
#include "vargate/formats.h"

typedef struct vg_inflate vg_inflate;

/* One array. Its elements lie in storage order (C, or first axis fastest when `fortran`) at `data`. Those of a
 * deflated member come from `stream` after `skip` bytes of .npy header, or lie in `held` once they were needed out
 * of order. */
typedef struct vg_stored {
    char *name;
    vg_element element;
    bool swapped, fortran;
    bool text;    /* elements are the characters of texts: see vg_source.text_count */
    size_t width; /* characters of each */
    size_t rank, shape[VG_MAX_RANK];
    size_t count, bytes; /* elements, and count * element size: both checked to fit */
    const uint8_t *data; /* NULL when deflated */
    vg_inflate *stream;
    size_t skip;
    uint8_t *held;
    void *owned;       /* memory of `data` that is released with the array (.csv, .jsonl) */
    bool has_crc;      /* a stored zip member, checked while its bytes are first read in order */
    uint32_t crc, sum; /* expected, and of the first `summed` bytes */
    size_t summed;
    size_t dropped; /* bytes of `data` released so far */
    size_t touched; /* bytes read out of order since the mapping was last released */
} vg_stored;

/* An array that the file has but that cannot be read. Asking for it fails with this reason. */
typedef struct vg_skipped {
    char *name, *reason;
} vg_skipped;

typedef struct vg_pair {
    char *key, *value;
} vg_pair;

/* The caller's names for columns, fields and arrays; NULL: the usual names. */
typedef struct vg_roles {
    const char *id, *label, *member; /* columns of a table; id and label also fields of JSON lines and arrays */
    /* columns of a table: a list, or a regular expression; elsewhere a list of names */
    const char *classes;
    const char *group; /* a column of a table that is no class */
    const char *key;   /* field of the predictions in JSON */
    char separator;    /* of a table's fields: ',', ';', tab or space; 0: recognised */
    char decimal;      /* '.' or ','; 0: recognised */
    bool labels_only;  /* only labels are wanted */
    /* with labels_only: names of the classes, which show that a first line is a label and not a header */
    vg_strings *known;
} vg_roles;

/* Labels that are names: row i has the name names[codes[i]]. */
typedef struct vg_named_labels {
    int64_t *codes;
    size_t rows;
    vg_strings names;
} vg_named_labels;

struct vg_source {
    vg_roles roles; /* while it is opened */
    char *path;     /* as in messages */
    char *name;     /* the path without .gz: its ending shows the kind */
    vg_mapping map;
    vg_stored *arrays;
    size_t count, room;
    vg_skipped *skipped;
    size_t skipped_count, skipped_room;
    vg_pair *metadata;
    size_t metadata_count;
    /* Arrays of texts, in `arrays` after the `count` others: elements are bytes or code points, the last axis runs
     * over the characters of a text. */
    size_t text_count;
    vg_strings ids;         /* .csv, .jsonl: of the samples, or empty */
    vg_strings classes;     /* .csv, .jsonl: names of the classes, or empty */
    vg_named_labels labels; /* .csv, .jsonl: where labels are names; codes NULL otherwise */
    char *free_columns;     /* .csv: columns whose names do not show that they are classes; NULL: none */
};

/* Readers: fill `source` from source->map. */
vg_status vg_npy__read(vg_source *source);
vg_status vg_npz__read(vg_source *source);
vg_status vg_safetensors__read(vg_source *source);
vg_status vg_csv__read(vg_source *source);
vg_status vg_jsonl__read(vg_source *source);
vg_status vg_json__read(vg_source *source);

/* Replaces the mapping of a gzip file by one of its content. */
vg_status vg_gzip__expand(vg_mapping *map, const char *path);
/* Refuses files of other programs (Parquet, PyTorch, pickles, ...), by content or ending, with the lines of Python
 * that convert them. VG_OK for every other file. */
vg_status vg_foreign__refuse(const vg_source *source);

/* Opens with roles; vg_source__open is this with none. */
vg_status vg_source__open_as(vg_source **out, const char *path, const vg_roles *roles);
vg_status vg_source__open_memory_as(vg_source **out, const void *bytes, size_t size, const char *name,
                                    const vg_roles *roles);
/* All texts of array `index`, which comes after the arrays of numbers. */
vg_status vg_source__texts(vg_source *source, size_t index, vg_strings *out);

/* Grows the list by one zeroed array named as given; *out is borrowed until the next call. */
vg_status vg_source__add(vg_source *source, vg_stored **out, const char *name, size_t length);
/* Notes that an array cannot be read, for the reason in this thread's error message. */
vg_status vg_source__skip(vg_source *source, const char *name, size_t length);
/* Adds an array of parsed float64 or int64 values in C order. The source takes ownership of them, also on failure. */
vg_status vg_source__own(vg_source *source, const char *name, vg_element element, size_t rank, const size_t *shape,
                         void *data);
/* Takes the texts of a JSON object as the file's metadata; once for each source. */
struct json_t;
vg_status vg_source__set_metadata(vg_source *source, const struct json_t *metadata);
/* Fails where two arrays have the same name. */
vg_status vg_source__check_names(const vg_source *source);
/* Count and bytes from shape and element; false when they do not fit. */
bool vg_stored__measure(vg_stored *array);

/* .npy header: its whole size from its first bytes (12 are enough), then its content. Messages begin with `what`.
 * VG_ERR_UNSUPPORTED: well-formed, but of a type that is not supported. */
vg_status vg_npy__header_size(size_t *out, const uint8_t *bytes, size_t available, const char *what);
vg_status vg_npy__header(vg_stored *array, const uint8_t *bytes, size_t size, const char *what);
/* The header NumPy would write (version 1, or 2 when long), padded to a multiple of 64. Owned by the caller. */
vg_status vg_npy__make_header(uint8_t **out, size_t *size, vg_element element, size_t rank, const size_t *shape);
/* The same for a list of `count` texts of `characters` UTF-32 code points each. */
vg_status vg_npy__make_text_header(uint8_t **out, size_t *size, size_t characters, size_t count);

/* A zip member. `name` points into the file and is not terminated. */
typedef struct vg_member {
    const char *name;
    size_t name_length;
    bool deflated;
    uint32_t crc;
    uint64_t packed_size, size;
    size_t header, data; /* offsets of its local header and of its bytes */
} vg_member;
vg_status vg_zip__list(vg_member **out, size_t *count, const uint8_t *bytes, size_t size, const char *path);

/* Inflates a member, forward; an earlier position inflates from the start again. Size, CRC and end are checked when
 * the last byte is read. */
vg_status vg_inflate__new(vg_inflate **out, const vg_mapping *map, const vg_member *member, const char *what);
vg_status vg_inflate__read(vg_inflate *stream, size_t offset, void *out, size_t size);
void vg_inflate__free(vg_inflate *stream);

/* Reads elements first .. first + count - 1 in storage order into a packed array of `target`: VG_ELEMENT_F32, _F64
 * or _I64. */
vg_status vg_source__read(vg_source *source, size_t index, size_t first, size_t count, vg_element target, void *out);
/* Makes a deflated array readable out of order, by holding it in memory. */
vg_status vg_source__hold(vg_source *source, size_t index);
/* Checks the CRC of a stored member over its first `bytes` bytes, where that was not done yet. */
vg_status vg_source__check_crc(vg_source *source, size_t index, size_t bytes);

/* Conversion of raw elements (any alignment). to_i64 returns the index of the first value that is not an int64, or
 * `count`. */
void vg_convert__f32(float *out, const uint8_t *raw, size_t count, vg_element element, bool swapped);
void vg_convert__f64(double *out, const uint8_t *raw, size_t count, vg_element element, bool swapped);
size_t vg_convert__i64(int64_t *out, const uint8_t *raw, size_t count, vg_element element, bool swapped);

/* Little-endian numbers at any address. */
static inline uint32_t vg_le16(const uint8_t *p) { return (uint32_t)p[0] | (uint32_t)p[1] << 8; }
static inline uint32_t vg_le32(const uint8_t *p) { return vg_le16(p) | vg_le16(p + 2) << 16; }
static inline uint64_t vg_le64(const uint8_t *p) { return (uint64_t)vg_le32(p) | (uint64_t)vg_le32(p + 4) << 32; }
static inline void vg_put16(uint8_t *p, uint32_t v) { p[0] = (uint8_t)v, p[1] = (uint8_t)(v >> 8); }
static inline void vg_put32(uint8_t *p, uint32_t v) { vg_put16(p, v), vg_put16(p + 2, v >> 16); }
static inline void vg_put64(uint8_t *p, uint64_t v) { vg_put32(p, (uint32_t)v), vg_put32(p + 4, (uint32_t)(v >> 32)); }

#endif
