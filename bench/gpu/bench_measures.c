/* bench_measures.c - the speed of scoring on a GPU: one JSON line per figure.
 *
 *     bench_measures [--n 10000] [--m 100] [--runs 20] [--classes 10,100]
 *     bench_measures --grid 200 [--members 1,5,100] [--runs 20] [--classes 10,19]
 *
 * Everything is computed (all measures at k = 1, 2, 3, mean and std, classes, decisions, flags) on seeded float32
 * Dirichlet(1) predictions. Figures: "device", predictions and results in device memory; "device-host", results to host
 * memory; "host", both in ordinary host memory. Seconds are the least of the runs, the median beside it; "difference"
 * is the largest from the CPU's results (relative above 1 for SNR) on the first samples.
 *
 * --grid MB: for every number of members and classes, ns per element for TU AU EU and for everything but mean and std,
 * MB of predictions and the results in device memory. */
#define _GNU_SOURCE
#include <cuda_runtime_api.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "vargate/measures.h"

enum { K = 3, CHECKED = 200, MOST_RUNS = 1000 };

typedef struct shape {
    size_t n, m, c;
} shape;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *need(void *memory) {
    if (!memory) {
        fprintf(stderr, "bench_measures: out of memory\n");
        exit(1);
    }
    return memory;
}

static void must(int good, const char *doing) {
    if (good)
        return;
    fprintf(stderr, "bench_measures: %s: %s\n", doing, vg_error_message());
    exit(1);
}

/* Dirichlet(1) rows. */
static float *draw(shape s) {
    float *p = need(malloc(s.n * s.m * s.c * sizeof *p));
    uint64_t state = 1;
    for (size_t row = 0; row < s.n * s.m; row++) {
        float sum = 0, *at = p + row * s.c;
        for (size_t c = 0; c < s.c; c++) {
            uint64_t x = (state += 0x9e3779b97f4a7c15u);
            x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
            x = (x ^ x >> 27) * 0x94d049bb133111ebu;
            sum += at[c] = -logf((float)((x >> 40) + 1) * 0x1p-24f) + 1e-12f;
        }
        for (size_t c = 0; c < s.c; c++)
            at[c] /= sum;
    }
    return p;
}

/* Every array of results, one after another from `memory` on (doubles first). */
static size_t doubles(shape s) { return s.n * (8 + 6 * K + 2 * s.c); }
static vg_scores places(double *memory, shape s) {
    vg_scores out = {0};
    double **single[] = {&out.tu, &out.au, &out.eu, &out.epce, &out.epkl, &out.epjs, &out.gmu, &out.snr};
    double **gated[] = {&out.gtu, &out.gau, &out.geu, &out.gepce, &out.gepkl, &out.gepjs};
    for (int i = 0; i < 8; i++, memory += s.n)
        *single[i] = memory;
    for (int i = 0; i < 6; i++, memory += s.n * K)
        *gated[i] = memory;
    out.mean = memory;
    out.std = memory += s.n * s.c;
    int32_t *classes = (int32_t *)(void *)(memory + s.n * s.c);
    out.pred = classes;
    out.second = classes + s.n;
    out.flags = (uint32_t *)(classes + 2 * s.n);
    out.decision = classes + 3 * s.n;
    return out;
}
static size_t place_bytes(shape s) { return doubles(s) * 8 + s.n * (3 + K) * 4; }

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Where predictions and results lie. */
typedef struct feed {
    const char *name;
    const vg_scores *out;
    const vg_predictions *p;
    vg_scorer_feed_options options;
} feed;

static void figure(vg_scorer *scorer, shape s, feed f, int runs, double difference) {
    static double seconds[MOST_RUNS];
    for (int i = -2; i < runs; i++) {
        double start = now();
        must(vg_scorer_feed(scorer, f.out, f.p, &f.options) == VG_OK, f.name);
        if (i >= 0)
            seconds[i] = now() - start;
    }
    qsort(seconds, (size_t)runs, sizeof *seconds, ascending);
    printf("{\"figure\": \"measures-%s\", \"device\": \"%s\", \"n\": %zu, \"m\": %zu, \"c\": %zu, \"k\": %d, "
           "\"seconds\": %.6g, "
           "\"median\": %.6g, \"samples_per_s\": %.6g, \"difference\": %.3g}\n",
           f.name, vg_scorer_device(scorer), s.n, s.m, s.c, K, seconds[0], seconds[runs / 2], (double)s.n / seconds[0],
           difference);
    fflush(stdout);
}

