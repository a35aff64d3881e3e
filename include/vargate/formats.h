/* formats.h - arrays in files: .npy, .npz, .safetensors, .csv, .jsonl.
 *
 * A vg_source is an opened file that holds one or more named arrays. Bytes are mapped or streamed, never trusted:
 * every size is checked against the file before it is used. A vg_writer collects named arrays into a file that
 * appears, complete, under its final name when vg_writer_close succeeds, and not at all otherwise. */
#ifndef VARGATE_FORMATS_H
#define VARGATE_FORMATS_H

#include <stddef.h>
#include <stdint.h>

#include "vargate/measures.h"
#include "vargate/status.h"
#include "vargate/types.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { VG_MAX_RANK = 8 };

VG_API size_t vg_element_size(vg_element element);
VG_API const char *vg_element_name(vg_element element); /* "float32", "int64", ... */

typedef struct vg_array_info {
    const char *name; /* borrowed from the source; "" for the only array of an .npy */
    vg_element element;
    size_t rank;
    size_t shape[VG_MAX_RANK];
    size_t count;      /* product of the shape */
    int fortran_order; /* first axis fastest */
} vg_array_info;

/* An opened file of arrays. It serves one caller at a time; different sources may be read by different threads. What it
 * hands out as borrowed (names, metadata, mapped elements) lives until vg_source_close. */
typedef struct vg_source vg_source;

/* Opens by content and extension. "-" is an .npy (or another of the binary kinds) on standard input, spooled to an
 * unnamed temporary file when it is a pipe. .csv and .jsonl are parsed on opening into arrays P or Z, and L; see
 * docs/formats.md for their columns and keys. Arrays of types that have no place here (strings, objects) are left out
 * of the count; vg_source_find says why. A source serves one caller at a time. */
VG_API vg_status vg_source_open(vg_source **out, const char *path);
/* The same from memory (borrowed for the life of the source); `name` serves in messages and as the extension. */
VG_API vg_status vg_source_open_memory(vg_source **out, const void *bytes, size_t size, const char *name);
/* Frees the source and all that was borrowed from it. NULL is accepted. */
VG_API void vg_source_close(vg_source *source);
/* How many arrays there are, and what is known of number `index`; VG_ERR_ARGUMENT when there is none of that number. */
VG_API size_t vg_source_count(const vg_source *source);
VG_API vg_status vg_source_info(const vg_source *source, size_t index, vg_array_info *info);
/* Index of the array of that exact name; VG_ERR_ARGUMENT, naming those that are there, when it is not. */
VG_API vg_status vg_source_find(const vg_source *source, const char *name, size_t *index);

/* Reads rows `first` .. `first + rows - 1` of the leading axis (a scalar has one row), in C order, native endian,
 * converted to float64 / float32 / int64. Float to int64 is allowed only where every value is whole. Sequential reads
 * of a deflated member stream; going back restarts. */
VG_API vg_status vg_source_read_f64(vg_source *source, size_t index, size_t first, size_t rows, double *out);
VG_API vg_status vg_source_read_f32(vg_source *source, size_t index, size_t first, size_t rows, float *out);
VG_API vg_status vg_source_read_i64(vg_source *source, size_t index, size_t first, size_t rows, int64_t *out);
/* A mapped view of the raw elements when the array lies in the file as it is in memory: native endian, aligned to its
 * elements and stored, not deflated (either order). *out = NULL when it does not. Borrowed. */
VG_API vg_status vg_source_map(vg_source *source, size_t index, const void **out);
/* Text kept with the arrays (.safetensors, .npz written here): how many entries, each of them, and the value of a key
 * or NULL. Borrowed. */
VG_API size_t vg_source_metadata_count(const vg_source *source);
VG_API vg_status vg_source_metadata_at(const vg_source *source, size_t index, const char **key, const char **value);
VG_API const char *vg_source_metadata(const vg_source *source, const char *key);
/* Tells the system that rows before `row` (of the leading axis) will not be needed again, so that resident memory
 * stays bounded. */
