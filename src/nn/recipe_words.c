/* recipe_words.c - suggestions for a key that a recipe does not have. See recipe_words.h. */
#include "nn/recipe_words.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/names.h"

/* Names of the same settings in other programs. An empty `key`: there is no such setting, and `hint` says what to do
 * instead. */
static const struct {
    const char *word, *key, *hint;
} elsewhere[] = {
    {"lr", "rate", NULL},
    {"learning_rate", "rate", NULL},
    {"base_lr", "rate", NULL},
    {"wd", "weight_decay", NULL},
    {"decay", "weight_decay", NULL},
    {"l2", "weight_decay", NULL},
    {"batch_size", "batch", NULL},
    {"batchsize", "batch", NULL},
    {"num_epochs", "epochs", NULL},
    {"n_epochs", "epochs", NULL},
    {"max_epochs", "epochs", NULL},
    {"lr_schedule", "schedule", NULL},
    {"lr_scheduler", "schedule", NULL},
    {"scheduler", "schedule", NULL},
    {"data", "dataset", NULL},
    {"data_set", "dataset", NULL},
    {"model", "network", NULL},
    {"arch", "network", NULL},
    {"architecture", "network", NULL},
    {"val_split", "validation", NULL},
    {"validation_split", "validation", NULL},
    {"val_fraction", "validation", NULL},
    {"test_split", "test", NULL},
    {"test_size", "test", NULL},
    {"test_fraction", "test", NULL},
    {"precision", "compute", NULL},
    {"dtype", "compute", NULL},
    {"amp", "compute", NULL},
    {"random_state", "seed", NULL},
    {"random_seed", "seed", NULL},
    {"ensemble_size", "members", NULL},
    {"n_members", "members", NULL},
    {"num_heads", "heads", NULL},
    {"n_heads", "heads", NULL},
    {"drop_rate", "dropout", NULL},
    {"eps", "epsilon", NULL},
    {"criterion", "loss", NULL},
    {"save_every", "checkpoint_every", NULL},
    {"image_size", "resize", NULL},
    {"img_size", "resize", NULL},
    {"imgsz", "resize", NULL},
    {"size", "resize", NULL},
    {"centre_crop", "center_crop", NULL},
    {"colour", "channels", NULL},
    {"color", "channels", NULL},
    {"optimizer", "optimiser", NULL},
    {"optim", "optimiser", NULL},
    {"solver", "optimiser", NULL},
    {"betas", "", "they are two keys, beta1 and beta2"},
    {"grad_clip", "clip_norm", NULL},
    {"gradient_clip", "clip_norm", NULL},
    {"clip_grad", "clip_norm", NULL},
    {"clip", "clip_norm", NULL},
    {"max_norm", "clip_norm", NULL},
    {"max_grad_norm", "clip_norm", NULL},
    {"gradient_clipping", "clip_norm", NULL},
    {"ema_decay", "ema", NULL},
    {"model_ema", "ema", NULL},
    {"smoothing", "label_smoothing", NULL},
    {"class_weight", "class_weights", NULL},
    {"weights", "class_weights", NULL},
    {"sampler", "sampling", NULL},
    {"balanced", "", "balanced batches are 'sampling: balanced', a balanced loss is 'class_weights: balanced'"},
    {"early_stopping", "patience", NULL},
    {"early_stop", "patience", NULL},
    {"early_stopping_patience", "patience", NULL},
    {"early_stopping_min_delta", "min_delta", NULL},
    {"monitor", "best_by", NULL},
    {"cycles", "snapshots", NULL},
    {"n_snapshots", "snapshots", NULL},
};

/* A word in the spelling of keys: lower case, underscores. */
static void fold_word(char out[64], const char *word) {
    size_t i = 0;
    for (; word[i] && i < 63; i++) {
        char c = word[i];
        out[i] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c == '-' || c == ' ' || c == '.' ? '_' : c;
    }
    out[i] = 0;
}

void vg_recipe__advise(char out[VG_RECIPE__ADVICE], const char *name, const char *const *known, size_t count) {
    char word[64];
    fold_word(word, name);
    for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++) {
        if (strcmp(elsewhere[i].word, word) != 0)
            continue;
        if (elsewhere[i].hint)
            snprintf(out, VG_RECIPE__ADVICE, ": %s", elsewhere[i].hint);
        else
            snprintf(out, VG_RECIPE__ADVICE, "; it is called '%s' here", elsewhere[i].key);
        return;
    }
    const char *nearest = vg_names__nearest(word, known, count, SIZE_MAX);
    snprintf(out, VG_RECIPE__ADVICE, "; the nearest known one is '%s'", nearest ? nearest : known[0]);
}