/* The largest difference from the CPU's results on the first samples; infinite when a class or decision differs. */
static double difference_from_cpu(const float *p, const vg_scores *got, shape s) {
    shape few = {s.n < CHECKED ? s.n : CHECKED, s.m, s.c};
    double *memory = need(malloc(place_bytes(few))), most = 0;
    vg_scores want = places(memory, few);
    vg_score_options options = VG_SCORE_OPTIONS_INIT;
    vg_predictions view = vg_predictions_f32(p, few.n, s.m, s.c);
    must(vg_score(&want, NULL, &view, &options) == VG_OK, "the CPU's scores");
    const double *a[] = {want.tu,  want.au,  want.eu,  want.epce,  want.epkl,  want.epjs,  want.gmu,  want.snr,
                         want.gtu, want.gau, want.geu, want.gepce, want.gepkl, want.gepjs, want.mean, want.std};
    const double *b[] = {got->tu,  got->au,  got->eu,  got->epce,  got->epkl,  got->epjs,  got->gmu,  got->snr,
                         got->gtu, got->gau, got->geu, got->gepce, got->gepkl, got->gepjs, got->mean, got->std};
    for (int f = 0; f < 16; f++) {
        size_t width = f < 8 ? 1 : f < 14 ? K : s.c;
        for (size_t i = 0; i < few.n * width; i++) {
            double d = fabs(a[f][i] - b[f][i]) / (f == 7 ? fmax(1, a[f][i]) : 1);
            most = d <= most ? most : d;
        }
    }
    if (memcmp(want.pred, got->pred, few.n * 4) || memcmp(want.second, got->second, few.n * 4) ||
        memcmp(want.flags, got->flags, few.n * 4) || memcmp(want.decision, got->decision, few.n * K * 4))
        most = INFINITY;
    free(memory);
    return most;
}

static void measure(shape s, int runs) {
    float *p = draw(s), *p_device;
    double *host = need(calloc(1, place_bytes(s))), *device;
    vg_score_options options = VG_SCORE_OPTIONS_INIT;
    feed device_only = {"device", NULL, NULL, VG_SCORER_FEED_OPTIONS_INIT}, to_host = device_only, host_only = to_host;
    vg_scorer *scorer;
    options.device = VG_SCORE_ON_CUDA;
    size_t bytes = s.n * s.m * s.c * sizeof *p;
    must(vg_scorer_new(&scorer, s.m, s.c, &options) == VG_OK, vg_error_message());
    must(cudaMalloc((void **)&p_device, bytes) == cudaSuccess &&
             cudaMalloc((void **)&device, place_bytes(s)) == cudaSuccess &&
             cudaMemcpy(p_device, p, bytes, cudaMemcpyHostToDevice) == cudaSuccess,
         "device memory");
    vg_predictions here = vg_predictions_f32(p, s.n, s.m, s.c), there = vg_predictions_f32(p_device, s.n, s.m, s.c);
    vg_scores out = places(host, s), out_device = places(device, s);
    device_only.out = &out_device, device_only.p = &there;
    device_only.options.predictions = device_only.options.scores = VG_MEMORY_DEVICE;
    to_host.name = "device-host", to_host.out = &out, to_host.p = &there;
    to_host.options.predictions = VG_MEMORY_DEVICE;
    host_only.name = "host", host_only.out = &out, host_only.p = &here;
    must(vg_scorer_feed(scorer, &out, &there, &to_host.options) == VG_OK, "scoring");
    double difference = difference_from_cpu(p, &out, s);
    figure(scorer, s, device_only, runs, difference);
    figure(scorer, s, to_host, runs, difference);
    figure(scorer, s, host_only, runs < 5 ? runs : 5, difference);
    vg_scorer_free(scorer);
    (void)cudaFree(p_device);
    (void)cudaFree(device);
    free(host);
    free(p);
}

/* Seconds of the fastest run. */
static double fastest(vg_scorer *scorer, const vg_scores *out, const vg_predictions *p, int runs) {
    vg_scorer_feed_options options = VG_SCORER_FEED_OPTIONS_INIT;
    double best = INFINITY;
    options.predictions = options.scores = VG_MEMORY_DEVICE;
    for (int i = -2; i < runs; i++) {
        double start = now();
        must(vg_scorer_feed(scorer, out, p, &options) == VG_OK, "scoring");
        double seconds = now() - start;
        best = i >= 0 && seconds < best ? seconds : best;
    }
    return best;
}

