/* test_nn_control.c - optimisers, clipped gradients, the running mean of the parameters, smoothed labels, class weights
 * and the cyclic schedule against PyTorch, on every backend. Values: tests/data/nn/control_reference.json, made by
 * make_control_reference.py beside it (float64). */
#include <stdio.h>
#include <string.h>

#include "nn/trainer.h"
#include "reference_values.h"

enum { ROWS = 8, CLASSES = 5, HEADS = 2, STEPS = 6 };
static const float class_weights[CLASSES] = {0.5f, 2.0f, 1.0f, 3.0f, 0.25f};
static json_t *reference;

typedef struct control {
    const char *name;
    vg_optimiser optimiser;
    double decay, momentum, clip, ema, smoothing;
    bool nesterov, weights;
} control;

static const control controls[] = {
    {.name = "adamw", .optimiser = VG_OPTIMISER_ADAMW, .decay = 0.5},
    {.name = "adam decay", .decay = 0.5},
    {.name = "sgd", .optimiser = VG_OPTIMISER_SGD, .decay = 0.125},
    {.name = "momentum", .optimiser = VG_OPTIMISER_SGD, .decay = 0.125, .momentum = 0.875},
    {.name = "nesterov", .optimiser = VG_OPTIMISER_SGD, .decay = 0.125, .momentum = 0.875, .nesterov = true},
    {.name = "clip adam", .clip = 0.5},
    {.name = "clip momentum", .optimiser = VG_OPTIMISER_SGD, .momentum = 0.875, .clip = 0.5},
    {.name = "ema", .ema = 0.75},
    {.name = "smoothing", .smoothing = 0.125},
    {.name = "weights", .weights = true},
    {.name = "both", .smoothing = 0.125, .weights = true},
};
enum { CONTROLS = sizeof controls / sizeof *controls };

static vg_learner *learner_of(vg_backend *backend, const control *c) {
    vg_learner *l;
    vg_learner_options o = {.network = {"cnn-8-16", {1, 28, 28}, HEADS, CLASSES, 0, 1, false},
                            .optimiser = c->optimiser,
                            .weight_decay = c->decay,
                            .beta1 = 0.9,
                            .beta2 = 0.999,
                            .epsilon = 1e-3,
                            .momentum = c->momentum,
                            .nesterov = c->nesterov,
                            .clip_norm = c->clip,
                            .ema = c->ema,
                            .label_smoothing = c->smoothing,
                            .class_weights = c->weights ? class_weights : NULL,
                            .seed = 1,
                            .training = true};
    OK(vg_learner__new(&l, backend, &o));
    OK(vg_learner__initialise(l));
    set_parameters(l);
    return l;
}

static void check_moved(vg_learner *l, const control *c, float *const *start, const char *key, double bound) {
    const json_t *all = json_object_get(json_object_get(reference, c->name), key);
    for (int i = 0; i < l->model->net->param_count; i++) {
        const vg_net_param *p = &l->model->net->params[i];
        size_t count = vg_param__count(&p->param);
        char what[128];
        float *v = malloc(count * sizeof *v);
        OK(vg_model__get(l->model, v, l->model->theta, i));
        for (size_t k = 0; k < count; k++)
            v[k] -= start[i][k];
        snprintf(what, sizeof what, "%s, %s, %s of %s", l->backend->name, c->name, key, p->name);
        check(what, v, count, json_object_get(all, p->name), bound);
        free(v);
    }
}

