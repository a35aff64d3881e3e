/* score_pass.c - feeds a prediction file to a scorer block by block. See score_pass.h. */
#include "score_pass.h"

#include "console.h"
#include "progress.h"
#include "score_engine.h"

/* Bytes of input (as float32) and of results that are in flight at once: more where each block is written or kept, fewer where
 * it is counted while the cache has it. */
enum { BLOCK_BYTES = 32 << 20, COUNTED_BYTES = 8 << 20 };

static size_t block_rows(const score_layout *layout, score_set set, bool counted) {
    size_t row = layout->m * layout->c * sizeof(float) + score_set_bytes(set, layout);
    size_t rows = (size_t)(counted ? COUNTED_BYTES : BLOCK_BYTES) / row;
    rows = rows > 256 ? rows / 256 * 256 : rows > 1 ? rows : 1; /* whole tiles of samples for the kernels */
    return rows < layout->n ? rows : layout->n;
}

static int run_block(score_input *in, score_engine *scorer, const vg_scores *block, size_t first, size_t rows,
                     const score_sink *sink) {
    vg_predictions view;
    vg_scores places = *block;
    if (console_interrupted())
        return CLI_FAILED;
    if (vg_prediction_file_block(in->file, first, rows, &view) != VG_OK)
        return console_fail_library();
    if (sink->place)
        sink->place(sink->context, first, &places);
    if (score_engine_feed(scorer, &places, &view, VG_MEMORY_HOST) != VG_OK)
        return console_fail("%s: %s", in->path, vg_error_message());
    return sink->take(sink->context, first, rows, &places);
}

static int run_blocks(score_input *in, score_engine *scorer, const vg_scores *block, size_t rows, const score_sink *sink) {
    progress bar;
    progress_begin(&bar, "scoring", "samples");
    int code = CLI_OK;
    for (size_t first = 0; first < in->layout.n && code == CLI_OK; first += rows) {
        size_t here = in->layout.n - first < rows ? in->layout.n - first : rows;
        code = run_block(in, scorer, block, first, here, sink);
        progress_update(&bar, first + here, in->layout.n);
    }
    progress_end(&bar);
    return code;
}

int score_pass(score_input *in, score_set set, const score_sink *sink, vg_score_summary *summary) {
    score_engine scorer;
    vg_scores block;
    size_t rows = block_rows(&in->layout, set, sink->counted);
    int code = score_engine_open(&scorer, in->device, in->layout.m, in->layout.c, &in->options);
    if (code != CLI_OK)
        return code;
    score_engine_planes(&scorer, sink->plane);
    if (!score_block_new(&block, set, &in->layout, rows)) {
        code = console_fail_memory("a block of scores");
    } else {
        code = run_blocks(in, &scorer, &block, rows, sink);
        score_block_free(&block);
    }
    if (code == CLI_OK && summary && score_engine_summary(&scorer, summary) != VG_OK)
        code = console_fail_library();
    score_engine_close(&scorer);
    return code;
}
