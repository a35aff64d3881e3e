/* test_nn_gated.c - training with the gated loss: a k for every class that is trained, kept in checkpoints and
 * metrics.jsonl, written as k.json and resumed to the bit; deep ensembles that are trained together; the monitor's
 * figures of the gated members; settings that exclude it.
 *
 * The loss itself: test_backend_ops (finite differences) and test_nn_reference (PyTorch). */
#include "backend/gate.h"
#include "nn/learner.h"
#include "nn/monitor.h"
#include "nn/predictor.h"
#include "nn/recipe.h"
#include "training_util.h"

static const char *const gated[] = {"loss=gated",      "network=cnn-4-8", "epochs=4", "rate=2e-3",
                                    "schedule=cosine", "ema=0.9",         NULL};
static const char *const joint[] = {"loss=gated",      "ensemble=deep", "heads=1",   "members=3",
                                    "network=cnn-4-8", "epochs=3",      "rate=2e-3", NULL};

/* The k that a checkpoint of ours has: softplus of its array gate.l. */
static void gates_of(double k[10], const char *run, const char *file) {
    char path[512];
    vg_source *source;
    size_t index;
    float l[10];
    path_of(path, run, file);
    OK(vg_source__open(&source, path));
    OK(vg_source__find(source, "gate.l", &index));
    OK(vg_source__read_f32(source, index, 0, 10, l));
    vg_source__close(source);
    for (int c = 0; c < 10; c++)
        k[c] = log1p(exp((double)l[c])) + 1e-8;
}

static void same_gates(const double k[10], const json_t *list) {
    assert_int_equal(json_array_size(list), 10);
    for (size_t c = 0; c < 10; c++)
        assert_true(fabs(json_number_value(json_array_get(list, c)) - k[c]) <= 1e-12);
}

static void kept_gates(const char *run, const char *checkpoint) {
    char path[512];
    double k[10];
    path_of(path, run, "k.json");
    json_t *file = json_load_file(path, 0, NULL);
    assert_non_null(file);
    gates_of(k, run, checkpoint);
    same_gates(k, json_object_get(file, "k"));
    json_decref(file);
}

static void learns_k(void **state) {
    (void)state;
    outcome o = train((plan){.name = "gated", .changes = gated});
    if (o.status != VG_OK)
        fail_msg("%s", o.message);
    json_t *lines = metrics("gated");
    double k[10], moved = 0;
    assert_int_equal(json_array_size(lines), 4);
    gates_of(k, "gated", "last.safetensors");
    same_gates(k, json_object_get(json_array_get(lines, 3), "k"));
    for (size_t c = 0; c < 10; c++)
        moved = fmax(moved, fabs(k[c] - vg_gate__k(0)));
    assert_true(moved > 1e-4); /* from .693, where it starts */
    assert_true(o.result.last.val_loss < json_number_value(json_object_get(json_array_get(lines, 0), "val_loss")));
    json_decref(lines);
    kept_gates("gated", "last.safetensors");
    trained((plan){.name = "best",
                   .changes = (const char *const[]){"loss=gated", "network=cnn-4-8", "epochs=4", "rate=3e-2",
                                                    "checkpoint=best", NULL}});
    kept_gates("best", "best.safetensors");
}

static void resumes_to_the_bit(void **state) {
    (void)state;
    char path[512];
    assert_int_equal(train((plan){.name = "stopped", .changes = gated, .stop_at = STEPS + 3}).status,
                     VG_ERR_INTERRUPTED);
    kept_gates("stopped", "last.safetensors");
    assert_int_equal(
        train((plan){.name = "stopped", .changes = gated, .kill_at = 3 * STEPS - 1, .resume = true}).status, -1);
    trained((plan){.name = "stopped", .changes = gated, .resume = true});
    same_checkpoint("gated", "stopped", "last.safetensors");
    same_checkpoint("gated", "stopped", "best.safetensors");
    same_metrics("gated", "stopped");
    path_of(path, "stopped", "k.json"); /* a finished run that lost its k.json makes it again */
    assert_int_equal(remove(path), 0);
    trained((plan){.name = "stopped", .changes = gated, .resume = true});
    kept_gates("stopped", "last.safetensors");
}

