/* cmd_report.c - vargate report: a self-contained page, and figures, of a run, of scores or of predictions. */
#include <sys/stat.h>

#include "cli.h"

enum { PATH_ROOM = 4300, NAME_ROOM = 256 };

typedef struct report_values {
    vg_page_options how;
    const char *out;
    option_texts ood;
    option_reals k;
    bool no_figures;
} report_values;

#define PLACE(member) offsetof(report_values, member)
static const option_entry own_entries[] = {
    {"output", 'o', OPTION_TEXT, PLACE(out), "DIR", NULL,
     "folder for report.html and figures/ (default: RUN/report of a run)", 0, 0},
    {"ood", 0, OPTION_TEXTS, PLACE(ood), "NAME=FILE", NULL,
     "an out-of-distribution set's predictions or scores; repeatable", 0, 0},
    {"k", 'k', OPTION_GATES, PLACE(k), "K,...|FILE", NULL,
     "gate settings (default: the run's, or 1,2,3); a file of 'vargate fit-k': --class-k FILE -k 1", 0, 0},
    {"title", 0, OPTION_TEXT, PLACE(how.title), "TEXT", NULL, "heading of the page", 0, 0},
    {"images", 0, OPTION_TEXT, PLACE(how.images), "SET", NULL,
     "the samples' images: a data set's name or file (default: the run's)", 0, 0},
    {"class-names", 0, OPTION_TEXT, PLACE(how.class_names), "A,B,...|FILE", NULL,
     "names of the classes (default: the file's)", 0, 0},
    {"calibration", 0, OPTION_TEXT, PLACE(how.calibration), "VAL", NULL,
     "predictions with labels that the prediction sets are calibrated on (default: the run's, or half of the samples)",
     0, 0},
    {"metrics", 0, OPTION_TEXT, PLACE(how.metrics), "FILE", NULL, "metrics.jsonl of the training (default: the run's)",
     0, 0},
    OPTION_DATA(PLACE(how.data)),
    OPTION_FORCE_SWITCH(PLACE(how.force)),
    {"no-figures", 0, OPTION_FLAG, PLACE(no_figures), NULL, NULL, "the page alone, without figures", 0, 0},
};

