/* test_nn_members.c - logits of members that stay with the backend against those brought to the host: heads, passes,
 * pass t through head t, passes through some heads, with and without the fixed random network, pieces cut in several
 * ways. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "nn/learner.h"

#define OK(call)                                                                                                       \
    do {                                                                                                               \
        if ((call) != VG_OK)                                                                                           \
            fail_msg("%s: %s", #call, vg_error_message());                                                             \
    } while (0)

enum { N = 9, HEADS = 5, CLASSES = 3, IMAGE = 28 * 28 };

static vg_learner *learner(vg_backend *b, double prior) {
    vg_learner *l;
    vg_learner_options o = {.beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .seed = 4, .head_prior = prior};
    o.network = (vg_network_spec){"cnn-8-16", (vg_shape){1, 28, 28}, HEADS, CLASSES, 0.3, 1, false};
    OK(vg_learner__new(&l, b, &o));
    OK(vg_learner__initialise(l));
    return l;
}

static void compare(vg_backend *b, double prior) {
    static const vg_members kinds[] = {{false, 1, HEADS, false, HEADS},
                                       {false, 1, 2, false, 2},
                                       {true, HEADS, 1, true, HEADS},
                                       {true, 4, 3, false, 12},
                                       {true, 7, 1, false, 7}};
    static float images[N * IMAGE], host[N * 12 * CLASSES], there[N * 12 * CLASSES];
    vg_random random = vg_random__start(8, 8);
    for (size_t i = 0; i < N * IMAGE; i++)
        images[i] = (float)vg_random__normal(&random);
    vg_learner *l = learner(b, prior);
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
        for (size_t rows = 9; rows <= 16; rows += 7) {
            size_t values = N * kinds[k].count * CLASSES;
            vg_tensor *kept;
            OK(vg_learner__predict(l, host, images, N, 3, &kinds[k], rows));
            OK(vg_learner__predict_on_device(l, &kept, images, N, 3, &kinds[k], rows));
            assert_int_equal(kept->n, N);
            assert_int_equal(kept->shape.c, kinds[k].count * CLASSES);
            OK(b->ops->tensor_download(b, there, kept));
            for (size_t i = 0; i < values; i++)
                if (host[i] != there[i])
                    fail_msg("kind %zu, %zu rows at once: value %zu is %g on the host, %g there", k, rows, i,
                             (double)host[i], (double)there[i]);
        }
    vg_tensor *kept;
    assert_int_equal(vg_learner__predict_on_device(l, &kept, images, N, 0, &kinds[0], N - 1), VG_ERR_ARGUMENT);
    vg_learner__free(l);
}

static void members(void **state) {
    vg_backend *b;
    vg_backend_options options = {.threads = 1, .compute = VG_COMPUTE_F32};
    if (vg_backend__open(&b, *state, &options) != VG_OK) {
        if (getenv("VARGATE_REQUIRE_GPU"))
            fail_msg("%s", vg_error_message());
        print_message("skipped: no GPU: %s\n", vg_error_message());
        skip();
    }
    compare(b, 0);
    compare(b, 2);
    vg_backend__close(b);
}

int main(void) {
    const struct CMUnitTest tests[] = {{"ref_members", members, NULL, NULL, "ref"},
                                       {"cuda_members", members, NULL, NULL, "cuda"}};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