static void networks_trained_together(void **state) {
    (void)state;
    char path[512];
    vg_predictor *p;
    outcome o = train((plan){.name = "joint", .changes = joint});
    if (o.status != VG_OK)
        fail_msg("%s", o.message);
    assert_true(o.result.last.diversity > 0);
    kept_gates("joint", "last.safetensors");
    assert_int_equal(train((plan){.name = "joint-2", .changes = joint, .stop_at = STEPS + 1}).status,
                     VG_ERR_INTERRUPTED);
    trained((plan){.name = "joint-2", .changes = joint, .resume = true});
    same_checkpoint("joint", "joint-2", "last.safetensors");
    same_metrics("joint", "joint-2");
    const char *const more[] = {"loss=gated",      "ensemble=deep", "heads=1",   "members=4",
                                "network=cnn-4-8", "epochs=3",      "rate=2e-3", NULL};
    o = train((plan){.name = "joint", .changes = more, .resume = true});
    assert_int_equal(o.status, VG_ERR_ARGUMENT);
    assert_non_null(strstr(o.message, "members: 3"));
    path_of(path, "joint", "last.safetensors");
    OK(vg_predictor_open(&p, path, NULL));
    assert_int_equal(vg_predictor__info(p).members, 3);
    vg_predictor_free(p);
}

/* --- several trunks against networks of their own */

enum { TRUNKS = 3, ROWS = 9, CLASSES = 10 };

static vg_learner *learner(vg_backend *b, const char *architecture, vg_shape image, size_t trunks) {
    vg_learner *l;
    vg_learner_options o = {
        .loss = VG_LOSS_MEAN, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .seed = 3, .training = true};
    o.network = (vg_network_spec){architecture, image, trunks, CLASSES, 0, trunks, false};
    OK(vg_learner__new(&l, b, &o));
    OK(vg_learner__initialise(l));
    return l;
}

/* Parameter i of trunk t and of the network `one`, from one block each. */
static void both_params(float **mine, float **theirs, vg_learner *all, vg_learner *one, const vg_block *blocks[2],
                        size_t t, int i) {
    int count = one->model->net->param_count;
    size_t values = vg_param__count(&one->model->params[i]);
    *mine = malloc(values * sizeof **mine);
    *theirs = malloc(values * sizeof **theirs);
    OK(vg_model__get(all->model, *mine, blocks[0], (int)t * count + i));
    OK(vg_model__get(one->model, *theirs, blocks[1], i));
}

/* With the mean of all members' cross-entropies the gradient of a trunk is a third of that of the network alone. */
static void compare_trunk(vg_learner *all, vg_learner *one, size_t t, const float *images, const int32_t *labels) {
    vg_loss_totals totals;
    float logits[ROWS * TRUNKS * CLASSES], own[ROWS * CLASSES];
    vg_members three = {false, 1, TRUNKS, false, TRUNKS}, single = {false, 1, 1, false, 1};
    for (size_t i = 0; i <= t; i++) /* as often as the other, because each pass moves the running statistics */
        OK(vg_learner__gradients(one, images, labels, NULL, ROWS, 0, 0));
    OK(all->backend->ops->loss_read(all->backend, &totals));
    const vg_block *gradients[2] = {all->model->grad, one->model->grad};
    for (int i = 0; i < one->model->net->param_count; i++) {
        float *mine, *theirs;
        double largest = 0;
        size_t values = vg_param__count(&one->model->params[i]);
        both_params(&mine, &theirs, all, one, gradients, t, i);
        for (size_t k = 0; k < values; k++)
            largest = fmax(largest, fabs(theirs[k]));
        assert_true(largest > 0);
        for (size_t k = 0; k < values; k++)
            if (!(fabs((double)TRUNKS * mine[k] - theirs[k]) <= 1e-5 * largest))
                fail_msg("trunk %zu, %s: %g is not a third of %g", t, one->model->net->params[i].name, (double)mine[k],
                         (double)theirs[k]);
        free(mine);
        free(theirs);
    }
    OK(vg_learner__predict(all, logits, images, ROWS, 0, &three, 4));
    OK(vg_learner__predict(one, own, images, ROWS, 0, &single, 4));
    for (size_t i = 0; i < ROWS * CLASSES; i++)
        assert_true(fabsf(own[i] - logits[(i / CLASSES * TRUNKS + t) * CLASSES + i % CLASSES]) <= 1e-5f);
}