static void take_steps(vg_learner *l, const control *c, double bound) {
    const json_t *losses = json_object_get(json_object_get(reference, c->name), "losses");
    for (uint32_t step = 0; step < STEPS; step++) {
        vg_loss_totals totals;
        int32_t labels[ROWS];
        float *images = fill(ROWS * 28 * 28, 1000 + 10 * step, 4.0, 0), *y = fill(ROWS, 1001 + 10 * step, 1.0, 0.5);
        for (int i = 0; i < ROWS; i++)
            labels[i] = (int32_t)(y[i] * CLASSES);
        OK(vg_learner__step(l, images, labels, NULL, ROWS, step, c->optimiser == VG_OPTIMISER_SGD ? 0.02 : 0.01));
        OK(l->backend->ops->loss_read(l->backend, &totals));
        double loss = totals.loss / ROWS, wanted = json_number_value(json_array_get(losses, step));
        if (!(fabs(loss - wanted) <= bound * wanted))
            fail_msg("%s, %s: loss of step %u is %.9g, PyTorch %.9g", l->backend->name, c->name, step, loss, wanted);
        free(images);
        free(y);
    }
}

static void on(const char *name, double bound) {
    vg_backend *backend;
    vg_backend_options options = {.threads = 2};
    if (vg_backend__open(&backend, name, &options) != VG_OK) {
        if (strcmp(name, "cuda") == 0 && getenv("VARGATE_REQUIRE_GPU"))
            fail_msg("there is a GPU, but: %s", vg_error_message());
        print_message("skipped: %s: %s\n", name, vg_error_message());
        skip();
    }
    for (int i = 0; i < CONTROLS; i++) {
        vg_learner *l = learner_of(backend, &controls[i]);
        float *start[VG_NET_PARAMS];
        int count = l->model->net->param_count;
        for (int k = 0; k < count; k++) {
            start[k] = malloc(vg_param__count(&l->model->params[k]) * sizeof(float));
            OK(vg_model__get(l->model, start[k], l->model->theta, k));
        }
        take_steps(l, &controls[i], bound);
        check_moved(l, &controls[i], start, "moved", bound);
        if (controls[i].ema > 0) {
            vg_learner__exchange(l);
            check_moved(l, &controls[i], start, "average", bound);
            vg_learner__exchange(l);
            check_moved(l, &controls[i], start, "moved", bound);
        }
        for (int k = 0; k < count; k++)
            free(start[k]);
        vg_learner__free(l);
    }
    vg_backend__close(backend);
}

static void plain_backend(void **state) { (void)state, on("ref", 1e-4); }
static void cpu_backend(void **state) { (void)state, on("cpu", 1e-4); }
static void cuda_backend(void **state) { (void)state, on("cuda", 1e-3); }

static void cyclic_schedule(void **state) {
    (void)state;
    const json_t *rates = json_object_get(reference, "cyclic");
    vg_recipe recipe;
    vg_recipe_defaults(&recipe);
    recipe.schedule = 2;
    recipe.rate = 0.1;
    recipe.epochs = 6;
    recipe.snapshots = 3;
    assert_int_equal(json_array_size(rates), 60);
    for (size_t i = 0; i < 60; i++) {
        double rate = vg_train__rate(&recipe, i, 60), wanted = json_number_value(json_array_get(rates, i));
        if (!(fabs(rate - wanted) <= 1e-12))
            fail_msg("rate of step %zu is %.12g, PyTorch %.12g", i, rate, wanted);
    }
    assert_int_equal(vg_train__snapshot_epoch(&recipe, 1), 2);
    assert_int_equal(vg_train__snapshot_epoch(&recipe, 3), 6);
    recipe.epochs = 7; /* cycles of unequal length: 2, 2 and 3 epochs of 10 steps */
    assert_true(fabs(vg_train__rate(&recipe, 20, 70) - 0.1) < 1e-15);
    assert_true(fabs(vg_train__rate(&recipe, 40, 70) - 0.1) < 1e-15);
    assert_true(fabs(vg_train__rate(&recipe, 55, 70) - 0.05) < 1e-15);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_backend),
        cmocka_unit_test(cpu_backend),
        cmocka_unit_test(cuda_backend),
        cmocka_unit_test(cyclic_schedule),
    };
    json_error_t error;
    reference = json_load_file("tests/data/nn/control_reference.json", 0, &error);
    if (!reference) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    json_decref(reference);
    return failed;
}
