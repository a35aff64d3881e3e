/* cmd_train.c - vargate train: a recipe to a run folder. */
#include "cli.h"

typedef struct train_values {
    vg_train_recipe_options how;
    option_texts set;
    bool show;
} train_values;

#define PLACE(member) offsetof(train_values, member)
static const option_entry entries[] = {
    {"set", 's', OPTION_TEXTS, PLACE(set), "KEY=VALUE", NULL, "change a key of the recipe; may be given several times",
     0, 0},
    {"data", 'd', OPTION_TEXT, PLACE(how.data), "DIR", NULL, "folder searched first for the data set", 0, 0},
    {"output", 'o', OPTION_TEXT, PLACE(how.folder), "RUN", NULL, "run folder (default: runs/NAME of the recipe)", 0, 0},
    {"resume", 'r', OPTION_SWITCH, PLACE(how.resume), NULL, NULL, "continue from the folder's last checkpoint", 0, 0},
    OPTION_DEVICE(PLACE(how.device)),
    OPTION_THREADS(PLACE(how.threads), "threads on the CPU; 0: one per core"),
    OPTION_JOBS(PLACE(how.jobs), "networks of a deep ensemble trained at once on the CPU"),
    {"tensorboard", 0, OPTION_SWITCH, PLACE(how.tensorboard), NULL, NULL, "write the epochs for TensorBoard as well", 0,
     0},
    {"show", 0, OPTION_FLAG, PLACE(show), NULL, NULL, "print the recipe with every key and stop", 0, 0},
};

static int train(const vg_recipe *recipe, vg_train_recipe_options *options) {
    vg_train_result result;
    console_job state;
    char folder[512];
    snprintf(folder, sizeof folder, "runs/%s", recipe->name);
    options->recipe = recipe;
    if (!options->folder)
        options->folder = folder;
    options->job = console_job_listener(&state);
    console_guard();
    vg_status status = vg_train_recipe(&result, options);
    console_unguard();
    if (status == VG_ERR_INTERRUPTED)
        return console_fail("%s; --resume continues from it", vg_error_message());
    if (status != VG_OK)
        return console_fail_library();
    const char *taken = checkpoint_words(recipe);
    if (recipe->ensemble >= VG_ENSEMBLE_DEEP && recipe->loss != 2) { /* networks of a gated loss are one run */
        console_note(
            "%s: %s, validation accuracy of a network %.4f on average (best %.4f); predictions take %s of each",
            options->folder, result.epochs_done ? "done" : "was finished already", result.last.val_accuracy,
            result.best.val_accuracy, taken);
        return CLI_OK;
    }
    console_note("%s: %s, validation accuracy %.4f (best %.4f after epoch %zu); predictions take %s", options->folder,
                 result.epochs_done ? "done" : "was finished already", result.last.val_accuracy,
                 result.best.val_accuracy, result.best.epoch, taken);
    return CLI_OK;
}

static int run(const command *self, int argc, char **argv) {
    train_values own = {.how = VG_TRAIN_RECIPE_OPTIONS_INIT};
    option_group groups[] = {OPTION_GROUP("Options", entries, &own)};
    option_files files;
    vg_recipe recipe;
    char *text;
    int code = options_parse(self, groups, 1, argc, argv, &files);
    if (code != CLI_OK)
        return code;
    code = output_folder_check(own.how.folder);
    if (code != CLI_OK)
        return code;
    if (files.count != 1)
        return console_usage("expected one recipe, found %zu", files.count);
    if (vg_recipe_find(&recipe, files.items[0], own.set.items, own.set.count) != VG_OK)
        return console_fail_library();
    return own.show ? text_print_result(vg_recipe_text(&text, &recipe), &text) : train(&recipe, &own.how);
}

const command command_train = {
    "train",
    "train a network by a recipe",
    "RECIPE [options]",
    "RECIPE is a YAML file or the name of one that ships (mnist-lle, cifar10-mcd, quickstart, ...). The run folder\n"
    "gets recipe.yaml, metrics.jsonl, last.safetensors and best.safetensors. Ctrl-C writes a checkpoint and stops;\n"
    "--resume continues from it and ends with the same bits as a run that was not stopped.",
    "vargate train mnist-lle --set epochs=20 -o runs/short",
    run,
};
