/* formats.h - predictions in files: .npy, .npz, .safetensors, .csv, .tsv, .jsonl, .json, and these with .gz.
 *
 *     vg_prediction_file *file;
 *     if (vg_prediction_file_open(&file, "preds.npz", NULL) != VG_OK) puts(vg_error_message());
 *     vg_prediction_file_shape(file, &n, &m, &c, &logits);
 *     for (size_t first = 0; first < n; first += rows)         // rows: at most n - first
 *         vg_prediction_file_block(file, first, rows, &view);  // a view for vg_scorer_feed
 *     vg_prediction_file_close(file);
 *
 * Files are mapped or streamed, never trusted: every size is checked against the file before it is used. One that
 * another process makes shorter while it is mapped raises SIGBUS: the library leaves signals to the program. A
 * vg_writer collects named arrays into a file that appears, complete, under its final name when vg_writer_close
 * succeeds, and not at all otherwise.
 *
 * Threads: functions on different objects may run at once. A second call on one object while the first is inside fails
 * with VG_ERR_ARGUMENT; closing it meanwhile is not allowed.
 *
 * Errors: VG_ERR_IO: a file cannot be read or written. VG_ERR_FORMAT: it is damaged or of another format. VG_ERR_DATA:
 * its values cannot be used. VG_ERR_ARGUMENT: a parameter or a name is wrong, or the file leaves it open what is
 * meant. */
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

/* --- writing ------------------------------------------------------------------------------------------------------ */
/* A file being written. One caller at a time. It ends with vg_writer_close or vg_writer_abandon, which free it. */
typedef struct vg_writer vg_writer;
/* Kind by the extension of `path`: .npy, .npz, .safetensors. Writes to a file beside `path`, renamed by
 * vg_writer_close. */
VG_API vg_status vg_writer_open(vg_writer **out, const char *path);
/* Writes an array: data in C order, the product of the shape elements of that type. Names may not repeat. */
VG_API vg_status vg_writer_array(vg_writer *writer, const char *name, vg_element element, size_t rank,
                                 const size_t *shape, const void *data);
/* Finishes, flushes to disk and renames into place. Frees the writer in any case. */
VG_API vg_status vg_writer_close(vg_writer *writer);
/* Removes what was written and frees the writer. NULL is accepted. */
VG_API void vg_writer_abandon(vg_writer *writer);

/* Writes a whole text file: beside, then renamed. "-" is standard output. */
VG_API vg_status vg_text_save(const char *path, const char *text, size_t length);

/* What a file that vargate writes holds. How each is recognised in an existing file: src/formats/target.c,
 * docs/formats.md. */
typedef enum vg_product {
    VG_PRODUCT_SCORES,
    VG_PRODUCT_DECISIONS,
    VG_PRODUCT_PREDICTIONS,
    VG_PRODUCT_TEMPERATURES,
    VG_PRODUCT_PAGE,
    VG_PRODUCT_POLICY,
    VG_PRODUCT_COMPARISON,
    VG_PRODUCT_FIGURES, /* of evaluations */
    VG_PRODUCT_OOD,     /* figures of out-of-distribution detection */
    VG_PRODUCT_SETS,
    VG_PRODUCT_THRESHOLDS, /* of prediction sets */
    VG_PRODUCT_GATES       /* a fit of k */
} vg_product;
/* --- predictions and labels --------------------------------------------------------------------------------------- */
/* Opened predictions. One caller at a time. What is borrowed is valid until vg_prediction_file_close unless a
 * comment says otherwise. */
typedef struct vg_prediction_file vg_prediction_file;
typedef struct vg_prediction_options {
    size_t struct_size;
    /* array to take; NULL: "P", "probs", "probabilities", "Z", "logits" or "Q", the first there is, or the only
     * array of rank 2 or 3 (or as `axes` says) that is not named as labels are, or model_0, model_1, ...: one array
     * (N, C) per member. The arrays of the members may also be named, "a,b,c", or by "prefix*". */
    const char *key;
    int members_first;      /* deprecated: 1 is axes = "MNC" */
    int logits;             /* 1: logits; 0: probabilities; -1: logits exactly when the key is "Z" (or "logits") */
    const char *labels_key; /* array, column or field of the labels; NULL: by the usual names */
    const char *id;         /* array, column or field of the samples' ids; NULL: "id", "ids", a table's sample column */
    const char *classes;    /* a table: the columns that are classes, a comma list or a regular expression for whole
                               names; NULL: those that clearly are. Other files: a comma list, the C classes' names */
    const char *member;     /* a table: the column of the members; NULL: by the usual names */
    int multilabel;         /* labels: 1: (N, C) of 0 and 1; 0: one class per sample, or one-hot; -1: as stored */
    int labels_from;        /* the number of the first class in labels: 0 or 1 */
    const char *separator;  /* a table: between its fields, "," ";" "tab" or "space"; NULL: recognised */
    const char *decimal;    /* a table: "point" or "comma"; NULL: recognised */
    /* "NMC", "MNCHW": a letter for each axis as stored, see vg_sites_view; NULL: NMC, or NC of an array with two.
     * Arrays of one member each have these axes without M. */
    const char *axes;
    const char *group; /* a table: a column of groups, which is no class; NULL: none */
} vg_prediction_options;
#define VG_PREDICTION_OPTIONS_INIT                                                                                     \
    { sizeof(vg_prediction_options), NULL, 0, -1, NULL, NULL, NULL, NULL, -1, 0, NULL, NULL, NULL, NULL }

/* Opens predictions (N, M, C), or with the axes that the options name, in any format; the sites of images are
 * samples. Rank 2 (N, C) is one member. A shorter struct of options, from a program built with an earlier version,
 * is completed by the defaults. What is ambiguous (a column that may not be a class, logits under a name of
 * probabilities) is refused with a message that names the option to give. */
VG_API vg_status vg_prediction_file_open(vg_prediction_file **out, const char *path,
                                         const vg_prediction_options *options);
/* Frees the file and all that was borrowed from it. NULL is accepted. */
VG_API void vg_prediction_file_close(vg_prediction_file *file);
/* N, M, C, and 1 where the values are logits. */
VG_API void vg_prediction_file_shape(const vg_prediction_file *file, size_t *n, size_t *m, size_t *c, int *logits);
/* Labels found beside the predictions ("L", "labels", "label", "y", "y_true", "targets" or "target"): *out borrowed, N
 * values, NULL when there are none. Multilabel files carry (N, C) values 0/1; *columns is then C, otherwise 1. Labels
 * may be names of classes; where options.multilabel is 0 or 1 they are checked to be classes. */
VG_API vg_status vg_prediction_file_labels(vg_prediction_file *file, const int64_t **out, size_t *columns);
/* Names of the C classes as UTF-8: *out borrowed, NULL when the file has none. */
VG_API vg_status vg_prediction_file_classes(vg_prediction_file *file, const char *const **out);
/* The ids of the N samples likewise. */
VG_API vg_status vg_prediction_file_ids(vg_prediction_file *file, const char *const **out);
/* A view of samples first .. first + rows - 1 (rows >= 1), valid until the next call: mapped where that can be, else
 * read and converted into the file's own buffer, float16 and bfloat16 to float32, integers to float64. Samples before
 * `first` are released; blocks of 4 to 16 MB in increasing order are fastest. */
VG_API vg_status vg_prediction_file_block(vg_prediction_file *file, size_t first, size_t rows, vg_predictions *view);

#ifdef __cplusplus
}
#endif
#endif