/* Fills `bytes` of device memory with samples of which about two million values are drawn and the rest repeated. */
static float *fill(shape s, size_t bytes) {
    size_t each = s.m * s.c, few = 2000000 / each > 0 ? 2000000 / each : 1, done;
    shape part = {few < s.n ? few : s.n, s.m, s.c};
    float *p = draw(part), *device;
    must(cudaMalloc((void **)&device, bytes) == cudaSuccess, "device memory");
    done = part.n * each * sizeof *p;
    must(cudaMemcpy(device, p, done, cudaMemcpyHostToDevice) == cudaSuccess, "predictions");
    for (size_t more; done < bytes; done += more) {
        more = bytes - done < done ? bytes - done : done;
        must(cudaMemcpy((char *)device + done, device, more, cudaMemcpyDeviceToDevice) == cudaSuccess, "predictions");
    }
    free(p);
    return device;
}

static void grid_point(shape s, double megabytes, int runs) {
    size_t each = s.m * s.c * sizeof(float);
    s.n = (size_t)(megabytes * 1e6) / each > 0 ? (size_t)(megabytes * 1e6) / each : 1;
    float *p = fill(s, s.n * each);
    vg_predictions view = vg_predictions_f32(p, s.n, s.m, s.c);
    vg_score_options options = VG_SCORE_OPTIONS_INIT;
    double *memory, element = 1e9 / ((double)s.n * (double)s.m * (double)s.c);
    options.device = VG_SCORE_ON_CUDA;
    must(cudaMalloc((void **)&memory, place_bytes(s)) == cudaSuccess, "device memory");
    vg_scores all = places(memory, s), three = {.tu = all.tu, .au = all.au, .eu = all.eu};
    all.mean = all.std = NULL;
    vg_scorer *scorer;
    must(vg_scorer_new(&scorer, s.m, s.c, &options) == VG_OK, "a scorer");
    double fast = fastest(scorer, &three, &view, runs), full = fastest(scorer, &all, &view, runs);
    printf("{\"figure\": \"grid\", \"m\": %zu, \"c\": %zu, \"n\": %zu, \"three\": %.4f, \"everything\": %.4f}\n", s.m,
           s.c, s.n, fast * element, full * element);
    fflush(stdout);
    vg_scorer_free(scorer);
    (void)cudaFree(p);
    (void)cudaFree(memory);
}

/* The number at *list, which moves past it and its comma; 0 where there is none. */
static size_t next_number(const char **list) {
    char *end;
    size_t value = strtoul(*list, &end, 10);
    if (end == *list)
        value = 0;
    *list = *end == ',' ? end + 1 : end;
    return value;
}

static int usage(void) {
    fprintf(stderr,
            "usage: bench_measures [--n N] [--m M] [--runs R] [--classes C,...] [--grid MB] [--members M,...]\n");
    return 2;
}

int main(int argc, char **argv) {
    shape s = {10000, 100, 0};
    int runs = 20;
    double megabytes = 0;
    const char *classes = "10,100", *members = "1,2,3,5,8,10,16,20,50,100,1000";
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--n") == 0)
            s.n = strtoul(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--m") == 0)
            s.m = strtoul(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--runs") == 0)
            runs = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--classes") == 0)
            classes = argv[i + 1];
        else if (strcmp(argv[i], "--members") == 0)
            members = argv[i + 1];
        else if (strcmp(argv[i], "--grid") == 0)
            megabytes = atof(argv[i + 1]);
    }
    runs = runs < 1 ? 1 : runs > MOST_RUNS ? MOST_RUNS : runs;
    for (const char *m = megabytes > 0 ? members : "1"; *m;) {
        size_t count = next_number(&m);
        for (const char *at = classes; *at;) {
            s.c = next_number(&at);
            s.m = megabytes > 0 ? count : s.m;
            if (s.n < 1 || s.m < 1 || s.c < 2)
                return usage();
            if (megabytes > 0)
                grid_point(s, megabytes, runs);
            else
                measure(s, runs);
        }
    }
    return 0;
}
