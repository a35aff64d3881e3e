/* training_data.h - from a recipe to the images it names: finding the recipe, opening its data set, split, loaders, feeds. */
#ifndef CLI_TRAINING_DATA_H
#define CLI_TRAINING_DATA_H

#include <stdbool.h>

#include "score_bridge.h"
#include "vargate/data.h"
#include "vargate/nn.h"

typedef struct training_data {
    vg_dataset *set;
    size_t *fit, *held; /* indices trained on and held out */
    size_t fit_count, held_count;
    vg_statistics statistics; /* of the images trained on */
    vg_loader *train, *validation;
} training_data;

/* Reads a recipe: a file, or the name of one that ships (recipes/ here or installed with the program), then key=value changes.
 */
vg_status training_recipe(vg_recipe *recipe, const char *name, const char *const *changes, size_t change_count);

/* The recipe's training set, split as the recipe says. Loaders are made by training_feeds. */
vg_status training_data_open(training_data *data, const vg_recipe *recipe, const char *folder);
/* Loaders, and the feeds of vg_train over them. */
vg_status training_feeds(training_data *data, const vg_recipe *recipe, vg_feed *train, vg_feed *validation);
/* The same images for devices that keep them; after training_feeds. */
void training_resident(training_data *data, vg_resident *resident);
void training_data_close(training_data *data);

/* Trains a recipe into a folder with progress lines; *finished stays false when a signal stopped it after a checkpoint.
 * Returns an exit code. */
typedef struct training_request {
    const vg_recipe *recipe;
    const char *folder, *data, *device;
    unsigned threads;
    bool resume;
} training_request;
int training_run(const training_request *request, vg_train_result *result);

/* Predictions of one or more checkpoints (a deep ensemble) over one set of images, written to an .npz. */
typedef struct prediction_request {
    const char *const *runs; /* run folders or checkpoint files */
    size_t run_count;
    int checkpoint;    /* of a run folder: 0 last, 1 best, -1 the recipe's */
    const char *split; /* "test", "val", "train"; NULL when input is set */
    const char *input; /* a data set's name, "path:..." or a file */
    const char *data, *device;
    unsigned threads;
    int ensemble;
    size_t members, passes, heads;
    bool logits;
    const char *output;         /* NULL only with score */
    const score_options *score; /* scores instead of predictions; NULL: no */
    bool json;                  /* with score: the summary as JSON */
} prediction_request;
int prediction_run(const prediction_request *request);

#endif
