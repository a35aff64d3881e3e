/* cmd_report.c - vargate report: a page that opens alone, and figures, of a run, of scores or of predictions. */
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "commands.h"
#include "console.h"
#include "output_path.h"
#include "progress.h"
#include "report_files.h"
#include "report_subject.h"
#include "vargate/nn.h"

enum { PATH_ROOM = 4200, MAX_OOD = 16 };

typedef struct report_values {
    const char *out, *title, *images, *class_names, *metrics, *data;
    option_texts ood;
    option_reals k;
    bool no_figures, force;
} report_values;

#define PLACE(member) offsetof(report_values, member)
static const option_entry own_entries[] = {
    {"out", 'o', OPTION_TEXT, PLACE(out), "DIR", NULL, "folder for report.html and figures/ (default: RUN/report of a run)", 0,
     0},
    {"ood", 0, OPTION_TEXTS, PLACE(ood), "NAME=FILE", NULL, "an out-of-distribution set's predictions or scores; repeatable", 0,
     0},
    {"k", 'k', OPTION_REALS, PLACE(k), "K,...", NULL, "gate settings (default: the run's, or 1,2,3)", 0, 0},
    {"title", 0, OPTION_TEXT, PLACE(title), "TEXT", NULL, "heading of the page", 0, 0},
    {"images", 0, OPTION_TEXT, PLACE(images), "SET", NULL,
     "the samples' images: a data set's name or file (default: the run's)", 0, 0},
    {"class-names", 0, OPTION_TEXT, PLACE(class_names), "A,B,...|FILE", NULL, "names of the classes (default: the file's)",
     0, 0},
    {"metrics", 0, OPTION_TEXT, PLACE(metrics), "FILE", NULL, "metrics.jsonl of the training (default: the run's)", 0, 0},
    {"data", 'd', OPTION_TEXT, PLACE(data), "DIR", NULL, "folder searched first for data sets", 0, 0},
    {"force", 0, OPTION_FLAG, PLACE(force), NULL, NULL, OUTPUT_FORCE_HELP, 0, 0},
    {"no-figures", 0, OPTION_FLAG, PLACE(no_figures), NULL, NULL, "the page alone, without figures", 0, 0},
};

/* Everything that is held while a report is made. */
typedef struct report_job {
    const report_values *own;
    score_options options;
    bool is_run, has_recipe;
    vg_recipe recipe;
    char predictions[PATH_ROOM], temperatures[PATH_ROOM], metrics[PATH_ROOM], out[PATH_ROOM];
    char ensemble[256], note[256];
    report_subject subject;
    vg_evaluation *other;
    struct {
        char name[256], path[PATH_ROOM];
        report_subject subject;
        vg_ood_row *figures;
    } ood[MAX_OOD];
    size_t ood_count;
    vg_report_ood ood_views[MAX_OOD];
    report_images images;
    char **names;
    vg_report_epoch *epochs;
    vg_verdict verdict;
    vg_report report;
} report_job;

static bool is_there(const char *path) {
    struct stat st;
    return stat(path, &st) == 0;
}

