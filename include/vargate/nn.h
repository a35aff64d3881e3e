/* nn.h - training of networks whose predictions are ensembles, and prediction with them.
 *
 *     vg_recipe recipe;
 *     vg_recipe_defaults(&recipe);                                     // or vg_recipe_find of workflow.h, from a file
 *     vg_recipe_set(&recipe, "epochs=3");
 *     vg_train_options options = VG_TRAIN_OPTIONS_INIT;
 *     options.recipe = &recipe; options.folder = "runs/quickstart"; options.train = ...; options.validation = ...;
 *     vg_train(&result, &options);
 *
 *     vg_predictor_open(&predictor, "runs/quickstart/best.safetensors", NULL);
 *     vg_predictor_run(predictor, logits, images, n, 0);               // logits[n][M][C]
 *
 * Images are float32 (n, c, h, w), normalised. This module reads no data sets: images come through a vg_feed.
 *
 * Threads: functions on different objects may run at once. A recipe is plain data. A predictor serves one caller at a
 * time. vg_train may run in several threads at once, into different folders. Errors: every function that returns
 * vg_status leaves its reason in vg_error_message(). Where it fails, out-parameters hold NULL or nothing that needs to
 * be freed. */
#ifndef VARGATE_NN_H
#define VARGATE_NN_H

#include <stddef.h>
#include <stdint.h>

#include "vargate/measures.h"
#include "vargate/status.h"
#include "vargate/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- recipes */
enum { VG_RECIPE_TEXT = 128, VG_RECIPE_LIST = 8 }; /* bytes of a text with its NUL; entries of a list */
enum { VG_RECIPE_WEIGHTS = 256 };                  /* entries of class_weights */

/* What the members of an ensemble are: stochastic passes with dropout, heads on one trunk, or heads with dropout.
 * A deep ensemble is several networks, each trained from a seed of its own: one member per network, or the members that
 * the other part of its name says. */
typedef enum vg_ensemble {
    VG_ENSEMBLE_MCD = 0,
    VG_ENSEMBLE_LLE = 1,
    VG_ENSEMBLE_MCD_LLE = 2,
    VG_ENSEMBLE_DEEP = 3,
    VG_ENSEMBLE_DEEP_MCD = 4,
    VG_ENSEMBLE_DEEP_LLE = 5,
    VG_ENSEMBLE_DEEP_MCD_LLE = 6
} vg_ensemble;
#define VG_LIMIT_SEED_AS_SEED UINT64_MAX /* vg_recipe.limit_seed: the same as seed */

/* An experiment. The keys of a recipe file are the names of the fields; docs/training.md explains each. Begin with
 * vg_recipe_defaults or vg_recipe_find, which set every field. Keys of later versions take their room from `reserved`,
 * so that the struct keeps its size. */
