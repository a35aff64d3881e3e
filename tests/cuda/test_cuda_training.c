/* test_cuda_training.c - training on the GPU: the same bits for the same seed, also after being killed and resumed; the
 * CPU's losses, gradients and predictions in float32; steps over resident images against steps over the same images
 * uploaded by batch.
 *
 * A process that has used a GPU cannot share it with its children, so the trainings come first, each in a child, and
 * the tests in this process come after them. VARGATE_TRAINING_DEVICE names another device to test. */
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/random.h"
#include "checkpoint_arrays.h"
#include "folder_util.h"
#include "nn/learner.h"
#include "nn/predictor.h"
#include "nn/train_device.h"
#include "vargate/formats.h"
#include "vargate/nn.h"

#define OK(call)                                                                                                       \
    do {                                                                                                               \
        if ((call) != VG_OK)                                                                                           \
            fail_msg("%s: %s", #call, vg_error_message());                                                             \
    } while (0)

enum { MOST = 3 * 32 * 32, BATCH = 32, TRAIN = 200, VALID = 60, STEPS = (TRAIN + BATCH - 1) / BATCH, CLASSES = 10 };

static const char *device = "cuda";
static bool there; /* the device opens */

/* --- images: a bright square whose position is the class, and noise; in bytes */

typedef struct set {
    size_t channels, side, count, steps;
    bool shuffle, augment;
    uint64_t epoch;
    size_t step;
    unsigned char *pixels; /* [count][channels][side][side] */
    int32_t *classes;
    float images[BATCH * MOST];
    int32_t labels[BATCH];
    size_t indices[BATCH];
} set;

static const double mean = 0.4, deviation = 0.25;

static void make_set(set *s, uint64_t stream, size_t count, size_t channels, size_t side, bool shuffle) {
    *s = (set){
        .channels = channels, .side = side, .count = count, .steps = (count + BATCH - 1) / BATCH, .shuffle = shuffle};
    size_t plane = side * side, image = channels * plane;
    s->pixels = malloc(count * image);
    s->classes = malloc(count * sizeof *s->classes);
    vg_random random = vg_random__start(77, stream);
    for (size_t i = 0; i < count; i++) {
        size_t label = i % CLASSES;
        s->classes[i] = (int32_t)label;
        for (size_t k = 0; k < image; k++) {
            size_t y = k % plane / side, x = k % side, top = 2 + label / 5 * 7, left = 1 + label % 5 * 3;
            double v = 0.35 + 0.15 * vg_random__normal(&random);
            v += y >= top && y < top + 5 && x >= left && x < left + 3 ? 0.35 : 0;
            s->pixels[i * image + k] = (unsigned char)(255 * (v < 0 ? 0 : v > 1 ? 1 : v));
        }
    }
}

static void free_set(set *s) {
    free(s->pixels);
    free(s->classes);
}

static void order_of(const set *s, uint64_t epoch, size_t *order) {
    for (size_t i = 0; i < s->count; i++)
        order[i] = i;
    vg_random random = vg_random__start(5, epoch);
    if (s->shuffle)
        vg_random__shuffle(&random, order, s->count);
}

static vg_status seek(void *context, uint64_t epoch, size_t step) {
    set *s = context;
    s->epoch = epoch + step / s->steps;
    s->step = step % s->steps;
    return VG_OK;
}

static vg_status next(void *context, vg_nn_batch *batch) {
    set *s = context;
    size_t image = s->channels * s->side * s->side, first = s->step * BATCH, order[TRAIN];
    size_t n = s->count - first < BATCH ? s->count - first : BATCH;
    order_of(s, s->epoch, order);
    for (size_t i = 0; i < n; i++) {
        s->indices[i] = order[first + i];
        s->labels[i] = s->classes[order[first + i]];
        for (size_t k = 0; k < image; k++)
            s->images[i * image + k] = (float)((s->pixels[order[first + i] * image + k] / 255.0 - mean) / deviation);
    }
    *batch = (vg_nn_batch){s->images, s->labels, s->indices, n};
    if (++s->step == s->steps) {
        s->step = 0;
        s->epoch++;
    }
    return VG_OK;
}

static vg_status plan(void *context, uint64_t epoch, vg_sample_draw *samples) {
    set *s = context;
    size_t order[TRAIN];
    order_of(s, epoch, order);
    vg_random random = vg_random__start(6, epoch);
    for (size_t i = 0; i < s->count; i++) {
        samples[i] = (vg_sample_draw){.index = (uint32_t)order[i], .factor = {1, 1, 1, 0}};
        if (!s->augment)
            continue;
        samples[i].dy = (int16_t)((int)vg_random__below(&random, 5) - 2);
        samples[i].dx = (int16_t)((int)vg_random__below(&random, 5) - 2);
        samples[i].flip = (uint8_t)vg_random__below(&random, 2);
        samples[i].erase = (uint8_t)vg_random__below(&random, 2);
        samples[i].top = samples[i].left = (uint16_t)vg_random__below(&random, s->side / 2);
        samples[i].height = samples[i].width = (uint16_t)(s->side / 4);
        samples[i].jitter = s->channels == 3 ? 15 : 3;
        samples[i].order = 2 | 0 << 2 | 3 << 4 | 1 << 6;
        samples[i].factor[0] = samples[i].factor[1] = samples[i].factor[2] = 1.1f;
        samples[i].factor[3] = 0.05f;
    }
    return VG_OK;
}

/* --- runs in children */

typedef struct job {
    const char *name;
    const char *const *changes;
    int stop_at, kill_at, kill_in_checkpoint;
    bool resume, resident;
    bool second; /* on a device that another network was trained on just before, as in a deep ensemble */
} job;

typedef struct outcome {
    int status; /* vg_status, -1: killed */
    char message[400];
} outcome;

static const job *current;
static int checkpoints;

static int on_event(void *context, const vg_train_event *event) {
    (void)context;
    if (event->kind == VG_TRAIN_CHECKPOINT && ++checkpoints == current->kill_in_checkpoint)
        kill(getpid(), SIGKILL);
    if (event->kind != VG_TRAIN_STEP)
        return 0;
    int step = (int)(event->epoch * event->steps + event->step);
    if (step == current->kill_at)
        kill(getpid(), SIGKILL);
    return current->stop_at && step >= current->stop_at;
}

static void path_of(char out[512], const char *run, const char *file) {
    snprintf(out, 512, "%s/%s/%s", folder, run, file);
}

/* Opens a device to be shared, and trains a network of another seed on it. */
static void train_another(vg_train_options *options) {
    vg_train_options first;
    vg_recipe recipe = *options->recipe;
    vg_train_result result;
    char run[600];
    OK(vg_train_device__new(&options->shared, 0));
    first = *options;
    recipe.seed += 1;
    snprintf(run, sizeof run, "%s-first", options->folder);
    first.recipe = &recipe;
    first.folder = run;
    OK(vg_train(&result, &first));
}

static outcome train_here(const job *j) {
    static set training, validation;
    outcome o = {0};
    char run[512];
    vg_recipe recipe;
    vg_train_result result;
    vg_train_options options = VG_TRAIN_OPTIONS_INIT;
    vg_recipe_defaults(&recipe);
    const char *base[] = {"name=test", "network=cnn-16-48", "heads=6",     "batch=32",
                          "epochs=3",  "rate=1e-3",         "dropout=0.1", NULL};
    for (const char **c = base; *c; c++)
        OK(vg_recipe_set(&recipe, *c));
    for (const char *const *c = j->changes; c && *c; c++)
        OK(vg_recipe_set(&recipe, *c));
    bool wide = strncmp(recipe.network, "wrn", 3) == 0;
    size_t channels = wide ? 3 : 1, side = wide ? 32 : 28;
    make_set(&training, 1, TRAIN, channels, side, true);
    make_set(&validation, 2, VALID, channels, side, false);
    training.augment = true;
    path_of(run, j->name, "");
    current = j;
    options.recipe = &recipe;
    options.folder = run;
    options.device = device;
    options.threads = 2;
    options.resume = j->resume;
    options.channels = channels;
    options.height = options.width = side;
    options.classes = CLASSES;
    for (size_t c = 0; c < channels; c++) {
        options.mean[c] = mean;
        options.std[c] = deviation;
    }
    options.train = (vg_feed){&training, training.count, training.steps, seek, next};
    options.validation = (vg_feed){&validation, validation.count, validation.steps, seek, next};
    if (j->resident)
        options.resident = (vg_resident){&training, training.pixels, 0, training.classes, training.count, plan};
    options.event = on_event;
    if (j->second)
        train_another(&options);
    o.status = (int)vg_train(&result, &options);
    snprintf(o.message, sizeof o.message, "%s", o.status ? vg_error_message() : "");
    vg_train_device__free(options.shared);
    return o;
}

/* Runs `work` in a child and returns its result, or {-1} when it was killed. */
static outcome in_child(outcome (*work)(const job *), const job *j) {
    int ends[2];
    outcome o = {.status = -1};
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        o = work(j);
        ssize_t written = write(ends[1], &o, sizeof o);
        _exit(written == sizeof o ? 0 : 1);
    }
    close(ends[1]);
    outcome got;
    ssize_t length = read(ends[0], &got, sizeof got);
    close(ends[0]);
    waitpid(child, NULL, 0);
    if (length == sizeof got)
        o = got;
    return o;
}

