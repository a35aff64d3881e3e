/* report_sets.c - prediction sets of a report's samples. See report_sets.h.
 *
 * lac and aps need the mean over members and nothing else: of one file, means of the samples of one half calibrate, and
 * those of the other are counted. Which half a sample belongs to is drawn, because files may be sorted. */
#include "workflow/report_sets.h"

#include <string.h>

#include "base/random.h"
#include "vargate/sets_file.h"
#include "workflow/score_pass.h"

enum { FEWEST = 40, SCORES = 2 };
static const vg_set_score scores[SCORES] = {VG_SET_LAC, VG_SET_APS};
static const double alphas[] = {0.05, 0.1, 0.2};

typedef struct half_job {
    vg_score_input *in;
    vg_sets *sets[SCORES];
    size_t count; /* of scores: one in multilabel mode */
    bool test;    /* the second half, whose sets are made */
    vg_random random;
    double *mean; /* of a block, of the samples of this half */
    int64_t *labels;
    int32_t *sizes;
    size_t room;
} half_job;

static vg_sets_options options_of(size_t which, const vg_score_options *scoring) {
    vg_sets_options options = VG_SETS_OPTIONS_INIT;
    options.score = scores[which];
    options.alphas = alphas;
    options.alpha_count = sizeof alphas / sizeof *alphas;
    options.scoring = scoring;
    return options;
}

static vg_status make_room(half_job *job, size_t rows, size_t c, size_t each) {
    if (rows <= job->room)
        return VG_OK;
    vg_base__release(job->mean);
    vg_base__release(job->labels);
    vg_base__release(job->sizes);
    job->mean = NULL, job->labels = NULL, job->sizes = NULL;
    VG_TRY(vg_base__alloc(&job->mean, rows, c * sizeof *job->mean, "means"));
    VG_TRY(vg_base__alloc(&job->labels, rows, each * sizeof *job->labels, "labels"));
    VG_TRY(vg_base__alloc(&job->sizes, rows, sizeof alphas / sizeof *alphas * sizeof *job->sizes, "sizes of sets"));
    job->room = rows;
    return VG_OK;
}

static vg_status take_block(void *context, size_t first, size_t rows, const vg_scores *block) {
    half_job *job = context;
    size_t c = job->in->layout.c, each = job->in->layout.multilabel ? c : 1, count = 0;
    vg_set_places places = VG_SET_PLACES_INIT;
    VG_TRY(make_room(job, rows, c, each));
    for (size_t i = 0; i < rows; i++) {
        if (vg_random__below(&job->random, 2) != job->test)
            continue;
        memcpy(job->mean + count * c, block->mean + i * c, c * sizeof *job->mean);
        memcpy(job->labels + count * each, job->in->labels + (first + i) * each, each * sizeof *job->labels);
        count++;
    }
    if (count == 0)
        return VG_OK;
    vg_predictions view = vg_predictions_f64(job->mean, count, 1, c);
    places.size = job->sizes;
    for (size_t s = 0; s < job->count; s++)
        VG_TRY(vg_sets_feed(job->sets[s], job->test ? &places : NULL, &view, job->labels, NULL));
    return VG_OK;
}

static vg_status run_half(half_job *job, bool test) {
    vg_score_sink sink = {.context = job, .take = take_block, .counted = true};
    job->test = test;
    job->random = vg_random__start(1, 0);
    return vg_score_pass__run(job->in, VG_FIELD_BIT(VG_FIELD_MEAN), &sink, NULL);
}

/* The documents as one list. */
static vg_status join(char **out, vg_sets **sets, size_t count) {
    char *texts[SCORES] = {NULL, NULL};
    size_t length = 3, used = 0;
    vg_status status = VG_OK;
    for (size_t s = 0; s < count && status == VG_OK; s++) {
        status = vg_sets_text(&texts[s], sets[s], VG_SETS_FIGURES);
        length += status == VG_OK ? strlen(texts[s]) + 1 : 0;
    }
    if (status == VG_OK)
        status = vg_base__alloc(out, length, 1, "figures of the sets");
    for (size_t s = 0; s < count && status == VG_OK; s++) {
        size_t own = strlen(texts[s]);
        (*out)[used++] = s ? ',' : '[';
        memcpy(*out + used, texts[s], own);
        used += own;
    }
    if (status == VG_OK)
        memcpy(*out + used, "]", 2);
    for (size_t s = 0; s < SCORES; s++)
        vg_free(texts[s]);
    return status;
}

vg_status vg_report_sets__halves(char **out, vg_score_input *in) {
    vg_score_options scoring = VG_SCORE_OPTIONS_INIT;
    half_job job = {.in = in, .count = in->layout.multilabel ? 1 : SCORES};
    vg_status status = VG_OK;
    *out = NULL;
    if (in->layout.n < FEWEST)
        return VG_OK;
    scoring.task = in->options.task;
    scoring.threads = in->options.threads;
    for (size_t s = 0; s < job.count && status == VG_OK; s++) {
        vg_sets_options options = options_of(s, &scoring);
        status = vg_sets_new(&job.sets[s], &options);
    }
    if (status == VG_OK)
        status = run_half(&job, false);
    if (status == VG_OK)
        status = run_half(&job, true);
    if (status == VG_OK)
        status = join(out, job.sets, job.count);
    for (size_t s = 0; s < SCORES; s++)
        vg_sets_free(job.sets[s]);
    vg_base__release(job.mean);
    vg_base__release(job.labels);
    vg_base__release(job.sizes);
    return status;
}

/* Passes on all but warnings. */
static int notify_silently(void *context, const vg_job_message *message) {
    const vg_job *job = context;
    return job->notify && message->event != VG_JOB_WARNING ? job->notify(job->context, message) : 0;
}

vg_status vg_report_sets__files(char **out, const char *path, const char *calibration, const vg_input_options *reading,
                                const vg_job *job) {
    vg_sets *sets[SCORES] = {NULL, NULL};
    vg_input_options input = *reading;
    vg_sets_file_options own = VG_SETS_FILE_OPTIONS_INIT;
    bool multilabel = reading->scoring && reading->scoring->task != VG_TASK_MULTICLASS;
    size_t count = multilabel ? 1 : SCORES;
    vg_status status = VG_OK;
    *out = NULL;
    input.labels = NULL;  /* those of the page; the files hold their own */
    input.class_k = NULL; /* belongs to gates, and the sets of the page have none */
    own.calibration = calibration;
    own.job = *job;
    for (size_t s = 0; s < count && status == VG_OK; s++) {
        if (s > 0) /* the files are the same, and so would be the warnings */
            own.job = (vg_job){notify_silently, (void *)(uintptr_t)job};
        vg_sets_options options = options_of(s, NULL);
        status = vg_sets_file(&sets[s], &options, path, &input, &own);
    }
    if (status == VG_OK)
        status = join(out, sets, count);
    for (size_t s = 0; s < SCORES; s++)
        vg_sets_free(sets[s]);
    return status;
}
