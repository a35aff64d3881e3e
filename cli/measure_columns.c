/* measure_columns.c - fills columns and a tally from a prediction file. See measure_columns.h. */
#include "measure_columns.h"

#include <math.h>
#include <stdlib.h>

#include "console.h"
#include "score_engine.h"
#include "score_pass.h"
#include "tally_beside.h"

unsigned measure_columns_bits(score_set set) {
    static const unsigned bits[FIELD_MEASURES] = {
        [FIELD_TU] = VG_COLUMN_TU,       [FIELD_AU] = VG_COLUMN_AU,       [FIELD_EU] = VG_COLUMN_EU,
        [FIELD_EPCE] = VG_COLUMN_EPCE,   [FIELD_EPKL] = VG_COLUMN_EPKL,   [FIELD_EPJS] = VG_COLUMN_EPJS,
        [FIELD_GMU] = VG_COLUMN_GMU,     [FIELD_SNR] = VG_COLUMN_SNR,     [FIELD_GTU] = VG_COLUMN_GTU,
        [FIELD_GAU] = VG_COLUMN_GAU,     [FIELD_GEU] = VG_COLUMN_GEU,     [FIELD_GEPCE] = VG_COLUMN_GEPCE,
        [FIELD_GEPKL] = VG_COLUMN_GEPKL, [FIELD_GEPJS] = VG_COLUMN_GEPJS,
    };
    unsigned which = 0;
    for (int f = 0; f < FIELD_MEASURES; f++)
        which |= set & SCORE_BIT(f) ? bits[f] : 0;
    return which;
}

/* Means and spreads are counted while the next block is scored: they lie in two places in turn. The first block, which tells
 * how much room they need, is counted at once. */
typedef struct column_job {
    const score_input *in;
    vg_columns *columns;
    vg_tally *tally;
    double spread;        /* what turns the population spread into the one the decision rule uses */
    tally_beside *beside; /* from the second block on; NULL: all are counted at once */
    double *own;          /* with `beside`: twice means and spreads, `room` values each */
    size_t room;
    bool second;  /* the next block goes to the second place */
    bool refused; /* a block before had failed */
} column_job;

static void place_columns(void *context, size_t first, vg_scores *block) {
    column_job *job = context;
    const score_layout *layout = &job->in->layout;
    double *mean = block->mean, *std = block->std;
    if (job->beside) {
        mean = job->own + (job->second ? 2 * job->room : 0);
        std = mean + job->room;
    }
    vg_columns_at(job->columns, first * (layout->multilabel ? layout->c : 1), block);
    block->mean = mean;
    block->std = std;
}

/* After the first block, of `rows`, when others follow and more than one thread is wanted. */
static void start_beside(column_job *job, size_t rows) {
    if (rows == job->in->layout.n || job->in->options.threads == 1)
        return;
    job->room = rows * job->in->layout.c;
    job->own = malloc(4 * job->room * sizeof *job->own);
    job->beside = job->own ? tally_beside_new(job->tally) : NULL;
}

static int take_block(void *context, size_t first, size_t rows, const vg_scores *block) {
    column_job *job = context;
    const score_layout *layout = &job->in->layout;
    if (!job->tally)
        return CLI_OK;
    for (size_t i = 0; job->spread != 1 && i < rows * layout->c; i++)
        block->std[i] *= job->spread;
    size_t each = layout->multilabel ? layout->c : 1; /* rows of a sample */
    tally_block counted = {block->mean, block->std, job->in->labels + first * each, rows, NULL, 0, 0};
    if (job->beside) { /* the next block is being scored already: the one after it */
        counted.columns = job->columns;
        counted.ahead = (first + 2 * rows) * each;
        counted.ahead_rows = rows * each;
        job->second = !job->second;
        job->refused = !tally_beside_post(job->beside, &counted);
        return job->refused ? CLI_FAILED : CLI_OK;
    }
    if (vg_tally_feed(job->tally, counted.mean, counted.std, counted.labels, rows) != VG_OK)
        return console_fail("%s: %s", job->in->path, vg_error_message());
    if (first == 0)
        start_beside(job, rows);
    return CLI_OK;
}

static double rule_spread(const score_input *in) {
    double m = (double)in->layout.m;
    return in->options.sigma_margin == VG_SIGMA_SAMPLE && m > 1 ? sqrt(m / (m - 1)) : 1;
}

/* Whether AU = max(TU - EU, 0) and EPCE = AU + EPKL hold to the bit. */
static bool may_be_lean(const score_input *in) {
    const vg_score_options *o = &in->options;
    return in->device == SCORE_ON_CPU && o->log_base == VG_LOG_E && !o->normalise && o->pairs == VG_PAIRS_ALL &&
           o->floor_form != VG_FLOOR_ADD;
}

int measure_columns_score(vg_columns **columns, vg_tally *tally, score_input *in, score_set set, bool lean) {
    const score_layout *layout = &in->layout;
    size_t rows = layout->n * (layout->multilabel ? layout->c : 1);
    bool planes = in->device == SCORE_ON_CPU;
    unsigned which = measure_columns_bits(set) | (planes ? (unsigned)VG_COLUMNS_PLANES : 0);
    which |= lean && may_be_lean(in) ? (unsigned)VG_COLUMNS_LEAN : 0;
    *columns = NULL;
    if (vg_columns_new(columns, rows, layout->k, layout->k_count, which) != VG_OK)
        return console_fail_library();
    column_job job = {.in = in, .columns = *columns, .tally = tally, .spread = rule_spread(in)};
    score_sink sink = {.context = &job, .take = take_block, .place = place_columns, .counted = true};
    sink.plane = planes ? rows : 0;
    int code = score_pass(in, tally ? SCORE_BIT(FIELD_MEAN) | SCORE_BIT(FIELD_STD) : 0, &sink, NULL);
    const char *message = job.beside ? tally_beside_wait(job.beside) : NULL;
    if (message && (code == CLI_OK || job.refused)) /* it came after the pass, or stopped it; else another line was printed */
        code = console_fail("%s: %s", in->path, message);
    tally_beside_free(job.beside);
    free(job.own);
    return code;
}

int measure_columns_list(vg_measure **out, size_t *count, const vg_columns *columns) {
    *count = vg_columns_measures(columns, NULL, 0);
    *out = malloc((*count ? *count : 1) * sizeof **out);
    if (!*out)
        return console_fail_memory("the measures");
    vg_columns_measures(columns, *out, *count);
    return CLI_OK;
}
