/* test_cuda_shapes.c - the operations of both networks of the paper at their own sizes, on the GPU: channels, maps,
 * strides and heads as in training, with few and odd numbers of rows. VARGATE_SHAPES_BACKEND names another backend to
 * check. */
#include "backend_util.h"

/* The convolutions of WRN-28-10, the CNN and the fixed networks. */
#define CONV(text, N, C, H, O, K, S, P, ...)                                                                           \
    { .what = text, .kind = 0, .n = N, .c = C, .h = H, .w = H, .o = O, .kernel = K, .stride = S, .pad = P, __VA_ARGS__ }
#define POOLING(text, N, C, H, POOL, ...)                                                                              \
    { .what = text, .kind = 1, .n = N, .c = C, .h = H, .w = H, .pool = POOL, __VA_ARGS__ }
#define NORM(text, N, C, H, ...)                                                                                       \
    { .what = text, .kind = 2, .n = N, .c = C, .h = H, .w = H, __VA_ARGS__ }
#define LINEAR(text, N, C, H, O, ...)                                                                                  \
    { .what = text, .kind = 4, .n = N, .c = C, .h = H, .w = H, .o = O, __VA_ARGS__ }
#define LOSS(text, N, HEADS, CLASSES, ...)                                                                             \
    { .what = text, .kind = 5, .n = N, .heads = HEADS, .classes = CLASSES, __VA_ARGS__ }

static const problem problems[] = {
    CONV("CNN conv1", 5, 1, 28, 128, 5, 1, 0, .p = 0),
    CONV("CNN conv2", 3, 128, 12, 128, 5, 1, 0, .p = 0),
    CONV("WRN conv1", 3, 3, 32, 16, 3, 1, 1, .p = 0),
    CONV("WRN 16 to 160", 2, 16, 32, 160, 3, 1, 1, .p = 0),
    CONV("WRN 16 to 160, 1x1", 3, 16, 32, 160, 1, 1, 0, .p = 0),
    CONV("WRN 160, residual", 1, 160, 32, 160, 3, 1, 1, .addend = true),
    CONV("WRN 160 to 320, stride", 1, 160, 32, 320, 3, 2, 1, .p = 0),
    CONV("WRN 160 to 320, 1x1 stride", 3, 160, 32, 320, 1, 2, 0, .p = 0),
    CONV("WRN 320, residual in place", 1, 320, 16, 320, 3, 1, 1, .addend = true, .in_place = true),
    CONV("WRN 320 to 640, stride", 1, 320, 16, 640, 3, 2, 1, .p = 0),
    CONV("WRN 320 to 640, 1x1 stride", 3, 320, 16, 640, 1, 2, 0, .p = 0),
    CONV("WRN 640", 1, 640, 8, 640, 3, 1, 1, .p = 0),
    CONV("fixed network of 28, conv1", 3, 1, 28, 16, 5, 2, 0, .p = 0),
    CONV("fixed network of 28, conv2", 3, 16, 12, 32, 5, 2, 0, .p = 0),
    CONV("fixed network of 32, conv1", 3, 3, 32, 32, 3, 2, 1, .p = 0),
    CONV("fixed network of 32, conv2", 3, 32, 16, 64, 3, 2, 1, .p = 0),
    POOLING("CNN pooling 1", 5, 128, 24, 2, .p = 0.05f),
    POOLING("CNN pooling 2", 37, 128, 8, 2, .p = 0.05f),
    POOLING("CNN pooling 3", 129, 2048, 1, 1, .p = 0.05f),
    POOLING("CNN pooling 3 in place", 7, 2048, 1, 1, .p = 0.05f, .in_place = true),
    POOLING("CNN pooling 2 without dropout", 3, 128, 8, 2, .p = 0),
    NORM("WRN norm 16", 7, 16, 32, .training = true),
    NORM("WRN norm 160, dropout", 5, 160, 32, .training = true, .p = 0.3f),
    NORM("WRN norm 160, residual", 3, 160, 32, .training = true, .addend = true),
    NORM("WRN norm 320, dropout, residual in place", 5, 320, 16, .training = true, .addend = true, .p = 0.3f,
         .in_place = true),
    NORM("WRN norm 640, dropout", 37, 640, 8, .training = true, .p = 0.3f),
    NORM("WRN norm 640, residual", 129, 640, 8, .training = true, .addend = true),
    NORM("WRN norm 160 by running statistics, dropout", 3, 160, 32, .p = 0.3f),
    NORM("WRN norm 640 by running statistics", 129, 640, 8, .p = 0),
    {.what = "WRN average", .kind = 3, .n = 129, .c = 640, .h = 8, .w = 8},
    LINEAR("CNN hidden", 9, 128, 4, 2048, .p = 0),
    LINEAR("CNN heads", 129, 2048, 1, 1000, .addend = true, .in_place = true),
    LINEAR("WRN heads", 129, 640, 1, 1000, .addend = true, .in_place = true),
    LINEAR("WRN one head", 37, 640, 1, 10, .addend = true, .in_place = true),
    LINEAR("WRN heads of 100 classes", 7, 640, 1, 10000, .addend = true, .in_place = true),
    LOSS("100 heads of 10", 129, 100, 10, .p = 0),
    LOSS("100 heads of 100", 17, 100, 100, .p = 0),
    LOSS("100 heads of 10, prior and weights", 129, 100, 10, .addend = true, .weights = true),
    LOSS("one head of 10", 129, 1, 10, .p = 0),
    LOSS("mixture of 100 heads of 100", 17, 100, 100, .mixture = true),
    LOSS("gated, 100 heads of 10", 129, 100, 10, .gated = true),
    LOSS("gated, 100 heads of 100", 17, 100, 100, .addend = true, .gated = true),
    {.what = "Adam, 160 channels", .kind = 6, .o = 160, .c = 160, .kernel = 3},
    {.what = "repeated rows, 160 channels, dropout", .kind = 7, .n = 3, .c = 160, .h = 32, .w = 32, .p = 0.3f},
    {.what = "repeated rows, 2048 features, dropout", .kind = 7, .n = 43, .c = 2048, .h = 1, .w = 1, .p = 0.05f},
};
enum { PROBLEMS = sizeof problems / sizeof problems[0] };

