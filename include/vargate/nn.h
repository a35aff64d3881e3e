/* nn.h - training networks whose predictions are ensembles, and predicting with them.
 *
 *     vg_recipe recipe;
 *     vg_recipe_read(&recipe, "recipes/quickstart.yaml");
 *     vg_train_options options = VG_TRAIN_OPTIONS_INIT;
 *     options.recipe = &recipe; options.folder = "runs/quickstart"; options.train = ...; options.validation = ...;
 *     vg_train(&result, &options);
 *
 *     vg_predictor_open(&predictor, "runs/quickstart/best.safetensors", NULL);
 *     vg_predictor_run(predictor, logits, images, n, 0);               // logits[n][M][C]
 *
 * Images are float32 (n, c, h, w), normalised. This module reads no data sets: images come through a vg_feed. */
#ifndef VARGATE_NN_H
#define VARGATE_NN_H

#include <stddef.h>
#include <stdint.h>

#include "vargate/measures.h"
#include "vargate/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- recipes */
enum { VG_RECIPE_TEXT = 128, VG_RECIPE_LIST = 8 };

typedef enum vg_ensemble { VG_ENSEMBLE_MCD = 0, VG_ENSEMBLE_LLE = 1, VG_ENSEMBLE_MCD_LLE = 2 } vg_ensemble;

/* An experiment. The keys of a recipe file are the names of the fields; docs/training.md explains each. */
typedef struct vg_recipe {
    char name[VG_RECIPE_TEXT];
    /* data */
    char dataset[VG_RECIPE_TEXT];             /* a catalogue name or "path:..." */
    char ood[VG_RECIPE_LIST][VG_RECIPE_TEXT]; /* out-of-distribution sets */
    size_t ood_count;
    double validation;                            /* share of the training set held out */
    size_t train_limit, test_limit;               /* at most so many samples; 0: all */
    size_t crop;                                  /* reflect-pad and crop; 0: off */
    double flip, erase;                           /* probabilities */
    double brightness, contrast, saturation, hue; /* colour jitter */
    /* network and ensemble */
    char network[VG_RECIPE_TEXT]; /* "cnn", "cnn-WIDTH-HIDDEN", "wrn-DEPTH-WIDTH" */
    vg_ensemble ensemble;
    size_t heads;   /* H; 1 for MCD */
    size_t members; /* M at prediction; 0: the heads, or 100 passes for MCD */
    double dropout;
    int mixture; /* loss: mixture instead of mean */
    double head_features, head_prior;
    int head_bootstrap;
    double head_init_scale, head_anchor;
    int init;       /* 0 he: normal, He's variance, biases 0; 1 uniform: PyTorch's default, biases included */
    int bn_refresh; /* -1: auto, on where there are both dropout and batch-norm */
    /* optimisation */
    size_t batch, epochs;
    double rate, weight_decay, beta1, beta2, epsilon;
    int schedule; /* 0 constant, 1 cosine (up from 0.1 over 25 %, down to 0.1) */
    int bfloat16; /* compute: 0 float32, 1 bfloat16, 2 tf32 (float32 with the products' operands rounded, on GPUs) */
    uint64_t seed;
    uint64_t split_seed; /* of the validation split alone, so that runs of other seeds hold out the same images */
    /* watching */
    int checkpoint;            /* which one is predicted with: 0 last, 1 best */
    size_t checkpoint_every;   /* epochs between checkpoints; 0: by time */
    double checkpoint_seconds; /* time between checkpoints, also within an epoch; 0: by epochs */
    size_t monitor_passes;    /* stochastic passes an image when watching an MCD network */
    double collapse_fraction; /* alarm: verdict identical, collapsed or low, and diversity below this share of its peak ... */
    size_t collapse_epochs;   /* ... for so many epochs */
    /* after training (vargate run) */
    double k[VG_RECIPE_LIST]; /* gate settings */
    size_t k_count;
    int calibrate;
} vg_recipe;

/* The defaults: the paper's CNN on MNIST, LLE with 100 heads. */
VG_API void vg_recipe_defaults(vg_recipe *recipe);
/* Defaults, then what the YAML file says: one mapping of keys to values or lists. An unknown key is an error that names the
 * line and the nearest known key. */
VG_API vg_status vg_recipe_read(vg_recipe *recipe, const char *path);
/* One "key=value", value as in a recipe file; lists as [a, b]. */
VG_API vg_status vg_recipe_set(vg_recipe *recipe, const char *assignment);
/* M: members, or what 0 stands for. */
VG_API size_t vg_recipe_members(const vg_recipe *recipe);
/* Refuses what cannot be: ranges, combinations. vg_train calls it. */
VG_API vg_status vg_recipe_check(const vg_recipe *recipe);
/* VG_ERR_DATA, saying why, when two recipes do not hold out the same validation images: what one held out the other
 * may have been trained on. */