static void trained(job j) {
    outcome o = in_child(train_here, &j);
    if (o.status != VG_OK)
        fail_msg("%s: %s", j.name, o.status < 0 ? "killed" : o.message);
}

static outcome open_device(const job *j) {
    (void)j;
    vg_backend *b;
    outcome o = {.status = (int)vg_backend__open(&b, device, NULL)};
    if (o.status == VG_OK)
        vg_backend__close(b);
    else
        snprintf(o.message, sizeof o.message, "%s", vg_error_message());
    return o;
}

static void need_device(void) {
    if (!there)
        skip();
}

/* Arrays of two checkpoints, byte for byte. */
static void same_checkpoint(const char *a, const char *b) {
    char one[512], two[512];
    path_of(one, a, "last.safetensors");
    path_of(two, b, "last.safetensors");
    same_arrays(one, two);
}

static const char *const sent[] = {"head_features=0.25", "head_prior=2",    "head_bootstrap=yes", "head_anchor=0.01",
                                   "head_init_scale=2",  "schedule=cosine", "weight_decay=1e-4",  NULL};
static const char *const stored[] = {"head_features=0.25", "schedule=cosine", "weight_decay=1e-4", "compute=bfloat16",
                                     NULL};
static const char *const gated[] = {"loss=gated", "rate=2e-3", "compute=bfloat16", NULL};
static const char *const joint[] = {"loss=gated", "ensemble=deep", "heads=1", "members=3", "ema=0.5", NULL};
static const char *const wide[] = {"network=wrn-10-1", "dropout=0.3", "epochs=2", "compute=bfloat16", NULL};

