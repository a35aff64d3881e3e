/* cmd_ood.c - vargate ood: how well each measure tells out-of-distribution samples from in-distribution ones. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "best_marks.h"
#include "commands.h"
#include "console.h"
#include "json_print.h"
#include "progress.h"
#include "score_bridge.h"
#include "vargate/evaluate.h"
#include "workflow/json_build.h"
#include "workflow/sample_measures.h"

typedef struct ood_values {
    bool json;
    size_t bootstrap, seed;
    double confidence;
} ood_values;

#define PLACE(member) offsetof(ood_values, member)
static const option_entry own_entries[] = {
    {"json", 0, OPTION_FLAG, PLACE(json), NULL, NULL, "print the result as JSON", 0, 0},
    {"bootstrap", 0, OPTION_COUNT, PLACE(bootstrap), "R", "0", "resamples for intervals, 1000 is usual; 0: none", 0,
     1000000},
    {"seed", 0, OPTION_COUNT, PLACE(seed), "S", "1", "seed of the bootstrap", 0, 9007199254740992.0},
    {"confidence", 0, OPTION_REAL, PLACE(confidence), "P", "0.95", "of the intervals", 0.5, 0.999999},
};

/* --- figures ------------------------------------------------------------------------------------------------------------ */
static double row_auroc(const void *rows, size_t row, size_t unused) {
    (void)unused;
    return ((const vg_ood_row *)rows)[row].auroc.value;
}
static double row_aupr_out(const void *rows, size_t row, size_t unused) {
    (void)unused;
    return ((const vg_ood_row *)rows)[row].aupr_out.value;
}
static double row_aupr_in(const void *rows, size_t row, size_t unused) {
    (void)unused;
    return ((const vg_ood_row *)rows)[row].aupr_in.value;
}
static double row_fpr95(const void *rows, size_t row, size_t unused) {
    (void)unused;
    return ((const vg_ood_row *)rows)[row].fpr95.value;
}
static double row_detection(const void *rows, size_t row, size_t unused) {
    (void)unused;
    return ((const vg_ood_row *)rows)[row].detection_error.value;
}
static const char *row_name(const void *rows, size_t row) { return ((const vg_ood_row *)rows)[row].name; }

static const best_column columns[] = {
    {"AUROC", "auroc", true, false, row_auroc, 0},
    {"AUPR-out", "aupr_out", true, false, row_aupr_out, 0},
    {"AUPR-in", "aupr_in", true, false, row_aupr_in, 0},
    {"FPR95", "fpr95", false, false, row_fpr95, 0},
    {"detection error", "detection_error", false, false, row_detection, 0},
};
enum { COLUMN_COUNT = sizeof columns / sizeof *columns };

static const vg_estimate *row_estimate(const vg_ood_row *row, size_t column) {
    const vg_estimate *estimates[COLUMN_COUNT] = {&row->auroc, &row->aupr_out, &row->aupr_in, &row->fpr95,
                                                  &row->detection_error};
    return estimates[column];
}

/* --- telling ------------------------------------------------------------------------------------------------------------ */
typedef struct ood_result {
    char name[256];
    const char *path;
    size_t n, count;
    vg_ood_row *rows;
} ood_result;

static json_t *row_json(const vg_ood_row *row, bool intervals) {
    json_t *object = json_object(), *ends = intervals ? json_object() : NULL;
    for (size_t c = 0; c < COLUMN_COUNT; c++) {
        const vg_estimate *estimate = row_estimate(row, c);
        double range[2] = {estimate->low, estimate->high};
        vg_json__put_number(object, columns[c].key, estimate->value);
        if (ends && !isnan(estimate->low)) /* figures without an interval have no key */
            vg_json__put(ends, columns[c].key, vg_json__numbers(range, 2));
    }
    if (ends)
        vg_json__put(object, "intervals", ends);
    return object;
}

static void put_result(json_t *out, const ood_result *result, bool intervals) {
    json_t *measures = json_object(), *best = json_object();
    for (size_t i = 0; i < result->count; i++)
        vg_json__put(measures, result->rows[i].name, row_json(&result->rows[i], intervals));
    for (size_t c = 0; c < COLUMN_COUNT; c++) {
        size_t row = best_row(&columns[c], result->rows, result->count);
        if (row < result->count)
            vg_json__put_text(best, columns[c].key, result->rows[row].name);
    }
    vg_json__put_text(out, "file", result->path);
    vg_json__put_count(out, "n", result->n);
    vg_json__put(out, "measures", measures);
    vg_json__put(out, "best", best);
}

static int print_json(const vg_sample_measures *id, const char *id_path, const ood_result *results, size_t count,
                      const ood_values *own) {
    json_t *out = vg_json__document("ood"), *side = json_object();
    vg_json__put_text(out, "positive", "ood");
    vg_json__put_text(side, "file", id_path);
    vg_json__put_count(side, "n", id->n);
    vg_json__put(out, "id", side);
    json_t *sets = json_object();
    for (size_t i = 0; i < count; i++) {
        json_t *one = json_object();
        put_result(one, &results[i], own->bootstrap > 0);
        vg_json__put(sets, results[i].name, one);
    }
    vg_json__put(out, "ood", sets);
    return json_print(out);
}