typedef struct vg_recipe {
    char name[VG_RECIPE_TEXT];
    /* data */
    char dataset[VG_RECIPE_TEXT];             /* a catalogue name or "path:..." */
    char ood[VG_RECIPE_LIST][VG_RECIPE_TEXT]; /* out-of-distribution sets */
    size_t ood_count;
    double validation;                /* share of the training set held out */
    double test;                      /* share of it that is the test set; 0: the data set's own test part */
    size_t train_limit, test_limit;   /* at most this many samples; 0: all */
    size_t resize[2], center_crop[2]; /* {0, 0}: none; {n, 0}: the shorter side n, n x n cut out; {height, width} */
    int channels;                     /* 0 auto, 1 grey, 2 RGB */
    int skip_corrupt, in_memory;      /* leave out files that cannot be decoded; decode at once, -1: auto */
    size_t crop;                      /* pixels of reflection padding before a random crop; 0: off */
    double flip, erase;               /* probabilities */
    double brightness, contrast, saturation, hue; /* colour jitter */
    /* network and ensemble */
    char network[VG_RECIPE_TEXT]; /* "cnn", "cnn-WIDTH-HIDDEN", "wrn-DEPTH-WIDTH" */
    vg_ensemble ensemble;
    size_t heads;   /* H; 1 for MCD, and for a deep ensemble of plain or MCD networks */
    size_t members; /* M at prediction; 0: the heads, or 100 passes for MCD. Deep ensembles: networks; 0: 5 */
    size_t passes;  /* stochastic passes of each network of a deep-mcd ensemble; 0: 20 */
    double dropout;
    int loss; /* 0 mean, 1 mixture, 2 gated: with a k of the gate for every class, which is trained */
    double head_features, head_prior;
    int head_bootstrap;
    double head_init_scale, head_anchor;
    int init;       /* 0 he: normal, He's variance, biases 0; 1 uniform: PyTorch's default, biases included */
    int bn_refresh; /* -1: auto, on where there are both dropout and batch-norm */
    /* optimisation */
    size_t batch, epochs;
    double rate, weight_decay, beta1, beta2, epsilon;
    int schedule;     /* 0 constant, 1 cosine (up from 0.1 over 25 %, down to 0.1), 2 cyclic (a cosine per snapshot) */
    int optimiser;    /* 0 adam, 1 adamw, 2 sgd */
    double momentum;  /* of sgd */
    int nesterov;     /* sgd with momentum */
    double clip_norm; /* largest norm of all gradients together; 0: any */
    double ema;       /* decay of the running mean of the parameters, which predictions then use; 0: none */
    double label_smoothing;
    int class_balance; /* class_weights: 0 none, 1 balanced, 2 the list */
    double class_weights[VG_RECIPE_WEIGHTS];
    size_t class_weight_count;
    int sampling; /* 0 shuffle: every image once per epoch; 1 balanced: drawn with replacement, classes equally often */
    int bfloat16; /* compute: 0 float32, 1 bfloat16, 2 tf32 (float32 with the products' operands rounded, on GPUs) */
    uint64_t seed;
    uint64_t split_seed; /* of the validation split alone, so that runs of other seeds hold out the same images */
    uint64_t limit_seed; /* of the samples that train_limit and test_limit draw; VG_LIMIT_SEED_AS_SEED: seed */
    /* monitoring and checkpoints */
    int checkpoint;            /* which one predictions use: 0 last, 1 best */
    int best_by;               /* what makes a checkpoint the best: 0 validation accuracy, 1 validation loss */
    size_t patience;           /* stop after so many epochs in which the validation loss has not fallen; 0: never */
    double min_delta;          /* by how much it must fall to count */
    size_t snapshots;          /* checkpoints kept along the schedule, whose networks make the ensemble; 0: none */
    size_t checkpoint_every;   /* epochs between checkpoints; 0: by time */
    double checkpoint_seconds; /* time between checkpoints, also within an epoch; 0: by epochs */
    size_t monitor_passes;     /* stochastic passes per image in the validation of an MCD network */
    double collapse_fraction;  /* alarm when diversity is below this share of its peak with a verdict of identical, */
    size_t collapse_epochs;    /* collapsed or low, for this many epochs in a row */
    /* after training (vargate run) */
    double k[VG_RECIPE_LIST]; /* gate settings */
    size_t k_count;
    int calibrate;
    uint64_t reserved[64]; /* 0 */
} vg_recipe;

/* Sets every field to its default: the paper's CNN on MNIST, LLE with 100 heads. */
VG_API void vg_recipe_defaults(vg_recipe *recipe);
/* Applies one "key=value", the value as in a recipe file, lists as [a, b]. VG_ERR_ARGUMENT for an unknown
 * key (the message names the nearest known one) or a value out of range. Whether the settings can be combined is
 * checked by vg_train, because several may be consistent only together. */
VG_API vg_status vg_recipe_set(vg_recipe *recipe, const char *assignment);
/* The recipe as YAML with every key. *out is the caller's, freed with vg_free. */
VG_API vg_status vg_recipe_text(char **out, const vg_recipe *recipe);

/* --- images */
typedef struct vg_nn_batch {
    const float *images;   /* n * c * h * w */
    const int32_t *labels; /* n */
    const size_t *indices; /* n: the position of each in the training set (bootstrap weights depend on it) */
    size_t n;
} vg_nn_batch;

/* The source of batches, implemented by the caller. After seek(epoch, step) the following next() calls give steps step,
 * step + 1, ... of that epoch, and after its last step the first of the next epoch. The content depends on (epoch,
 * step) alone. Pointers in a batch stay valid until the next call. Both functions are called from the thread that
 * called vg_train; a status other than VG_OK ends the training with it. */
typedef struct vg_feed {
    void *context;
    size_t samples, steps; /* of an epoch */
    vg_status (*seek)(void *context, uint64_t epoch, size_t step);
    vg_status (*next)(void *context, vg_nn_batch *batch);
} vg_feed;

/* The former name of vg_sample_draw. Deprecated. */
typedef vg_sample_draw vg_nn_sample;

/* Resident data: the training images themselves, for devices that hold them in their own memory and make batches there;
 * other devices use the feed. Both must give the same images. plan may be called from another thread than the feed, one
 * call at a time. */
