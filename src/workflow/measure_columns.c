/* measure_columns.c - fills columns and a tally from a prediction file. See measure_columns.h. */
#include "workflow/measure_columns.h"

#include <math.h>
#include <stdlib.h>

#include "evaluate/columns_layout.h"
#include "measures/scorer.h"
#include "workflow/score_pass.h"
#include "workflow/tally_beside.h"

unsigned vg_measure_columns__bits(vg_field_set set) {
    static const unsigned bits[VG_FIELD_MEASURES] = {
        [VG_FIELD_TU] = VG_COLUMN_TU,
        [VG_FIELD_AU] = VG_COLUMN_AU,
        [VG_FIELD_EU] = VG_COLUMN_EU,
        [VG_FIELD_EPCE] = VG_COLUMN_EPCE,
        [VG_FIELD_EPKL] = VG_COLUMN_EPKL,
        [VG_FIELD_EPJS] = VG_COLUMN_EPJS,
        [VG_FIELD_GMU] = VG_COLUMN_GMU,
        [VG_FIELD_SNR] = VG_COLUMN_SNR,
        [VG_FIELD_GTU] = VG_COLUMN_GTU,
        [VG_FIELD_GAU] = VG_COLUMN_GAU,
        [VG_FIELD_GEU] = VG_COLUMN_GEU,
        [VG_FIELD_GEPCE] = VG_COLUMN_GEPCE,
        [VG_FIELD_GEPKL] = VG_COLUMN_GEPKL,
        [VG_FIELD_GEPJS] = VG_COLUMN_GEPJS,
        [VG_FIELD_MAXPROB] = VG_COLUMN_MAXPROB,
        [VG_FIELD_GAP] = VG_COLUMN_GAP,
        [VG_FIELD_TOPSTD] = VG_COLUMN_TOPSTD,
        [VG_FIELD_VOTES] = VG_COLUMN_VOTES,
        [VG_FIELD_MAXLOGIT] = VG_COLUMN_MAXLOGIT,
        [VG_FIELD_ENERGY] = VG_COLUMN_ENERGY,
    };
    unsigned which = 0;
    for (int f = 0; f < VG_FIELD_MEASURES; f++)
        which |= set & VG_FIELD_BIT(f) ? bits[f] : 0;
    return which;
}

/* Means and spreads are counted while the next block is scored, so two buffers alternate. The first block, which
 * shows their size, is counted at once. */
typedef struct column_job {
    const vg_score_input *in;
    vg_columns *columns;
    vg_tally *tally;
    double spread;           /* the factor from the population spread to the one that the decision rule uses */
    vg_tally_beside *beside; /* from the second block on; NULL: all are counted at once */
    double *own;             /* with `beside`: twice means and spreads, `room` values each */
    size_t room;
    bool second;         /* the next block goes to the second buffer */
    bool refused;        /* an earlier block failed; its message comes from the counting thread */
    vg_kept_means *kept; /* NULL: none are kept */
} column_job;

static void place_columns(void *context, size_t first, vg_scores *block) {
    column_job *job = context;
    const vg_score_layout *layout = &job->in->layout;
    double *mean = block->mean, *std = block->std;
    if (job->beside) {
        mean = job->own + (job->second ? 2 * job->room : 0);
        std = mean + job->room;
    }
    vg_columns__at(job->columns, first * (layout->multilabel ? layout->c : 1), block);
    block->mean = mean;
    block->std = std;
}

/* Called after the first block, of `rows`, when others follow and more than one thread may be used. */
static void start_beside(column_job *job, size_t rows) {
    if (rows == job->in->layout.n || job->in->options.threads == 1)
        return;
    job->room = rows * job->in->layout.c;
    job->own = malloc(4 * job->room * sizeof *job->own);
    job->beside = job->own ? vg_tally_beside__new(job->tally) : NULL;
}

