/* sets_file.c - prediction sets for whole files: calibrate on one, make the sets of another, write them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/names.h"
#include "calibrate/calibration.h"
#include "formats/arrays.h"
#include "vargate/sets_file.h"
#include "workflow/prediction_input.h"
#include "workflow/prediction_set_rows.h"
#include "workflow/prediction_set_text.h"
#include "workflow/workflow_options.h"

enum { BLOCK_BYTES = 16 << 20 };

/* An opened file with the groups of its samples. */
typedef struct set_input {
    vg_score_input in, group_file;
    const char *const *groups; /* of samples; of images, one for each image */
    const char **block_groups; /* of images: those of a block of sites */
} set_input;

typedef struct sets_request {
    vg_sets_options sets;
    vg_input_options input;
    vg_sets_file_options own;
    const char *group; /* the name of the groups; NULL: none */
} sets_request;

static size_t block_rows(const vg_score_layout *layout) {
    size_t row = layout->m * layout->c * sizeof(float), rows = (size_t)BLOCK_BYTES / row;
    rows = rows > 4096 ? rows / 4096 * 4096 : rows > 0 ? rows : 1;
    return rows < layout->n ? rows : layout->n;
}

static void close_input(set_input *f) {
    vg_score_input__close(&f->in);
    vg_score_input__close(&f->group_file);
    vg_base__release(f->block_groups);
}

/* Sites of an image, the unit of exchange; 0: samples are no sites. */
static size_t image_sites(const vg_score_input *in) {
    return vg_score_input__images(in) && !in->layout.multilabel ? vg_score_input__unit_rows(in) : 0;
}

/* Of images the groups are those of images, too, because a group is exchanged as a whole. */
static vg_status open_image_groups(set_input *f, const char *group) {
    VG_TRY(vg_base__alloc(&f->block_groups, block_rows(&f->in.layout), sizeof *f->block_groups, "groups"));
    return vg_prediction_file__image_texts(f->in.file, group, &f->groups);
}

/* A column or array of groups is read as ids are: as texts. */
static vg_status open_groups(set_input *f, const char *path, const sets_request *r, const vg_input_options *reading) {
    vg_input_options how = *reading;
    how.id = r->group;
    how.labels = how.labels_key = NULL;
    how.ignore = NULL;
    if (image_sites(&f->in))
        return open_image_groups(f, r->group);
    if (strcmp(path, "-") == 0)
        return vg_base__fail(VG_ERR_ARGUMENT, "thresholds by group need a file: standard input is read once");
    VG_TRY(vg_score_input__open_labels(&f->group_file, path, &how, vg_score_no_labels, &r->own.job));
    VG_TRY(vg_prediction_file_ids(f->group_file.file, &f->groups));
    if (!f->groups)
        return vg_base__fail(VG_ERR_DATA, "%s: no groups named '%s' in it", path, r->group);
    return VG_OK;
}

static vg_status open_input(set_input *f, const char *path, const sets_request *r, const vg_input_options *reading,
                            const char *labels, bool groups) {
    vg_input_options how = *reading;
    *f = (set_input){.groups = NULL};
    how.group = groups ? r->group : NULL;
    VG_TRY(vg_score_input__open_maps(&f->in, path, &how, labels, &r->own.job));
    vg_status status = groups ? open_groups(f, path, r, reading) : VG_OK;
    if (status != VG_OK)
        close_input(f);
    return status;
}

static vg_status run_block(vg_sets_data *s, set_input *f, vg_set_rows *rows, size_t first, size_t here) {
    vg_predictions view;
    vg_set_places places = rows ? vg_set_rows__at(rows, first) : (vg_set_places){0};
    VG_TRY(vg_prediction_file_block(f->in.file, first, here, &view));
    VG_TRY(vg_score_input__read_block(&f->in, first, here));
    places.sites = image_sites(&f->in);
    for (size_t i = 0; f->block_groups && i < here; i++)
        f->block_groups[i] = f->groups[(first + i) / places.sites];
    const char *const *groups = f->block_groups ? f->block_groups : f->groups ? f->groups + first : NULL;
    vg_status status = vg_sets__feed(s, rows ? &places : NULL, &view, vg_score_input__labels(&f->in, first), groups);
    if (status != VG_OK)
        return vg_base__fail(status, "%s: %s", f->in.path, vg_error_message());
    return rows ? vg_set_rows__take(rows, first, here) : VG_OK;
}

