/* bench_train.c - training and MC-dropout prediction of the paper's CNN on the CPU, beside OpenBLAS's sgemm and, where
 * a Python with PyTorch is named by VARGATE_PEER_PYTHON, PyTorch in the same run (bench/peers/train_torch.py). One JSON
 * line per figure.
 *
 *     bench_train [--steps S] [--threads T] [--images N] [--quick]
 *
 * A training image costs 190 MFLOP: convolutions and the 2048 x 2048 layer, forward and both gradients (no data
 * gradient for the first convolution). "share of sgemm" compares images/s x that with the rate of a 2048^3 float32
 * product; it exceeds 1 where the convolutions need fewer multiplications than their definition
 * (docs/design/training-engine.md). */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "one_batch.h"
#include "vargate/formats.h"
#include "vargate/measures.h"
#include "vargate/nn.h"

enum { BATCH = 128, IMAGE = 28 * 28 };

typedef struct noise {
    float *images;
    int32_t labels[BATCH];
    size_t indices[BATCH];
} noise;

static size_t steps = 30, images_predicted = 1000;
static unsigned threads = 2;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void fill(float *values, size_t count) {
    uint64_t s = 88172645463325252u;
    for (size_t i = 0; i < count; i++) {
        s ^= s << 13, s ^= s >> 7, s ^= s << 17;
        values[i] = (float)((double)(s >> 40) / (1 << 24) * 3.4 - 1.7);
    }
}

static void say(const char *what, const char *compute, size_t heads, double value, const char *unit, double share) {
    printf(
        "{\"bench\": \"%s\", \"compute\": \"%s\", \"heads\": %zu, \"value\": %.1f, \"unit\": \"%s\", \"threads\": %u, "
        "\"tier\": \"%s\", "
        "\"backend\": \"cpu\"",
        what, compute, heads, value, unit, threads, vg_cpu_tier());
    if (share > 0)
        printf(", \"share_of_sgemm\": %.3f", share);
    printf("}\n");
    fflush(stdout);
}

/* --- OpenBLAS */

typedef void (*sgemm_fn)(int, int, int, int, int, int, float, const float *, int, const float *, int, float, float *,
                         int);

/* GFLOP/s of a 2048^3 product, the best of several; 0 where there is no OpenBLAS. */
static double sgemm_rate(void) {
    enum { N = 2048 };
    void *library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return 0;
    sgemm_fn sgemm;
    void (*set_threads)(int);
    *(void **)&sgemm = dlsym(library, "cblas_sgemm");
    *(void **)&set_threads = dlsym(library, "openblas_set_num_threads");
    if (!sgemm)
        return 0;
    if (set_threads)
        set_threads((int)threads);
    float *a = malloc(sizeof(float) * N * N), *b = malloc(sizeof(float) * N * N), *c = malloc(sizeof(float) * N * N);
    fill(a, (size_t)N * N);
    fill(b, (size_t)N * N);
    double best = 1e9;
    for (int i = 0; i < 6; i++) {
        double t = now();
        sgemm(101, 111, 111, N, N, N, 1.0f, a, N, b, N, 0.0f, c, N);
        t = now() - t;
        best = t < best ? t : best;
    }
    free(a);
    free(b);
    free(c);
    return 2.0 * N * N * N / best / 1e9;
}

/* --- ours */

static double best_epoch;

static int on_event(void *context, const vg_train_event *event) {
    (void)context;
    if (event->kind == VG_TRAIN_EPOCH && event->metrics->epoch > 1 && event->metrics->images_per_s > best_epoch)
        best_epoch = event->metrics->images_per_s;
    return 0;
}

static const char *folder_of(size_t heads, int bfloat16) {
    static char folder[128];
    snprintf(folder, sizeof folder, "%s/vargate-bench-%ld-%zu-%d", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp",
             (long)getpid(), heads, bfloat16);
    return folder;
}

static vg_status train(size_t heads, int bfloat16, noise *data) {
    vg_recipe recipe;
    vg_train_result result;
    vg_train_options options = VG_TRAIN_OPTIONS_INIT;
    vg_recipe_defaults(&recipe);
    recipe.heads = heads;
    recipe.ensemble = heads == 1 ? VG_ENSEMBLE_MCD : VG_ENSEMBLE_LLE;
    recipe.monitor_passes = 1;
    recipe.bfloat16 = bfloat16;
    recipe.epochs = 4;
    recipe.checkpoint_every = 100;
    options.recipe = &recipe;
    options.folder = folder_of(heads, bfloat16);
    options.device = "cpu";
    options.threads = threads;
    options.channels = 1;
    options.height = options.width = 28;
    options.classes = 10;
    vg_nn_batch batch = {data->images, data->labels, data->indices, BATCH};
    options.train = one_batch_feed(&batch, steps);
    options.validation = one_batch_feed(&batch, 1);
    options.event = on_event;
    best_epoch = 0;
    return vg_train(&result, &options);
}