static const char *const steered[] = {"optimiser=sgd", "rate=0.02", "momentum=0.9",        "nesterov=yes",
                                      "clip_norm=1",   "ema=0.9",   "label_smoothing=0.1", "schedule=cyclic",
                                      "snapshots=3",   NULL};
static const char *const weighted[] = {"optimiser=adamw",
                                       "weight_decay=0.1",
                                       "clip_norm=0.5",
                                       "ema=0.5",
                                       "class_weights=[1, 2, 1, 1, 0.5, 1, 1, 3, 1, 1]",
                                       "compute=bfloat16",
                                       NULL};

static const struct {
    const char *once, *again, *killed;
    const char *const *changes;
    bool resident;
    int steps;
} runs[] = {{"sent", "sent-again", "sent-killed", sent, false, 3 * STEPS},
            {"stored", "stored-again", "stored-killed", stored, true, 3 * STEPS},
            {"steered", "steered-again", "steered-killed", steered, true, 3 * STEPS},
            {"weighted", "weighted-again", "weighted-killed", weighted, true, 3 * STEPS},
            {"gated", "gated-again", "gated-killed", gated, true, 3 * STEPS},
            {"joint", "joint-again", "joint-killed", joint, true, 3 * STEPS},
            {"wide", "wide-again", "wide-killed", wide, true, 2 * STEPS}};
