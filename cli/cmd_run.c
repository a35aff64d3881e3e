/* cmd_run.c - vargate run: a recipe from training to results. Every stage leaves a file in the run folder; a stage whose file
 * is newer than what it is made from is skipped.
 *
 *   train      recipe.yaml, metrics.jsonl, last.safetensors, best.safetensors
 *   predict    val.npz, test.npz, ood-NAME.npz (logits Z, labels L)
 *   calibrate  temps.json (one temperature a head; one in all for MCD)
 *   score      scores.npz
 *   evaluate   results.json: "test", "test_calibrated", "ood", "ood_calibrated", "training"
 *   report     report/report.html and figures */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "commands.h"
#include "console.h"
#include "console_job.h"
#include "text_table.h"
#include "vargate/formats.h"
#include "workflow/json_build.h"

typedef struct run_values {
    const char *data, *out, *device;
    option_texts set;
    size_t threads;
} run_values;

#define PLACE(member) offsetof(run_values, member)
static const option_entry entries[] = {
    {"set", 's', OPTION_TEXTS, PLACE(set), "KEY=VALUE", NULL, "change a key of the recipe; may be given several times", 0, 0},
    {"data", 'd', OPTION_TEXT, PLACE(data), "DIR", NULL, "folder searched first for data sets", 0, 0},
    {"out", 'o', OPTION_TEXT, PLACE(out), "RUN", NULL, "run folder (default: runs/NAME of the recipe)", 0, 0},
    {"device", 0, OPTION_TEXT, PLACE(device), "auto|cpu|cuda", "auto", "where to compute", 0, 0},
    {"threads", 't', OPTION_COUNT, PLACE(threads), "T", "0", "threads on the CPU; 0: one per core", 0, 4096},
};

enum { PATH_ROOM = 1024, MAX_ARGUMENTS = 32 };

typedef struct pipeline {
    const run_values *own;
    vg_recipe recipe;
    char folder[PATH_ROOM / 2];
    char k[256]; /* the recipe's gate settings as -k takes them */
} pipeline;

static void file_in(const pipeline *p, char out[PATH_ROOM], const char *name) {
    snprintf(out, PATH_ROOM, "%.500s/%.500s", p->folder, name);
}

/* ood-NAME.npz; a path's own name may hold slashes. */
static void ood_name(char out[PATH_ROOM], const char *set) {
    snprintf(out, PATH_ROOM, "ood-%.200s.npz", set);
    for (char *c = out; *c; c++)
        if (*c == '/' || *c == ':')
            *c = '-';
}

/* Whether `made` is there and no older than `from`. */
static bool up_to_date(const char *made, const char *from) {
    struct stat a, b;
    if (stat(made, &a) != 0 || stat(from, &b) != 0)
        return false;
    return a.st_mtim.tv_sec > b.st_mtim.tv_sec ||
           (a.st_mtim.tv_sec == b.st_mtim.tv_sec && a.st_mtim.tv_nsec >= b.st_mtim.tv_nsec);
}

/* --- other commands, called as a person would */

/* Runs a command with these arguments (NULL-terminated); standard output goes to `capture` if it is not NULL. */
static int call(const command *stage, const char *const *arguments, FILE *capture) {
    char *argv[MAX_ARGUMENTS + 1];
    int argc = 0, kept = -1;
    for (; arguments[argc] && argc < MAX_ARGUMENTS; argc++)
        argv[argc] = strdup(arguments[argc]);
    argv[argc] = NULL;
    char *all[MAX_ARGUMENTS + 1];
    memcpy(all, argv, sizeof all);
    if (capture) {
        fflush(stdout);
        kept = dup(STDOUT_FILENO);
        dup2(fileno(capture), STDOUT_FILENO);
    }
    bool quiet = console_quiet();
    console_set_command(stage->name);
    int code = stage->run(stage, argc, argv);
    console_set_command("run");
    console_set_quiet(quiet);
    if (capture) {
        fflush(stdout);
        dup2(kept, STDOUT_FILENO);
        close(kept);
    }
    for (int i = 0; i < argc; i++)
        free(all[i]);
    return code;
}

