/* report_make.c - a report page of a run, of scores or of predictions: finds its inputs, reads them, writes the
 * page.
 *
 * A run is a folder: test.npz (or scores.npz where there are no predictions), temps.json, metrics.jsonl,
 * ood-NAME.npz, recipe.yaml. Figures for print are drawn by report_draw.c. */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/c_locale.h"
#include "base/file.h"
#include "formats/text_file.h"
#include "nn/recipe.h"
#include "vargate/nn.h"
#include "workflow/evaluation_figures.h"
#include "workflow/report_command.h"
#include "workflow/report_files.h"
#include "workflow/report_subject.h"
#include "workflow/workflow_options.h"

enum { PATH_ROOM = 4200, MOST_FIGURES = 8 };

typedef struct ood_set {
    char name[256], path[PATH_ROOM];
    vg_report_subject subject;
    vg_ood_row *figures;
} ood_set;

/* Everything the page is made of. */
typedef struct page_data {
    vg_page shown; /* the public part; first, so that a pointer to it is a pointer to the whole */
    vg_page_figure figures[MOST_FIGURES];
    vg_page_options own;      /* its pointers belong to the caller and are not used once the page is written */
    vg_input_options reading; /* its scoring points to the next field */
    vg_score_options scoring;
    bool is_run, has_recipe;
    vg_recipe recipe;
    char predictions[PATH_ROOM], temperatures[PATH_ROOM], metrics[PATH_ROOM], folder[PATH_ROOM], path[PATH_ROOM + 32];
    char gates[PATH_ROOM], validation[PATH_ROOM]; /* k.json and val.npz of a run */
    char *title, ensemble[256], note[256];        /* title: a copy of the caller's; NULL: none was given */
    char *command, *decide, *policy, created[32];
    vg_report_subject subject;
    vg_evaluation *other;
    ood_set ood[VG_PAGE_OOD];
    size_t ood_count;
    vg_report_ood ood_views[VG_PAGE_OOD];
    vg_report_images images;
    char **names;
    vg_report_epochs epochs;
    vg_verdict verdict;
    vg_finding findings[VG_MAX_FINDINGS];
    size_t finding_count;
    char advice[VG_FINDING_SIZE];
    vg_report report;
} page_data;

static bool is_there(const char *path) {
    struct stat st;
    return stat(path, &st) == 0;
}