enum { RUNS = sizeof runs / sizeof runs[0] };

static void same_seed_same_bits(void **state) {
    (void)state;
    need_device();
    for (size_t i = 0; i < RUNS; i++) {
        trained((job){.name = runs[i].once, .changes = runs[i].changes, .resident = runs[i].resident});
        trained((job){.name = runs[i].again, .changes = runs[i].changes, .resident = runs[i].resident});
        same_checkpoint(runs[i].once, runs[i].again);
    }
}

/* The networks of a deep ensemble follow each other on one device, with the images on it once. */
static void a_shared_device_changes_nothing(void **state) {
    (void)state;
    need_device();
    for (size_t i = 0; i < RUNS; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s-second", runs[i].once);
        trained((job){.name = name, .changes = runs[i].changes, .resident = runs[i].resident, .second = true});
        same_checkpoint(runs[i].once, name);
    }
}

static void stopped_killed_and_resumed(void **state) {
    (void)state;
    need_device();
    for (size_t i = 0; i < RUNS; i++) {
        job j = {.name = runs[i].killed, .changes = runs[i].changes, .resident = runs[i].resident, .resume = true};
        const struct {
            int stop_at, kill_at, kill_in_checkpoint, status;
        } ends[] = {{.kill_at = 2, .status = -1},
                    {.stop_at = 4, .status = VG_ERR_INTERRUPTED},
                    {.kill_in_checkpoint = 1, .status = -1},
                    {.stop_at = STEPS + 3, .status = VG_ERR_INTERRUPTED},
                    {.kill_at = runs[i].steps - 1, .status = -1}};
        for (size_t k = 0; k < sizeof ends / sizeof ends[0]; k++) {
            j.stop_at = ends[k].stop_at;
            j.kill_at = ends[k].kill_at;
            j.kill_in_checkpoint = ends[k].kill_in_checkpoint;
            outcome o = in_child(train_here, &j);
            if (o.status != ends[k].status)
                fail_msg("%s, end %zu: status %d: %s", j.name, k, o.status, o.message);
        }
        trained(
            (job){.name = runs[i].killed, .changes = runs[i].changes, .resident = runs[i].resident, .resume = true});
        same_checkpoint(runs[i].once, runs[i].killed);
    }
}

/* --- in this process */

static vg_learner *learner(vg_backend *b, const char *network, size_t heads, double dropout) {
    vg_learner *l;
    bool wrn = strncmp(network, "wrn", 3) == 0;
    vg_learner_options o = {
        .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .weight_decay = 1e-4, .seed = 9, .training = true};
    o.network = (vg_network_spec){
        network, wrn ? (vg_shape){3, 16, 16} : (vg_shape){1, 28, 28}, heads, CLASSES, dropout, 1, false};
    OK(vg_learner__new(&l, b, &o));
    OK(vg_learner__initialise(l));
    return l;
}

static vg_backend *opened(const char *name) {
    vg_backend *b;
    vg_backend_options options = {.threads = 2, .compute = VG_COMPUTE_F32};
    OK(vg_backend__open(&b, name, &options));
    return b;
}