typedef struct vg_resident {
    void *context;
    const void *pixels; /* n * c * h * w, planar; bytes (b / 255) or floats. Borrowed while training runs */
    int is_float;
    const int32_t *labels; /* n */
    size_t n;
    /* Writes the draws of an epoch in order, as many as the training feed has `samples`. NULL: no resident data. */
    vg_status (*plan)(void *context, uint64_t epoch, vg_sample_draw *samples);
} vg_resident;

/* --- training */
/* One line of metrics.jsonl. The validation of an LLE or MCD-LLE network reads all heads without dropout, that of an
 * MCD network takes monitor_passes stochastic passes. Batch-norm uses the running statistics, which were taken with
 * dropout: an LLE network that has both shows worse figures while it trains than after the refresh that follows the
 * last epoch. */
typedef struct vg_epoch_metrics {
    size_t epoch; /* from 1 */
    double train_loss, train_accuracy, val_loss, val_accuracy, val_ece;
    double diversity, k_sensitivity;
    double rate;         /* at the epoch's last step */
    double images_per_s; /* training alone */
    vg_verdict verdict;  /* on the ensemble, from the validation set: vg_verdict_judge */
    double reserved[8];  /* of later versions */
} vg_epoch_metrics;

typedef enum vg_train_event_kind {
    VG_TRAIN_STEP = 0,       /* after every step */
    VG_TRAIN_EPOCH = 1,      /* metrics are ready */
    VG_TRAIN_COLLAPSE = 2,   /* the collapse alarm: recipe keys collapse_fraction and collapse_epochs */
    VG_TRAIN_CHECKPOINT = 3, /* a checkpoint was written; text: its path */
    VG_TRAIN_START = 4,      /* device and starting point are known; text: the device */
    VG_TRAIN_REFRESH = 5,    /* a step of the batch-norm refresh */
    VG_TRAIN_NOTE = 6,       /* text: information for the user */
    VG_TRAIN_WARNING = 7     /* text: a setting that is probably not intended */
} vg_train_event_kind;

typedef struct vg_train_event {
    vg_train_event_kind kind;
    size_t epoch, epochs, step, steps; /* epochs done, of how many; steps done of this epoch, of how many */
    double loss;                       /* STEP: running mean over the epoch, NaN when not known */
    const vg_epoch_metrics *metrics;   /* EPOCH, COLLAPSE */
    double diversity_peak;             /* COLLAPSE */
    const char *text;                  /* START, CHECKPOINT, NOTE, WARNING. Borrowed for the call */
    size_t network, networks;          /* of a deep ensemble (vg_train_recipe): which, from 1, of how many; else 0 */
} vg_train_event;

/* Everything is borrowed until vg_train returns. recipe, folder, both feeds, the shape and classes are required. */
typedef struct vg_train_options {
    size_t struct_size; /* set by VG_TRAIN_OPTIONS_INIT; a smaller one, of an older header, is accepted */
    const vg_recipe *recipe;
    const char *folder; /* run folder, created if it does not exist */
    const char *device; /* "auto", "cpu", ...; NULL: auto */
    unsigned threads;   /* 0: one per core */
    int resume;         /* continue from the folder's last checkpoint if there is one */
    size_t channels, height, width, classes;
    double mean[16], std[16]; /* normalisation of the images per channel, kept with the checkpoint */
    vg_feed train, validation;
    vg_resident resident; /* the images behind `train` */
    /* May be NULL. Called from the thread that called vg_train. A non-zero return asks for a checkpoint and a stop,
     * after which vg_train returns VG_ERR_INTERRUPTED. */
    int (*event)(void *context, const vg_train_event *event);
    void *event_context;
    const char *const *class_names; /* `classes` names in the order of the labels, kept with the run; NULL: none */
    /* Factors of the classes in the loss, `classes` of them; NULL: the recipe's. Needed for class_weights: balanced,
     * which vg_train cannot count. */
    const double *class_weights;
    int tensorboard;                /* 1: figures of the epochs also as FOLDER/tensorboard/events.out.tfevents.* */
    struct vg_train_device *shared; /* internal: a device that several trainings use; NULL: one of its own */
} vg_train_options;
#define VG_TRAIN_OPTIONS_INIT                                                                                          \
    {                                                                                                                  \
        sizeof(vg_train_options), NULL, NULL, NULL, 0, 0, 0, 0, 0, 0, {0}, {0}, {NULL, 0, 0, NULL, NULL},              \
            {NULL, 0, 0, NULL, NULL}, {NULL, NULL, 0, NULL, 0, NULL}, NULL, NULL, NULL, NULL, 0, NULL                  \
    }

