/* test_nn_reference.c - whole networks against PyTorch: loss, every gradient, ten Adam steps, batch-norm statistics.
 * Values: tests/data/nn/reference.json, made by make_reference.py beside it (float64). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "nn/learner.h"
#include "reference_values.h"

static json_t *reference;
static vg_backend *backend;

static vg_learner *learner(bool wrn, vg_loss_form form, double decay) {
    vg_learner *l;
    vg_learner_options o = {.loss = form,
                            .beta1 = 0.9,
                            .beta2 = 0.999,
                            .epsilon = 1e-8,
                            .weight_decay = decay,
                            .seed = 1,
                            .training = true};
    o.network = wrn ? (vg_network_spec){"wrn-10-2", {3, 32, 32}, 4, 10, 0, 1, false}
                    : (vg_network_spec){"cnn", {1, 28, 28}, 3, 10, 0, 1, false};
    o.network.gated = form == VG_LOSS_GATED;
    OK(vg_learner__new(&l, backend, &o));
    OK(vg_learner__initialise(l));
    set_parameters(l);
    return l;
}

/* Of the network's million inputs of ReLU some lie within a rounding error of 0, where another order of additions gives
 * another sign, and a gradient that differs by about 1e-4 from PyTorch's. So inputs are also tried multiplied by
 * 1 - nudge, 1, 1 + nudge in turns: with one of these nudges the signs, and then all figures, must be PyTorch's. */
static const double nudges[] = {0, 1e-7, -1e-7, 2e-7, -2e-7, 3e-7, -3e-7, 4e-7, -4e-7};
static double nudge;
static char complaint[COMPLAINT]; /* the first difference of a trial; empty: none */

/* Makes a trial with one nudge after another until it has no complaint; fails with that of the inputs as they are. */
#define SETTLE(trial)                                                                                                  \
    do {                                                                                                               \
        char first[COMPLAINT] = "";                                                                                    \
        for (size_t i = 0; i < sizeof nudges / sizeof *nudges && (i == 0 || complaint[0]); i++) {                      \
            nudge = nudges[i];                                                                                         \
            complaint[0] = 0;                                                                                          \
            trial;                                                                                                     \
            if (i == 0)                                                                                                \
                snprintf(first, sizeof first, "%s", complaint);                                                        \
        }                                                                                                              \
        if (complaint[0])                                                                                              \
            fail_msg("%s", first);                                                                                     \
    } while (0)

static void compare(const char *what, const float *values, size_t count, const json_t *summary, double bound) {
    if (!complaint[0])
        (void)agree(complaint, what, values, count, summary, bound);
}

static void compare_loss(const char *what, double loss, double wanted, double bound) {
    if (!complaint[0] && !(fabs(loss - wanted) <= bound * wanted))
        snprintf(complaint, COMPLAINT, "%s: loss %.9g, PyTorch %.9g", what, loss, wanted);
}

static void batch(const vg_learner *l, uint64_t salt, float **images, int32_t labels[8]) {
    size_t count = 8 * vg_shape__size(l->model->net->input);
    *images = fill(count, salt, 4.0, 0);
    for (size_t i = 0; i < count; i++)
        (*images)[i] = (float)((*images)[i] * (1 + nudge * ((double)(i % 3) - 1)));
    float *y = fill(8, salt + 1, 1.0, 0.5);
    for (int i = 0; i < 8; i++)
        labels[i] = (int32_t)(y[i] * 10);
    free(y);
}

static void check_param(vg_learner *l, const vg_block *block, int i, const float *minus, const json_t *all,
                        double bound) {
    const vg_net_param *p = &l->model->net->params[i];
    size_t count = vg_param__count(&p->param);
    float *v = malloc(count * sizeof *v);
    OK(vg_model__get(l->model, v, block, i));
    for (size_t k = 0; minus && k < count; k++)
        v[k] -= minus[k];
    compare(p->name, v, count, json_object_get(all, p->name), bound);
    free(v);
}

static void check_running(vg_learner *l, const json_t *running, double bound) {
    for (int i = 0; i < l->model->net->norm_count; i++) {
        const json_t *one = json_object_get(running, l->model->net->norm_names[i]);
        size_t c = l->model->running[i]->shape.c;
        float *v = malloc(2 * c * sizeof *v);
        OK(backend->ops->tensor_download(backend, v, l->model->running[i]));
        compare(l->model->net->norm_names[i], v, c, json_object_get(one, "mean"), bound);
        compare(l->model->net->norm_names[i], v + c, c, json_object_get(one, "variance"), bound);
        free(v);
    }
}