/* With a bootstrap: the intervals of a set; detection error has none. */
static int print_intervals(const ood_result *result, double confidence) {
    text_table table;
    printf("%g %% intervals:\n", 100 * confidence);
    table_begin(&table, "measure|AUROC|AUPR-out|AUPR-in|FPR95");
    for (size_t i = 0; i < result->count; i++) {
        size_t row = table_row(&table, result->rows[i].name);
        for (size_t c = 0; c + 1 < COLUMN_COUNT; c++) {
            const vg_estimate *estimate = row_estimate(&result->rows[i], c);
            char interval[TABLE_CELL] = "-";
            if (!isnan(estimate->low))
                snprintf(interval, sizeof interval, "%.4g .. %.4g", estimate->low, estimate->high);
            table_text(&table, row, c + 1, interval);
        }
    }
    return table_print(&table);
}

static int print_tables(const vg_sample_measures *id, const char *id_path, const ood_result *results, size_t count,
                        const ood_values *own) {
    int code = CLI_OK;
    printf("In distribution: %s, %zu samples. OOD is the positive class.\n", id_path, id->n);
    for (size_t i = 0; i < count && code == CLI_OK; i++) {
        printf("\n%s: %s, %zu samples\n", results[i].name, results[i].path, results[i].n);
        code = best_table_print("measure", columns, COLUMN_COUNT, results[i].rows, results[i].count, row_name);
        if (code == CLI_OK && own->bootstrap > 0)
            code = print_intervals(&results[i], own->confidence);
    }
    return code;
}

/* --- work --------------------------------------------------------------------------------------------------------------- */
/* The file's name without folder and ending, made unique among the results before it. */
static void name_result(ood_result *results, size_t index, const char *path) {
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path, *dot = strrchr(base, '.');
    size_t length = dot && dot != base ? (size_t)(dot - base) : strlen(base);
    length = length < 200 ? length : 200;
    ood_result *result = &results[index];
    snprintf(result->name, sizeof result->name, "%.*s", (int)length, base);
    for (size_t i = 0, copy = 2; i < index; i++) {
        if (strcmp(results[i].name, result->name) == 0) {
            snprintf(result->name, sizeof result->name, "%.*s-%zu", (int)length, base, copy++);
            i = (size_t)-1; /* look again from the first */
        }
    }
}

static int read_measures(vg_sample_measures *out, const score_options *options, const char *path) {
    score_request request;
    int code = score_options_request(&request, options);
    return code == CLI_OK ? console_status(vg_sample_measures__read(out, path, &request.input, score_bridge_job()))
                          : code;
}

static int compare(ood_result *result, const vg_sample_measures *id, const score_options *options,
                   const ood_values *own) {
    vg_sample_measures ood;
    int code = read_measures(&ood, options, result->path);
    if (code != CLI_OK)
        return code;
    if (ood.c != id->c)
        code = console_fail("%s: %zu classes, the in-distribution file has %zu", result->path, ood.c, id->c);
    result->n = ood.n;
    result->count = id->count;
    result->rows = calloc(id->count ? id->count : 1, sizeof *result->rows);
    if (code == CLI_OK && !result->rows)
        code = console_fail_memory("the result");
    vg_ood_options how = VG_OOD_OPTIONS_INIT;
    progress bar;
    progress_begin(&bar, "comparing", "steps");
    how.resamples = own->bootstrap;
    how.seed = own->seed;
    how.confidence = own->confidence;
    how.threads = (unsigned)options->threads;
    how.progress = progress_callback;
    how.progress_context = &bar;
    if (code == CLI_OK && vg_ood_evaluate(result->rows, id->list, id->n, ood.list, ood.n, id->count, &how) != VG_OK)
        code = console_fail("%s: %s", result->path, vg_error_message());
    progress_end(&bar);
    vg_sample_measures__free(&ood);
    return code;
}

static int ood_files(const score_options *options, const ood_values *own, const option_files *files) {
    vg_sample_measures id;
    size_t count = files->count - 1;
    ood_result *results = calloc(count, sizeof *results);
    if (!results)
        return console_fail_memory("the results");
    int code = read_measures(&id, options, files->items[0]);
    if (code == CLI_OK) {
        for (size_t i = 0; i < count && code == CLI_OK; i++) {
            results[i].path = files->items[i + 1];
            name_result(results, i, results[i].path);
            code = compare(&results[i], &id, options, own);
        }
        if (code == CLI_OK)
            code = own->json ? print_json(&id, files->items[0], results, count, own)
                             : print_tables(&id, files->items[0], results, count, own);
        vg_sample_measures__free(&id);
    }
    for (size_t i = 0; i < count; i++)
        free(results[i].rows);
    free(results);
    return code;
}

static int run(const command *self, int argc, char **argv) {
    static score_options options;
    ood_values own;
    option_files files;
    option_group groups[] = {{"OOD", own_entries, sizeof own_entries / sizeof *own_entries, &own},
                             SCORE_OPTION_GROUP(options)};
    int code = options_parse(self, groups, 2, argc, argv, &files);
    if (code != CLI_OK)
        return code;
    if (files.count < 2)
        return console_usage(
            "expected an in-distribution file and at least one OOD file; 'vargate help ood' shows the usage");
    return ood_files(&options, &own, &files);
}

const command command_ood = {
    .name = "ood",
    .summary = "how well each measure detects out-of-distribution samples",
    .usage = "ID OOD [OOD ...] [options]",
    .details =
        "ID and OOD hold predictions of the same model. OOD is the positive class: AUPR-out takes it as positive,\n"
        "AUPR-in takes ID; FPR95 is the share of ID called OOD where 95 % of OOD is found. Labels are not used.\n"
        "With --multilabel a sample's value is the mean over its labels, and its max under NAME_max (snr: snr_min).",
    .example = "vargate ood cifar10.npz svhn.npz cifar100.npz --json",
    .run = run,
};