/* The JSON a command prints. */
static int call_json(json_t **out, const command *stage, const char *const *arguments) {
    FILE *file = tmpfile();
    *out = NULL;
    if (!file)
        return console_fail("no temporary file for the output of %s", stage->name);
    int code = call(stage, arguments, file);
    if (code == CLI_OK) {
        rewind(file);
        *out = json_loadf(file, 0, NULL);
        if (!*out)
            code = console_fail("%s printed no JSON", stage->name);
    }
    fclose(file);
    return code;
}

/* --- stages */

static int train_stage(pipeline *p) {
    vg_train_recipe_options options = VG_TRAIN_RECIPE_OPTIONS_INIT;
    vg_train_result result;
    console_job state;
    options.recipe = &p->recipe;
    options.folder = p->folder;
    options.data = p->own->data;
    options.device = p->own->device;
    options.threads = (unsigned)p->own->threads;
    options.resume = 1;
    options.job = console_job_listener(&state);
    console_guard();
    vg_status status = vg_train_recipe(&result, &options);
    console_unguard();
    if (status == VG_ERR_INTERRUPTED)
        return console_fail("%s; the same command goes on from it", vg_error_message());
    return status == VG_OK ? CLI_OK : console_fail_library();
}

static int predict_one(pipeline *p, const char *name, const char *split, const char *input) {
    char output[PATH_ROOM], from[PATH_ROOM];
    file_in(p, output, name);
    file_in(p, from, p->recipe.checkpoint ? "best.safetensors" : "last.safetensors");
    if (up_to_date(output, from)) {
        console_note("%s is up to date", output);
        return CLI_OK;
    }
    const char *runs[] = {p->folder};
    vg_predict_runs_options options = VG_PREDICT_RUNS_OPTIONS_INIT;
    options.runs = runs;
    options.run_count = 1;
    options.checkpoint = p->recipe.checkpoint;
    options.split = split;
    options.input = input;
    options.data = p->own->data;
    options.device = p->own->device;
    options.threads = (unsigned)p->own->threads;
    options.logits = 1;
    options.output = output;
    options.force = 1; /* files of the run folder are the run's */
    console_job state;
    options.job = console_job_listener(&state);
    console_guard();
    vg_status status = vg_predict_runs(NULL, &options);
    console_unguard();
    return status == VG_ERR_INTERRUPTED ? console_fail("stopped; nothing was written") : console_status(status);
}

static int predict_stage(pipeline *p) {
    int code = predict_one(p, "val.npz", "val", NULL);
    if (code == CLI_OK)
        code = predict_one(p, "test.npz", "test", NULL);
    for (size_t i = 0; i < p->recipe.ood_count && code == CLI_OK; i++) {
        char name[PATH_ROOM];
        ood_name(name, p->recipe.ood[i]);
        code = predict_one(p, name, NULL, p->recipe.ood[i]);
    }
    return code;
}

static int calibrate_stage(pipeline *p) {
    char val[PATH_ROOM], temps[PATH_ROOM];
    file_in(p, val, "val.npz");
    file_in(p, temps, "temps.json");
    if (!p->recipe.calibrate || up_to_date(temps, val))
        return CLI_OK;
    const char *form = p->recipe.ensemble == VG_ENSEMBLE_MCD ? "--shared" : "--per-member";
    const char *arguments[] = {val, form, "-o", temps, "-q", "--json", NULL};
    json_t *printed;
    int code = call_json(&printed, &command_calibrate, arguments);
    json_decref(printed);
    return code;
}

static int score_stage(pipeline *p) {
    char test[PATH_ROOM], scores[PATH_ROOM];
    file_in(p, test, "test.npz");
    file_in(p, scores, "scores.npz");
    if (up_to_date(scores, test))
        return CLI_OK;
    const char *arguments[] = {test, "-k", p->k, "-o", scores, "-q", "--json", NULL};
    json_t *printed;
    int code = call_json(&printed, &command_score, arguments);
    json_decref(printed);
    return code;
}