VG_API void vg_source_drop(vg_source *source, size_t index, size_t row);

/* --- writing ------------------------------------------------------------------------------------------------------ */
/* A file being written. One caller at a time. It ends with vg_writer_close or vg_writer_abandon, which free it. */
typedef struct vg_writer vg_writer;
/* Kind by the extension of `path`: .npy, .npz, .safetensors. Writes to a file beside `path`, renamed by
 * vg_writer_close. */
VG_API vg_status vg_writer_open(vg_writer **out, const char *path);
/* Declares an array, then its bytes follow in C order by vg_writer_append in any number of pieces, before the next is
 * begun. */
VG_API vg_status vg_writer_begin(vg_writer *writer, const char *name, vg_element element, size_t rank,
                                 const size_t *shape);
VG_API vg_status vg_writer_append(vg_writer *writer, const void *bytes, size_t size);
/* Text to keep with the arrays (.safetensors; .npz, as a JSON object in the archive's comment), at any time before
 * vg_writer_close. A key may be given once. */
VG_API vg_status vg_writer_metadata(vg_writer *writer, const char *key, const char *value);
/* begin + append in one. */
VG_API vg_status vg_writer_array(vg_writer *writer, const char *name, vg_element element, size_t rank,
                                 const size_t *shape, const void *data);
/* A list of UTF-8 texts (class names) as an array of NumPy's str_ type: .npy and .npz only. */
VG_API vg_status vg_writer_texts(vg_writer *writer, const char *name, const char *const *texts, size_t count);
/* Finishes, flushes to disk and renames into place. Frees the writer in any case. */
VG_API vg_status vg_writer_close(vg_writer *writer);
/* Removes what was written. NULL is fine. */
VG_API void vg_writer_abandon(vg_writer *writer);

/* A plain text file written the same way: beside, then renamed. */
typedef struct vg_text vg_text;
VG_API vg_status vg_text_open(vg_text **out, const char *path);
VG_API vg_status vg_text_write(vg_text *text, const void *bytes, size_t size);
VG_API vg_status vg_text_close(vg_text *text);
VG_API void vg_text_abandon(vg_text *text);

/* --- outputs that replace nothing by accident --------------------------------------------------------------------- */
/* What a file that vargate writes holds. How each is recognised in an existing file: src/formats/target.c,
 * docs/formats.md. */
typedef enum vg_product {
    VG_PRODUCT_SCORES,
    VG_PRODUCT_DECISIONS,
    VG_PRODUCT_PREDICTIONS,
    VG_PRODUCT_TEMPERATURES,
    VG_PRODUCT_PAGE
} vg_product;
/* Notes in the file's metadata which product it is (.npz, .safetensors; an .npy has no place for it), so that a later
 * run may replace it. */
VG_API vg_status vg_writer_mark(vg_writer *writer, vg_product product);
/* Whether `path` may be written. VG_ERR_ARGUMENT when it is one of the inputs (the same file by device and inode, so
 * also through links; "-" is standard input; NULL entries are passed over), and, unless `force`, when it exists and is
 * no `product` of ours. */
VG_API vg_status vg_target_check(const char *path, vg_product product, const char *const *inputs, size_t input_count,
                                 int force);
/* 1 when both names lead to the same file; 0 when not, or when one of them cannot be found. */
VG_API int vg_same_file(const char *a, const char *b);

/* --- predictions and labels as people store them ------------------------------------------------------------------ */
typedef enum vg_axes { VG_AXES_NMC = 0, VG_AXES_MNC = 1 } vg_axes;

/* Opened predictions. One caller at a time; what is borrowed lives until vg_prediction_file_close unless a comment says
 * less. */