/* One pass over a file; rows NULL: calibration. */
static vg_status run_pass(vg_sets_data *s, set_input *f, vg_set_rows *rows, size_t step) {
    const vg_score_layout *layout = &f->in.layout;
    const char *what = rows ? "making sets" : "calibrating";
    vg_status status = vg_job__begin(f->in.job, what, "samples");
    for (size_t first = 0; first < layout->n && status == VG_OK; first += step) {
        size_t here = layout->n - first < step ? layout->n - first : step;
        status = run_block(s, f, rows, first, here);
        if (status == VG_OK)
            status = vg_job__progress(f->in.job, what, first + here, layout->n);
    }
    vg_job__end(f->in.job);
    return status == VG_OK ? vg_score_input__some_left(&f->in) : status;
}

/* --- calibration -------------------------------------------------------------------------------------------------- */
static vg_status copy_names(vg_sets_data *s, const vg_score_input *in) {
    const char *const *names;
    VG_TRY(vg_prediction_file_classes(in->file, &names));
    if (!names || s->class_names)
        return VG_OK;
    VG_TRY(vg_base__zalloc(&s->class_names, in->layout.c, sizeof *s->class_names, "names of the classes"));
    for (size_t c = 0; c < in->layout.c; c++)
        VG_TRY(vg_base__strdup(&s->class_names[c], names[c]));
    s->shown.class_names = (const char *const *)s->class_names;
    return VG_OK;
}

static vg_status calibrate(vg_sets_data **out, const sets_request *r) {
    const char *path = r->own.calibration;
    vg_sets_options options = r->sets;
    set_input f;
    VG_TRY(open_input(&f, path, r, &r->input, r->input.labels, options.by == VG_SETS_BY_GROUP));
    options.scoring = &f.in.options;
    options.sites = image_sites(&f.in);
    vg_status status = vg_score_input__need_labels(&f.in);
    if (status == VG_OK)
        status = vg_sets__new(out, &options);
    if (status == VG_OK)
        status = run_pass(*out, &f, NULL, block_rows(&f.in.layout));
    if (status == VG_OK)
        status = copy_names(*out, &f.in);
    if (status == VG_OK && f.in.calibrator && f.in.calibrator->map)
        status = vg_calibration_map__text(&(*out)->map, f.in.calibrator->map);
    close_input(&f);
    return status == VG_OK ? vg_sets__settle(*out) : status;
}

/* Warns of cells with too few calibration samples for a threshold: their sets hold every class. */
static void warn_full(const vg_sets_data *s, const vg_job *job) {
    const vg_sets *shown = &s->shown;
    for (size_t a = 0; a < shown->alpha_count; a++) {
        size_t full = 0, first = 0;
        for (size_t cell = shown->cell_count; cell-- > 0;)
            if (isinf(s->thresholds[a * shown->cell_count + cell])) {
                full++;
                first = cell;
            }
        if (full == 0)
            continue;
        if (shown->multilabel) {
            vg_job__warn(
                job,
                "alpha %g: %zu calibration samples are too few to bound the share of missed labels by it; sets "
                "hold every label",
                shown->alphas[a], shown->calibrated);
            continue;
        }
        const char *kind = shown->by == VG_SETS_BY_GROUP ? "group" : "class";
        char name[64] = "", more[64] = "";
        if (shown->by != VG_SETS_BY_NONE && shown->cell_names)
            snprintf(name, sizeof name, " of group %.40s", shown->cell_names[first]);
        else if (shown->by != VG_SETS_BY_NONE && s->class_names)
            snprintf(name, sizeof name, " of class %.40s", s->class_names[first]);
        else if (shown->by != VG_SETS_BY_NONE)
            snprintf(name, sizeof name, " of class %zu", first);
        if (full > 1)
            snprintf(more, sizeof more, ", and %zu other %s%s", full - 1, kind,
                     full == 2                       ? ""
                     : shown->by == VG_SETS_BY_GROUP ? "s"
                                                     : "es");
        vg_job__warn(job, "alpha %g: %zu calibration %s%s%s%s: too few for a threshold; %s", shown->alphas[a],
                     s->cell_samples[first], shown->by_image ? "image" : "sample",
                     s->cell_samples[first] == 1 ? "" : "s", name, more,
                     shown->by == VG_SETS_BY_CLASS ? "such a class is in every set" : "sets hold every class");
    }
}

