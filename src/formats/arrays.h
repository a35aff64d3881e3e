/* arrays.h - named arrays in files: reading them whole or by rows, and the parts of writing them that the public
 * vg_writer_array does not need. For the modules above formats; source.h and writer.h have what stays inside.
 *
 * A vg_source is an opened file that holds one or more named arrays. */
#ifndef VG_ARRAYS_H
#define VG_ARRAYS_H

#include <stddef.h>
#include <stdint.h>

#include "vargate/formats.h"
#include "vargate/status.h"
#include "vargate/types.h"

enum { VG_MAX_RANK = 8 };

size_t vg_element__size(vg_element element);
const char *vg_element__name(vg_element element); /* "float32", "int64", ... */

typedef struct vg_array_info {
    const char *name; /* borrowed from the source; "" for the only array of an .npy */
    vg_element element;
    size_t rank;
    size_t shape[VG_MAX_RANK];
    size_t count;      /* product of the shape */
    int fortran_order; /* first axis fastest */
} vg_array_info;

/* An opened file of arrays. It serves one caller at a time; different sources may be read by different threads. What it
 * hands out as borrowed (names, metadata, mapped elements) lives until vg_source__close. */
typedef struct vg_source vg_source;

/* Opens by content and extension. "-" is an .npy (or another of the binary kinds) on standard input, spooled to an
 * unnamed temporary file when it is a pipe; files compressed by gzip are expanded to such a file. Tables and JSON are
 * parsed on opening into arrays P or Z, and L; see docs/formats.md for their columns and keys. Arrays of types that
 * have no place here (strings, objects) are left out of the count; vg_source__find says why. Pickles, PyTorch's and
 * other programs' files are refused with the lines of Python that convert them. One caller at a time. */
vg_status vg_source__open(vg_source **out, const char *path);
/* The same from memory (borrowed for the life of the source); `name` serves in messages and as the extension. */
vg_status vg_source__open_memory(vg_source **out, const void *bytes, size_t size, const char *name);
/* Frees the source and all that was borrowed from it. NULL is accepted. */
void vg_source__close(vg_source *source);
/* How many arrays there are, and what is known of number `index`; VG_ERR_ARGUMENT when there is none of that number. */
size_t vg_source__count(const vg_source *source);
vg_status vg_source__info(const vg_source *source, size_t index, vg_array_info *info);
/* Index of the array of that exact name; VG_ERR_ARGUMENT, naming those that are there, when it is not. */
vg_status vg_source__find(const vg_source *source, const char *name, size_t *index);

/* Reads rows `first` .. `first + rows - 1` of the leading axis (a scalar has one row), in C order, native endian,
 * converted to float64 / float32 / int64. Float to int64 is allowed only where every value is whole. Sequential reads
 * of a deflated member stream; going back restarts. */
vg_status vg_source__read_f64(vg_source *source, size_t index, size_t first, size_t rows, double *out);
vg_status vg_source__read_f32(vg_source *source, size_t index, size_t first, size_t rows, float *out);
vg_status vg_source__read_i64(vg_source *source, size_t index, size_t first, size_t rows, int64_t *out);
/* A mapped view of the raw elements when the array lies in the file as it is in memory: native endian, aligned to its
 * elements and stored, not deflated (either order). *out = NULL when it does not. Borrowed. */
vg_status vg_source__map(vg_source *source, size_t index, const void **out);
/* Text kept with the arrays (.safetensors, .npz written here): how many entries, each of them, and the value of a key
 * or NULL. Borrowed. */
size_t vg_source__metadata_count(const vg_source *source);
vg_status vg_source__metadata_at(const vg_source *source, size_t index, const char **key, const char **value);
const char *vg_source__metadata(const vg_source *source, const char *key);
/* Tells the system that rows before `row` (of the leading axis) will not be needed again, so that resident memory
 * stays bounded. */
void vg_source__drop(vg_source *source, size_t index, size_t row);

/* --- writing ------------------------------------------------------------------------------------------------------ */
/* Declares an array, then its bytes follow in C order by vg_writer__append in any number of pieces, before the next is
 * begun. */
vg_status vg_writer__begin(vg_writer *writer, const char *name, vg_element element, size_t rank, const size_t *shape);
vg_status vg_writer__append(vg_writer *writer, const void *bytes, size_t size);
/* Text to keep with the arrays (.safetensors; .npz, as a JSON object in the archive's comment), at any time before
 * vg_writer_close. A key may be given once. */
vg_status vg_writer__metadata(vg_writer *writer, const char *key, const char *value);
/* A list of UTF-8 texts (class names) as an array of NumPy's str_ type: .npy and .npz only. */
vg_status vg_writer__texts(vg_writer *writer, const char *name, const char *const *texts, size_t count);

/* Notes in the file's metadata which product it is (.npz, .safetensors; an .npy has no place for it), so that a later
 * run may replace it. */
vg_status vg_writer__mark(vg_writer *writer, vg_product product);
/* vg_target_check of workflow.h without the endings of names. */
vg_status vg_target__check(const char *path, vg_product product, const char *const *inputs, size_t input_count,
                           int force);
/* 1 when both names lead to the same file, or would when it is written; 0 when not, or when only one can be found. */
int vg_target__same_file(const char *a, const char *b);

#endif