static vg_status take_block(void *context, size_t first, size_t rows, const vg_scores *block) {
    column_job *job = context;
    const vg_score_layout *layout = &job->in->layout;
    if (!job->tally)
        return VG_OK;
    for (size_t i = 0; job->spread != 1 && i < rows * layout->c; i++)
        block->std[i] *= job->spread;
    if (job->kept)
        vg_kept_means__take(job->kept, first, rows, block->mean, job->in->labels + first);
    size_t each = layout->multilabel ? layout->c : 1; /* rows of a sample */
    vg_tally_block counted = {block->mean, block->std, job->in->labels + first * each, rows, NULL, 0, 0};
    if (job->beside) { /* the next block is being scored already: prefault for the one after it */
        counted.columns = job->columns;
        counted.ahead = (first + 2 * rows) * each;
        counted.ahead_rows = rows * each;
        job->second = !job->second;
        job->refused = !vg_tally_beside__post(job->beside, &counted);
        return job->refused ? VG_ERR_DATA : VG_OK;
    }
    vg_status status = vg_tally_feed(job->tally, counted.mean, counted.std, counted.labels, rows);
    if (status != VG_OK)
        return vg_base__fail(status, "%s: %s", job->in->path, vg_error_message());
    if (first == 0)
        start_beside(job, rows);
    return VG_OK;
}

double vg_measure_columns__rule_spread(const vg_score_input *in) {
    double m = (double)in->layout.m;
    return in->options.sigma_margin == VG_SIGMA_SAMPLE && m > 1 ? sqrt(m / (m - 1)) : 1;
}

/* Whether AU = max(TU - EU, 0) and EPCE = AU + EPKL hold to the bit. */
static bool may_be_lean(const vg_score_input *in) {
    const vg_score_options *o = &in->options;
    return in->options.device == VG_SCORE_ON_CPU && o->log_base == VG_LOG_E && !o->normalise &&
           o->pairs == VG_PAIRS_ALL && o->floor_form != VG_FLOOR_ADD;
}

vg_status vg_measure_columns__score(vg_columns **columns, vg_tally *tally, vg_score_input *in, vg_field_set set,
                                    bool lean, vg_score_summary *summary, vg_kept_means *kept) {
    const vg_score_layout *layout = &in->layout;
    size_t rows = layout->n * (layout->multilabel ? layout->c : 1);
    bool planes = in->options.device == VG_SCORE_ON_CPU;
    unsigned which = vg_measure_columns__bits(set) | (planes ? (unsigned)VG_COLUMNS_PLANES : 0);
    which |= lean && may_be_lean(in) ? (unsigned)VG_COLUMNS_LEAN : 0;
    which |= tally && !layout->multilabel ? (unsigned)VG_COLUMNS_TALLIED : 0;
    *columns = NULL;
    VG_TRY(vg_columns__new(columns, rows, layout->k, layout->k_count, which));
    column_job job = {.in = in, .columns = *columns, .tally = tally, .kept = kept};
    job.spread = vg_measure_columns__rule_spread(in);
    vg_score_sink sink = {.context = &job, .take = take_block, .place = place_columns, .counted = true};
    sink.plane = planes ? rows : 0;
    vg_status status =
        vg_score_pass__run(in, tally ? VG_FIELD_BIT(VG_FIELD_MEAN) | VG_FIELD_BIT(VG_FIELD_STD) : 0, &sink, summary);
    const char *message = job.beside ? vg_tally_beside__wait(job.beside) : NULL;
    if (message && (status == VG_OK ||
                    job.refused)) /* counting failed after the pass or stopped it; else another failure came first */
        status = vg_base__fail(VG_ERR_DATA, "%s: %s", in->path, message);
    vg_tally_beside__free(job.beside);
    free(job.own);
    return status;
}

vg_status vg_measure_columns__list(vg_measure **out, size_t *count, const vg_columns *columns) {
    *count = vg_columns__measures(columns, NULL, 0);
    *out = malloc((*count ? *count : 1) * sizeof **out);
    if (!*out)
        return vg_base__fail(VG_ERR_MEMORY, "out of memory for the measures");
    vg_columns__measures(columns, *out, *count);
    return VG_OK;
}

vg_status vg_measure_columns__evaluate(vg_evaluation **out, const vg_score_input *in, const vg_tally *tally,
                                       const vg_columns *columns, vg_evaluate_options options) {
    vg_job_part part = {in->job, "evaluating"};
    options.k = in->layout.k;
    options.k_count = in->layout.k_count;
    options.threads = in->options.threads;
    options.progress = vg_job__callback;
    options.progress_context = &part;
    vg_status status = vg_job__begin(in->job, part.what, "steps");
    if (status == VG_OK)
        status = vg_evaluate__columns(out, tally, columns, &options);
    vg_job__end(in->job);
    return status;
}