static bool is_folder(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* NAME=FILE texts as named files; names are copied to `names`. */
static int read_ood(vg_named_file *out, char (*names)[NAME_ROOM], const option_texts *texts) {
    for (size_t i = 0; i < texts->count; i++) {
        const char *text = texts->items[i], *equals = strchr(text, '=');
        if (!equals || equals == text || !equals[1])
            return console_usage("--ood: expected NAME=FILE, found '%s'", text);
        if (i == VG_PAGE_OOD)
            return console_usage("more than %d OOD sets", VG_PAGE_OOD);
        size_t length = (size_t)(equals - text);
        snprintf(names[i], NAME_ROOM, "%.*s", (int)(length < NAME_ROOM ? length : NAME_ROOM - 1), text);
        out[i] = (vg_named_file){names[i], equals + 1};
    }
    return CLI_OK;
}

static int print_page(const vg_page *page, bool with_figures) {
    size_t drawn;
    int code = console_status(vg_page_draw(&drawn, page, with_figures ? gnuplot_run : NULL, NULL));
    if (code != CLI_OK)
        return code;
    printf("%s\n", console_text(page->path));
    if (drawn)
        printf("%s/figures: %zu file%s\n", console_text(page->folder), drawn, plural(drawn));
    return CLI_OK;
}

/* How predictions are read, with the gate settings of this command; none: the run's. */
static int read_request(score_request *out, const report_values *own, const score_options *scoring) {
    int code = score_options_request(out, scoring);
    out->scoring.k = own->k.count > 0 ? own->k.values : NULL;
    out->scoring.k_count = own->k.count;
    if (own->k.file)
        out->input.class_k = own->k.file;
    return code;
}

static int make(report_values *own, const score_options *scoring, const char *input) {
    vg_named_file ood[VG_PAGE_OOD];
    char names[VG_PAGE_OOD][NAME_ROOM];
    score_request request;
    console_job listener;
    vg_page *page;
    int code = read_ood(ood, names, &own->ood);
    if (code == CLI_OK)
        code = read_request(&request, own, scoring);
    if (code != CLI_OK)
        return code;
    own->how.ood = ood;
    own->how.ood_count = own->ood.count;
    own->how.job = console_job_guarded(&listener);
    code = console_status(vg_page_write(&page, input, own->out, &request.input, &own->how));
    console_job_end(&listener);
    if (code == CLI_OK)
        code = print_page(page, !own->no_figures);
    vg_page_free(page);
    return code;
}

/* The words of the command, which the page shows; taken before the options are parsed, which reorders `argv`. */
static const char **words_of(const command *self, int argc, char **argv) {
    const char **words = malloc(((size_t)argc + 2) * sizeof *words);
    if (!words)
        return NULL;
    words[0] = "vargate";
    words[1] = self->name;
    for (int i = 0; i < argc; i++)
        words[2 + i] = argv[i];
    return words;
}

/* Several inputs become one page that compares them. */
static int compare_inputs(const report_values *own, const score_options *scoring, const option_files *files) {
    const char *folder = own->out ? own->out : "comparison";
    score_request request;
    vg_compare_result *result;
    char page[PATH_ROOM];
    int code = read_request(&request, own, scoring);
    if (own->k.count == 0) {
        request.scoring.k = scoring->k.values;
        request.scoring.k_count = scoring->k.count;
    }
    if (code == CLI_OK && mkdir(folder, 0777) != 0 && errno != EEXIST)
        code = console_fail("%s: %s", folder, strerror(errno));
    snprintf(page, sizeof page, "%.4200s/report.html", folder);
    if (code == CLI_OK)
        code = output_path_check(page, VG_PRODUCT_COMPARISON, own->how.force, (const char *const *)files->items,
                                 files->count, &request.input);
    if (code == CLI_OK)
        code = comparison_make(&result, files, &request, (vg_compare_options)VG_COMPARE_OPTIONS_INIT);
    if (code != CLI_OK)
        return code;
    code = console_status(GUARDED(vg_compare_result_save(result, page)));
    if (code == CLI_OK)
        printf("%s\n", console_text(page));
    vg_compare_result_free(result);
    return code;
}

static int run_words(const command *self, int argc, char **argv, report_values *own) {
    static score_options options;
    option_files files;
    static const char *const without[] = {"k", "measures", NULL};
    option_group groups[] = {OPTION_GROUP("Report", own_entries, own),
                             SCORE_OPTION_SUBSET("Scoring", options, without)};
    int code = options_parse(self, groups, 2, argc, argv, &files);
    if (code == CLI_OK)
        code = output_folder_check(own->out);
    if (code != CLI_OK)
        return code;
    if (files.count > 1)
        return compare_inputs(own, &options, &files);
    if (files.count != 1)
        return console_usage("expected a run folder, scores or predictions, found %zu files", files.count);
    if (!own->out && !is_folder(files.items[0]))
        return console_usage("a folder for the page is needed: give -o DIR");
    return make(own, &options, files.items[0]);
}

static int run(const command *self, int argc, char **argv) {
    static report_values own = {.how = VG_PAGE_OPTIONS_INIT};
    const char **words = words_of(self, argc, argv);
    if (!words)
        return console_fail_memory("the command");
    own.how.command = words;
    own.how.command_words = (size_t)argc + 2;
    int code = run_words(self, argc, argv, &own);
    free(words);
    return code;
}

const command command_report = {
    .name = "report",
    .summary = "a page to look at, and figures, of a run or of scores",
    .usage = "RUN|SCORES.npz|PRED.npz [RUN ...] [--labels FILE] [--ood NAME=FILE ...] -o DIR",
    .details =
        "Writes DIR/report.html, one file that opens alone and offline, and DIR/figures/*.svg, .pdf, .png (drawn by\n"
        "gnuplot, left out where it is not installed). RUN is a folder that 'vargate run' made; SCORES is what\n"
        "'vargate score -o' wrote; predictions are scored here. With a run's temps.json the page shows reliability\n"
        "before and after calibration.\n"
        "Several runs or files of predictions become one page that compares them, as 'vargate compare' does.",
    .example = "vargate report test.npz --calibration-map temps.json --ood svhn=svhn.npz -o report",
    .run = run,
};