static void try_gradients(bool wrn, vg_loss_form form, const char *name) {
    const json_t *want = json_object_get(reference, name);
    vg_learner *l = learner(wrn, form, 0);
    vg_loss_totals totals;
    float *images;
    int32_t labels[8];
    batch(l, 1, &images, labels);
    OK(vg_learner__gradients(l, images, labels, NULL, 8, 0, 0));
    OK(backend->ops->loss_read(backend, &totals));
    compare_loss(name, totals.loss / 8, number(want, "loss"), 1e-5);
    for (int i = 0; i < l->model->net->param_count; i++)
        check_param(l, l->model->grad, i, NULL, json_object_get(want, "gradients"), 1e-5);
    if (wrn)
        check_running(l, json_object_get(want, "running"), 1e-5);
    free(images);
    vg_learner__free(l);
}

static void gradients(bool wrn, vg_loss_form form, const char *name) { SETTLE(try_gradients(wrn, form, name)); }

static void cnn_mean(void **state) { (void)state, gradients(false, VG_LOSS_MEAN, "cnn mean"); }
static void cnn_mixture(void **state) { (void)state, gradients(false, VG_LOSS_MIXTURE, "cnn mixture"); }
static void wrn_mean(void **state) { (void)state, gradients(true, VG_LOSS_MEAN, "wrn mean"); }
static void wrn_mixture(void **state) { (void)state, gradients(true, VG_LOSS_MIXTURE, "wrn mixture"); }

static void try_adam(bool wrn, vg_loss_form form, const char *name, double rate) {
    const json_t *want = json_object_get(reference, name);
    vg_learner *l = learner(wrn, form, form == VG_LOSS_GATED ? 0 : 1e-5);
    int count = l->model->net->param_count;
    float *start[VG_NET_PARAMS], *images;
    int32_t labels[8];
    for (int i = 0; i < count; i++) {
        start[i] = malloc(vg_param__count(&l->model->params[i]) * sizeof(float));
        OK(vg_model__get(l->model, start[i], l->model->theta, i));
    }
    for (uint32_t step = 0; step < 10; step++) {
        vg_loss_totals totals;
        batch(l, 1000 + 10 * step, &images, labels);
        OK(vg_learner__step(l, images, labels, NULL, 8, step, rate));
        OK(backend->ops->loss_read(backend, &totals));
        const json_t *wanted = json_array_get(json_object_get(want, "losses"), step);
        compare_loss(name, totals.loss / 8, json_number_value(wanted), 1e-4);
        free(images);
    }
    /* Where a gradient is nearly zero Adam's step is nearly a matter of its sign: 1 % of the way moved is allowed. */
    for (int i = 0; i < count; i++) {
        check_param(l, l->model->theta, i, start[i], json_object_get(want, "moved"), 1e-2);
        free(start[i]);
    }
    if (wrn) { /* statistics after ten steps, and a prediction that uses them */
        check_running(l, json_object_get(want, "running"), 1e-4);
        vg_members members = {false, 1, 4, false, 4};
        float logits[8 * 40];
        batch(l, 1, &images, labels);
        OK(vg_learner__predict(l, logits, images, 8, 0, &members, 8));
        compare("logits", logits, 8 * 40, json_object_get(want, "logits"), 1e-3);
        free(images);
    }
    vg_learner__free(l);
}

static void adam(bool wrn, vg_loss_form form, const char *name, double rate) {
    SETTLE(try_adam(wrn, form, name, rate));
}

static void cnn_adam(void **state) { (void)state, adam(false, VG_LOSS_MEAN, "cnn adam", 1e-5); }
static void wrn_adam(void **state) { (void)state, adam(true, VG_LOSS_MEAN, "wrn adam", 1e-4); }
static void cnn_gated(void **state) { (void)state, gradients(false, VG_LOSS_GATED, "cnn gated"); }
static void wrn_gated(void **state) { (void)state, gradients(true, VG_LOSS_GATED, "wrn gated"); }
static void wrn_gated_adam(void **state) { (void)state, adam(true, VG_LOSS_GATED, "wrn gated adam", 1e-4); }

/* The loss alone, at logits that a network would have at the start, in training and near its end: PyTorch's gradients
 * to 1e-5 of their norm, by every backend that is there. */
