/* recipe_words.c - what a person may have meant by a key that a recipe does not have. See recipe_words.h. */
#include "nn/recipe_words.h"

#include <stdio.h>
#include <string.h>

/* Insertions, deletions, replacements between two short words. */
static size_t edits(const char *a, const char *b) {
    enum { LONGEST = 63 };
    size_t row[LONGEST + 1], la = strlen(a), lb = strlen(b);
    if (la > LONGEST || lb > LONGEST)
        return LONGEST;
    for (size_t j = 0; j <= lb; j++)
        row[j] = j;
    for (size_t i = 1; i <= la; i++) {
        size_t corner = row[0];
        row[0] = i;
        for (size_t j = 1; j <= lb; j++) {
            size_t best = corner + (a[i - 1] != b[j - 1]);
            corner = row[j];
            best = row[j] + 1 < best ? row[j] + 1 : best;
            row[j] = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
        }
    }
    return row[lb];
}

/* What other programs call the same things; "" in `key`: there is none, and `hint` says what to do instead. */
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
    {"optimizer", "", "the optimiser is Adam; its keys are rate, weight_decay, beta1, beta2 and epsilon"},
    {"optimiser", "", "the optimiser is Adam; its keys are rate, weight_decay, beta1, beta2 and epsilon"},
    {"optim", "", "the optimiser is Adam; its keys are rate, weight_decay, beta1, beta2 and epsilon"},
    {"betas", "", "they are two keys, beta1 and beta2"},
    {"momentum", "", "the optimiser is Adam; its momentum is beta1"},
};

/* A word as keys are written: small letters, underscores. */
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
    size_t best = 0, least = (size_t)-1;
    for (size_t i = 0; i < count; i++) {
        size_t d = edits(word, known[i]);
        if (d < least) {
            least = d;
            best = i;
        }
    }
    snprintf(out, VG_RECIPE__ADVICE, "; the nearest known one is '%s'", known[best]);
}