static int evaluate_into(pipeline *p, json_t *results, const char *key, const char *temps) {
    char test[PATH_ROOM];
    json_t *one;
    file_in(p, test, "test.npz");
    const char *arguments[] = {test, "-k", p->k, "--json", "-q", temps ? "--temperature" : NULL, temps, NULL};
    int code = call_json(&one, &command_evaluate, arguments);
    if (code == CLI_OK) {
        json_object_del(one, "schema"); /* the whole has them */
        json_object_del(one, "command");
        vg_json__put(results, key, one);
    }
    return code;
}

static int ood_into(pipeline *p, json_t *results, const char *key, const char *temps) {
    json_t *sets = json_object();
    int code = CLI_OK;
    for (size_t i = 0; i < p->recipe.ood_count && code == CLI_OK; i++) {
        char test[PATH_ROOM], name[PATH_ROOM], other[PATH_ROOM];
        json_t *one;
        ood_name(name, p->recipe.ood[i]);
        file_in(p, test, "test.npz");
        file_in(p, other, name);
        const char *arguments[] = {test, other, "-k", p->k, "--json", "-q", temps ? "--temperature" : NULL, temps, NULL};
        code = call_json(&one, &command_ood, arguments);
        if (code == CLI_OK) {
            json_t *found = json_object_get(one, "ood");
            vg_json__put(sets, p->recipe.ood[i], json_incref(json_object_iter_value(json_object_iter(found))));
            json_decref(one);
        }
    }
    vg_json__put(results, key, sets);
    return code;
}

/* The last line of metrics.jsonl. */
static json_t *last_metrics(const pipeline *p) {
    char path[PATH_ROOM], line[4096];
    json_t *last = NULL;
    file_in(p, path, "metrics.jsonl");
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file)) {
        json_decref(last);
        last = json_loads(line, 0, NULL);
    }
    if (file)
        fclose(file);
    return last ? last : json_object();
}