VG_API vg_status vg_recipe_check_split(const vg_recipe *a, const vg_recipe *b);
/* The recipe as YAML, every key written; the caller's, freed with vg_recipe_text_free. */
VG_API vg_status vg_recipe_text(char **out, const vg_recipe *recipe);
VG_API void vg_recipe_text_free(char *text);

/* --- images */
typedef struct vg_nn_batch {
    const float *images;   /* n * c * h * w */
    const int32_t *labels; /* n */
    const size_t *indices; /* n: which sample of the training set each is (bootstrap) */
    size_t n;
} vg_nn_batch;

/* Where batches come from. After seek(epoch, step) the following next() calls give step, step + 1, ... of that epoch, and after
 * the last step the next epoch's first; content depends on (epoch, step) alone. Pointers live until the next call. */
typedef struct vg_feed {
    void *context;
    size_t samples, steps; /* an epoch */
    vg_status (*seek)(void *context, uint64_t epoch, size_t step);
    vg_status (*next)(void *context, vg_nn_batch *batch);
} vg_feed;

/* One sample of an epoch as a device needs it that keeps the images itself: which one, and what its augmentation drew. Output
 * (y, x) is stored pixel (y + dy, x + dx), reflected at the border, then flipped; colour operations (0 brightness, 1 contrast,
 * 2 saturation, 3 hue) whose bit in `jitter` is set, in `order` (two bits each, first lowest); normalised; the rectangle erased. */
typedef struct vg_nn_sample {
    uint32_t index;
    int16_t dy, dx;
    uint8_t flip, erase;
    uint8_t jitter, order;
    uint16_t top, left, height, width;
    float factor[4];
} vg_nn_sample;

/* The training images themselves, for devices that keep them in their own memory and make batches there; others use the feed.
 * Both must give the same images. plan may be called from another thread than the feed, one call at a time. */
typedef struct vg_resident {
    void *context;
    const void *pixels; /* n * c * h * w, planar; bytes (b / 255) or floats. Borrowed while training runs */
    int is_float;
    const int32_t *labels; /* n */
    size_t n;
    /* The samples of an epoch in order: the training feed's `samples` of them. NULL: there are no resident images. */
    vg_status (*plan)(void *context, uint64_t epoch, vg_nn_sample *samples);
} vg_resident;

/* --- training */
/* One line of metrics.jsonl. Watching an LLE or MCD-LLE network reads all heads without dropout; an MCD network
 * monitor_passes stochastic passes. Batch-norm uses the running statistics, which were taken with dropout: an LLE
 * network that has both looks worse while it trains than after the refresh that follows the last epoch. */
typedef struct vg_epoch_metrics {
    size_t epoch; /* from 1 */
    double train_loss, train_accuracy, val_loss, val_accuracy, val_ece;
    double diversity, k_sensitivity;
    double rate;         /* at the epoch's last step */
    double images_per_s; /* training alone */
    vg_verdict verdict;  /* on the ensemble, from the validation set: vg_verdict_judge */
} vg_epoch_metrics;

typedef enum vg_train_event_kind {
    VG_TRAIN_STEP = 0,       /* after every step */
    VG_TRAIN_EPOCH = 1,      /* metrics are ready */
    VG_TRAIN_COLLAPSE = 2,   /* diversity has stayed below the set share of its peak, and the verdict is none of a diverse one */
    VG_TRAIN_CHECKPOINT = 3, /* a checkpoint was written: path */
    VG_TRAIN_START = 4,      /* device and starting point are known: text */
    VG_TRAIN_REFRESH = 5,    /* batch-norm statistics are being taken again */
    VG_TRAIN_NOTE = 6,       /* something to tell the person: text */
    VG_TRAIN_WARNING = 7     /* something that may not be what was meant: text */
} vg_train_event_kind;

typedef struct vg_train_event {
    vg_train_event_kind kind;
    size_t epoch, epochs, step, steps; /* done so far: steps of this epoch */
    double loss;                       /* STEP: running mean over the epoch, NaN when not known */
    const vg_epoch_metrics *metrics;   /* EPOCH, COLLAPSE */
    double diversity_peak;             /* COLLAPSE */
    const char *text;                  /* START, CHECKPOINT, NOTE, WARNING */
} vg_train_event;

typedef struct vg_train_options {
    size_t struct_size;
    const vg_recipe *recipe;
    const char *folder; /* run folder, made if need be */
    const char *device; /* "auto", "cpu", ...; NULL: auto */
    unsigned threads;   /* 0: one per core */
    int resume;         /* go on from the folder's last checkpoint if there is one */
    size_t channels, height, width, classes;
    double mean[16], std[16]; /* normalisation of the images, kept with the checkpoint */
    vg_feed train, validation;
    vg_resident resident; /* the images behind `train` */
    /* Called from the training thread. A non-zero return asks for a checkpoint and a stop: VG_ERR_INTERRUPTED. May be NULL. */
    int (*event)(void *context, const vg_train_event *event);
    void *event_context;
    const char *const *class_names; /* `classes` names in the order of the labels, kept with the run; NULL: none */
} vg_train_options;
#define VG_TRAIN_OPTIONS_INIT                                                                                                  \
    {                                                                                                                          \
        sizeof(vg_train_options), NULL, NULL, NULL, 0, 0, 0, 0, 0, 0, {0}, {0}, {NULL, 0, 0, NULL, NULL},                      \
            {NULL, 0, 0, NULL, NULL}, {NULL, NULL, 0, NULL, 0, NULL}, NULL, NULL, NULL                                         \
    }

