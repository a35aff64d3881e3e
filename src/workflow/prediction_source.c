/* prediction_source.c - the logits of networks as input of a scoring pass: scored as they are computed, never kept. */
#include "nn/predictor.h"
#include "workflow/prediction.h"

/* Scores are computed where the networks run. */
static vg_score_device device_of(const vg_prediction *p) {
    for (size_t i = 0; i < p->options.run_count; i++)
        if (!vg_predictor__is_on_gpu(p->predictors[i]))
            return VG_SCORE_ON_CPU;
    return VG_SCORE_ON_CUDA;
}

/* Logits stay in the GPU's memory for one network that is scored there. The members of several networks are put
 * together on the host. */
static vg_status logits_block(void *context, size_t first, size_t rows, vg_predictions *view,
                              vg_scorer_feed_options *feed) {
    vg_prediction *p = context;
    const float *logits = p->all;
    if (p->on_device) {
        feed->predictions = VG_MEMORY_DEVICE;
        VG_TRY(vg_prediction__images(p, 0, first, rows));
        VG_TRY(vg_predictor__run_on_device(p->predictors[0], &logits, &feed->stream, p->images, rows, first));
    } else
        VG_TRY(vg_prediction__logits(p, first, rows));
    *view = vg_predictions_f32(logits, rows, p->members, p->classes);
    return VG_OK;
}

static vg_status take_labels(vg_score_input *in, vg_prediction *p) {
    if (!p->labels)
        return VG_OK;
    VG_TRY(vg_base__alloc(&p->all_labels, p->n, sizeof *p->all_labels, "labels"));
    for (size_t i = 0; i < p->n; i++)
        p->all_labels[i] = vg_prediction__label(p, i);
    in->labels = p->all_labels;
    return VG_OK;
}

static vg_status fill(vg_score_input *in, vg_prediction *p, const vg_input_options *options) {
    VG_TRY(vg_score_input__settings(&in->options, options));
    in->options.logits = 1;
    in->options.device = device_of(p);
    in->options.threads = p->options.threads;
    in->class_names = p->info[0].class_names;
    VG_TRY(vg_prediction__id_names(p));
    in->ids = p->id_names;
    in->sample_numbers = p->indices;
    in->layout = (vg_score_layout){p->n, p->members, p->classes, in->options.k_count, in->options.k, false, NULL};
    VG_TRY(vg_score_input__calibrate(in, options));
    if (in->calibrator && in->calibrator->map && p->on_device) { /* maps are applied in host memory */
        p->on_device = false;
        p->blocks.most = VG_PREDICTION_CHUNK;
    }
    VG_TRY(vg_score_input__gates(in, options));
    return take_labels(in, p);
}

vg_status vg_prediction__input(vg_score_input *in, vg_prediction *p, const vg_input_options *options) {
    size_t most = VG_PREDICTION_CHUNK;
    p->on_device = device_of(p) == VG_SCORE_ON_CUDA && p->options.run_count == 1;
    if (p->on_device) {
        VG_TRY(vg_predictor__stay(p->predictors[0]));
        if (vg_predictor__piece(p->predictors[0]) < most)
            most = vg_predictor__piece(p->predictors[0]);
    }
    p->blocks = (vg_block_source){p, logits_block, most, "predicting", "images"};
    *in = (vg_score_input){.path = p->options.runs[0],
                           .job = &p->options.job,
                           .source = &p->blocks,
                           .logits = true,
                           .measures = options->fields ? options->fields : VG_FIELDS_ALL};
    vg_status status = fill(in, p, options);
    if (status != VG_OK)
        vg_score_input__close(in);
    return status;
}
