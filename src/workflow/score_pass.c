/* score_pass.c - feeds predictions to a scorer block by block. See score_pass.h. */
#include "workflow/score_pass.h"

#include "formats/prediction_file.h"
#include "measures/device_scorer_api.h"
#include "measures/scorer.h"

/* Bytes of input (as float32) and of results that are in flight at once: more where each block is written or stored,
 * fewer where it is counted while it is in the cache. */
enum { BLOCK_BYTES = 32 << 20, COUNTED_BYTES = 8 << 20 };

static size_t block_rows(const vg_score_layout *layout, vg_field_set set, bool counted) {
    size_t row = layout->m * layout->c * sizeof(float) + vg_field__set_bytes(set, layout);
    size_t rows = (size_t)(counted ? COUNTED_BYTES : BLOCK_BYTES) / row;
    rows = rows > 256 ? rows / 256 * 256 : rows > 1 ? rows : 1; /* whole tiles of samples for the kernels */
    return rows < layout->n ? rows : layout->n;
}

static vg_status run_block(vg_score_input *in, vg_scorer *scorer, const vg_scores *block, size_t first, size_t rows,
                           const vg_score_sink *sink) {
    vg_predictions view;
    vg_scorer_feed_options feed = VG_SCORER_FEED_OPTIONS_INIT;
    vg_scores places = *block;
    VG_TRY(in->source ? in->source->block(in->source->context, first, rows, &view, &feed)
                      : vg_prediction_file_block(in->file, first, rows, &view));
    VG_TRY(vg_score_input__read_block(in, first, rows));
    vg_scorer__set_left_out(scorer, in->ignore ? in->block_left : NULL);
    if (in->source && in->calibrator && in->calibrator->map)
        VG_TRY(vg_calibrator__map(in->calibrator, &view));
    if (sink->place)
        sink->place(sink->context, first, &places);
    vg_status status = vg_scorer_feed(scorer, &places, &view, &feed);
    if (status != VG_OK)
        return vg_base__fail(status, "%s: %s", in->path, vg_error_message());
    if (in->ignore)
        vg_score_block__leave_out(&places, &in->layout, in->block_left, rows);
    return sink->take(sink->context, first, rows, &places);
}

/* Samples of a block from `first` on: within one run of sites where runs are long, so that nothing is copied. */
static size_t block_here(const vg_score_input *in, size_t first, size_t rows) {
    enum { LONG_RUN = 1024 };
    size_t left = in->layout.n - first, here = left < rows ? left : rows;
    size_t run = in->file ? vg_prediction_file__sites(in->file)->run : 0;
    return run >= LONG_RUN && run - first % run < here ? run - first % run : here;
}

static vg_status run_blocks(vg_score_input *in, vg_scorer *scorer, const vg_scores *block, size_t rows,
                            const vg_score_sink *sink) {
    const char *what = in->source ? in->source->what : "scoring";
    vg_status status = vg_job__begin(in->job, what, in->source ? in->source->unit : "samples");
    for (size_t first = 0, here; first < in->layout.n && status == VG_OK; first += here) {
        here = block_here(in, first, rows);
        status = run_block(in, scorer, block, first, here, sink);
        if (status == VG_OK)
            status = vg_job__progress(in->job, what, first + here, in->layout.n);
    }
    vg_job__end(in->job);
    return status;
}

static vg_status run_scorer(vg_score_input *in, vg_field_set set, const vg_score_sink *sink, vg_scorer *scorer) {
    vg_scores block;
    size_t rows = block_rows(&in->layout, set, sink->counted);
    if (in->source && rows > in->source->most)
        rows = in->source->most;
    vg_scorer__set_planes(scorer, sink->plane);
    VG_TRY(vg_score_block__new(&block, set, &in->layout, rows));
    vg_status status = run_blocks(in, scorer, &block, rows, sink);
    vg_score_block__free(&block);
    return status;
}

vg_status vg_score_pass__run(vg_score_input *in, vg_field_set set, const vg_score_sink *sink,
                             vg_score_summary *summary) {
    vg_scorer *scorer;
    VG_TRY(vg_score_input__check_logits(in));
    if (in->options.device == VG_SCORE_ON_AUTO && vg_device_scorer__available() != VG_OK)
        vg_job__note(in->job, "%s; scoring on the CPU", vg_error_message());
    VG_TRY(vg_scorer_new(&scorer, in->layout.m, in->layout.c, &in->options));
    vg_status status = run_scorer(in, set, sink, scorer);
    if (status == VG_OK && summary)
        status = vg_scorer_summary(scorer, summary);
    vg_scorer_free(scorer);
    return status;
}
