/* training_run.c - training with a progress line, metrics as they come, and a clean stop on a signal. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "console.h"
#include "progress.h"
#include "training_data.h"

typedef struct watcher {
    progress bar;
    char what[96];
    size_t batch, samples;
    bool begun;
} watcher;

static void tell_epoch(const vg_train_event *event) {
    const vg_epoch_metrics *m = event->metrics;
    console_note("epoch %zu/%zu  loss %.4f  val loss %.4f  accuracy %.4f  ECE %.4f  D %.3g  k-sensitivity %.3f  %.0f images/s",
                 m->epoch, event->epochs, m->train_loss, m->val_loss, m->val_accuracy, m->val_ece, m->diversity,
                 m->k_sensitivity, m->images_per_s);
}

static int on_event(void *context, const vg_train_event *event) {
    watcher *w = context;
    size_t total = event->steps * event->epochs;
    switch (event->kind) {
    case VG_TRAIN_START:
        console_note("training on %s%s", event->text, event->epoch || event->step ? ", going on from the last checkpoint" : "");
        progress_begin(&w->bar, w->what, "steps");
        w->begun = true;
        break;
    case VG_TRAIN_STEP:
        if (isnan(event->loss)) /* not read from the device yet */
            snprintf(w->what, sizeof w->what, "epoch %zu/%zu", event->epoch + 1, event->epochs);
        else
            snprintf(w->what, sizeof w->what, "epoch %zu/%zu  loss %.4f", event->epoch + 1, event->epochs, event->loss);
        progress_update(&w->bar, event->epoch * event->steps + event->step, total);
        break;
    case VG_TRAIN_EPOCH:
        progress_end(&w->bar);
        tell_epoch(event);
        break;
    case VG_TRAIN_COLLAPSE:
        progress_end(&w->bar);
        console_warn("diversity collapse: D is %.3g after epoch %zu, its peak was %.3g; %s", event->metrics->diversity,
                     event->epoch, event->diversity_peak, event->metrics->verdict.text);
        break;
    case VG_TRAIN_REFRESH:
        snprintf(w->what, sizeof w->what, "batch-norm refresh");
        progress_update(&w->bar, event->step, event->steps);
        break;
    case VG_TRAIN_NOTE:
        progress_end(&w->bar);
        console_note("%s", event->text);
        break;
    case VG_TRAIN_WARNING:
        progress_end(&w->bar);
        console_warn("%s", event->text);
        break;
    case VG_TRAIN_CHECKPOINT: break;
    }
    return console_interrupted();
}

/* Everything vg_train needs to know of the data. */
static void describe_data(vg_train_options *options, const training_data *data) {
    vg_dataset_info info = vg_dataset_describe(data->set);
    options->channels = info.channels;
    options->height = info.height;
    options->width = info.width;
    options->classes = info.classes;
    options->class_names = info.class_names;
    memcpy(options->mean, data->statistics.mean, sizeof options->mean);
    memcpy(options->std, data->statistics.std, sizeof options->std);
}

static int train(const training_request *request, training_data *data, vg_train_result *result) {
    watcher w = {.what = "training"};
    vg_train_options options = VG_TRAIN_OPTIONS_INIT;
    vg_dataset_info info = vg_dataset_describe(data->set);
    char remark[512];
    if (info.classes < 2)
        return console_fail("%s: training needs labels of at least 2 classes, found %zu", info.source, info.classes);
    if (vg_dataset_remark(remark, sizeof remark, data->set))
        console_warn("%s", remark);
    options.recipe = request->recipe;
    options.folder = request->folder;
    options.device = request->device;
    options.threads = request->threads;
    options.resume = request->resume;
    options.event = on_event;
    options.event_context = &w;
    describe_data(&options, data);
    console_guard();
    vg_status status = training_feeds(data, request->recipe, &options.train, &options.validation);
    if (status == VG_OK) {
        training_resident(data, &options.resident);
        console_note("%s: %zu images to train on, %zu held out", info.name, data->fit_count, data->held_count);
        status = vg_train(result, &options);
    }
    if (w.begun)
        progress_end(&w.bar);
    console_unguard();
    if (status == VG_ERR_INTERRUPTED)
        return console_fail("%s; %s goes on from it", vg_error_message(),
                            strcmp(console_command(), "run") == 0 ? "the same command" : "--resume");
    return status == VG_OK ? CLI_OK : console_fail_library();
}

int training_run(const training_request *request, vg_train_result *result) {
    training_data data;
    if (training_data_open(&data, request->recipe, request->data) != VG_OK)
        return console_fail_library();
    int code = train(request, &data, result);
    training_data_close(&data);
    return code;
}
