/* bench_gpu.c - training steps and MC-dropout prediction on a GPU. One JSON line per figure; bench/gpu.sh adds
 * PyTorch's figures.
 *
 *     bench_gpu --what train   [--network wrn-28-10] [--heads 100] [--batch 128] [--steps 60] [--epochs 5]
 *                              [--compute bfloat16] [--augment 1]
 *     bench_gpu --what predict [--network wrn-28-10] [--members 100] [--images 264] [--rows 660] [--compute bfloat16]
 *
 * Training: random images and labels, resident on the GPU (45,000 of 3 x 32 x 32, 54,000 of 28 x 28) in a new order
 * every epoch, with --augment 1 cropped, flipped, jittered and erased there. An epoch is `steps` steps; the figure is
 * the median of all epochs but the first, in which everything is allocated and recorded. Prediction: a network of one
 * head, trained for a step; a rate counts (image, pass) rows and is the best over several batch sizes, the median of
 * five runs each. Memory is what nvidia-smi reports for the whole GPU during training. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "one_batch.h"
#include "vargate/nn.h"

enum { CLASSES = 10, MOST_EPOCHS = 64, MOST_ROWS = 16, RUNS = 5 };

typedef struct request {
    const char *what, *network, *compute, *device, *rows;
    size_t heads, batch, steps, epochs, images, members, augment;
} request;

typedef struct noise {
    float *images; /* one batch, for progress and for devices without resident data */
    int32_t *labels;
    size_t *indices;
    size_t batch;
    unsigned char *pixels; /* the training set */
    int32_t *classes;
    size_t count, samples, side;
    int augment;
} noise;

typedef struct watch {
    double rates[MOST_EPOCHS];
    size_t count;
    char device[256];
    long memory_mib;
} watch;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, size_t count) {
    qsort(values, count, sizeof *values, ascending);
    return count ? (values[(count - 1) / 2] + values[count / 2]) / 2 : 0;
}

static void fill(float *values, size_t count) {
    uint64_t s = 88172645463325252u;
    for (size_t i = 0; i < count; i++) {
        s ^= s << 13, s ^= s >> 7, s ^= s << 17;
        values[i] = (float)((double)(s >> 40) / (1 << 24) * 3.4 - 1.7);
    }
}

static int failed(const char *doing) {
    fprintf(stderr, "bench_gpu: %s: %s\n", doing, vg_error_message());
    return 1;
}

/* --- images */

/* An order of the set that depends on the epoch: a walk with a stride prime to the number of images. */
static vg_status plan(void *context, uint64_t epoch, vg_sample_draw *samples) {
    const noise *n = context;
    uint64_t at = 7919 * epoch, draw = 88172645463325252u + epoch;
    for (size_t i = 0; i < n->samples; i++, at += 30011) {
        samples[i] = (vg_sample_draw){.index = (uint32_t)(at % n->count), .factor = {1, 1, 1, 1}};
        if (!n->augment)
            continue;
        draw ^= draw << 13, draw ^= draw >> 7, draw ^= draw << 17;
        samples[i].dy = (int16_t)((int)(draw % 9) - 4);
        samples[i].dx = (int16_t)((int)(draw / 9 % 9) - 4);
        samples[i].flip = draw >> 20 & 1;
        samples[i].erase = draw >> 21 & 1;
        samples[i].top = (uint16_t)((draw >> 22) % (n->side / 2));
        samples[i].left = (uint16_t)((draw >> 32) % (n->side / 2));
        samples[i].height = samples[i].width = (uint16_t)(n->side / 3);
        samples[i].jitter = 15;
        samples[i].order = 0 | 1 << 2 | 2 << 4 | 3 << 6;
        for (int k = 0; k < 3; k++)
            samples[i].factor[k] = 0.8f + 0.4f * (float)(draw >> (40 + 4 * k) & 15) / 15;
        samples[i].factor[3] = -0.1f + 0.2f * (float)(draw >> 52 & 15) / 15;
    }
    return VG_OK;
}

static void make_noise(noise *n, size_t batch, size_t channels, size_t side) {
    size_t pixels = channels * side * side;
    n->batch = batch;
    n->side = side;
    n->count = channels == 3 ? 45000 : 54000;
    n->images = malloc(batch * pixels * sizeof *n->images);
    n->labels = malloc(batch * sizeof *n->labels);
    n->indices = malloc(batch * sizeof *n->indices);
    n->pixels = malloc(n->count * pixels);
    n->classes = malloc(n->count * sizeof *n->classes);
    if (!n->images || !n->labels || !n->indices || !n->pixels || !n->classes) {
        fprintf(stderr, "bench_gpu: out of memory\n");
        exit(1);
    }
    fill(n->images, batch * pixels);
    for (size_t i = 0; i < batch; i++) {
        n->labels[i] = (int32_t)(i % CLASSES);
        n->indices[i] = i;
    }
    uint64_t draw = 2463534242u;
    for (size_t i = 0; i < n->count * pixels; i++) {
        draw = draw * 6364136223846793005u + 1442695040888963407u;
        n->pixels[i] = (unsigned char)(draw >> 56);
    }
    for (size_t i = 0; i < n->count; i++)
        n->classes[i] = (int32_t)(i % CLASSES);
}

