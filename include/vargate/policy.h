/* policy.h - policies, which keep samples or abstain: given by the caller, chosen on validation data or read from a
 * file, and their decisions for files and streams. Threads: as in workflow.h. */
#ifndef VARGATE_POLICY_H
#define VARGATE_POLICY_H

#include <math.h>
#include <stddef.h>

#include "vargate/evaluate.h"
#include "vargate/listener.h"
#include "vargate/sets.h"
#include "vargate/status.h"
#include "vargate/workflow.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What decides. With neither a value nor a target the decision rule at k = 1 does. */
typedef struct vg_policy_options {
    size_t struct_size;
    /* "k": the decision rule; else a measure ("snr", "gmu", "gtu@2"), of which a threshold is applied. With a target
     * risk a comma list of at most 16 names, which share the chance of error, or "auto": a search over k and every
     * measure, of logits also at a temperature. NULL: "auto" with a target risk, else "k". */
    const char *by;
    double k;         /* of the rule; NaN: not given */
    double threshold; /* keep samples whose measure is below it (snr: above it); NaN: not given */
    /* Chosen on validation data instead; NaN: not asked for. */
    double target_risk;      /* the largest coverage whose risk is below it with `confidence` */
    double target_coverage;  /* the most selective that keeps at least this share */
    double confidence;       /* of the bound on the risk */
    const char *calibration; /* the validation predictions; needed with a target, and only then */
    const char *file;        /* a policy that vg_decide_options.save wrote; nothing else is given then. NULL: none */
    /* Multilabel, instead of a target: a k of the rule for every label, chosen on `calibration` so that the risk of
     * that label is below this, with `confidence` for each label alone. One number, or one for each label, copied. */
    const double *label_risks;
    size_t label_risk_count;
} vg_policy_options;
#define VG_POLICY_OPTIONS_INIT                                                                                         \
    { sizeof(vg_policy_options), NULL, NAN, NAN, NAN, NAN, 0.95, NULL, NULL, NULL, 0 }

enum { VG_POLICY_NAME = 48, VG_POLICY_TEXT = 96, VG_POLICY_SENTENCE = 480 };

/* A policy. Read its fields; free with vg_policy_free. Those after `chosen` are valid once it is 1. */
typedef struct vg_policy {
    size_t struct_size;
    double target_risk, target_coverage, confidence; /* a target of 0: none */
    int chosen;                /* 1: ready to be applied; 0: vg_decide_file or vg_decision_stream_new will choose */
    int by_rule;               /* 1: the decision rule at k; 0: a threshold on a measure */
    int certainty;             /* larger values of the measure are more certain: keep above the threshold */
    double k;                  /* of the rule, or of a gated measure's gate */
    double threshold;          /* of a measure; NaN for the rule */
    char name[VG_POLICY_NAME]; /* "k", "snr", "gtu@2" */
    char text[VG_POLICY_TEXT]; /* "k = 1.5", "snr > 3", "gtu@2 < 0.1" */
    int labelled;              /* the validation data had labels */
    /* How it was chosen on validation data; NULL: it was given. Borrowed from the policy, as are the texts below. */
    const vg_selection *selection;
    const char *temperature; /* logits are divided by it first, numbers separated by commas; NULL: nothing was fitted */
    const char *sentence;    /* what is kept and what was promised */
    const char *again;       /* the options of `vargate decide` that repeat it: "--by gmu --threshold 0.1" */
    size_t searched;         /* ways to decide that were looked at; 0: no search */
    size_t tuning;           /* validation samples that chose among them and were not tested */
    /* After vg_decide_file: the whole command that decides so for that file, for a shell; NULL: k or a threshold was
     * given, or the policy came from a file, and nothing was saved. */
    const char *line;
    /* With label_risks: how each label's k, its `threshold`, was chosen. `k` is then 1, and `selection` NULL. */
    const vg_selection *labels;
    size_t label_count; /* 0: no k was chosen for each label */
} vg_policy;

/* Makes a policy; *out is owned by the caller. VG_ERR_ARGUMENT, naming the option, when options contradict each
 * other. Threads: several may make and use streams of a policy that is chosen at once. Choosing a policy, and
 * vg_decide_file, have it to themselves: a second such call meanwhile fails with VG_ERR_ARGUMENT, and no stream of the
 * policy may be in use. */
VG_API vg_status vg_policy_new(vg_policy **out, const vg_policy_options *options);
/* Frees the policy with everything it owns. NULL is accepted. */
VG_API void vg_policy_free(vg_policy *policy);

