/* arrays.h - named arrays in files: reading them whole or by rows, and the parts of writing them that the public
 * vg_writer_array does not need. For the modules above formats; source.h and writer.h are internal to formats.
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

/* An opened file of arrays. It serves one caller at a time; different sources may be read by different threads. What
 * it lends (names, metadata, mapped elements) is valid until vg_source__close. */
typedef struct vg_source vg_source;

/* Opens by content and extension. "-" is an .npy (or another of the binary kinds) on standard input, spooled to an
 * unnamed temporary file when it is a pipe; files compressed by gzip are expanded to such a file. Tables and JSON
 * are parsed on opening into arrays P or Z, and L; see docs/formats.md for their columns and keys. Arrays of types
 * that are not supported (strings, objects) are left out of the count; vg_source__find says why. Pickles, PyTorch's
 * and other programs' files are refused with the lines of Python that convert them. One caller at a time. */
vg_status vg_source__open(vg_source **out, const char *path);
/* The same from memory (borrowed until the source is closed); `name` is used in messages, and its ending as that of
 * a file. */
vg_status vg_source__open_memory(vg_source **out, const void *bytes, size_t size, const char *name);
/* Frees the source and everything that was borrowed from it. NULL is accepted. */
void vg_source__close(vg_source *source);
/* The number of arrays, and the description of array `index`; VG_ERR_ARGUMENT when the index is too large. */
size_t vg_source__count(const vg_source *source);
vg_status vg_source__info(const vg_source *source, size_t index, vg_array_info *info);
/* Index of the array of that exact name; VG_ERR_ARGUMENT, listing the arrays of the file, when it has none. */
vg_status vg_source__find(const vg_source *source, const char *name, size_t *index);

/* Reads rows `first` .. `first + rows - 1` of the leading axis (a scalar has one row), in C order, native endian,
 * converted to float64 / float32 / int64. Float to int64 is allowed only where every value is whole. A deflated
 * member is read forward as a stream; reading an earlier row inflates it again from its start. */
vg_status vg_source__read_f64(vg_source *source, size_t index, size_t first, size_t rows, double *out);
vg_status vg_source__read_f32(vg_source *source, size_t index, size_t first, size_t rows, float *out);
vg_status vg_source__read_i64(vg_source *source, size_t index, size_t first, size_t rows, int64_t *out);
/* A mapped view of the raw elements when they are stored as in memory: native endian, aligned to the element size
 * and not deflated (in either order). *out = NULL otherwise. Borrowed. */
vg_status vg_source__map(vg_source *source, size_t index, const void **out);
/* Text stored with the arrays (.safetensors; .npz of this writer): the value of a key or NULL. Borrowed. */
const char *vg_source__metadata(const vg_source *source, const char *key);
/* Tells the system that rows before `row` (of the leading axis) will not be needed again, so that resident memory
 * stays bounded. */
void vg_source__drop(vg_source *source, size_t index, size_t row);

/* --- writing ------------------------------------------------------------------------------------------------------ */
/* Declares an array. Its bytes follow in C order by vg_writer__append, in any number of pieces, before the next
 * array is begun. */
vg_status vg_writer__begin(vg_writer *writer, const char *name, vg_element element, size_t rank, const size_t *shape);
vg_status vg_writer__append(vg_writer *writer, const void *bytes, size_t size);
/* Text to store with the arrays (.safetensors; .npz, as a JSON object in the archive's comment), at any time before
 * vg_writer_close. A key may be given once. */
vg_status vg_writer__metadata(vg_writer *writer, const char *key, const char *value);
/* A list of UTF-8 texts (class names) as an array of NumPy's str_ type: .npy and .npz only. */
vg_status vg_writer__texts(vg_writer *writer, const char *name, const char *const *texts, size_t count);

/* Records in the file's metadata which product it is (.npz, .safetensors; an .npy has no metadata), so that a later
 * run may replace it. */
vg_status vg_writer__mark(vg_writer *writer, vg_product product);
/* vg_target_check of workflow.h, which also checks the endings of names, without that check. */
vg_status vg_target__check(const char *path, vg_product product, const char *const *inputs, size_t input_count,
                           int force);
/* 1 when both names refer to the same file, or would once it is written; 0 when not, or when only one of them
 * exists. */
int vg_target__same_file(const char *a, const char *b);

#endif