static void free_noise(noise *n) {
    free(n->images);
    free(n->labels);
    free(n->indices);
    free(n->pixels);
    free(n->classes);
}

/* --- training */

/* MiB in use on the first GPU; -1 when nvidia-smi does not report it. */
static long memory_in_use(void) {
    long mib = -1;
    FILE *pipe = popen("nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits 2>/dev/null", "r");
    if (!pipe)
        return -1;
    if (fscanf(pipe, "%ld", &mib) != 1)
        mib = -1;
    pclose(pipe);
    return mib;
}

static int on_event(void *context, const vg_train_event *event) {
    watch *w = context;
    if (event->kind == VG_TRAIN_START && event->text)
        snprintf(w->device, sizeof w->device, "%s", event->text);
    if (event->kind != VG_TRAIN_EPOCH)
        return 0;
    if (event->metrics->epoch > 1 && w->count < MOST_EPOCHS)
        w->rates[w->count++] = event->metrics->images_per_s;
    if (event->metrics->epoch <= 2)
        w->memory_mib = memory_in_use();
    return 0;
}

static void folder_of(char out[256]) {
    snprintf(out, 256, "%s/vargate-bench-gpu-%ld", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp", (long)getpid());
}

static void clean(void) {
    static const char *const files[] = {"recipe.yaml", "run.json", "metrics.jsonl", "last.safetensors",
                                        "best.safetensors"};
    char folder[256], path[512];
    folder_of(folder);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        unlink(path);
    }
    rmdir(folder);
}

static vg_status train(const request *q, size_t heads, size_t steps, size_t epochs, watch *w) {
    int wide = strncmp(q->network, "wrn", 3) == 0;
    size_t channels = wide ? 3 : 1, side = wide ? 32 : 28;
    vg_recipe recipe;
    vg_train_result result;
    vg_train_options options = VG_TRAIN_OPTIONS_INIT;
    noise data = {.augment = q->augment != 0};
    char folder[256];
    folder_of(folder);
    vg_recipe_defaults(&recipe);
    snprintf(recipe.network, sizeof recipe.network, "%s", q->network);
    recipe.heads = heads;
    recipe.ensemble = heads == 1 ? VG_ENSEMBLE_MCD : VG_ENSEMBLE_LLE;
    recipe.monitor_passes = 1;
    recipe.dropout = wide ? 0.3 : 0.05;
    recipe.rate = wide ? 1e-4 : 1e-5;
    recipe.weight_decay = wide ? 1e-5 : 0;
    recipe.batch = q->batch;
    recipe.epochs = epochs;
    recipe.bn_refresh = 0;
    recipe.checkpoint_every = epochs;
    char compute[64];
    snprintf(compute, sizeof compute, "compute=%s", q->compute);
    vg_status status = vg_recipe_set(&recipe, compute);
    if (status != VG_OK)
        return status;
    make_noise(&data, q->batch, channels, side);
    data.samples = steps * q->batch;
    options.recipe = &recipe;
    options.folder = folder;
    options.device = q->device;
    options.channels = channels;
    options.height = options.width = side;
    options.classes = CLASSES;
    for (size_t c = 0; c < channels; c++) {
        options.mean[c] = 0.5;
        options.std[c] = 0.29;
    }
    vg_nn_batch batch = {data.images, data.labels, data.indices, q->batch};
    options.train = one_batch_feed(&batch, steps);
    options.validation = one_batch_feed(&batch, 1);
    options.resident = (vg_resident){&data, data.pixels, 0, data.classes, data.count, plan};
    options.event = on_event;
    options.event_context = w;
    status = vg_train(&result, &options);
    free_noise(&data);
    return status;
}

static void begin_line(const request *q, const char *what, double value, const char *unit, const char *device) {
    printf("{\"bench\": \"gpu\", \"what\": \"%s %s\", \"value\": %.1f, \"unit\": \"%s\", \"compute\": \"%s\", "
           "\"device\": \"",
           what, q->network, value, unit, q->compute);
    for (const char *c = device; *c; c++)
        putchar(*c == '"' || *c == '\\' || (unsigned char)*c < ' ' ? ' ' : *c);
    printf("\"");
}