typedef struct vg_train_result {
    vg_epoch_metrics last, best; /* best: highest validation accuracy, then lowest loss */
    double seconds;              /* of this call */
    int collapsed;
    size_t epochs_done;          /* by this call; 0: the run was finished already */
} vg_train_result;

/* Trains to the recipe's last epoch. FOLDER/train.lock is held meanwhile: a second training into the same folder is
 * refused with VG_ERR_IO, naming the first. A resumed run may change what does not touch its training (name, ood,
 * test_limit, members, checkpoint, checkpoint_every, collapse_*, k, calibrate), and epochs: the schedule is then that
 * of the new number of epochs from there on. The folder gets recipe.yaml, run.json, metrics.jsonl, last.safetensors
 * and best.safetensors, each written beside and renamed. Stops with VG_ERR_NUMERIC, the step named, when a loss is not
 * finite; the last checkpoint stands. */
VG_API vg_status vg_train(vg_train_result *result, const vg_train_options *options);

/* --- prediction */
typedef struct vg_predictor_options {
    size_t struct_size;
    const char *device;
    unsigned threads;
    int ensemble;         /* a vg_ensemble, or -1: the recipe's */
    size_t members;       /* M; 0: the recipe's. LLE: at most H */
    size_t passes, heads; /* both > 0: every pass through the first `heads` heads, M = passes * heads (MCD-LLE) */
    int compute;          /* 0 float32, 1 bfloat16, 2 tf32, -1: the recipe's */
    size_t rows;          /* (image, pass) rows at once; 0: 128, on a GPU 640 */
} vg_predictor_options;
#define VG_PREDICTOR_OPTIONS_INIT                                                                                              \
    { sizeof(vg_predictor_options), 0, 0, -1, 0, 0, 0, -1, 0 }

typedef struct vg_predictor_info {
    size_t members, classes, channels, height, width;
    double mean[16], std[16]; /* normalisation the network was trained with */
    vg_ensemble ensemble;
    const vg_recipe *recipe; /* as trained; borrowed */
    size_t epoch;            /* epochs behind the checkpoint */
    const char *device;      /* in words; borrowed */
    const char *const *class_names; /* `classes` names in the order of the logits; NULL: none are known. Borrowed */
} vg_predictor_info;

typedef struct vg_predictor vg_predictor;
/* Opens a checkpoint. Several checkpoints, each opened and run by itself, are a deep ensemble: put their members side by side.
 */
VG_API vg_status vg_predictor_open(vg_predictor **out, const char *checkpoint, const vg_predictor_options *options);
VG_API void vg_predictor_free(vg_predictor *predictor);
VG_API vg_predictor_info vg_predictor_describe(const vg_predictor *predictor);
/* Gives the logits in the order of these class names from now on, so that networks trained with other numbers for the
 * same classes make one ensemble. VG_ERR_DATA, naming the class, when the network's classes are not the same ones; its
 * own names must be known. */
VG_API vg_status vg_predictor_order_classes(vg_predictor *predictor, const char *const *names, size_t count);
/* FOLDER/last.safetensors or FOLDER/best.safetensors, as `which` says: 0 last, 1 best, -1 the recipe's `checkpoint`.
 * *best (may be NULL) tells which one it is. */
VG_API vg_status vg_run_checkpoint(char *out, size_t room, const char *folder, int which, int *best);
/* Logits[n][M][C] of n images, the first of which is number `first` of its set: the same image under the same number has the
 * same members, however a set is cut into calls. */
VG_API vg_status vg_predictor_run(vg_predictor *predictor, float *logits, const float *images, size_t n, uint64_t first);
/* The same, left in a GPU's memory: valid there for work queued on `*stream` (a cudaStream_t), until the next call. n is at most
 * vg_predictor_piece. VG_ERR_UNSUPPORTED when the network runs on the CPU. */
VG_API vg_status vg_predictor_run_there(vg_predictor *predictor, const float **logits, void **stream, const float *images, size_t n,
                                        uint64_t first);
VG_API size_t vg_predictor_piece(const vg_predictor *predictor);
/* Softmax over the last axis of rows x classes, in place. */
VG_API void vg_softmax_rows(float *values, size_t rows, size_t classes);

#ifdef __cplusplus
}
#endif
#endif
