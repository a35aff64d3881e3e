/* test_nn_init.c - first values of parameters: moments of both forms against their definitions, and what must not
 * depend on the number of heads. PyTorch's own layers are compared with in python/tests/test_torch.py. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nn/model.h"

#define OK(call)                                                                                                       \
    do {                                                                                                               \
        if ((call) != VG_OK)                                                                                           \
            fail_msg("%s: %s", #call, vg_error_message());                                                             \
    } while (0)

typedef struct fixture {
    vg_backend *backend;
    vg_network *net;
    vg_model *model;
} fixture;

static fixture draw(const char *architecture, size_t heads, vg_initialisation how) {
    fixture f;
    vg_backend_options options = {.threads = 1, .compute = VG_COMPUTE_F32};
    vg_shape image = architecture[0] == 'c' ? (vg_shape){1, 28, 28} : (vg_shape){3, 32, 32};
    vg_network_spec spec = {architecture, image, heads, 10, 0.1, 1, false};
    OK(vg_backend__open(&f.backend, "ref", &options));
    OK(vg_network__new(&f.net, &spec));
    OK(vg_model__new(&f.model, f.net, f.backend, false));
    OK(vg_model__initialise(f.model, &how));
    return f;
}

static void release(fixture *f) {
    vg_model__free(f->model); /* and the network, which it owns */
    vg_backend__close(f->backend);
}

static float *values_of(const fixture *f, int i, size_t *count) {
    *count = vg_param__count(&f->net->params[i].param);
    float *values = malloc(*count * sizeof *values);
    assert_non_null(values);
    OK(vg_model__get(f->model, values, f->model->theta, i));
    return values;
}

static int find(const vg_network *net, const char *name) {
    for (int i = 0; i < net->param_count; i++)
        if (strcmp(net->params[i].name, name) == 0)
            return i;
    fail_msg("no parameter %s", name);
    return -1;
}

typedef struct moments {
    double mean, std, largest, fourth; /* fourth: standardised fourth moment, 1.8 uniform, 3 normal */
} moments;

static moments moments_of(const float *v, size_t n) {
    moments m = {0, 0, 0, 0};
    for (size_t i = 0; i < n; i++) {
        m.mean += v[i] / (double)n;
        m.largest = fmax(m.largest, fabs((double)v[i]));
    }
    for (size_t i = 0; i < n; i++) {
        double d = v[i] - m.mean;
        m.std += d * d / (double)n;
        m.fourth += d * d * d * d / (double)n;
    }
    m.fourth /= m.std > 0 ? m.std * m.std : 1;
    m.std = sqrt(m.std);
    return m;
}

/* Five standard errors of a standard deviation estimated from n values. */
static double tolerance(size_t n) { return 5 / sqrt(2.0 * (double)n); }

static void check_weight(const char *name, const float *v, size_t n, double fan_in, bool uniform) {
    moments m = moments_of(v, n);
    double std = sqrt((uniform ? 1.0 / 3 : 2.0) / fan_in), bound = 1 / sqrt(fan_in);
    if (fabs(m.std / std - 1) > tolerance(n))
        fail_msg("%s: standard deviation %g, expected %g", name, m.std, std);
    assert_true(fabs(m.mean) < 5 * std / sqrt((double)n));
    if (uniform)
        assert_true(m.largest <= bound * (1 + 1e-6) && (n < 500 || m.largest > 0.98 * bound));
    if (n > 10000)
        assert_true(fabs(m.fourth - (uniform ? 1.8 : 3)) < 0.2);
}

static void check_network(const char *architecture, bool uniform) {
    fixture f = draw(architecture, 7, (vg_initialisation){11, 1, uniform, 0});
    double fan_in = 0;
    for (int i = 0; i < f.net->param_count; i++) {
        const vg_net_param *p = &f.net->params[i];
        size_t n;
        float *v = values_of(&f, i, &n);
        bool norm = strstr(p->name, "norm") != NULL, weight = strstr(p->name, ".weight") != NULL;
        if (norm) {
            for (size_t k = 0; k < n; k++)
                assert_true(v[k] == (weight ? 1.f : 0.f));
        } else if (weight) {
            fan_in = (double)(p->param.i * p->param.h * p->param.w);
            check_weight(p->name, v, n, fan_in, uniform);
        } else if (uniform) {
            moments m = moments_of(v, n);
            assert_true(m.largest <= 1 / sqrt(fan_in) * (1 + 1e-6));
            assert_true(fabs(m.std * sqrt(3 * fan_in) - 1) < tolerance(n));
        } else {
            for (size_t k = 0; k < n; k++)
                assert_true(v[k] == 0 && !signbit(v[k]));
        }
        free(v);
    }
    release(&f);
}

static void distributions(void **state) {
    (void)state;
    for (int uniform = 0; uniform < 2; uniform++) {
        check_network("cnn-32-128", uniform);
        check_network("wrn-16-2", uniform);
    }
}

/* Head h of 3 is head h of 9: weights and biases. */
static void heads_by_themselves(void **state) {
    (void)state;
    for (int uniform = 0; uniform < 2; uniform++) {
        vg_initialisation how = {5, 1, uniform, 0};
        fixture few = draw("cnn-16-64", 3, how), many = draw("cnn-16-64", 9, how);
        const char *names[] = {"conv1.weight", "heads.weight", "heads.bias"};
        for (int k = 0; k < 3; k++) {
            size_t n, more;
            float *a = values_of(&few, find(few.net, names[k]), &n),
                  *b = values_of(&many, find(many.net, names[k]), &more);
            assert_true(more == (k ? 3 * n : n));
            assert_memory_equal(a, b, n * sizeof *a);
            free(a);
            free(b);
        }
        release(&few);
        release(&many);
    }
}

/* head_init_scale s: standard deviation s / sqrt(fan in) in both forms, the other layers as they were. */
static void scaled_heads(void **state) {
    (void)state;
    for (int uniform = 0; uniform < 2; uniform++) {
        fixture f = draw("cnn-16-64", 50, (vg_initialisation){6, 1, uniform, 4});
        fixture plain = draw("cnn-16-64", 50, (vg_initialisation){6, 1, uniform, 0});
        size_t n, same;
        float *heads = values_of(&f, find(f.net, "heads.weight"), &n);
        moments m = moments_of(heads, n);
        assert_true(fabs(m.std * sqrt(64) / 4 - 1) < tolerance(n));
        assert_true(fabs(m.fourth - (uniform ? 1.8 : 3)) < 0.2);
        float *a = values_of(&f, find(f.net, "hidden.weight"), &same),
              *b = values_of(&plain, find(f.net, "hidden.weight"), &same);
        assert_memory_equal(a, b, same * sizeof *a);
        free(heads);
        free(a);
        free(b);
        release(&f);
        release(&plain);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(distributions), cmocka_unit_test(heads_by_themselves),
                                       cmocka_unit_test(scaled_heads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