/* Every parameter's gradient after the first step, as the CPU has it. */
static void gradients_of(const char *network, size_t heads, size_t n) {
    static set s;
    vg_nn_batch batch;
    vg_backend *b[2] = {opened("cpu"), opened(device)};
    vg_learner *l[2];
    bool wrn = strncmp(network, "wrn", 3) == 0;
    make_set(&s, 3, BATCH, wrn ? 3 : 1, wrn ? 16 : 28, false);
    OK(next(&s, &batch));
    for (int k = 0; k < 2; k++) {
        l[k] = learner(b[k], network, heads, 0.2);
        OK(vg_learner__gradients(l[k], batch.images, batch.labels, batch.indices, n, 3, 1e-3));
    }
    for (int i = 0; i < l[0]->model->net->param_count; i++) {
        const vg_net_param *p = &l[0]->model->net->params[i];
        size_t count = vg_param__count(&p->param);
        float *g[2] = {malloc(count * sizeof(float)), malloc(count * sizeof(float))};
        double top = 0, bottom = 0;
        for (int k = 0; k < 2; k++)
            OK(vg_model__get(l[k]->model, g[k], l[k]->model->grad, i));
        for (size_t e = 0; e < count; e++) {
            top += ((double)g[1][e] - g[0][e]) * ((double)g[1][e] - g[0][e]);
            bottom += (double)g[0][e] * g[0][e];
        }
        free(g[0]);
        free(g[1]);
        if (!(sqrt(top) <= 2e-4 * sqrt(bottom)))
            fail_msg("%s: gradient of %s differs by %.2e", network, p->name, sqrt(top / bottom));
    }
    for (int k = 0; k < 2; k++) {
        vg_learner__free(l[k]);
        vg_backend__close(b[k]);
    }
    free_set(&s);
}

static void gradients_agree(void **state) {
    (void)state;
    need_device();
    gradients_of("cnn", 100, 5);
    gradients_of("cnn-13-27", 3, 7);
    gradients_of("wrn-10-2", 4, 6);
    gradients_of("wrn-16-1", 1, 5);
}

/* The loss of each of 50 steps. */
static void losses_of(double losses[50], vg_backend *b, const char *network, double dropout) {
    static set s;
    vg_learner *l = learner(b, network, 5, dropout);
    bool wrn = strncmp(network, "wrn", 3) == 0;
    make_set(&s, 4, TRAIN, wrn ? 3 : 1, wrn ? 16 : 28, true);
    for (uint32_t step = 0; step < 50; step++) {
        vg_nn_batch batch;
        vg_loss_totals totals;
        OK(next(&s, &batch));
        size_t n = wrn && batch.n > 12 ? 12 : batch.n;
        OK(vg_learner__step(l, batch.images, batch.labels, batch.indices, n, step, 1e-3));
        OK(b->ops->loss_read(b, &totals));
        losses[step] = totals.loss / (double)totals.rows;
    }
    vg_learner__free(l);
    free_set(&s);
}

static void losses_agree(void **state) {
    (void)state;
    need_device();
    static const char *const networks[] = {"cnn-16-48", "wrn-10-1"};
    for (size_t i = 0; i < 2; i++) {
        double here[50], other[50];
        vg_backend *cpu = opened("cpu"), *b = opened(device);
        losses_of(here, cpu, networks[i], 0.1);
        losses_of(other, b, networks[i], 0.1);
        double worst = 0;
        for (int step = 0; step < 50; step++)
            worst = fmax(worst, fabs(here[step] - other[step]) / here[step]);
        print_message("%s: losses from %.4f to %.4f, largest relative difference %.1e\n", networks[i], here[0],
                      here[49], worst);
        assert_true(here[49] < 0.85 * here[0]); /* it learns */
        assert_true(worst < 2e-3);
        vg_backend__close(cpu);
        vg_backend__close(b);
    }
}

/* Steps over resident images, the later ones replayed as a whole, against steps over the same images uploaded one batch
 * at a time. */
