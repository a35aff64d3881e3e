/* workflow.h - what a command of the program does, as functions: options in, typed results out, nothing printed.
 *
 * The modules below compute; this one does the whole of a task: it opens files, checks that they fit each other,
 * streams them through a scorer, evaluates, writes outputs beside their names and renames them. The command line and
 * the Python package are two faces of it.
 *
 * Listening to a job. Every options struct here ends in a `vg_job`. Its function hears how far the work is, notes and
 * warnings that a person would want to read, and can stop the work by returning non-zero: the call then fails with
 * VG_ERR_INTERRUPTED and leaves no partial output. It is called from the calling thread only. An empty vg_job is silent
 * and cannot stop anything.
 *
 * Threads. Functions here may be called from several threads at once, each with its own options and results. */
#ifndef VARGATE_WORKFLOW_H
#define VARGATE_WORKFLOW_H

#include <stddef.h>
#include <stdint.h>

#include "vargate/measures.h"
#include "vargate/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- listening to a job ------------------------------------------------------------------------------------------- */

typedef enum vg_job_event {
    VG_JOB_BEGIN = 0, /* a part of the work begins: `text` names it ("scoring"), `unit` what is counted ("samples") */
    VG_JOB_PROGRESS = 1, /* `done` of `total` units (0: unknown); sent often, so the listener limits its own output */
    VG_JOB_END = 2,      /* the part that began last has ended, well or not */
    VG_JOB_NOTE = 3,     /* `text`: one line of information */
    VG_JOB_WARNING = 4   /* `text`: one line about something doubtful in the input or the result */
} vg_job_event;

typedef struct vg_job_message {
    vg_job_event event;
    const char *text, *unit; /* borrowed for the call; NULL where the event has none */
    unsigned long long done, total;
} vg_job_message;

/* A non-zero return asks the job to stop. The return value for NOTE, WARNING and END is ignored. */
typedef int (*vg_job_fn)(void *context, const vg_job_message *message);

typedef struct vg_job {
    vg_job_fn tell; /* NULL: nobody listens */
    void *context;
} vg_job;
#define VG_JOB_INIT                                                                                                    \
    { NULL, NULL }

/* --- predictions to be scored ------------------------------------------------------------------------------------- */

/* What is computed of a sample. Those before VG_FIELD_PRED are measures of uncertainty. */
typedef enum vg_field {
    VG_FIELD_TU = 0,
    VG_FIELD_AU,
    VG_FIELD_EU,
    VG_FIELD_EPCE,
    VG_FIELD_EPKL,
    VG_FIELD_EPJS,
    VG_FIELD_GMU,
    VG_FIELD_SNR,
    VG_FIELD_GTU,
    VG_FIELD_GAU,
    VG_FIELD_GEU,
    VG_FIELD_GEPCE,
    VG_FIELD_GEPKL,
    VG_FIELD_GEPJS,
    VG_FIELD_PRED,
    VG_FIELD_SECOND,
    VG_FIELD_DECISION,
    VG_FIELD_MEAN,
    VG_FIELD_STD,
    VG_FIELD_FLAGS,
    VG_FIELD_COUNT,
    VG_FIELD_MEASURES = VG_FIELD_PRED
} vg_field;

/* A set of fields, bit f for field f. */
typedef uint32_t vg_field_set;
#define VG_FIELD_BIT(field) ((vg_field_set)1 << (field))
#define VG_FIELDS_ALL (VG_FIELD_BIT(VG_FIELD_COUNT) - 1)
#define VG_FIELDS_MEASURES (VG_FIELD_BIT(VG_FIELD_MEASURES) - 1)

/* A set from names (tu, au, ..., flags) and groups (all, entropies, pairwise, ungated, gated, margin) separated by
 * commas. VG_ERR_ARGUMENT, naming the word, where one is unknown. */
VG_API vg_status vg_fields_parse(vg_field_set *out, const char *text);
/* Word i of those that vg_fields_parse knows: fields in the order of vg_field, then groups. NULL past the last. */
VG_API const char *vg_fields_word(size_t i);

/* Where scores are computed. AUTO: on a GPU where there is one; a note tells when there is none. */
typedef enum vg_score_device { VG_SCORE_ON_CPU = 0, VG_SCORE_ON_AUTO = 1, VG_SCORE_ON_CUDA = 2 } vg_score_device;

/* How a file of predictions is read and scored. Texts and arrays are borrowed for the call. */
typedef struct vg_input_options {
    size_t struct_size;                /* sizeof(vg_input_options), set by VG_INPUT_OPTIONS_INIT */
    const char *key;                   /* array to take from the file; NULL: P, Q or Z, or the only one that fits */
    int axes;                          /* a vg_axes; -1: NMC, with a warning where the shape looks like another order */
    int logits;                        /* 1: the file holds logits; -1: known by the name of the array */
    const char *classes, *id, *member; /* columns of a table, see vg_prediction_options */
    const char *labels;                /* file with the labels; NULL: those stored beside the predictions */
    const char *labels_key;            /* their array, column or field; NULL: by the usual names */
    int labels_from;                   /* the number that labels have for the first class, 0 or 1 */
    const char *temperature; /* logits are divided by it: a number, numbers separated by commas with one a member, or a
                                file of temperatures; NULL: none */
    vg_field_set fields;     /* what to compute; 0: everything */
    const vg_score_options *scoring; /* conventions, gate settings, task, threads; NULL: the defaults. Its logits and
                                        temperature are not read: the fields above decide */
    vg_score_device device;
} vg_input_options;
#define VG_INPUT_OPTIONS_INIT                                                                                          \
    { sizeof(vg_input_options), NULL, -1, -1, NULL, NULL, NULL, NULL, NULL, 0, NULL, 0, NULL, VG_SCORE_ON_CPU }

#ifdef __cplusplus
}
#endif
#endif