static bool is_folder(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* --- inputs ------------------------------------------------------------------------------------------------------- */

static vg_status add_ood(page_data *page, const char *name, size_t length, const char *path) {
    if (page->ood_count == VG_PAGE_OOD)
        return vg_base__fail(VG_ERR_ARGUMENT, "more than %d OOD sets", VG_PAGE_OOD);
    ood_set *added = &page->ood[page->ood_count++];
    snprintf(added->name, sizeof added->name, "%.*s", (int)(length < 250 ? length : 250), name);
    snprintf(added->path, sizeof added->path, "%.4000s", path);
    return VG_OK;
}

static int is_ood_file(const struct dirent *entry) {
    size_t length = strlen(entry->d_name);
    return strncmp(entry->d_name, "ood-", 4) == 0 && length > 8 && strcmp(entry->d_name + length - 4, ".npz") == 0;
}

static vg_status find_ood(page_data *page, const char *folder) {
    char path[PATH_ROOM];
    struct dirent **list = NULL;
    int count = scandir(folder, &list, is_ood_file, alphasort);
    vg_status status = VG_OK;
    for (int i = 0; i < count; i++) {
        snprintf(path, sizeof path, "%.3900s/%.255s", folder, list[i]->d_name);
        if (status == VG_OK)
            status = add_ood(page, list[i]->d_name + 4, strlen(list[i]->d_name) - 8, path);
        free(list[i]);
    }
    free(list);
    return status;
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

static vg_status look_into_run(page_data *page, const char *folder) {
    char path[PATH_ROOM];
    page->is_run = true;
    snprintf(page->predictions, PATH_ROOM, "%.4000s/test.npz", folder);
    if (!is_there(page->predictions))
        snprintf(page->predictions, PATH_ROOM, "%.4000s/scores.npz", folder);
    if (!is_there(page->predictions))
        return vg_base__fail(VG_ERR_IO,
                             "%s: neither test.npz nor scores.npz in it; 'vargate run' and 'vargate predict' make them",
                             folder);
    snprintf(page->temperatures, PATH_ROOM, "%.4000s/temps.json", folder);
    snprintf(page->validation, PATH_ROOM, "%.4000s/val.npz", folder);
    snprintf(page->metrics, PATH_ROOM, "%.4000s/metrics.jsonl", folder);
    snprintf(path, sizeof path, "%.4000s/recipe.yaml", folder);
    if (is_there(path)) {
        VG_TRY(vg_recipe__read(&page->recipe, path));
        page->has_recipe = true;
    }
    snprintf(page->gates, PATH_ROOM, "%.4000s/k.json", folder);
    bool gated = page->has_recipe && page->recipe.loss == 2 && is_there(page->gates);
    if (gated && !page->reading.class_k && strcmp(base_name(page->predictions), "test.npz") == 0)
        page->reading.class_k = page->gates;
    return find_ood(page, folder);
}

/* FOLDER/report.html may replace a page that vargate wrote, and none of the inputs. */
static vg_status check_page(const page_data *page, const char *input) {
    const vg_page_options *own = &page->own;
    const char *inputs[VG_PAGE_OOD + 7] = {input,       page->reading.labels, page->reading.temperature, own->metrics,
                                           own->images, own->class_names,     own->calibration};
    for (size_t i = 0; i < page->ood_count; i++)
        inputs[7 + i] = page->ood[i].path;
    return vg_target_check(page->path, VG_PRODUCT_PAGE, inputs, 7 + page->ood_count, own->force);
}

static vg_status set_reading(page_data *page) {
    page->scoring = (vg_score_options)VG_SCORE_OPTIONS_INIT;
    VG_TRY(vg_workflow__options(&page->scoring, sizeof page->scoring, page->reading.scoring, "vg_score_options"));
    page->reading.scoring = &page->scoring;
    page->reading.fields = 0;
    if (!page->scoring.k && page->has_recipe && page->recipe.k_count > 0) {
        page->scoring.k = page->recipe.k;
        page->scoring.k_count = page->recipe.k_count;
    }
    return VG_OK;
}

static vg_status look(page_data *page, const char *input, const char *folder) {
    const vg_page_options *own = &page->own;
    if (!folder && !is_folder(input))
        return vg_base__fail(VG_ERR_ARGUMENT, "a folder for the page is needed: give -o DIR");
    if (is_folder(input))
        VG_TRY(look_into_run(page, input));
    else
        snprintf(page->predictions, PATH_ROOM, "%.4000s", input);
    snprintf(page->folder, PATH_ROOM, folder ? "%.4000s" : "%.4000s/report", folder ? folder : input);
    snprintf(page->path, sizeof page->path, "%s/report.html", page->folder);
    for (size_t i = 0; i < own->ood_count; i++)
        VG_TRY(add_ood(page, own->ood[i].name, strlen(own->ood[i].name), own->ood[i].path));
    if (own->metrics)
        snprintf(page->metrics, PATH_ROOM, "%.4000s", own->metrics);
    VG_TRY(set_reading(page));
    return check_page(page, input);
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

static vg_status read_subject(page_data *page) {
    const char *calibration = page->own.calibration;
    if (!calibration && page->is_run && is_there(page->validation))
        calibration = page->validation;
    vg_report_source source = {page->predictions, &page->reading, &page->own.job, false, calibration};
    vg_report_subject *s = &page->subject;
    VG_TRY(vg_report_subject__read(s, &source));
    if (s->is_scores || !s->evaluation || !s->logits)
        return VG_OK;
    if (page->reading.temperature)
        return vg_report_subject__evaluate_at(&page->other, &source, NULL);
    if (page->is_run && is_there(page->temperatures))
        return vg_report_subject__evaluate_at(&page->other, &source, page->temperatures);
    return VG_OK;
}

static bool same_measures(const vg_report_subject *a, const vg_report_subject *b) {
    for (size_t i = 0; a->measure_count == b->measure_count && i < a->measure_count; i++) {
        if (strcmp(a->measures[i].name, b->measures[i].name) != 0)
            return false;
    }
    return a->measure_count == b->measure_count;
}

static vg_status read_ood(page_data *page, size_t i) {
    vg_report_subject *ood = &page->ood[i].subject, *id = &page->subject;
    const char *path = page->ood[i].path;
    vg_score_options scoring = page->scoring;
    vg_input_options reading = page->reading;
    reading.scoring = &scoring;
    if (id->is_scores) { /* scores have their own settings: predictions beside them are scored with those */
        scoring.k = id->k;
        scoring.k_count = id->k_count;
    }
    vg_report_source source = {path, &reading, &page->own.job, true, NULL};
    VG_TRY(vg_report_subject__read(ood, &source));
    if (id->label_count)
        return vg_base__fail(VG_ERR_ARGUMENT,
                             "%s: a page of multilabel predictions has no OOD sets: vargate ood "
                             "--multilabel compares them",
                             path);
    if (ood->c != id->c)
        return vg_base__fail(VG_ERR_DATA, "%s: %zu classes, %s has %zu", path, ood->c, page->predictions, id->c);
    if (!same_measures(id, ood))
        return vg_base__fail(VG_ERR_DATA, "%s: not the measures and gate settings of %s", path, page->predictions);
    page->ood[i].figures = calloc(id->measure_count ? id->measure_count : 1, sizeof(vg_ood_row));
    if (!page->ood[i].figures)
        return vg_base__fail(VG_ERR_MEMORY, "out of memory for OOD figures");
    vg_ood_options how = VG_OOD_OPTIONS_INIT;
    how.threads = scoring.threads;
    vg_status status =
        vg_ood_evaluate(page->ood[i].figures, id->measures, id->n, ood->measures, ood->n, id->measure_count, &how);
    if (status != VG_OK)
        return vg_base__fail(status, "%s: %s", path, vg_error_message());
    page->ood_views[i] = (vg_report_ood){page->ood[i].name, ood->n, ood->measures, page->ood[i].figures};
    return VG_OK;
}

/* Images that were asked for are required; where the run's own are not available, a note says so. */
static vg_status read_images(page_data *page) {
    bool of_run = !page->own.images && page->has_recipe;
    vg_report_image_request request = {.name = page->own.images,
                                       .folder = page->own.data,
                                       .n = vg_report_subject__samples(&page->subject),
                                       .labels = page->subject.labels,
                                       .part = VG_PART_ANY,
                                       .class_names = (const char *const *)page->subject.class_names,
                                       .classes = vg_report_subject__names(&page->subject)};
    const vg_report_sites *sites = page->subject.is_sites ? &page->subject.sites.shown : NULL;
    if (page->subject.label_count || sites) { /* its classes are none of the images' */
        request.class_names = NULL;
        request.labels = NULL;
    }
    if (sites) {
        request.n = sites->shape[0];
        memcpy(request.resize, &sites->shape[1], sizeof request.resize);
    }
    if (page->has_recipe)
        request.recipe = &page->recipe;
    if (of_run) {
        request.name = page->recipe.dataset;
        request.part = page->recipe.test > 0 ? VG_PART_TEST : VG_PART_ANY;
        request.limit = page->recipe.test_limit;
        request.seed = vg_recipe__limit_seed(&page->recipe);
    }
    if (!request.name)
        return VG_OK;
    vg_status status = vg_report_images__open(&page->images, &request);
    if (status == VG_OK && sites)
        status = vg_site_report__photos(&page->subject.sites, &page->images);
    if (status == VG_OK)
        return VG_OK;
    if (!of_run)
        return vg_base__fail(status, "--images %s: %s", request.name, vg_error_message());
    vg_job__note(&page->own.job, "no images of %s: %s", request.name, vg_error_message());
    return VG_OK;
}

static vg_status read_all(page_data *page) {
    const vg_page_options *own = &page->own;
    VG_TRY(read_subject(page));
    for (size_t i = 0; i < page->ood_count; i++)
        VG_TRY(read_ood(page, i));
    VG_TRY(read_images(page));
    if (own->class_names)
        VG_TRY(vg_report_names__read(&page->names, vg_report_subject__names(&page->subject), own->class_names));
    if (!page->metrics[0] || !(own->metrics || is_there(page->metrics)))
        return VG_OK;
    VG_TRY(vg_report_epochs__read(&page->epochs, page->metrics));
    page->report.epoch_count = page->epochs.count;
    page->report.collapse_epoch = page->epochs.collapse;
    return VG_OK;
}

/* --- the report --------------------------------------------------------------------------------------------------- */

static void describe(page_data *page) {
    static const char *const kinds[] = {"MC dropout",
                                        "last-layer ensemble",
                                        "MC dropout over a last-layer ensemble",
                                        "deep ensemble",
                                        "deep ensemble of MC dropout networks",
                                        "deep ensemble of last-layer ensembles",
                                        "deep ensemble of MC dropout over last-layer ensembles"};
    const char *temperature = page->reading.temperature;
    if (page->has_recipe)
        snprintf(page->ensemble, sizeof page->ensemble, "%s, %s", kinds[page->recipe.ensemble], page->recipe.network);
    if (temperature && !page->subject.is_scores)
        snprintf(page->note, sizeof page->note, "calibrated%s by %.200s",
                 strspn(temperature, "0123456789.,eE+-") == strlen(temperature) ? ": logits divided" : "",
                 base_name(temperature));
    else if (page->other)
        snprintf(page->note, sizeof page->note, "as trained, before calibration; calibrated figures beside them");
}

/* The library's verdict on the subject; "unknown" in scores of older files, which lack what it looks at; and what
 * the figures advise. */
static vg_status judge(page_data *page) {
    const vg_evaluation *e = page->subject.evaluation;
    unsigned long long labelled = e ? e->rows : 0;
    unsigned long long correct = e ? (unsigned long long)llround(e->accuracy.value * (double)e->rows) : 0;
    page->verdict = (vg_verdict)VG_VERDICT_INIT;
    VG_TRY(vg_verdict_judge(&page->verdict, &page->subject.summary, correct, labelled));
    const vg_evaluation_result *evaluated = page->subject.evaluated;
    if (evaluated) {
        page->finding_count = evaluated->finding_count;
        memcpy(page->findings, evaluated->findings, page->finding_count * sizeof *page->findings);
        snprintf(page->advice, sizeof page->advice, "%s", evaluated->advice);
    } else if (e) { /* of scores: nothing that a calibrator could be compared on */
        page->finding_count = vg_evaluation_findings(page->findings, e, &page->verdict);
        vg_evaluation__advice(page->advice, page->findings, page->finding_count);
    }
    return VG_OK;
}

static void fill_subject(page_data *page) {
    vg_report_subject *s = &page->subject;
    vg_report *r = &page->report;
    r->n = s->n;
    r->members = s->m;
    r->classes = s->c;
    r->k = s->k;
    r->k_count = s->k_count;
    r->measures = s->measures;
    r->measure_count = s->measure_count;
    r->rows = s->rows;
    r->labels = s->labels;
    r->summary = s->summary;
    r->evaluation = s->evaluation;
    r->other = page->other;
    r->is_calibrated = page->reading.temperature && !s->is_scores;
    r->ood = page->ood_views;
    r->ood_count = page->ood_count;
    r->epochs = page->epochs.items;
    r->train_accuracy = page->epochs.train_accuracy;
    r->gates = page->epochs.gates;
    r->gate_count = page->epochs.gate_count;
    if (s->is_sites) {
        r->counts = &s->sites.counts;
        r->positions = s->sites.positions;
        r->sites = &s->sites.shown;
    }
    r->findings = page->findings;
    r->finding_count = page->finding_count;
    r->advice = page->finding_count ? page->advice : NULL;
    r->sets = s->sets;
    r->sets_from = page->own.calibration                        ? base_name(page->own.calibration)
                   : page->is_run && is_there(page->validation) ? "val.npz"
                                                                : "a random half of these";
}

static void fill_images(page_data *page) {
    const vg_dataset_info *info = &page->images.info;
    vg_report *r = &page->report;
    char **given = page->names ? page->names : page->subject.class_names;
    static const char *const outcomes[] = {"absent", "present"};
    r->ids = (const char *const *)page->subject.ids;
    r->label_count = page->subject.label_count;
    if (r->label_count) {
        r->label_names = (const char *const *)given;
        r->class_names = outcomes;
    } else if (given)
        r->class_names = (const char *const *)given;
    else if (page->images.set && info->class_names && info->classes == page->subject.c)
        r->class_names = info->class_names;
    if (page->subject.is_sites || !(page->images.set || page->images.array))
        return;
    r->image = vg_report_images__pixels;
    r->image_context = &page->images;
    r->channels = info->channels;
    r->height = info->height;
    r->width = info->width;
}

static vg_status fill_report(page_data *page) {
    vg_report *r = &page->report;
    VG_TRY(judge(page));
    describe(page);
    if (page->own.title)
        VG_TRY(vg_base__strdup(&page->title, page->own.title));
    r->title = page->title ? page->title : page->has_recipe ? page->recipe.name : base_name(page->predictions);
    r->dataset = page->has_recipe ? page->recipe.dataset : page->images.set ? page->images.info.name : NULL;
    r->ensemble = page->ensemble[0] ? page->ensemble : NULL;
    r->source = base_name(page->predictions);
    r->note = page->note[0] ? page->note : NULL;
    if (page->own.command)
        VG_TRY(vg_report_command__join(&page->command, page->own.command, page->own.command_words));
    if (!page->subject.is_scores && !page->own.transient) /* decisions need predictions */
        VG_TRY(vg_report_command__decide(&page->decide, page->predictions, &page->reading));
    if (page->decide && page->subject.labels)
        VG_TRY(vg_report_command__policy(&page->policy, page->predictions, &page->reading));
    vg_report_command__now(page->created, sizeof page->created);
    r->created = page->created;
    r->command = page->command;
    r->decide = page->decide;
    r->policy = page->policy;
    r->verdict = page->verdict.state == VG_VERDICT_UNKNOWN ? NULL : page->verdict.name;
    r->verdict_text = r->verdict ? page->verdict.text : NULL;
    fill_subject(page);
    fill_images(page);
    return VG_OK;
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

static vg_status make_folder(const char *path) {
    VG_TRY(vg_file__make_folders(path));
    return is_folder(path) ? VG_OK : vg_base__fail(VG_ERR_IO, "%s: not a folder", path);
}

static vg_status write_text(void *context, const void *bytes, size_t size) {
    return vg_text__write(context, bytes, size);
}

static vg_status write_file(const page_data *page, const char *what) {
    vg_text *text;
    VG_TRY(vg_text__open(&text, page->path));
    vg_sink sink = {.context = text, .write = write_text};
    vg_status status = vg_report__page(&page->report, &sink);
    if (status == VG_OK)
        status = vg_job__progress(&page->own.job, what, 1, 1);
    if (status == VG_OK)
        return vg_text__close(text);
    vg_text__abandon(text);
    return status;
}

static vg_status write_page(const page_data *page) {
    static const char what[] = "writing the page";
    vg_status status = vg_job__begin(&page->own.job, what, "pages");
    if (status == VG_OK)
        status = write_file(page, what);
    vg_job__end(&page->own.job);
    return status;
}

static vg_status make(page_data *page, const char *input, const char *folder) {
    VG_TRY(look(page, input, folder));
    VG_TRY(read_all(page));
    VG_TRY(make_folder(page->folder));
    VG_TRY(fill_report(page));
    return write_page(page);
}

/* Fills in the public part of a page that was written. */
static vg_page *show(page_data *page) {
    size_t count = 0;
    for (; count < MOST_FIGURES && vg_report__figure_name(count); count++)
        page->figures[count] =
            (vg_page_figure){vg_report__figure_name(count), vg_report__figure_possible(&page->report, count)};
    page->shown = (vg_page){sizeof page->shown, page->folder, page->path, page->figures, count};
    return &page->shown;
}

vg_status vg_page_write(vg_page **out, const char *input, const char *folder, const vg_input_options *reading,
                        const vg_page_options *options) {
    VG_TRY(vg_base__given(out != NULL, "vg_page_write: out"));
    VG_IN_C_LOCALE;
    vg_page_options own = VG_PAGE_OPTIONS_INIT;
    vg_input_options how = VG_INPUT_OPTIONS_INIT;
    page_data *page;
    *out = NULL;
    VG_TRY(vg_base__given(input != NULL, "vg_page_write: input"));
    VG_TRY(vg_workflow__options(&own, sizeof own, options, "vg_page_options"));
    VG_TRY(vg_workflow__options(&how, sizeof how, reading, "vg_input_options"));
    VG_TRY(vg_base__zalloc(&page, 1, sizeof *page, "the report"));
    page->own = own;
    page->reading = how;
    page->report = (vg_report)VG_REPORT_INIT;
    page->report.collapse_epoch = NAN;
    vg_status status = make(page, input, folder);
    if (status == VG_OK)
        *out = show(page);
    else
        vg_page_free(&page->shown);
    return status;
}

void vg_page_free(vg_page *shown) {
    page_data *page = (page_data *)shown;
    if (!page)
        return;
    for (size_t i = 0; i < page->ood_count; i++) {
        vg_report_subject__free(&page->ood[i].subject);
        free(page->ood[i].figures);
    }
    vg_report_names__free(page->names, vg_report_subject__names(&page->subject));
    vg_report_subject__free(&page->subject);
    vg_evaluation_free(page->other);
    vg_report_images__close(&page->images);
    vg_report_epochs__free(&page->epochs);
    vg_base__release(page->title);
    vg_base__release(page->command);
    vg_base__release(page->decide);
    vg_base__release(page->policy);
    vg_base__release(page);
}

const vg_report *vg_page__report(const vg_page *page) { return &((const page_data *)page)->report; }