typedef struct vg_decide_options {
    size_t struct_size;
    const char *output; /* id, pred, decision, gmu, snr of every sample: .npz, .csv or .jsonl; NULL: no file */
    int force;          /* replace an existing output even if vargate did not write it */
    vg_job job;
    /* Writes the policy as JSON, with the members, classes and conventions it was chosen for; NULL: no file. */
    const char *save;
    /* A stream answers with the sets of these calibrated thresholds instead: {"id", "pred", "sets": [...]} as in a
     * .jsonl of vg_sets_file. The policy is then NULL, and `input` is not read. The stream must not outlive them. */
    vg_sets *sets;
    double refer_above; /* of images: refer one to a person whose abstained share of sites is larger; NaN: none */
    const char *maps;   /* of images: folder for maps of pred, decision, gmu and snr; as in vg_score_file_options */
    size_t pictures;
} vg_decide_options;
#define VG_DECIDE_OPTIONS_INIT                                                                                         \
    { sizeof(vg_decide_options), NULL, 0, VG_JOB_INIT, NULL, NULL, NAN, NULL, 20 }

/* The result of the decisions. Set struct_size with the macro; of a smaller struct only its own fields are filled. */
typedef struct vg_decide_result {
    size_t struct_size;
    size_t samples;
    int multilabel, labelled;
    unsigned long long entries;               /* decisions: samples, or samples x labels in multilabel mode */
    unsigned long long kept;                  /* the rest abstain */
    unsigned long long correct, kept_correct; /* with labels; 0 without */
    /* Of images, whose sites are the samples: lengths of N, H, W, D (0: no images), sites that `ignore` leaves out,
     * which are no entries, and a row for each image, of gmu and of these decisions. Borrowed from the policy until it
     * decides for the next file. */
    size_t sites[4], image_count;
    unsigned long long ignored;
    const vg_image_row *images;
    const size_t *image_order; /* by falling abstained_share */
    double refer_above;        /* as in the options */
    size_t referred;           /* images */
} vg_decide_result;
#define VG_DECIDE_RESULT_INIT                                                                                          \
    { sizeof(vg_decide_result), 0, 0, 0, 0, 0, 0, 0, {0, 0, 0, 0}, 0, 0, NULL, NULL, NAN, 0 }

/* Decides for every sample of a prediction file, after choosing the policy on its validation data where that is due.
 * Fails, naming the best that can be reached, when no setting meets the target. `input` and `options` may be NULL:
 * defaults. Gate settings and fields are the policy's; where it has validation data, labels named in `input` are those
 * of that data, and the file's own serve the result. */
VG_API vg_status vg_decide_file(vg_decide_result *out, vg_policy *policy, const char *path,
                                const vg_input_options *input, const vg_decide_options *options);
/* A report for a reader: the policy, how it was chosen, what is kept. `*out` is freed with vg_free. */
VG_API vg_status vg_decide_result_text(char **out, const vg_decide_result *result, const vg_policy *policy,
                                       const char *path);
/* docs/schema/decide.schema.json. `*out` is freed with vg_free. */
VG_API vg_status vg_decide_result_json(char **out, const vg_decide_result *result, const vg_policy *policy,
                                       const char *path);

/* Decisions one at a time, behind a model server. A line is {"id": ..., "p": [[...], ...]} with one array of
 * probabilities per member, or "z" with logits; the answer is a line of JSON that ends in a newline. Threads: one at a
 * time. */
typedef struct vg_decision_stream vg_decision_stream;
/* `output` of the options is not used. The policy must outlive the stream; it is chosen here where that is due, and one
 * that was chosen, or comes from a file, answers only lines of its members and classes. The job receives messages of
 * that choice alone. */
VG_API vg_status vg_decision_stream_new(vg_decision_stream **out, vg_policy *policy, const vg_input_options *input,
                                        const vg_decide_options *options);
/* Frees the stream with everything it owns. NULL is accepted. */
VG_API void vg_decision_stream_free(vg_decision_stream *stream);
/* Decides for one line: `length` bytes without the newline, line[length] = 0. *answer is borrowed until the next call,
 * "" for a blank line. A line that cannot be decided is answered by {"id": ..., "error": ...}, the call then returns
 * VG_ERR_DATA, and the message has the line's number; the stream stays usable. VG_ERR_MEMORY: no answer; the
 * same line may be given again. */
VG_API vg_status vg_decision_stream_line(vg_decision_stream *stream, const char *line, size_t length,
                                         const char **answer, size_t *answer_length);

#ifdef __cplusplus
}
#endif
#endif