/* 100 stochastic passes of the network just trained, the deterministic part once per image. */
static vg_status predict(int bfloat16, double *rate) {
    char path[256];
    vg_predictor *predictor;
    vg_predictor_options options = VG_PREDICTOR_OPTIONS_INIT;
    snprintf(path, sizeof path, "%s/last.safetensors", folder_of(1, bfloat16));
    options.device = "cpu";
    options.threads = threads;
    options.members = 100;
    vg_status status = vg_predictor_open(&predictor, path, &options);
    if (status != VG_OK)
        return status;
    float *images = malloc(images_predicted * IMAGE * sizeof *images),
          *logits = malloc(images_predicted * 1000 * sizeof *logits);
    fill(images, images_predicted * IMAGE);
    status = vg_predictor_run(predictor, logits, images, 2, 0);
    double t = now();
    if (status == VG_OK)
        status = vg_predictor_run(predictor, logits, images, images_predicted, 0);
    *rate = (double)images_predicted / (now() - t);
    free(images);
    free(logits);
    vg_predictor_free(predictor);
    return status;
}

static void clean(size_t heads, int bfloat16) {
    static const char *const files[] = {"recipe.yaml", "run.json", "metrics.jsonl", "last.safetensors",
                                        "best.safetensors"};
    char path[256];
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%s/%s", folder_of(heads, bfloat16), files[i]);
        unlink(path);
    }
    rmdir(folder_of(heads, bfloat16));
}

static int measure(double sgemm, noise *data) {
    static const size_t heads[] = {1, 100};
    for (int bfloat16 = 0; bfloat16 < 2; bfloat16++) {
        const char *compute = bfloat16 ? "bfloat16" : "float32";
        for (size_t i = 0; i < 2; i++) {
            vg_status status = train(heads[i], bfloat16, data);
            double rate = 0, flop = 190e6 + (heads[i] > 1 ? 3 * 2.0 * 2048 * 1000 : 0);
            if (status == VG_OK)
                say("train MNIST CNN", compute, heads[i], best_epoch, "images/s",
                    sgemm > 0 && !bfloat16 ? best_epoch * flop / 1e9 / sgemm : 0);
            if (status == VG_OK && heads[i] == 1) {
                status = predict(bfloat16, &rate);
                if (status == VG_OK)
                    say("predict MNIST CNN, 100 MC-dropout passes", compute, 1, rate, "images/s", 0);
            }
            clean(heads[i], bfloat16);
            if (status == VG_ERR_UNSUPPORTED && bfloat16)
                return 0;
            if (status != VG_OK)
                return fprintf(stderr, "bench_train: %s\n", vg_error_message()), 1;
        }
    }
    return 0;
}

int main(int argc, char **argv) {
    static noise data;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--quick") == 0)
            steps = 6, images_predicted = 20;
        else if (i + 1 < argc && strcmp(argv[i], "--steps") == 0)
            steps = strtoul(argv[++i], NULL, 10);
        else if (i + 1 < argc && strcmp(argv[i], "--threads") == 0)
            threads = (unsigned)strtoul(argv[++i], NULL, 10);
        else if (i + 1 < argc && strcmp(argv[i], "--images") == 0)
            images_predicted = strtoul(argv[++i], NULL, 10);
        else
            return fprintf(stderr, "usage: bench_train [--steps S] [--threads T] [--images N] [--quick]\n"), 2;
    }
    data.images = malloc(BATCH * IMAGE * sizeof *data.images);
    fill(data.images, BATCH * IMAGE);
    for (int i = 0; i < BATCH; i++) {
        data.labels[i] = i % 10;
        data.indices[i] = (size_t)i;
    }
    double sgemm = sgemm_rate();
    if (sgemm > 0)
        say("OpenBLAS sgemm 2048", "float32", 0, sgemm, "GFLOP/s", 0);
    int code = measure(sgemm, &data);
    free(data.images);
    const char *python = getenv("VARGATE_PEER_PYTHON");
    if (code == 0 && python) {
        char command[1024];
        snprintf(command, sizeof command, "'%s' bench/peers/train_torch.py --steps %zu --threads %u --images %zu",
                 python, steps, threads, images_predicted);
        fflush(stdout);
        code = system(command) != 0;
    }
    return code;
}
