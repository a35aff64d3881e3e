/* figures.c - the library in memory, and its comparisons: the pairwise loop, reading the input once. */
#include "figures.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "pairwise.h"
#include "vargate/measures.h"

typedef struct score_job {
    vg_predictions p;
    vg_score_options options;
    vg_scores out;
    double *values; /* all float64 results */
    int32_t *decision, *pred;
} score_job;

static int run_score(void *context) {
    score_job *job = context;
    if (vg_score(&job->out, NULL, &job->p, &job->options) == VG_OK)
        return 0;
    fprintf(stderr, "bench_score: %s\n", vg_error_message());
    return 1;
}

static int new_score(score_job *job, const float *p, const shape *s, int what, const double *k, size_t k_count) {
    size_t n = s->n, gates = k == NULL ? 3 : k_count;
    *job = (score_job){.p = vg_predictions_f32(p, s->n, s->m, s->c), .options = VG_SCORE_OPTIONS_INIT};
    job->options.threads = s->threads;
    job->options.k = k;
    job->options.k_count = k_count;
    job->values = calloc(n * (8 + 6 * gates), sizeof(double));
    job->decision = calloc(n * gates, sizeof(int32_t));
    job->pred = calloc(n, sizeof(int32_t));
    if (job->values == NULL || job->decision == NULL || job->pred == NULL) {
        fprintf(stderr, "bench_score: out of memory for the results of %zu samples\n", n);
        return 1;
    }
    double *single = job->values, *gated = job->values + 8 * n;
    vg_scores *out = &job->out;
    if (what & ENTROPIES)
        out->tu = single, out->au = single + n, out->eu = single + 2 * n, out->epce = single + 3 * n,
        out->epkl = single + 4 * n;
    if (what & EPJS)
        out->epjs = single + 5 * n;
    if (what & MARGIN)
        out->gmu = single + 6 * n, out->snr = single + 7 * n, out->decision = job->decision, out->pred = job->pred;
    size_t size = n * gates;
    if (what & GATED)
        out->gtu = gated, out->gau = gated + size, out->geu = gated + 2 * size, out->gepce = gated + 3 * size,
        out->gepkl = gated + 4 * size;
    if (what & GEPJS)
        out->gepjs = gated + 5 * size;
    return 0;
}

static void free_score(score_job *job) {
    free(job->values);
    free(job->decision);
    free(job->pred);
}

int time_score(timing *out, const float *p, const shape *s, int what, const double *k, size_t k_count, int runs) {
    score_job job;
    int status = new_score(&job, p, s, what, k, k_count) || time_best(out, run_score, &job, runs);
    free_score(&job);
    return status;
}

/* A drawn tensor of n / divide samples, rounded up; *s becomes its shape. */
static float *new_tensor(shape *s, size_t n, size_t m, size_t c, const bench_options *o) {
    *s = (shape){(n + o->divide - 1) / o->divide, m, c, o->threads};
    float *p = malloc(s->n * m * c * sizeof *p);
    if (p == NULL)
        fprintf(stderr, "bench_score: out of memory for %zu x %zu x %zu predictions\n", s->n, m, c);
    else if (draw_predictions(p, s, 0, o->kind) != 0) {
        free(p);
        p = NULL;
    }
    return p;
}

int bench_everything(const bench_options *o) {
    static const size_t classes[] = {10, 100};
    int status = 0;
    for (size_t i = 0; i < 2 && status == 0; i++) {
        shape s;
        timing t;
        float *p = new_tensor(&s, 10000, 100, classes[i], o);
        status = p == NULL || time_score(&t, p, &s, EVERYTHING, NULL, 0, o->runs);
        if (status == 0)
            print_figure("everything", &s, &t, ", \"k\": 3");
        status = status || time_score(&t, p, &s, EVERYTHING & ~EPJS & ~GEPJS, NULL, 0, o->runs);
        if (status == 0)
            print_figure("everything but EPJS and GEPJS", &s, &t, ", \"k\": 3");
        free(p);
    }
    return status;
}

int bench_one(const bench_options *o) {
    shape s;
    timing t;
    float *p = new_tensor(&s, 1, 5, 1000, o);
    int status = p == NULL || time_score(&t, p, &s, EVERYTHING, NULL, 0, o->runs);
    if (status == 0)
        print_figure("one sample", &s, &t, ", \"k\": 3");
    free(p);
    return status;
}

typedef struct pairwise_run {
    double *epjs;
    const float *p;
    const shape *s;
} pairwise_run;

static int run_pairwise(void *context) {
    pairwise_run *run = context;
    return pairwise_epjs(run->epjs, run->p, run->s);
}