static void trunks_are_networks(const char *device, const char *architecture, vg_shape image) {
    vg_backend *b;
    vg_backend_options options = {.threads = 2};
    if (vg_backend__open(&b, device, &options) != VG_OK) {
        print_message("skipped: %s\n", device);
        return;
    }
    vg_random random = vg_random__start(9, 9);
    size_t count = ROWS * vg_shape__size(image);
    float *images = malloc(count * sizeof *images);
    int32_t labels[ROWS];
    for (size_t i = 0; i < count; i++)
        images[i] = (float)vg_random__normal(&random);
    for (int i = 0; i < ROWS; i++)
        labels[i] = i % CLASSES;
    vg_learner *all = learner(b, architecture, image, TRUNKS);
    OK(vg_learner__gradients(all, images, labels, NULL, ROWS, 0, 0));
    for (size_t t = 0; t < TRUNKS; t++) {
        vg_learner *one = learner(b, architecture, image, 1);
        const vg_block *values[2] = {all->model->theta, one->model->theta};
        for (int i = 0; i < one->model->net->param_count; i++) {
            float *mine, *theirs;
            both_params(&mine, &theirs, all, one, values, t, i);
            OK(vg_model__set(one->model, one->model->theta, i, mine));
            free(mine);
            free(theirs);
        }
        compare_trunk(all, one, t, images, labels);
        vg_learner__free(one);
        OK(vg_learner__gradients(all, images, labels, NULL, ROWS, 0, 0)); /* prediction used its tensors */
    }
    vg_learner__free(all);
    free(images);
    vg_backend__close(b);
}

static void several_trunks(void **state) {
    static const char *const devices[] = {"ref", "cpu", "cuda"};
    (void)state;
    for (int i = 0; i < 3; i++) {
        trunks_are_networks(devices[i], "cnn-4-8", (vg_shape){1, 16, 16});
        if (i > 0) /* the plain backend takes its time */
            trunks_are_networks(devices[i], "wrn-10-1", (vg_shape){3, 8, 8});
    }
}

/* --- figures of an epoch */

enum { SAMPLES = 500, MEMBERS = 4, KINDS = 5 };

/* -log of the gated mean at the label, in plain loops; *best: where it is largest. */
static double gated_loss(const float *z, const double *k, int32_t label, size_t *best) {
    double p[MEMBERS][KINDS], gamma[KINDS], mean[KINDS] = {0};
    for (int m = 0; m < MEMBERS; m++) {
        double sum = 0;
        for (int c = 0; c < KINDS; c++)
            sum += p[m][c] = exp((double)z[m * KINDS + c]);
        for (int c = 0; c < KINDS; c++)
            p[m][c] /= sum;
    }
    for (int c = 0; c < KINDS; c++) {
        double mu = 0, squares = 0;
        for (int m = 0; m < MEMBERS; m++)
            mu += p[m][c] / MEMBERS;
        for (int m = 0; m < MEMBERS; m++)
            squares += (p[m][c] - mu) * (p[m][c] - mu) / MEMBERS;
        gamma[c] = 1 - exp(-mu / (k[c] * (sqrt(squares) + 1e-8)));
    }
    for (int m = 0; m < MEMBERS; m++) {
        double whole = 0;
        for (int c = 0; c < KINDS; c++)
            whole += p[m][c] * gamma[c];
        for (int c = 0; c < KINDS; c++)
            mean[c] += p[m][c] * gamma[c] / whole / MEMBERS;
    }
    *best = 0;
    for (size_t c = 1; c < KINDS; c++)
        *best = mean[c] > mean[*best] ? c : *best;
    return -log(mean[label]);
}