typedef struct vg_train_result {
    vg_epoch_metrics last, best; /* best: highest validation accuracy, then lowest loss */
    double seconds;              /* of this call */
    int collapsed;               /* the collapse alarm was raised in this call */
    size_t epochs_done;          /* by this call; 0: the run was finished already */
    double reserved[8];          /* of later versions */
} vg_train_result;

/* Trains to the recipe's last epoch. The folder gets recipe.yaml, run.json, metrics.jsonl, last.safetensors and
 * best.safetensors, each written beside and renamed. FOLDER/train.lock is held meanwhile: a second training into the
 * same folder is refused with VG_ERR_IO, and the message names the first.
 *
 * A resumed run may change what does not touch its training (name, ood, test_limit, members, checkpoint,
 * checkpoint_every, collapse_*, k, calibrate), patience and epochs: the schedule is then that of the new number of
 * epochs from there on. VG_ERR_DATA for other changes, or for other data.
 *
 * `result` is set also on failure, with the epochs that were finished. VG_ERR_NUMERIC, naming the step, when a loss is
 * not finite; the last checkpoint stays. VG_ERR_INTERRUPTED after the event callback asked to stop. VG_ERR_UNSUPPORTED
 * when the device is not available. */
VG_API vg_status vg_train(vg_train_result *result, const vg_train_options *options);

/* --- prediction */
typedef struct vg_predictor_options {
    size_t struct_size;   /* set by VG_PREDICTOR_OPTIONS_INIT; a smaller one, of an older header, is accepted */
    const char *device;   /* "auto", "cpu", "cuda", ...; NULL: auto */
    unsigned threads;     /* 0: one per core */
    int ensemble;         /* a vg_ensemble, or -1: the recipe's */
    size_t members;       /* M; 0: the recipe's. LLE: at most H */
    size_t passes, heads; /* both > 0: every pass through the first `heads` heads, M = passes * heads (MCD-LLE) */
    int compute;          /* 0 float32, 1 bfloat16, 2 tf32, -1: the recipe's */
    size_t rows;          /* (image, pass) rows computed at once; 0: 128, on a GPU 640 */
} vg_predictor_options;
#define VG_PREDICTOR_OPTIONS_INIT                                                                                      \
    { sizeof(vg_predictor_options), NULL, 0, -1, 0, 0, 0, -1, 0 }

/* What a predictor gives. Pointers are borrowed from it and live until vg_predictor_free. */
typedef struct vg_predictor_info {
    size_t struct_size; /* set by VG_PREDICTOR_INFO_INIT; of a smaller struct only what it has is filled */
    size_t members, classes, channels, height, width;
    double mean[16], std[16]; /* normalisation that the network was trained with, per channel */
    vg_ensemble ensemble;
    const vg_recipe *recipe;        /* as trained */
    size_t epoch;                   /* epochs trained before the checkpoint */
    const char *device;             /* the device in words */
    const char *const *class_names; /* `classes` names in the order of the logits; NULL: none are known */
    const double *class_k;          /* `classes`: the k of the gate that was trained (loss gated); NULL: none */
} vg_predictor_info;
#define VG_PREDICTOR_INFO_INIT                                                                                         \
    { sizeof(vg_predictor_info), 0, 0, 0, 0, 0, {0}, {0}, VG_ENSEMBLE_MCD, NULL, 0, NULL, NULL, NULL }

/* A network opened for prediction. One caller at a time, from any thread: a second call while the first is inside fails
 * with VG_ERR_ARGUMENT. Different predictors may run at once. */
typedef struct vg_predictor vg_predictor;
/* Opens a checkpoint. *out is the caller's; options may be NULL. VG_ERR_IO and VG_ERR_FORMAT for files that are no
 * checkpoints, VG_ERR_ARGUMENT for members that the network does not have, VG_ERR_UNSUPPORTED when the device is not
 * available. Several checkpoints, each with a predictor of its own, are a deep ensemble: concatenate their members. */
VG_API vg_status vg_predictor_open(vg_predictor **out, const char *checkpoint, const vg_predictor_options *options);
/* Frees the predictor and what was borrowed from it. NULL is accepted. */
VG_API void vg_predictor_free(vg_predictor *predictor);
/* Fills *out, whose struct_size the caller has set. VG_ERR_ARGUMENT when it is not. */
VG_API vg_status vg_predictor_describe(vg_predictor_info *out, const vg_predictor *predictor);
/* Writes the logits[n][M][C] of n images, of which the first is number `first` of its set. The same image under the
 * same number has the same members, however a set is cut into calls. */
VG_API vg_status vg_predictor_run(vg_predictor *predictor, float *logits, const float *images, size_t n,
                                  uint64_t first);

#ifdef __cplusplus
}
#endif
#endif