static int bench_epjs_at(size_t n, size_t m, size_t c, const bench_options *o) {
    shape s;
    timing ours, pairs;
    char more[160];
    score_job job = {0};
    float *p = new_tensor(&s, n, m, c, o);
    double *epjs = malloc(s.n * sizeof *epjs);
    pairwise_run run = {epjs, p, &s};
    double worst = 0;
    int status = p == NULL || epjs == NULL || new_score(&job, p, &s, EPJS, NULL, 0) ||
                 time_best(&ours, run_score, &job, o->runs) || time_best(&pairs, run_pairwise, &run, 2);
    for (size_t i = 0; i < s.n && status == 0; i++)
        worst = fmax(worst, fabs(epjs[i] - job.out.epjs[i]));
    if (status == 0) {
        double values = (double)(s.n * s.m * s.c);
        snprintf(more, sizeof more, ", \"ns_per_value\": %.4g", 1e6 * ours.ms / values);
        print_figure("epjs", &s, &ours, more);
        snprintf(more, sizeof more, ", \"glogs_per_s\": %.4g, \"max_difference\": %.2g, \"pairwise_tier\": \"%s\"",
                 values * (double)(s.m + 1) / 2 / pairs.ms * 1e-6, worst, pairwise_tier());
        print_figure("epjs by pairs", &s, &pairs, more);
    }
    if (status == 0 && !(worst < 1e-5)) {
        fprintf(stderr, "bench_score: EPJS by pairs differs by %g\n", worst);
        status = 1;
    }
    free_score(&job);
    free(epjs);
    free(p);
    return status;
}

int bench_epjs(const bench_options *o) {
    return bench_epjs_at(10000, 100, 10, o) || bench_epjs_at(5000, 200, 10, o) || bench_epjs_at(2000, 500, 10, o) ||
           bench_epjs_at(1000, 1000, 10, o) || bench_epjs_at(2000, 100, 100, o);
}

typedef float quad __attribute__((vector_size(16)));

typedef struct sum_job {
    const float *p;
    size_t count;
    unsigned threads;
    volatile float sink;
} sum_job;

/* Eight sums of four, 128 bytes per turn: far faster than memory whatever the vectors. */
static void sum_part(void *context, unsigned thread, unsigned threads) {
    sum_job *job = context;
    size_t blocks = job->count / 32, first = blocks * thread / threads, last = blocks * (thread + 1) / threads;
    quad sum[8] = {{0}};
    for (const quad *q = (const quad *)(const void *)job->p + 8 * first; first < last; first++, q += 8) {
        for (size_t i = 0; i < 8; i++)
            sum[i] += q[i];
    }
    quad all = ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
    job->sink = all[0] + all[1] + all[2] + all[3];
}

static int run_sum(void *context) {
    sum_job *job = context;
    return on_threads(job->threads, sum_part, job);
}

static int bench_margin_at(size_t n, size_t c, const bench_options *o) {
    shape s;
    timing t, read;
    float *p = new_tensor(&s, n, 100, c, o);
    if (p == NULL)
        return 1;
    sum_job job = {p, s.n * s.m * s.c, s.threads, 0};
    double bytes = (double)job.count * sizeof *p;
    char more[80];
    int status = time_best(&read, run_sum, &job, o->runs) || time_score(&t, p, &s, MARGIN, NULL, 0, o->runs);
    if (status == 0) {
        snprintf(more, sizeof more, ", \"gb_per_s\": %.4g", bytes / read.ms * 1e-6);
        print_figure("read once", &s, &read, more);
        snprintf(more, sizeof more, ", \"k\": 3, \"gb_per_s\": %.4g", bytes / t.ms * 1e-6);
        print_figure("gmu, snr, decisions", &s, &t, more);
    }
    free(p);
    return status;
}

int bench_margin(const bench_options *o) { return bench_margin_at(100000, 10, o) || bench_margin_at(10000, 100, o); }

int bench_gates(const bench_options *o) {
    static const double k[16] = {0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75, 2, 2.25, 2.5, 2.75, 3, 3.5, 4, 5, 6};
    static const struct {
        const char *figure;
        int what;
    } sets[] = {{"all but GEPJS", EVERYTHING & ~GEPJS}, {"all but EPJS and GEPJS", EVERYTHING & ~EPJS & ~GEPJS}};
    static const size_t classes[] = {10, 100};
    int status = 0;
    for (size_t i = 0; i < 2 && status == 0; i++) {
        shape s;
        float *p = new_tensor(&s, 10000, 100, classes[i], o);
        status = p == NULL;
        for (size_t set = 0; set < 2; set++) {
            timing one, many;
            status = status || time_score(&one, p, &s, sets[set].what, k + 3, 1, o->runs) ||
                     time_score(&many, p, &s, sets[set].what, k, 16, o->runs);
            if (status == 0) {
                print_figure(sets[set].figure, &s, &one, ", \"k\": 1");
                print_figure(sets[set].figure, &s, &many, ", \"k\": 16");
            }
        }
        free(p);
    }
    return status;
}