static void monitor_takes_the_gate(void **state) {
    static const double k[KINDS] = {0.3, 0.7, 1.5, 4, 0.05};
    float z[SAMPLES * MEMBERS * KINDS];
    int32_t labels[SAMPLES];
    vg_random random = vg_random__start(4, 4);
    vg_monitor_options options = {MEMBERS, KINDS, false, 3, 2, k};
    vg_epoch_metrics m = {0};
    vg_monitor *monitor;
    double loss = 0, right = 0;
    (void)state;
    for (size_t i = 0; i < SAMPLES * MEMBERS * KINDS; i++)
        z[i] = (float)(1.5 * vg_random__normal(&random));
    OK(vg_monitor__new(&monitor, &options));
    for (size_t n = 0; n < SAMPLES; n++) {
        size_t best;
        labels[n] = (int32_t)vg_random__below(&random, KINDS);
        loss += gated_loss(z + n * MEMBERS * KINDS, k, labels[n], &best) / SAMPLES;
        right += (double)(best == (size_t)labels[n]) / SAMPLES;
    }
    OK(vg_monitor__feed(monitor, z, labels, 300));
    OK(vg_monitor__feed(monitor, z + 300 * MEMBERS * KINDS, labels + 300, SAMPLES - 300));
    OK(vg_monitor__figures(monitor, &m));
    vg_monitor__free(monitor);
    assert_true(fabs(m.val_loss - loss) <= 1e-6 * loss);
    assert_true(fabs(m.val_accuracy - right) <= 1e-12);
    assert_true(m.k_sensitivity > 0 && m.k_sensitivity < 1);
}

/* --- refusals */

static void refuses(void **state) {
    (void)state;
    static const struct {
        const char *set[3], *says;
    } cases[] = {
        {{"heads=1"}, "at least 2 members that can differ, found heads 1"},
        {{"ensemble=deep", "heads=1", "members=1"}, "at least 2 members that can differ, found members 1"},
        {{"ensemble=mcd", "heads=1"}, "it is for ensembles lle and deep"},
        {{"ensemble=mcd-lle"}, "it is for ensembles lle and deep"},
        {{"ensemble=deep-lle", "members=2"}, "it is for ensembles lle and deep"},
        {{"label_smoothing=0.1"}, "label_smoothing and class_weights need loss mean"},
        {{"class_weights=balanced"}, "label_smoothing and class_weights need loss mean"},
        {{"head_bootstrap=yes"}, "head_bootstrap needs loss mean"},
        {{"snapshots=2"}, "loss gated and snapshots exclude each other"},
        {{"ensemble=deep", "heads=1", "head_features=0.5"}, "the keys head_... are for ensemble lle"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *changes[5] = {"loss=gated"};
        for (int k = 0; k < 3; k++)
            changes[1 + k] = cases[i].set[k];
        vg_recipe recipe = small(changes);
        assert_int_equal(vg_recipe__check(&recipe), VG_ERR_ARGUMENT);
        if (!strstr(vg_error_message(), cases[i].says) || strchr(vg_error_message(), '\n'))
            fail_msg("'%s' does not say '%s'", vg_error_message(), cases[i].says);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(learns_k),
                                       cmocka_unit_test(resumes_to_the_bit),
                                       cmocka_unit_test(networks_trained_together),
                                       cmocka_unit_test(several_trunks),
                                       cmocka_unit_test(monitor_takes_the_gate),
                                       cmocka_unit_test(refuses)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