static int write_json(const char *path, const json_t *value) {
    char *text = json_dumps(value, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    vg_text *file;
    if (!text)
        return console_fail_memory("results");
    vg_status status = vg_text_open(&file, path);
    if (status == VG_OK) {
        status = vg_text_write(file, text, strlen(text));
        if (status == VG_OK)
            status = vg_text_write(file, "\n", 1);
        if (status == VG_OK)
            status = vg_text_close(file);
        else
            vg_text_abandon(file);
    }
    free(text);
    return status == VG_OK ? CLI_OK : console_fail_library();
}

static int results_stage(pipeline *p, json_t **out) {
    char path[PATH_ROOM], temps[PATH_ROOM];
    json_t *results = vg_json__document("run");
    file_in(p, path, "results.json");
    file_in(p, temps, "temps.json");
    vg_json__put_text(results, "recipe", p->recipe.name);
    vg_json__put_text(results, "version", vg_version());
    vg_json__put_count(results, "seed", p->recipe.seed);
    vg_json__put_count(results, "split_seed", p->recipe.split_seed);
    vg_json__put_text(results, "checkpoint", p->recipe.checkpoint ? "best" : "last");
    int code = evaluate_into(p, results, "test", NULL);
    if (code == CLI_OK && p->recipe.calibrate)
        code = evaluate_into(p, results, "test_calibrated", temps);
    if (code == CLI_OK)
        code = ood_into(p, results, "ood", NULL);
    if (code == CLI_OK && p->recipe.calibrate)
        code = ood_into(p, results, "ood_calibrated", temps);
    vg_json__put(results, "training", last_metrics(p));
    if (code == CLI_OK)
        code = write_json(path, results);
    if (code != CLI_OK)
        json_decref(results);
    *out = code == CLI_OK ? results : NULL;
    return code;
}

/* A page of it all. A run without its page is still a run: trouble is told, no more. */
static void report_stage(pipeline *p) {
    char page[PATH_ROOM];
    file_in(p, page, "report/report.html");
    FILE *nowhere = tmpfile();
    const char *arguments[] = {p->folder, "-q", p->own->data ? "--data" : NULL, p->own->data, NULL};
    if (nowhere && call(&command_report, arguments, nowhere) == CLI_OK)
        console_note("%s shows the run", page);
    else
        console_warn("no report was made of %s", p->folder);
    if (nowhere)
        fclose(nowhere);
}

/* --- the table at the end */

static double figure(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : 0.0 / 0.0;
}

static void quality_row(text_table *table, const json_t *results, const char *key, const char *name) {
    const json_t *one = json_object_get(results, key);
    static const char *const figures[] = {"accuracy", "f1_macro", "ece", "nll", "brier"};
    if (!one)
        return;
    size_t row = table_row(table, name);
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        table_number(table, row, i + 1, figure(one, figures[i]), 4);
}

static void ood_row(text_table *table, const char *set, const json_t *one) {
    static const char *const measures[] = {"tu", "eu", "epkl", "gmu", "geu@1"};
    const json_t *all = json_object_get(one, "measures");
    const char *best = json_string_value(json_object_get(json_object_get(one, "best"), "auroc"));
    size_t row = table_row(table, set);
    for (size_t i = 0; i < sizeof measures / sizeof *measures; i++)
        table_number(table, row, i + 1, figure(json_object_get(all, measures[i]), "auroc"), 4);
    if (best) {
        char text[TABLE_CELL];
        snprintf(text, sizeof text, "%.4f %.16s", figure(json_object_get(all, best), "auroc"), best);
        table_text(table, row, 6, text);
    }
}

static int show(const json_t *results) {
    text_table table;
    const char *set;
    json_t *one;
    table_begin(&table, "test set|accuracy|F1|ECE|NLL|Brier");
    quality_row(&table, results, "test", "as trained");
    quality_row(&table, results, "test_calibrated", "calibrated");
    int code = table_print(&table);
    if (code != CLI_OK || json_object_size(json_object_get(results, "ood")) == 0)
        return code;
    printf("\n");
    table_begin(&table, "OOD by AUROC|TU|EU|EPKL|GMU|GEU@1|best");
    json_object_foreach(json_object_get(results, "ood"), set, one) ood_row(&table, set, one);
    return table_print(&table);
}

static int run(const command *self, int argc, char **argv) {
    run_values own = {0};
    option_group groups[] = {{"Options", entries, sizeof entries / sizeof *entries, &own}};
    option_files files;
    static pipeline p;
    json_t *results = NULL;
    int code = options_parse(self, groups, 1, argc, argv, &files);
    if (code != CLI_OK)
        return code;
    if (files.count > 1)
        return console_usage("expected at most one recipe, found %zu", files.count);
    p = (pipeline){.own = &own};
    if (vg_recipe_find(&p.recipe, files.count ? files.items[0] : "quickstart", own.set.items, own.set.count) != VG_OK)
        return console_fail_library();
    snprintf(p.folder, sizeof p.folder, own.out ? "%s" : "runs/%s", own.out ? own.out : p.recipe.name);
    for (size_t i = 0; i < p.recipe.k_count; i++)
        snprintf(p.k + strlen(p.k), sizeof p.k - strlen(p.k), "%s%.17g", i ? "," : "", p.recipe.k[i]);
    int (*const stages[])(pipeline *) = {train_stage, predict_stage, calibrate_stage, score_stage};
    for (size_t i = 0; i < sizeof stages / sizeof *stages && code == CLI_OK; i++)
        code = stages[i](&p);
    if (code == CLI_OK)
        code = results_stage(&p, &results);
    if (code != CLI_OK)
        return code;
    report_stage(&p);
    code = show(results);
    json_decref(results);
    console_note("%s/results.json has every figure; predictions are those of %s.safetensors", p.folder,
                 p.recipe.checkpoint ? "best" : "last");
    return code;
}

const command command_run = {
    "run",
    "train, calibrate, predict, score, evaluate and report a recipe",
    "[RECIPE] [options]",
    "RECIPE is a YAML file or the name of one that ships; without it 'quickstart', a last-layer ensemble on the digits that "
    "ship.\n"
    "Everything is kept in the run folder; called again, what is done already is skipped and what was stopped goes on.",
    "vargate run mnist-lle --out runs/mnist",
    run,
};