/* Inputs are exact in bfloat16, so that one run of the plain backend serves both element types. */
static void network_shapes(void **state) {
    (void)state;
    const char *name = getenv("VARGATE_SHAPES_BACKEND") ? getenv("VARGATE_SHAPES_BACKEND") : "cuda";
    vg_backend *single = open_or_say(name, VG_COMPUTE_F32);
    if (!single)
        skip();
    vg_backend *ref = open_backend("ref", VG_COMPUTE_F32), *half = open_backend(name, VG_COMPUTE_BF16);
    for (int i = 0; i < PROBLEMS; i++) {
        problem q = prepare(problems, i, true);
        result want;
        solve(ref, &q, &want);
        compare_with(&want, single, &q, (bounds){1e-4, 1e-3});
        if (half)
            compare_with(&want, half, &q, (bounds){1e-2, 6e-2});
        drop(&want);
        finish(&q);
    }
    vg_backend__close(ref);
    vg_backend__close(single);
    vg_backend__close(half);
}

/* The same operation on the same inputs: the same bits, every time. */
static void same_bits(void **state) {
    (void)state;
    const char *name = getenv("VARGATE_SHAPES_BACKEND") ? getenv("VARGATE_SHAPES_BACKEND") : "cuda";
    for (int compute = VG_COMPUTE_F32; compute <= VG_COMPUTE_BF16; compute++) {
        vg_backend *b = open_or_say(name, (vg_compute)compute);
        if (!b)
            skip();
        for (int i = 0; i < PROBLEMS; i++) {
            problem q = prepare(problems, i, false);
            result once, again;
            solve(b, &q, &once);
            for (int round = 0; round < 3; round++) {
                solve(b, &q, &again);
                for (int k = 0; k < once.count; k++)
                    if (memcmp(once.values[k], again.values[k], once.counts[k] * sizeof(float)) != 0)
                        fail_msg("%s: output %d of %s differs from run to run", q.what, k, b->name);
                drop(&again);
            }
            drop(&once);
            finish(&q);
        }
        vg_backend__close(b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(network_shapes), cmocka_unit_test(same_bits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