static void stored_agree(void **state) {
    (void)state;
    need_device();
    static set s;
    vg_backend *b = opened(device);
    if (!b->ops->store_new) {
        vg_backend__close(b);
        skip();
    }
    enum { EPOCHS = 4 };
    double losses[2][EPOCHS * STEPS];
    static vg_sample_draw samples[TRAIN];
    static vg_sample_draw plans[TRAIN];
    for (int way = 0; way < 2; way++) {
        vg_learner *l = learner(b, "cnn-16-48", 5, 0.1);
        vg_store *store = NULL;
        make_set(&s, 4, TRAIN, 1, 28, true);
        vg_store_images images = {.pixels = s.pixels,
                                  .labels = s.classes,
                                  .n = TRAIN,
                                  .plan_room = TRAIN,
                                  .shape = {1, 28, 28},
                                  .mean = {mean},
                                  .std = {deviation}};
        OK(b->ops->store_new(b, &store, &images));
        for (uint32_t t = 0; t < EPOCHS * STEPS; t++) {
            vg_nn_batch batch;
            vg_loss_totals totals;
            if (t % STEPS == 0) {
                OK(plan(&s, t / STEPS, samples));
                memset(plans, 0, sizeof plans);
                for (size_t i = 0; i < TRAIN; i++)
                    plans[i].index = samples[i].index;
                OK(b->ops->store_plan(b, store, plans, TRAIN));
            }
            OK(next(&s, &batch));
            if (way)
                OK(vg_learner__step_stored(l, store, t % STEPS * BATCH, batch.n, t, 3e-4));
            else
                OK(vg_learner__step(l, batch.images, batch.labels, batch.indices, batch.n, t, 3e-4));
            OK(b->ops->loss_read(b, &totals));
            assert_int_equal(totals.rows, batch.n);
            losses[way][t] = totals.loss / (double)totals.rows;
        }
        vg_learner__free(l);
        b->ops->store_free(b, store);
        free_set(&s);
    }
    for (int t = 0; t < EPOCHS * STEPS; t++)
        if (!(fabs(losses[0][t] - losses[1][t]) <= 1e-3 * losses[0][t]))
            fail_msg("step %d: loss %.6f from images sent, %.6f from images stored", t, losses[0][t], losses[1][t]);
    vg_backend__close(b);
}

/* The same checkpoint on the CPU and on the GPU: members, masks included, agree and do not depend on how many rows run
 * at once. */
static void predictions_agree(void **state) {
    (void)state;
    need_device();
    enum { N = 40 };
    static set s;
    make_set(&s, 8, N, 1, 28, false);
    static float images[N * 28 * 28];
    for (size_t k = 0; k < N * 28 * 28; k++)
        images[k] = (float)((s.pixels[k] / 255.0 - mean) / deviation);
    for (int ensemble = VG_ENSEMBLE_LLE; ensemble <= VG_ENSEMBLE_MCD_LLE; ensemble++) {
        static float logits[3][N * 6 * CLASSES];
        for (int k = 0; k < 3; k++) {
            char path[512];
            vg_predictor *p;
            vg_predictor_options o = VG_PREDICTOR_OPTIONS_INIT;
            path_of(path, "sent", "last.safetensors");
            o.device = k ? device : "cpu";
            o.ensemble = ensemble;
            o.compute = 0;
            o.rows = k == 2 ? 17 : 0;
            OK(vg_predictor_open(&p, path, &o));
            assert_int_equal(vg_predictor__info(p).members, 6);
            OK(vg_predictor_run(p, logits[k], images, N, 0));
            vg_predictor_free(p);
        }
        for (size_t i = 0; i < N * 6 * CLASSES; i++) {
            assert_true(fabsf(logits[0][i] - logits[1][i]) < 2e-3f);
            assert_true(fabsf(logits[2][i] - logits[1][i]) < 1e-3f);
        }
    }
    free_set(&s);
}

static int find_device(void **state) {
    if (make_folder(state) != 0)
        return -1;
    if (getenv("VARGATE_TRAINING_DEVICE"))
        device = getenv("VARGATE_TRAINING_DEVICE");
    outcome o = in_child(open_device, NULL);
    there = o.status == VG_OK;
    if (!there)
        print_message("skipped: no GPU: %s\n", o.message);
    return !there && getenv("VARGATE_REQUIRE_GPU") ? -1 : 0;
}

int main(void) {
    if (getenv("VARGATE_TEST_ONLY")) /* a pattern */
        cmocka_set_test_filter(getenv("VARGATE_TEST_ONLY"));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_seed_same_bits),
        cmocka_unit_test(a_shared_device_changes_nothing),
        cmocka_unit_test(stopped_killed_and_resumed),
        cmocka_unit_test(gradients_agree),
        cmocka_unit_test(losses_agree),
        cmocka_unit_test(stored_agree),
        cmocka_unit_test(predictions_agree),
    };
    return cmocka_run_group_tests(tests, find_device, remove_folder);
}