static void gated_loss(const json_t *want, const char *name, const char *device) {
    vg_backend *b;
    vg_backend_options options = {.threads = 2, .compute = VG_COMPUTE_F32};
    if (vg_backend__open(&b, device, &options) != VG_OK) {
        print_message("skipped: %s: %s\n", device, vg_error_message());
        return;
    }
    size_t rows = (size_t)number(want, "rows"), heads = (size_t)number(want, "heads"),
           classes = (size_t)number(want, "classes"), K = heads * classes;
    float *row = fill(rows * classes, 21, number(want, "sharpness"), 0),
          *z = fill(rows * K, 22, number(want, "spread"), 0);
    float *l = fill(classes, 23, 2.0, number(want, "l")), *y = fill(rows, 24, 1.0, 0.5),
          *dz = malloc(rows * K * sizeof *dz);
    int32_t *labels = malloc(rows * sizeof *labels);
    for (size_t i = 0; i < rows * K; i++)
        z[i] += row[i / K * classes + i % classes];
    for (size_t i = 0; i < rows; i++)
        labels[i] = (int32_t)(y[i] * (float)classes);
    vg_param gate = {VG_PARAM_VECTOR, classes, 1, 1, 1, 0, 0};
    vg_block *theta, *grad;
    vg_tensor *logits, *dlogits, *targets;
    vg_loss_totals totals;
    OK(b->ops->param_plan(b, &gate));
    OK(b->ops->block_new(b, &theta, gate.size + 16));
    OK(b->ops->block_new(b, &grad, gate.size + 16));
    OK(b->ops->param_upload(b, theta, &gate, l));
    OK(b->ops->tensor_new(b, &logits, VG_TENSOR_PLAIN, rows, (vg_shape){K, 1, 1}));
    OK(b->ops->tensor_new(b, &dlogits, VG_TENSOR_PLAIN, rows, (vg_shape){K, 1, 1}));
    OK(b->ops->tensor_new(b, &targets, VG_TENSOR_INDEX, rows, (vg_shape){1, 1, 1}));
    OK(b->ops->tensor_upload(b, logits, z));
    OK(b->ops->index_upload(b, targets, labels));
    vg_head_loss loss = {
        .heads = heads, .classes = classes, .form = VG_LOSS_GATED, .gate = &gate, .theta = theta, .grad = grad};
    OK(b->ops->loss(b, &loss, dlogits, logits, NULL, targets, NULL));
    OK(b->ops->loss_read(b, &totals));
    double got = totals.loss / (double)rows, wanted = number(want, "loss");
    if (!(fabs(got - wanted) <= 1e-5 * wanted))
        fail_msg("%s, %s: loss %.9g, PyTorch %.9g", name, device, got, wanted);
    assert_int_equal(totals.correct, (size_t)number(want, "correct"));
    OK(b->ops->tensor_download(b, dz, dlogits));
    check(name, dz, rows * K, json_object_get(want, "logits"), 1e-5);
    OK(b->ops->param_download(b, l, grad, &gate));
    check(name, l, classes, json_object_get(want, "l gradient"), 1e-5);
    vg_tensor *tensors[] = {logits, dlogits, targets};
    for (int i = 0; i < 3; i++)
        b->ops->tensor_free(b, tensors[i]);
    b->ops->block_free(b, theta);
    b->ops->block_free(b, grad);
    vg_backend__close(b);
    float *values[] = {row, z, l, y, dz};
    for (int i = 0; i < 5; i++)
        free(values[i]);
    free(labels);
}

static void gated_losses(void **state) {
    (void)state;
    const char *name;
    json_t *want;
    json_object_foreach(json_object_get(reference, "gated loss"), name, want) {
        gated_loss(want, name, "ref");
        gated_loss(want, name, "cpu");
        gated_loss(want, name, "cuda");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cnn_mean),       cmocka_unit_test(cnn_mixture), cmocka_unit_test(wrn_mean),
        cmocka_unit_test(wrn_mixture),    cmocka_unit_test(cnn_adam),    cmocka_unit_test(wrn_adam),
        cmocka_unit_test(gated_losses),   cmocka_unit_test(cnn_gated),   cmocka_unit_test(wrn_gated),
        cmocka_unit_test(wrn_gated_adam),
    };
    vg_backend_options options = {.threads = 2, .compute = VG_COMPUTE_F32};
    json_error_t error;
    reference = json_load_file("tests/data/nn/reference.json", 0, &error);
    if (!reference || vg_backend__open(&backend, "cpu", &options) != VG_OK) {
        fprintf(stderr, "%s%s\n", reference ? "" : error.text, vg_error_message());
        return 1;
    }
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    vg_backend__close(backend);
    json_decref(reference);
    return failed;
}