/* --- sets --------------------------------------------------------------------------------------------------------- */
static vg_status check_fit(const vg_sets_data *s, const vg_score_input *in) {
    const char *const *names;
    if (s->shown.members != in->layout.m || s->shown.classes != in->layout.c)
        return vg_base__fail(VG_ERR_DATA,
                             "%s: %zu members and %zu classes, the thresholds are for %zu and %zu: what is calibrated "
                             "on one ensemble promises nothing about another",
                             in->path, in->layout.m, in->layout.c, s->shown.members, s->shown.classes);
    if (s->temperature && !in->logits)
        return vg_base__fail(VG_ERR_DATA,
                             "%s: probabilities, expected logits: the thresholds are for logits at a temperature",
                             in->path);
    VG_TRY(vg_prediction_file_classes(in->file, &names));
    if (!names || !s->class_names)
        return VG_OK;
    size_t c = vg_names__differ(names, (const char *const *)s->class_names, s->shown.classes);
    if (c < s->shown.classes)
        return vg_base__fail(VG_ERR_DATA,
                             "%s: class %zu is '%s', the thresholds are for '%s' there: the classes differ", in->path,
                             c, names[c], s->class_names[c]);
    return VG_OK;
}

static vg_status make_sets(vg_sets_data *s, set_input *f, const sets_request *r) {
    size_t step = block_rows(&f->in.layout);
    vg_set_rows rows;
    vg_row_names names = {NULL, NULL, NULL};
    VG_TRY(check_fit(s, &f->in));
    VG_TRY(copy_names(s, &f->in));
    vg_sets__read_logits(s, f->in.logits);
    vg_status status = vg_set_rows__open(&rows, r->own.output, s, f->in.layout.n, step);
    if (status == VG_OK)
        status = vg_score_input__names(&names, &f->in);
    if (status == VG_OK) {
        names.classes = s->shown.class_names;
        rows.file.names = names;
        status = run_pass(s, f, &rows, step);
    }
    status = vg_set_rows__close(&rows, status);
    vg_row_names__free(&names);
    if (status == VG_OK && s->unseen_groups)
        vg_job__warn(&r->own.job,
                     "%s: %llu sample%s of groups without calibration samples (first: %.40s); their sets "
                     "hold every class",
                     f->in.path, s->unseen_groups, s->unseen_groups == 1 ? "" : "s", s->unseen_group);
    vg_sets__figure(s);
    return status;
}

static vg_status apply(vg_sets_data *s, const sets_request *r, const char *path) {
    vg_input_options reading = r->input;
    const char *labels = reading.labels;
    set_input f;
    if (r->own.calibration) { /* `labels` named those of the calibration file */
        labels = vg_score_labels_if_any;
        reading.labels = NULL;
    }
    vg_score_options scoring = s->scoring;
    if (!r->own.calibration) {
        reading.scoring = &scoring;
        reading.temperature = s->map;
    }
    VG_TRY(open_input(&f, path, r, &reading, labels, s->shown.by == VG_SETS_BY_GROUP));
    bool images = image_sites(&f.in) > 0;
    if (images != (s->shown.by_image != 0))
        vg_job__warn(&r->own.job,
                     "%s: the thresholds were calibrated on %s, these are %s: nothing is promised for them", path,
                     images ? "samples" : "images", images ? "images" : "samples");
    vg_status status = make_sets(s, &f, r);
    close_input(&f);
    return status;
}

/* "class", "top" or "group:NAME". */
static vg_status read_by(sets_request *r) {
    const char *by = r->own.by;
    if (!by)
        return VG_OK;
    r->group = strncmp(by, "group:", 6) == 0 && by[6] ? by + 6 : NULL;
    if (!r->group && strcmp(by, "class") != 0 && strcmp(by, "top") != 0)
        return vg_base__fail(VG_ERR_ARGUMENT, "--by: '%s', expected class, top or group:NAME", by);
    r->sets.by = r->group ? VG_SETS_BY_GROUP : by[0] == 'c' ? VG_SETS_BY_CLASS : VG_SETS_BY_TOP;
    return VG_OK;
}