static bool is_folder(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* --- what to read -----------------------------------------------------------------------------------------------------------
 */

static int add_ood(report_job *job, const char *name, size_t length, const char *path) {
    if (job->ood_count == MAX_OOD)
        return console_usage("more than %d OOD sets", MAX_OOD);
    snprintf(job->ood[job->ood_count].name, sizeof job->ood[0].name, "%.*s", (int)(length < 250 ? length : 250), name);
    snprintf(job->ood[job->ood_count].path, PATH_ROOM, "%.4000s", path);
    job->ood_count++;
    return CLI_OK;
}

static int add_named_ood(report_job *job, const char *text) {
    const char *equals = strchr(text, '=');
    if (!equals || equals == text || !equals[1])
        return console_usage("--ood: expected NAME=FILE, found '%s'", text);
    return add_ood(job, text, (size_t)(equals - text), equals + 1);
}

static int is_ood_file(const struct dirent *entry) {
    size_t length = strlen(entry->d_name);
    return strncmp(entry->d_name, "ood-", 4) == 0 && length > 8 && strcmp(entry->d_name + length - 4, ".npz") == 0;
}

/* RUN: test.npz (or scores.npz where there are no predictions), temps.json, metrics.jsonl, ood-NAME.npz, recipe.yaml. */
static int look_into_run(report_job *job, const char *folder) {
    char path[PATH_ROOM];
    struct dirent **list = NULL;
    job->is_run = true;
    snprintf(job->predictions, PATH_ROOM, "%.4000s/test.npz", folder);
    if (!is_there(job->predictions))
        snprintf(job->predictions, PATH_ROOM, "%.4000s/scores.npz", folder);
    if (!is_there(job->predictions))
        return console_fail("%s: neither test.npz nor scores.npz in it; 'vargate run' and 'vargate predict' make them", folder);
    snprintf(job->temperatures, PATH_ROOM, "%.4000s/temps.json", folder);
    snprintf(job->metrics, PATH_ROOM, "%.4000s/metrics.jsonl", folder);
    snprintf(path, sizeof path, "%.4000s/recipe.yaml", folder);
    if (is_there(path)) {
        if (vg_recipe_read(&job->recipe, path) != VG_OK)
            return console_fail_library();
        job->has_recipe = true;
    }
    int count = scandir(folder, &list, is_ood_file, alphasort), code = CLI_OK;
    for (int i = 0; i < count; i++) {
        snprintf(path, sizeof path, "%.3900s/%.255s", folder, list[i]->d_name);
        if (code == CLI_OK)
            code = add_ood(job, list[i]->d_name + 4, strlen(list[i]->d_name) - 8, path);
        free(list[i]);
    }
    free(list);
    return code;
}

/* DIR/report.html may replace a page of ours and nothing that is read here. */
static int check_page(const report_job *job, const char *input) {
    const report_values *own = job->own;
    const char *inputs[MAX_OOD + 6] = {input,          job->options.labels, job->options.temperature, own->metrics,
                                       own->images, own->class_names};
    char page[PATH_ROOM + 32];
    for (size_t i = 0; i < job->ood_count; i++)
        inputs[6 + i] = job->ood[i].path;
    snprintf(page, sizeof page, "%s/report.html", job->out);
    return output_path_check(page, VG_PRODUCT_PAGE, own->force, inputs, 6 + job->ood_count);
}

static int look(report_job *job, const char *input) {
    const report_values *own = job->own;
    if (!own->out && !is_folder(input))
        return console_usage("where to? give -o DIR");
    int code = CLI_OK;
    if (is_folder(input))
        code = look_into_run(job, input);
    else
        snprintf(job->predictions, PATH_ROOM, "%.4000s", input);
    snprintf(job->out, PATH_ROOM, own->out ? "%.4000s" : "%.4000s/report", own->out ? own->out : input);
    for (size_t i = 0; i < own->ood.count && code == CLI_OK; i++)
        code = add_named_ood(job, own->ood.items[i]);
    if (own->metrics)
        snprintf(job->metrics, PATH_ROOM, "%.4000s", own->metrics);
    if (own->k.count > 0)
        job->options.k = own->k;
    else if (job->has_recipe && job->recipe.k_count > 0) {
        memcpy(job->options.k.values, job->recipe.k, job->recipe.k_count * sizeof *job->recipe.k);
        job->options.k.count = job->recipe.k_count;
    }
    return code == CLI_OK ? check_page(job, input) : code;
}

/* --- reading
 * ------------------------------------------------------------------------------------------------------------------ */

static int read_subject(report_job *job) {
    const char *temperature = job->options.temperature;
    int code = report_subject_read(&job->subject, &job->options, job->predictions, false);
    if (code != CLI_OK || job->subject.is_scores || !job->subject.evaluation || !job->subject.logits)
        return code;
    if (temperature)
        return report_subject_evaluate_at(&job->other, &job->options, job->predictions, NULL);
    if (job->is_run && is_there(job->temperatures))
        return report_subject_evaluate_at(&job->other, &job->options, job->predictions, job->temperatures);
    return CLI_OK;
}

static bool same_measures(const report_subject *a, const report_subject *b) {
    for (size_t i = 0; a->measure_count == b->measure_count && i < a->measure_count; i++) {
        if (strcmp(a->measures[i].name, b->measures[i].name) != 0)
            return false;
    }
    return a->measure_count == b->measure_count;
}

static int read_ood(report_job *job, size_t i) {
    report_subject *ood = &job->ood[i].subject, *id = &job->subject;
    score_options options = job->options;
    /* Scores come with settings of their own: predictions beside them are scored at those. */
    for (size_t k = 0; id->is_scores && k < id->k_count; k++)
        options.k.values[k] = id->k[k];
    options.k.count = id->is_scores ? id->k_count : options.k.count;
    int code = report_subject_read(ood, &options, job->ood[i].path, true);
    if (code != CLI_OK)
        return code;
    if (ood->c != id->c)
        return console_fail("%s: %zu classes, %s has %zu", job->ood[i].path, ood->c, job->predictions, id->c);
    if (!same_measures(id, ood))
        return console_fail("%s: not the measures and gate settings of %s", job->ood[i].path, job->predictions);
    job->ood[i].figures = calloc(id->measure_count ? id->measure_count : 1, sizeof(vg_ood_row));
    if (!job->ood[i].figures)
        return console_fail_memory("OOD figures");
    vg_ood_options how = VG_OOD_OPTIONS_INIT;
    how.threads = (unsigned)options.threads;
    if (vg_ood_evaluate(job->ood[i].figures, id->measures, id->n, ood->measures, ood->n, id->measure_count, &how) != VG_OK)
        return console_fail("%s: %s", job->ood[i].path, vg_error_message());
    job->ood_views[i] = (vg_report_ood){job->ood[i].name, ood->n, ood->measures, job->ood[i].figures};
    return CLI_OK;
}

/* Images and names are welcome, not needed: when the run's own cannot be had, a line says so. */
static int read_images(report_job *job) {
    const char *set = job->own->images, *problem = NULL;
    bool of_run = !set && job->has_recipe;
    if (of_run)
        set = job->recipe.dataset;
    if (set && !report_images_open(&job->images, set, job->own->data, job->subject.n, job->subject.labels,
                                   of_run ? job->recipe.test_limit : 0, of_run ? job->recipe.seed : 0, &problem)) {
        if (!of_run)
            return console_fail("--images %s: %s", set, problem);
        console_note("no images of %s: %s", set, problem);
    }
    if (job->own->class_names)
        return report_names_read(&job->names, job->subject.c, job->own->class_names);
    return report_names_of(&job->names, job->subject.c, job->predictions);
}

static int read_all(report_job *job) {
    int code = read_subject(job);
    for (size_t i = 0; i < job->ood_count && code == CLI_OK; i++)
        code = read_ood(job, i);
    if (code == CLI_OK)
        code = read_images(job);
    if (code == CLI_OK && job->metrics[0] && (job->own->metrics || is_there(job->metrics)))
        code = report_epochs_read(&job->epochs, &job->report.epoch_count, &job->report.collapse_epoch, job->metrics);
    return code;
}

/* --- the report
 * ---------------------------------------------------------------------------------------------------------------- */

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

static void describe_ensemble(report_job *job) {
    static const char *const kinds[] = {"MC dropout", "last-layer ensemble", "MC dropout over a last-layer ensemble"};
    if (job->has_recipe)
        snprintf(job->ensemble, sizeof job->ensemble, "%s, %s", kinds[job->recipe.ensemble], job->recipe.network);
    if (job->options.temperature && !job->subject.is_scores)
        snprintf(job->note, sizeof job->note, "calibrated: logits divided by %.200s", base_name(job->options.temperature));
    else if (job->other)
        snprintf(job->note, sizeof job->note, "as trained, before calibration; calibrated figures beside them");
}

/* The library's verdict on the subject; "unknown" in scores of older files, which lack what it looks at. */
static int judge(report_job *job) {
    const vg_evaluation *e = job->subject.evaluation;
    unsigned long long labelled = e ? e->rows : 0;
    unsigned long long correct = e ? (unsigned long long)llround(e->accuracy.value * (double)e->rows) : 0;
    job->verdict = (vg_verdict)VG_VERDICT_INIT;
    if (vg_verdict_judge(&job->verdict, &job->subject.summary, correct, labelled) != VG_OK)
        return console_fail_library();
    return CLI_OK;
}

static void fill_report(report_job *job) {
    report_subject *s = &job->subject;
    vg_report *r = &job->report;
    describe_ensemble(job);
    r->title = job->own->title ? job->own->title : job->has_recipe ? job->recipe.name : base_name(job->predictions);
    r->dataset = job->has_recipe ? job->recipe.dataset : job->images.set ? job->images.info.name : NULL;
    r->ensemble = job->ensemble[0] ? job->ensemble : NULL;
    r->source = base_name(job->predictions);
    r->note = job->note[0] ? job->note : NULL;
    r->n = s->n;
    r->members = s->m;
    r->classes = s->c;
    if (job->names)
        r->class_names = (const char *const *)job->names;
    else if (job->images.set && job->images.info.class_names && job->images.info.classes == s->c)
        r->class_names = job->images.info.class_names;
    r->k = s->k;
    r->k_count = s->k_count;
    r->measures = s->measures;
    r->measure_count = s->measure_count;
    r->rows = s->rows;
    r->labels = s->labels;
    r->summary = s->summary;
    r->verdict = job->verdict.state == VG_VERDICT_UNKNOWN ? NULL : job->verdict.name;
    r->verdict_text = r->verdict ? job->verdict.text : NULL;
    r->evaluation = s->evaluation;
    r->other = job->other;
    r->is_calibrated = job->options.temperature && !s->is_scores;
    r->ood = job->ood_views;
    r->ood_count = job->ood_count;
    r->epochs = job->epochs;
    if (job->images.set) {
        r->image = report_images_pixels;
        r->image_context = &job->images;
        r->channels = job->images.info.channels;
        r->height = job->images.info.height;
        r->width = job->images.info.width;
    }
}

static int make_folder(const char *path) {
    char part[PATH_ROOM];
    size_t length = strlen(path);
    snprintf(part, sizeof part, "%s", path);
    for (size_t i = 1; i <= length; i++) {
        if (path[i] != '/' && path[i] != '\0')
            continue;
        part[i] = '\0';
        if (mkdir(part, 0777) != 0 && errno != EEXIST)
            return console_fail("%s: %s", part, strerror(errno));
        part[i] = path[i];
    }
    return is_folder(path) ? CLI_OK : console_fail("%s: not a folder", path);
}

static vg_status write_text(void *context, const void *bytes, size_t size) { return vg_text_write(context, bytes, size); }

static int write_page(const report_job *job, const char *path) {
    vg_text *text;
    if (vg_text_open(&text, path) != VG_OK)
        return console_fail_library();
    console_guard();
    vg_report_sink sink = {.context = text, .write = write_text};
    vg_status status = vg_report_page(&job->report, &sink);
    if (status == VG_OK && !console_interrupted())
        status = vg_text_close(text);
    else
        vg_text_abandon(text);
    bool interrupted = console_interrupted();
    console_unguard();
    if (interrupted)
        return CLI_FAILED;
    return status == VG_OK ? CLI_OK : console_fail_library();
}

static int write_report(report_job *job) {
    char page[PATH_ROOM + 32], figures[PATH_ROOM + 32];
    size_t drawn = 0;
    int code = make_folder(job->out);
    if (code == CLI_OK)
        code = judge(job);
    fill_report(job);
    snprintf(page, sizeof page, "%s/report.html", job->out);
    if (code == CLI_OK)
        code = write_page(job, page);
    if (code == CLI_OK && !job->own->no_figures) {
        snprintf(figures, sizeof figures, "%s/figures", job->out);
        code = make_folder(figures);
        if (code == CLI_OK)
            code = report_figures_draw(&job->report, figures, &drawn);
    }
    if (code != CLI_OK)
        return code;
    printf("%s\n", page);
    if (drawn)
        printf("%s: %zu files\n", figures, drawn);
    return CLI_OK;
}

static void close_job(report_job *job) {
    report_subject_free(&job->subject);
    vg_evaluation_free(job->other);
    for (size_t i = 0; i < job->ood_count; i++) {
        report_subject_free(&job->ood[i].subject);
        free(job->ood[i].figures);
    }
    report_images_close(&job->images);
    report_names_free(job->names, job->report.classes);
    free(job->epochs);
}

static int run(const command *self, int argc, char **argv) {
    static report_job job;
    report_values own;
    option_files files;
    option_entry scoring[SCORE_OPTION_ROOM];
    static const char *const without[] = {"k", "measures", "multilabel", "multilabel-form", NULL};
    size_t count = score_option_subset(scoring, without);
    option_group groups[] = {{"Report", own_entries, sizeof own_entries / sizeof *own_entries, &own},
                             {"Scoring", scoring, count, &job.options}};
    job = (report_job){.own = &own, .report = VG_REPORT_INIT};
    job.report.collapse_epoch = NAN;
    int code = score_options_defaults(&job.options);
    if (code == CLI_OK)
        code = options_parse(self, groups, 2, argc, argv, &files);
    if (code != CLI_OK)
        return code;
    if (files.count != 1)
        return console_usage("expected a run folder, scores or predictions, found %zu files", files.count);
    code = look(&job, files.items[0]);
    if (code == CLI_OK)
        code = read_all(&job);
    if (code == CLI_OK)
        code = write_report(&job);
    close_job(&job);
    return code;
}

const command command_report = {
    .name = "report",
    .summary = "a page to look at, and figures, of a run or of scores",
    .usage = "RUN|SCORES.npz|PRED.npz [--labels FILE] [--ood NAME=FILE ...] -o DIR",
    .details =
        "Writes DIR/report.html, one file that opens alone and offline, and DIR/figures/*.svg, .pdf, .png (drawn by gnuplot,\n"
        "left out where it is not installed). RUN is a folder that 'vargate run' made; SCORES is what 'vargate score -o' "
        "wrote;\n"
        "predictions are scored here. With a run's temps.json the page shows reliability before and after calibration.",
    .example = "vargate report test.npz --temperature temps.json --ood svhn=svhn.npz -o report",
    .run = run,
};
