/* cmd_predict.c - vargate predict: a run folder and images to ensemble predictions. */
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "console.h"
#include "output_path.h"
#include "training_data.h"

typedef struct predict_values {
    const char *split, *input, *data, *device, *output;
    int ensemble, checkpoint;
    size_t members, passes, heads, threads;
    bool logits, score, json, force;
} predict_values;

#define PLACE(member) offsetof(predict_values, member)
static const option_entry entries[] = {
    {"output", 'o', OPTION_TEXT, PLACE(output), "PRED.npz", NULL,
     "where predictions go (.npz); with --score the scores", 0, 0},
    {"split", 0, OPTION_TEXT, PLACE(split), "test|val|train", NULL, "images of the recipe's data set (default: test)",
     0, 0},
    {"input", 'i', OPTION_TEXT, PLACE(input), "SET", NULL, "other images: a data set's name, a file or a folder", 0, 0},
    {"ensemble", 'e', OPTION_CHOICE, PLACE(ensemble), "mcd|lle|mcd-lle", NULL,
     "how members are made (default: the recipe's)", 0, 0},
    {"members", 'm', OPTION_COUNT, PLACE(members), "M", "0", "members; 0: the recipe's", 0, 100000},
    {"passes", 0, OPTION_COUNT, PLACE(passes), "T", "0",
     "with --heads: stochastic passes, each through the first G heads", 0, 100000},
    {"heads", 0, OPTION_COUNT, PLACE(heads), "G", "0", "with --passes: heads read in every pass; M = T x G", 0, 100000},
    {"logits", 0, OPTION_FLAG, PLACE(logits), NULL, NULL, "write logits (Z) instead of probabilities (P)", 0, 0},
    {"score", 0, OPTION_FLAG, PLACE(score), NULL, NULL,
     "score the predictions as they come and keep the scores alone: a file, or without -o a summary", 0, 0},
    {"force", 0, OPTION_FLAG, PLACE(force), NULL, NULL, OUTPUT_FORCE_HELP, 0, 0},
    {"json", 0, OPTION_FLAG, PLACE(json), NULL, NULL, "with --score: print the summary as JSON", 0, 0},
    {"checkpoint", 0, OPTION_CHOICE, PLACE(checkpoint), "last|best", NULL,
     "which checkpoint of a run folder (default: the recipe's)", 0, 0},
    {"data", 'd', OPTION_TEXT, PLACE(data), "DIR", NULL, "folder searched first for data sets", 0, 0},
    {"device", 0, OPTION_TEXT, PLACE(device), "auto|cpu|cuda", "auto", "where to compute", 0, 0},
    {"threads", 't', OPTION_COUNT, PLACE(threads), "T", "0", "threads on the CPU; 0: one per core", 0, 4096},
};

/* A run's checkpoint may be named itself or by its folder. */
static int check_output(const predict_values *own, const score_options *scoring, const option_files *files) {
    int code = CLI_OK;
    for (size_t i = 0; i < files->count && code == CLI_OK; i++) {
        char last[4200], best[4200];
        snprintf(last, sizeof last, "%.4000s/last.safetensors", files->items[i]);
        snprintf(best, sizeof best, "%.4000s/best.safetensors", files->items[i]);
        const char *inputs[] = {files->items[i], last, best, own->input, scoring->temperature};
        vg_product product = own->score ? VG_PRODUCT_SCORES : VG_PRODUCT_PREDICTIONS;
        code = output_path_check(own->output, product, own->force, inputs, 5);
    }
    return code;
}

static int run(const command *self, int argc, char **argv) {
    static const char *const without[] = {"labels", "logits",  "multilabel", "multilabel-form", "renormalise", "axes",
                                          "key",    "threads", "labels-key", "label", "labels-from", "classes",
                                          "id",     "member",  NULL};
    static score_options scoring;
    static option_entry score_entries[SCORE_OPTION_ROOM];
    predict_values own = {0};
    option_group groups[] = {{"Options", entries, sizeof entries / sizeof *entries, &own},
                             {"Scoring (with --score)", score_entries, score_option_subset(score_entries, without), &scoring}};
    option_files files;
    int code = options_parse(self, groups, 2, argc, argv, &files);
    if (code != CLI_OK)
        return code;
    if (files.count < 1)
        return console_usage("expected a run folder or a checkpoint");
    if (!own.output && !own.score)
        return console_usage("expected -o PRED.npz");
    if (!own.score && (own.json || scoring.temperature))
        return console_usage("%s goes with --score", own.json ? "--json" : "--temperature");
    if (own.score && own.logits)
        return console_usage("--score and --logits exclude each other: scores are always taken from the logits");
    if (own.split && own.input)
        return console_usage("--split and --input exclude each other");
    if (own.split && strcmp(own.split, "test") && strcmp(own.split, "val") && strcmp(own.split, "train"))
        return console_usage("--split must be test, val or train, found '%s'", own.split);
    code = check_output(&own, &scoring, &files);
    if (code != CLI_OK)
        return code;
    prediction_request request = {
        .runs = (const char *const *)files.items,
        .run_count = files.count,
        .checkpoint = own.checkpoint,
        .split = own.input   ? NULL
                 : own.split ? own.split
                             : "test",
        .input = own.input,
        .data = own.data,
        .device = own.device,
        .threads = (unsigned)own.threads,
        .ensemble = own.ensemble,
        .members = own.members,
        .passes = own.passes,
        .heads = own.heads,
        .logits = own.logits,
        .output = own.output,
        .score = own.score ? &scoring : NULL,
        .json = own.json,
    };
    return prediction_run(&request);
}

const command command_predict = {
    "predict",
    "ensemble predictions of a trained network",
    "RUN... -o PRED.npz [options]",
    "RUN is a run folder or a checkpoint; several make a deep ensemble, their members side by side. The file has P (or logits "
    "Z) of\n"
    "shape (N, M, C) and the labels L, or with --score what 'vargate score' makes of them. Members: mcd, stochastic passes; "
    "lle, heads; mcd-lle, pass t through head t.",
    "vargate predict runs/mnist-lle --split test -o test.npz",
    run,
};