/* Before any work: checks that the options are consistent, and that writing destroys nothing. */
static vg_status check(const sets_request *r, const char *path) {
    const vg_sets_file_options *own = &r->own;
    const char *inputs[] = {path,     own->calibration, r->input.labels, r->input.temperature, r->sets.thresholds,
                            own->save};
    if (!own->calibration == !r->sets.thresholds)
        return vg_base__fail(VG_ERR_ARGUMENT, "--calibration VAL, or --thresholds FILE, is needed, and not both");
    if (r->sets.by == VG_SETS_BY_GROUP && !r->group)
        return vg_base__fail(VG_ERR_ARGUMENT, "--by: thresholds by group need the name of the groups: group:NAME");
    if (r->sets.p_values && (!own->output || r->sets.thresholds))
        return vg_base__fail(VG_ERR_ARGUMENT, own->output ? "--p-values need calibration scores, which a file of "
                                                            "thresholds does not hold"
                                                          : "--p-values goes with -o");
    if (r->sets.thresholds && (r->input.temperature || r->input.class_k))
        return vg_base__fail(VG_ERR_ARGUMENT, "--thresholds has its own temperature and k, or none: no %s goes with it",
                             r->input.temperature ? "--calibration-map" : "--class-k");
    if (r->input.class_k && isnan(r->sets.gate))
        return vg_base__fail(VG_ERR_ARGUMENT, "--class-k multiplies the k of a gate: sets need --gated K for it");
    if (!path && own->output)
        return vg_base__fail(VG_ERR_ARGUMENT, "-o needs predictions to make sets for");
    if (own->save)
        VG_TRY(vg_target_check(own->save, VG_PRODUCT_THRESHOLDS, inputs, 5, own->force));
    return own->output ? vg_target_check(own->output, VG_PRODUCT_SETS, inputs, 6, own->force) : VG_OK;
}

static vg_status run(vg_sets_data **out, const sets_request *r, const char *path) {
    vg_sets_options asked = r->sets;
    asked.scoring = asked.scoring ? asked.scoring : r->input.scoring;
    VG_TRY(r->own.calibration ? calibrate(out, r) : vg_sets__load(out, &asked));
    if ((*out)->shown.by == VG_SETS_BY_GROUP && path && !r->group)
        return vg_base__fail(VG_ERR_ARGUMENT, "%s has thresholds by group: --by group:COLUMN names the groups' column",
                             r->sets.thresholds);
    warn_full(*out, &r->own.job);
    if (path && r->own.calibration && vg_target__same_file(path, r->own.calibration))
        vg_job__warn(&r->own.job, "%s is also the --calibration file: its coverage says nothing; give another", path);
    if (path)
        VG_TRY(apply(*out, r, path));
    return r->own.save ? vg_sets__save(*out, r->own.save) : VG_OK;
}

vg_status vg_sets_file(vg_sets **out, const vg_sets_options *options, const char *path, const vg_input_options *input,
                       const vg_sets_file_options *own) {
    VG_TRY(vg_base__given(out != NULL, "vg_sets_file: out"));
    VG_IN_C_LOCALE;
    sets_request r = {VG_SETS_OPTIONS_INIT, VG_INPUT_OPTIONS_INIT, VG_SETS_FILE_OPTIONS_INIT, NULL};
    vg_sets_data *s = NULL;
    *out = NULL;
    VG_TRY(vg_workflow__options(&r.sets, sizeof r.sets, options, "vg_sets_options"));
    VG_TRY(vg_workflow__options(&r.input, sizeof r.input, input, "vg_input_options"));
    VG_TRY(vg_workflow__options(&r.own, sizeof r.own, own, "vg_sets_file_options"));
    VG_TRY(read_by(&r));
    VG_TRY(check(&r, path));
    vg_status status = run(&s, &r, path);
    if (status != VG_OK)
        vg_sets__free(s);
    else
        *out = &s->shown;
    return status;
}
