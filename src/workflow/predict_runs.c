/* predict_runs.c - ensemble predictions over a set of images, streamed to an .npz: P (or logits Z) of shape (N, M, C),
 * the gated members Q and their k where one network was trained with the gated loss, the labels L where the set has
 * them, the images' ids (the names of their files, or their numbers in the set), and the names of the classes where
 * they are known (classes). */
#include "base/c_locale.h"
#include "formats/arrays.h"
#include "nn/predictor.h"
#include "vargate/formats.h"
#include "workflow/job.h"
#include "workflow/name_list.h"
#include "workflow/prediction.h"
#include "workflow/workflow_options.h"

static vg_status write_labels(vg_prediction *p, vg_writer *writer) {
    vg_status status = vg_writer__begin(writer, "L", VG_ELEMENT_I64, 1, &p->n);
    for (size_t i = 0; i < p->n && status == VG_OK; i++) {
        int64_t label = vg_prediction__label(p, i);
        status = vg_writer__append(writer, &label, sizeof label);
    }
    return status;
}

/* Names of the images' files, else their numbers in the data set, which identify the images that a split or a limit
 * kept. */
static vg_status write_ids(vg_prediction *p, vg_writer *writer) {
    VG_TRY(vg_prediction__id_names(p));
    if (p->id_names)
        return vg_name_list__write(writer, p->options.output, "id", p->id_names, p->n);
    vg_status status = vg_writer__begin(writer, "id", VG_ELEMENT_I64, 1, &p->n);
    for (size_t i = 0; i < p->n && status == VG_OK; i++) {
        int64_t id = (int64_t)(p->indices ? p->indices[i] : i);
        status = vg_writer__append(writer, &id, sizeof id);
    }
    return status;
}

/* The trained k of the gate; NULL: none, or several networks, which do not share one. */
static const double *gates_of(const vg_prediction *p) {
    return p->options.run_count == 1 && p->members > 1 ? p->info[0].class_k : NULL;
}

/* Predicts all images and writes "Z", "P" or, with gates, "Q". */
static vg_status write_chunks(vg_prediction *p, vg_writer *writer, const char *name, const double *gates) {
    static const char what[] = "predicting";
    const vg_job *job = &p->options.job;
    size_t C = p->classes, shape[3] = {p->n, p->members, C};
    VG_TRY(vg_writer__begin(writer, name, VG_ELEMENT_F32, 3, shape));
    for (size_t i = 0; i < p->n; i += VG_PREDICTION_CHUNK) {
        size_t count = p->n - i < VG_PREDICTION_CHUNK ? p->n - i : VG_PREDICTION_CHUNK;
        VG_TRY(vg_prediction__logits(p, i, count));
        if (*name != 'Z')
            vg_nn__softmax_rows(p->all, count * p->members, C);
        if (gates)
            VG_TRY(vg_nn__gate_rows(p->all, count, p->members, C, gates));
        VG_TRY(vg_writer__append(writer, p->all, count * p->members * C * sizeof(float)));
        VG_TRY(vg_job__progress(job, what, i + count, p->n));
    }
    return VG_OK;
}

/* Arrays are written one after the other: the images are predicted again for Q instead of being held in memory. */
static vg_status write_members(vg_prediction *p, vg_writer *writer) {
    const double *gates = gates_of(p);
    VG_TRY(write_chunks(p, writer, p->options.logits ? "Z" : "P", NULL));
    if (!gates)
        return VG_OK;
    VG_TRY(write_chunks(p, writer, "Q", gates));
    return vg_writer_array(writer, "k", VG_ELEMENT_F64, 1, &p->classes, gates);
}

static vg_status write_all(vg_prediction *p, vg_writer *writer) {
    VG_TRY(vg_writer__mark(writer, VG_PRODUCT_PREDICTIONS));
    vg_status status = vg_job__begin(&p->options.job, "predicting", "images");
    if (status == VG_OK)
        status = write_members(p, writer);
    vg_job__end(&p->options.job);
    if (status == VG_OK && p->labels)
        status = write_labels(p, writer);
    if (status == VG_OK)
        status = write_ids(p, writer);
    if (status == VG_OK && p->info[0].class_names)
        status = vg_name_list__write(writer, p->options.output, "classes", p->info[0].class_names, p->info[0].classes);
    return status;
}

static vg_status write_file(vg_prediction *p) {
    vg_writer *writer;
    VG_TRY(vg_writer_open(&writer, p->options.output));
    vg_status status = write_all(p, writer);
    if (status == VG_OK)
        return vg_writer_close(writer);
    vg_writer_abandon(writer);
    return status;
}

static vg_status predict(vg_predict_runs_result *result, vg_prediction *p) {
    const vg_predict_runs_options *o = &p->options;
    vg_prediction_output output = {o->output, VG_PRODUCT_PREDICTIONS, o->force, NULL};
    if (!o->output)
        return vg_base__fail(VG_ERR_ARGUMENT, "predict: the output must not be NULL");
    VG_TRY(vg_prediction__check_output(p, &output));
    VG_TRY(vg_prediction__open(p));
    vg_predict_runs_result found = {sizeof found, p->n, p->members, p->classes, p->info[0].epoch, p->labels};
    if (result)
        VG_TRY(vg_base__give_result(result, &found, sizeof found, "vg_predict_runs_result"));
    VG_TRY(write_file(p));
    vg_job__note(&o->job, "%s: %s of %zu images, %zu members, %zu classes%s, of epoch %zu", o->output,
                 o->logits ? "logits" : "probabilities", found.samples, found.members, found.classes,
                 found.has_labels ? ", with labels" : "", found.epoch);
    return VG_OK;
}

vg_status vg_predict_runs(vg_predict_runs_result *result, const vg_predict_runs_options *options) {
    VG_IN_C_LOCALE;
    vg_prediction p;
    vg_status status = vg_prediction__begin(&p, options);
    if (status == VG_OK)
        status = predict(result, &p);
    vg_prediction__close(&p);
    return status;
}
