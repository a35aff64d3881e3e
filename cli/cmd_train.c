/* cmd_train.c - vargate train: a recipe to a run folder. */
#include "cli.h"

typedef struct train_values {
    const char *data, *out, *device;
    option_texts set;
    size_t threads, jobs;
    bool resume, show, tensorboard;
} train_values;

#define PLACE(member) offsetof(train_values, member)
static const option_entry entries[] = {
    {"set", 's', OPTION_TEXTS, PLACE(set), "KEY=VALUE", NULL, "change a key of the recipe; may be given several times",
     0, 0},
    {"data", 'd', OPTION_TEXT, PLACE(data), "DIR", NULL, "folder searched first for the data set", 0, 0},
    {"output", 'o', OPTION_TEXT, PLACE(out), "RUN", NULL, "run folder (default: runs/NAME of the recipe)", 0, 0},
    {"resume", 'r', OPTION_FLAG, PLACE(resume), NULL, NULL, "go on from the folder's last checkpoint", 0, 0},
    OPTION_DEVICE(PLACE(device)),
    {"threads", 't', OPTION_COUNT, PLACE(threads), "T", "0", "threads on the CPU; 0: one per core", 0, 4096},
    {"jobs", 'j', OPTION_COUNT, PLACE(jobs), "J", "1", "networks of a deep ensemble trained at once on the CPU", 1, 64},
    {"tensorboard", 0, OPTION_FLAG, PLACE(tensorboard), NULL, NULL, "write the epochs for TensorBoard as well", 0, 0},
    {"show", 0, OPTION_FLAG, PLACE(show), NULL, NULL, "print the recipe with every key and stop", 0, 0},
};

static int train(const vg_recipe *recipe, const train_values *own) {
    vg_train_recipe_options options = VG_TRAIN_RECIPE_OPTIONS_INIT;
    vg_train_result result;
    console_job state;
    char folder[512];
    snprintf(folder, sizeof folder, "runs/%s", recipe->name);
    options.recipe = recipe;
    options.folder = own->out ? own->out : folder;
    options.data = own->data;
    options.device = own->device;
    options.threads = (unsigned)own->threads;
    options.resume = own->resume;
    options.jobs = (unsigned)own->jobs;
    options.tensorboard = own->tensorboard;
    options.job = console_job_listener(&state);
    console_guard();
    vg_status status = vg_train_recipe(&result, &options);
    console_unguard();
    if (status == VG_ERR_INTERRUPTED)
        return console_fail("%s; --resume goes on from it", vg_error_message());
    if (status != VG_OK)
        return console_fail_library();
    const char *taken = recipe->snapshots    ? "all snapshots"
                        : recipe->checkpoint ? "best.safetensors"
                                             : "last.safetensors";
    if (recipe->ensemble >= VG_ENSEMBLE_DEEP) {
        console_note(
            "%s: %s, validation accuracy of a network %.4f on average (best %.4f); predictions take %s of each",
            options.folder, result.epochs_done ? "done" : "was finished already", result.last.val_accuracy,
            result.best.val_accuracy, taken);
        return CLI_OK;
    }
    console_note("%s: %s, validation accuracy %.4f (best %.4f after epoch %zu); predictions take %s", options.folder,
                 result.epochs_done ? "done" : "was finished already", result.last.val_accuracy,
                 result.best.val_accuracy, result.best.epoch, taken);
    return CLI_OK;
}

static int run(const command *self, int argc, char **argv) {
    train_values own = {0};
    option_group groups[] = {OPTION_GROUP("Options", entries, &own)};
    option_files files;
    vg_recipe recipe;
    char *text;
    int code = options_parse(self, groups, 1, argc, argv, &files);
    if (code != CLI_OK)
        return code;
    code = output_folder_check(own.out);
    if (code != CLI_OK)
        return code;
    if (files.count != 1)
        return console_usage("expected one recipe, found %zu", files.count);
    if (vg_recipe_find(&recipe, files.items[0], own.set.items, own.set.count) != VG_OK)
        return console_fail_library();
    return own.show ? text_print_result(vg_recipe_text(&text, &recipe), &text) : train(&recipe, &own);
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