typedef struct vg_prediction_file vg_prediction_file;
typedef struct vg_prediction_options {
    size_t struct_size;
    /* array to take; NULL: "P", "Q", "probs", "probabilities", "Z" or "logits", the first there is, or the only
     * array of rank 2 or 3 that is not named as labels are */
    const char *key;
    vg_axes axes;
    int logits;             /* 1: logits; 0: probabilities; -1: logits exactly when the key is "Z" (or "logits") */
    const char *labels_key; /* array, column or field of the labels; NULL: by the usual names */
    const char *id;         /* array, column or field of the samples' ids; NULL: "id", "ids", a table's sample column */
    const char *classes;    /* a table: the columns that are classes, a comma list or a regular expression for whole
                               names; NULL: those that clearly are. Other files: a comma list, the C classes' names */
    const char *member;     /* a table: the column of the members; NULL: by the usual names */
    int multilabel;         /* labels: 1: (N, C) of 0 and 1; 0: one class a sample, or one-hot; -1: as stored */
    int labels_from;        /* the number of the first class in labels: 0 or 1 */
} vg_prediction_options;
#define VG_PREDICTION_OPTIONS_INIT                                                                                     \
    { sizeof(vg_prediction_options), NULL, VG_AXES_NMC, -1, NULL, NULL, NULL, NULL, -1, 0 }

/* Opens predictions (N, M, C) in any format. Rank 2 (N, C) is one member. A shorter struct of options, from a program
 * built with an earlier version, is completed by the defaults. What is ambiguous (a column that may be no class, logits
 * under a name of probabilities) is refused with a message that names the option to give. */
VG_API vg_status vg_prediction_file_open(vg_prediction_file **out, const char *path,
                                         const vg_prediction_options *options);
/* The same from memory (borrowed for the life of the file); `name` serves in messages and as the extension. */
VG_API vg_status vg_prediction_file_open_memory(vg_prediction_file **out, const void *bytes, size_t size,
                                                const char *name, const vg_prediction_options *options);
VG_API void vg_prediction_file_close(vg_prediction_file *file);
VG_API void vg_prediction_file_shape(const vg_prediction_file *file, size_t *n, size_t *m, size_t *c, int *logits);
/* Labels found beside the predictions ("L", "labels", "label", "y", "y_true", "targets" or "target"): *out borrowed, N
 * values, NULL when there are none. Multilabel files carry (N, C) values 0/1; *columns is then C, otherwise 1. Labels
 * may be names of classes; where options.multilabel is 0 or 1 they are checked to be classes. */
VG_API vg_status vg_prediction_file_labels(vg_prediction_file *file, const int64_t **out, size_t *columns);
/* The same from a file of their own; names are matched with the classes of the predictions. Borrowed until the next
 * such call. */
VG_API vg_status vg_prediction_file_read_labels(vg_prediction_file *file, const int64_t **out, size_t *columns,
                                                const char *path, const char *key);
/* Names of the C classes, ids of the N samples, as UTF-8: *out borrowed, NULL when the file has none. */
VG_API vg_status vg_prediction_file_classes(vg_prediction_file *file, const char *const **out);
VG_API vg_status vg_prediction_file_ids(vg_prediction_file *file, const char *const **out);
/* One line about something that is probably not meant (axes that look exchanged), or NULL. Borrowed. */
VG_API const char *vg_prediction_file_notice(const vg_prediction_file *file);
/* A view of samples first .. first + rows - 1 (rows >= 1), valid until the next call: mapped where that can be, else
 * read and converted into the file's own buffer, float16 and bfloat16 to float32, integers to float64. Samples before
 * `first` are let go; blocks of 4 to 16 MB in increasing order are fastest. */
VG_API vg_status vg_prediction_file_block(vg_prediction_file *file, size_t first, size_t rows, vg_predictions *view);

/* Labels without predictions: integers (N) or (N, C); key NULL takes the names above, or the only array. `*out` is the
 * caller's, freed with vg_labels_free. */
VG_API vg_status vg_labels_read(int64_t **out, size_t *n, size_t *columns, const char *path, const char *key);
VG_API void vg_labels_free(int64_t *labels);

#ifdef __cplusplus
}
#endif
#endif