static int bench_train(const request *q) {
    watch w = {.memory_mib = -1};
    if (train(q, q->heads, q->steps, q->epochs, &w) != VG_OK)
        return failed("training");
    double rate = median(w.rates, w.count);
    begin_line(q, "train", rate, "images/s", w.device);
    printf(", \"heads\": %zu, \"batch\": %zu, \"augment\": %s, \"steps\": %zu, \"epochs\": %zu, \"ms\": %.4f, "
           "\"best\": %.1f, "
           "\"used_mib\": %ld}\n",
           q->heads, q->batch, q->augment ? "true" : "false", q->steps, w.count, 1e3 * (double)q->batch / rate,
           w.count ? w.rates[w.count - 1] : 0, w.memory_mib);
    return 0;
}

/* --- prediction */

/* (image, pass) rows per second with the given number of rows at once; negative: failed. */
static double predict(const request *q, size_t rows, char device[256]) {
    char folder[256], path[512];
    vg_predictor *predictor;
    vg_predictor_options options = VG_PREDICTOR_OPTIONS_INIT;
    folder_of(folder);
    snprintf(path, sizeof path, "%s/last.safetensors", folder);
    options.device = q->device;
    options.members = q->members;
    options.rows = rows;
    if (vg_predictor_open(&predictor, path, &options) != VG_OK)
        return -1;
    vg_predictor_info info = VG_PREDICTOR_INFO_INIT;
    vg_predictor_describe(&info, predictor);
    snprintf(device, 256, "%s", info.device);
    size_t pixels = info.channels * info.height * info.width, values = q->members * info.classes;
    float *images = malloc(q->images * pixels * sizeof *images), *logits = malloc(q->images * values * sizeof *logits);
    double times[RUNS], rate = -1;
    if (images && logits) {
        fill(images, q->images * pixels);
        vg_status status = vg_predictor_run(predictor, logits, images, q->images, 0);
        for (int i = 0; i < RUNS && status == VG_OK; i++) {
            times[i] = now();
            status = vg_predictor_run(predictor, logits, images, q->images, 0);
            times[i] = now() - times[i];
        }
        if (status == VG_OK)
            rate = (double)(q->images * q->members) / median(times, RUNS);
    }
    free(images);
    free(logits);
    vg_predictor_free(predictor);
    return rate;
}

static int bench_predict(const request *q) {
    watch w = {.memory_mib = -1};
    char device[256] = "";
    double best = 0;
    size_t best_rows = 0;
    if (train(q, 1, 1, 1, &w) != VG_OK)
        return failed("training a step");
    const char *at = q->rows;
    while (*at) {
        char *end;
        size_t rows = strtoul(at, &end, 10);
        if (end == at)
            break;
        double rate = predict(q, rows, device);
        if (rate < 0)
            return failed("predicting");
        fprintf(stderr, "bench_gpu: %zu rows at once: %.0f image-passes/s\n", rows, rate);
        if (rate > best) {
            best = rate;
            best_rows = rows;
        }
        at = *end == ',' ? end + 1 : end;
    }
    begin_line(q, "predict", best, "image-passes/s", device);
    printf(", \"members\": %zu, \"images\": %zu, \"rows\": %zu, \"images_per_s\": %.2f}\n", q->members, q->images,
           best_rows, best / (double)q->members);
    return 0;
}

/* --- arguments */

static int usage(void) {
    fprintf(stderr,
            "usage: bench_gpu --what train|predict [--network NAME] [--heads H] [--batch B] [--steps S] [--epochs E]\n"
            "                 [--images N] [--members M] [--rows R,...] [--compute bfloat16|float32] [--device cuda]\n"
            "                 [--augment 0|1]\n");
    return 2;
}

int main(int argc, char **argv) {
    request q = {"train", "wrn-28-10", "bfloat16", "cuda", "660", 100, 128, 60, 5, 264, 100, 0};
    const struct {
        const char *name;
        const char **text;
        size_t *number;
    } flags[] = {{"--what", &q.what, NULL},     {"--network", &q.network, NULL}, {"--compute", &q.compute, NULL},
                 {"--device", &q.device, NULL}, {"--rows", &q.rows, NULL},       {"--heads", NULL, &q.heads},
                 {"--batch", NULL, &q.batch},   {"--steps", NULL, &q.steps},     {"--epochs", NULL, &q.epochs},
                 {"--images", NULL, &q.images}, {"--members", NULL, &q.members}, {"--augment", NULL, &q.augment}};
    for (int i = 1; i < argc; i += 2) {
        size_t k = 0, count = sizeof flags / sizeof *flags;
        while (k < count && strcmp(argv[i], flags[k].name) != 0)
            k++;
        if (k == count || i + 1 == argc)
            return usage();
        if (flags[k].text)
            *flags[k].text = argv[i + 1];
        else
            *flags[k].number = strtoul(argv[i + 1], NULL, 10);
    }
    if (!q.heads || !q.batch || !q.steps || !q.epochs || !q.images || !q.members)
        return usage();
    int code = strcmp(q.what, "train") == 0     ? bench_train(&q)
               : strcmp(q.what, "predict") == 0 ? bench_predict(&q)
                                                : usage();
    clean();
    return code;
}
