/* emulated_ops.c - the CUDA kernels of the layers, compiled for the host and run by emulate.cpp, against the plain
 * backend: their arithmetic, masks, indices and barriers without a GPU.
 * Built and run by tests/cuda/test_cuda_emulated.sh.
 *
 * Device memory is host memory filled with NaN, with a margin on each side, so that a read of memory that was never
 * written and a write outside a tensor are detected. Blocks and threads run in a different order each time, and results
 * must have the same bits. */
#include "backend_util.h"

#include "backend/counter.h"
#include "backend/cuda/cuda_layers.h"
#include "backend/cuda/loss.h"

enum { MARGIN = 256, UNWRITTEN = 0xFF };

static int multiprocessors;

/* --- device memory */

static void *device_new(size_t bytes) {
    unsigned char *memory = aligned_alloc(256, (bytes + 2 * MARGIN + 255) / 256 * 256 + 256);
    memset(memory, UNWRITTEN, bytes + 2 * MARGIN);
    return memory + MARGIN;
}

static void device_free(void *data, size_t bytes) {
    unsigned char *memory = (unsigned char *)data - MARGIN;
    for (size_t i = 0; i < MARGIN; i++)
        if (memory[i] != UNWRITTEN || memory[MARGIN + bytes + i] != UNWRITTEN)
            fail_msg("a kernel wrote outside its tensor");
    free(memory);
}

vg_status vg_cuda__launched(const char *kernel) {
    if (emulate_errors)
        return vg_base__fail(VG_ERR_UNSUPPORTED, "%s: threads of one block part at a barrier", kernel);
    return VG_OK;
}

/* There is no second stream. */
vg_status vg_cuda__writes(vg_backend *b, const vg_tensor *t) {
    (void)b;
    (void)t;
    return VG_OK;
}

vg_status vg_cuda__scratch(cuda_context *c, void *out, size_t bytes) {
    if (c->scratch)
        device_free(c->scratch, c->scratch_size);
    c->scratch_size = bytes;
    c->scratch = device_new(bytes);
    memcpy(out, &c->scratch, sizeof c->scratch);
    return VG_OK;
}

/* --- a backend with the layers alone */

static size_t bytes_of(const cuda_tensor *t) { return t->base.capacity * t->row * t->element; }

static vg_status tensor_new(vg_backend *b, vg_tensor **out, vg_tensor_kind kind, size_t capacity, vg_shape shape) {
    cuda_tensor *t;
    VG_TRY(vg_base__zalloc(&t, 1, sizeof *t, "tensor"));
    cuda_tensor_plan(t, b, kind, capacity, shape);
    t->data = device_new(bytes_of(t));
    *out = &t->base;
    return VG_OK;
}

static void tensor_free(vg_backend *b, vg_tensor *tensor) {
    (void)b;
    if (!tensor)
        return;
    device_free(cuda_t(tensor)->data, bytes_of(cuda_t(tensor)));
    vg_base__release(tensor);
}

static void put(cuda_tensor *t, size_t i, float v) {
    uint32_t u;
    memcpy(&u, &v, sizeof u);
    if (t->element == 2)
        ((uint16_t *)t->data)[i] = (uint16_t)((u + 0x7FFFu + (u >> 16 & 1)) >> 16);
    else
        ((float *)t->data)[i] = v;
}

static float get(const cuda_tensor *t, size_t i) {
    uint32_t u = t->element == 2 ? (uint32_t)((const uint16_t *)t->data)[i] << 16 : ((const uint32_t *)t->data)[i];
    float v;
    memcpy(&v, &u, sizeof v);
    return v;
}

/* Where element (c, position) of a row lies. */
static size_t at(const cuda_tensor *t, size_t n, size_t c, size_t position) {
    size_t area = t->base.shape.h * t->base.shape.w;
    return t->base.kind == VG_TENSOR_PLAIN ? n * t->row + c * area + position : (n * area + position) * t->channels + c;
}

static vg_status tensor_upload(vg_backend *b, vg_tensor *tensor, const float *values) {
    cuda_tensor *t = cuda_t(tensor);
    size_t area = tensor->shape.h * tensor->shape.w;
    (void)b;
    for (size_t n = 0; n < tensor->n; n++)
        for (size_t c = 0; c < t->channels; c++)
            for (size_t k = 0; k < area; k++)
                put(t, at(t, n, c, k), c < tensor->shape.c ? values[(n * tensor->shape.c + c) * area + k] : 0);
    return VG_OK;
}

static vg_status tensor_download(vg_backend *b, float *values, const vg_tensor *tensor) {
    cuda_tensor *t = cuda_t(tensor);
    size_t area = tensor->shape.h * tensor->shape.w;
    for (size_t i = 0; i < CUDA_COUNTERS; i++)
        assert_int_equal(cuda_of(b)->counters[i], 0);
    for (size_t n = 0; n < tensor->n; n++)
        for (size_t c = 0; c < t->channels; c++)
            for (size_t k = 0; k < area; k++)
                if (c < tensor->shape.c)
                    values[(n * tensor->shape.c + c) * area + k] = get(t, at(t, n, c, k));
                else if (get(t, at(t, n, c, k)) != 0)
                    fail_msg("channel %zu, past the last, is %g in row %zu", c, (double)get(t, at(t, n, c, k)), n);
    for (size_t i = tensor->n * t->row * t->element; i < bytes_of(t); i++)
        if (((const unsigned char *)t->data)[i] != UNWRITTEN)
            fail_msg("a kernel wrote past the rows in use");
    return VG_OK;
}

static vg_status param_plan(vg_backend *b, vg_param *p) {
    (void)b;
    p->size = cuda_pad(p->o);
    return VG_OK;
}

static vg_status block_new(vg_backend *b, vg_block **out, size_t count) {
    cuda_block *block;
    (void)b;
    VG_TRY(vg_base__zalloc(&block, 1, sizeof *block, "block"));
    block->base.count = count;
    block->data = device_new(count * sizeof(float));
    memset(block->data, 0, count * sizeof(float));
    *out = &block->base;
    return VG_OK;
}

static void block_free(vg_backend *b, vg_block *block) {
    (void)b;
    device_free(cuda_b(block)->data, block->count * sizeof(float));
    vg_base__release(block);
}

static vg_status param_upload(vg_backend *b, vg_block *block, const vg_param *p, const float *values) {
    (void)b;
    memcpy(cuda_b(block)->data + p->offset, values, p->o * sizeof(float));
    return VG_OK;
}

static vg_status param_download(vg_backend *b, float *values, const vg_block *block, const vg_param *p) {
    (void)b;
    memcpy(values, cuda_b(block)->data + p->offset, p->o * sizeof(float));
    for (size_t i = p->o; i < p->size; i++)
        if (cuda_b(block)->data[p->offset + i] != 0)
            fail_msg("a parameter's padding is not zero");
    return VG_OK;
}

static vg_status index_upload(vg_backend *b, vg_tensor *tensor, const int32_t *values) {
    (void)b;
    memcpy(cuda_t(tensor)->data, values, tensor->n * sizeof *values);
    return VG_OK;
}

/* Of the forms of the loss the gated one alone uses no instructions of a warp. */
static vg_status loss(vg_backend *b, const vg_head_loss *loss, vg_tensor *dlogits, const vg_tensor *logits,
                      const vg_tensor *addend, const vg_tensor *labels, const vg_tensor *weights) {
    (void)weights;
    return vg_cuda__gated_loss(b, loss, dlogits, logits, addend, labels);
}

static vg_status loss_read(vg_backend *b, vg_loss_totals *totals) {
    cuda_totals *own = cuda_of(b)->totals;
    *totals = (vg_loss_totals){own->loss, own->rows, own->correct, own->bad_step};
    *own = (cuda_totals){0, 0, 0, -1};
    return VG_OK;
}

static vg_status step_set(vg_backend *b, const vg_step *step) {
    b->step = *step;
    cuda_of(b)->step->step = *step;
    return VG_OK;
}

static void close_it(vg_backend *b) {
    cuda_context *c = cuda_of(b);
    if (c->scratch)
        device_free(c->scratch, c->scratch_size);
    free(c->step);
    free(c->totals);
    free(c->counters);
    free(c);
    free(b);
}

static const vg_backend_ops layers = {.close = close_it,
                                      .step_set = step_set,
                                      .tensor_new = tensor_new,
                                      .tensor_free = tensor_free,
                                      .tensor_upload = tensor_upload,
                                      .tensor_download = tensor_download,
                                      .index_upload = index_upload,
                                      .loss = loss,
                                      .loss_read = loss_read,
                                      .param_plan = param_plan,
                                      .block_new = block_new,
                                      .block_free = block_free,
                                      .param_upload = param_upload,
                                      .param_download = param_download,
                                      .norm_forward = vg_cuda__norm_forward,
                                      .norm_backward = vg_cuda__norm_backward,
                                      .average_forward = vg_cuda__average_forward,
                                      .average_backward = vg_cuda__average_backward,
                                      .repeat_rows = vg_cuda__repeat_rows,
                                      .pooling_forward = vg_cuda__pooling_forward,
                                      .pooling_backward = vg_cuda__pooling_backward};

/* The registry names it; this program has no CPU backend. */
vg_status vg_backend__open_cpu(vg_backend **out, const vg_backend_options *options) {
    (void)options;
    *out = NULL;
    return vg_base__fail(VG_ERR_UNSUPPORTED, "not in this program");
}

vg_status vg_backend__open_cuda(vg_backend **out, const vg_backend_options *options) {
    vg_backend *b = calloc(1, sizeof *b);
    cuda_context *c = calloc(1, sizeof *c);
    c->step = calloc(1, sizeof *c->step);
    c->totals = calloc(1, sizeof *c->totals);
    c->totals->bad_step = -1;
    c->counters = calloc(CUDA_COUNTERS, sizeof *c->counters);
    c->multiprocessors = multiprocessors;
    b->name = "cuda";
    b->ops = &layers;
    b->compute = options->compute;
    b->context = c;
    *out = b;
    return VG_OK;
}

/* --- the same operations without their ReLU */

static const vg_backend_ops *with_relu;

static vg_status pooling_forward(vg_backend *b, const vg_pooling *pooling, vg_tensor *y, vg_tensor *choice,
                                 const vg_tensor *x, const vg_block *theta, const vg_param *bias) {
    vg_pooling own = *pooling;
    own.relu = false;
    return with_relu->pooling_forward(b, &own, y, choice, x, theta, bias);
}

static vg_status pooling_backward(vg_backend *b, const vg_pooling *pooling, const vg_pooling_gradient *to,
                                  vg_block *grad) {
    vg_pooling own = *pooling;
    own.relu = false;
    return with_relu->pooling_backward(b, &own, to, grad);
}

static vg_status norm_forward(vg_backend *b, const vg_norm *norm, const vg_norm_pass *pass, const vg_block *theta) {
    vg_norm own = *norm;
    own.relu = false;
    return with_relu->norm_forward(b, &own, pass, theta);
}

static vg_status norm_backward(vg_backend *b, const vg_norm *norm, const vg_norm_gradient *to, const vg_block *theta,
                               vg_block *grad) {
    vg_norm own = *norm;
    own.relu = false;
    return with_relu->norm_backward(b, &own, to, theta, grad);
}

static void solve_without_relu(vg_backend *b, const problem *q, result *r) {
    vg_backend_ops ops = *b->ops;
    with_relu = b->ops;
    ops.pooling_forward = pooling_forward;
    ops.pooling_backward = pooling_backward;
    ops.norm_forward = norm_forward;
    ops.norm_backward = norm_backward;
    b->ops = &ops;
    solve(b, q, r);
    b->ops = with_relu;
}

/* --- the problems */

#define POOLING(text, N, C, H, W, POOL, ...)                                                                           \
    { .what = text, .kind = 1, .n = N, .c = C, .h = H, .w = W, .pool = POOL, __VA_ARGS__ }
#define NORM(text, N, C, H, W, ...)                                                                                    \
    { .what = text, .kind = 2, .n = N, .c = C, .h = H, .w = W, __VA_ARGS__ }

static const problem problems[] = {
    POOLING("pool, ReLU", 9, 32, 8, 8, 2, .p = 0),
    POOLING("pool, ReLU, dropout", 9, 32, 8, 6, 2, .p = 0.3f),
    POOLING("pool of the CNN", 21, 128, 8, 8, 2, .p = 0.05f),
    POOLING("ReLU, dropout", 10, 48, 1, 1, 1, .p = 0.05f),
    POOLING("hidden layer of the CNN", 67, 2048, 1, 1, 1, .p = 0.05f),
    POOLING("hidden layer of the CNN, in place", 3, 2048, 1, 1, 1, .p = 0.05f, .in_place = true),
    POOLING("ReLU, dropout in place, odd channels", 10, 13, 2, 3, 1, .p = 0.5f, .in_place = true),
    POOLING("pool, odd channels", 300, 13, 4, 2, 2, .p = 0.5f),
    POOLING("pool of odd maps", 3, 16, 5, 7, 2, .p = 0.1f),
    POOLING("pool by 3 of odd maps", 3, 16, 8, 7, 3, .p = 0),
    POOLING("pool by 3", 2, 16, 6, 9, 3, .p = 0.1f),
    NORM("norm", 11, 32, 4, 4, .training = true),
    NORM("norm of five positions", 5, 8, 1, 1, .training = true),
    NORM("norm of 16 channels, dropout, residual", 7, 16, 32, 32, .training = true, .p = 0.3f, .addend = true),
    NORM("norm after dropout, residual", 11, 32, 5, 4, .training = true, .p = 0.3f, .addend = true),
    NORM("norm, residual in place, odd channels", 5, 6, 4, 4, .training = true, .addend = true, .p = 0.2f,
         .in_place = true),
    NORM("norm of 20 channels", 40, 20, 7, 5, .training = true, .p = 0.2f),
    NORM("norm of 104 channels", 40, 104, 5, 5, .training = true, .addend = true),
    NORM("norm of 160 channels", 3, 160, 16, 16, .training = true, .p = 0.3f, .addend = true, .in_place = true),
    NORM("norm of 640 channels", 5, 640, 8, 8, .training = true, .p = 0.3f),
    NORM("norm of 2600 channels", 7, 2600, 3, 1, .training = true, .p = 0.3f),
    NORM("norm by running statistics", 5, 32, 4, 4, .p = 0.1f),
    NORM("norm by running statistics, odd channels", 5, 21, 4, 4, .p = 0.1f),
    {.what = "gated loss", .kind = 5, .n = 7, .heads = 6, .classes = 5, .addend = true, .gated = true},
    {.what = "gated loss of 100 heads", .kind = 5, .n = 3, .heads = 100, .classes = 10, .gated = true},
    {.what = "gated loss of 300 classes", .kind = 5, .n = 5, .heads = 3, .classes = 300, .gated = true},
    {.what = "average pool", .kind = 3, .n = 5, .c = 32, .h = 4, .w = 3},
    {.what = "average pool, odd channels", .kind = 3, .n = 5, .c = 19, .h = 3, .w = 3},
    {.what = "average pool of 640 channels", .kind = 3, .n = 3, .c = 640, .h = 8, .w = 8},
    {.what = "average pool of 2600 channels", .kind = 3, .n = 3, .c = 2600, .h = 2, .w = 1},
    {.what = "repeated rows", .kind = 7, .n = 4, .c = 32, .h = 3, .w = 5},
    {.what = "repeated rows, dropout", .kind = 7, .n = 4, .c = 32, .h = 3, .w = 5, .p = 0.25f},
    {.what = "repeated rows, dropout, odd channels", .kind = 7, .n = 4, .c = 27, .h = 3, .w = 5, .p = 0.25f},
    {.what = "repeated rows, dropout, 160 channels", .kind = 7, .n = 2, .c = 160, .h = 8, .w = 8, .p = 0.25f},
};
enum { PROBLEMS = sizeof problems / sizeof problems[0] };

static void compare_all(vg_compute compute, bounds allowed) {
    vg_backend *ref = open_backend("ref", VG_COMPUTE_F32), *b;
    for (int round = compute == VG_COMPUTE_BF16; round < 3; round++) {
        multiprocessors = (int[]){1, 3, 132}[round]; /* many rounds per block; a few; one */
        spare_rows = (size_t)round;
        b = open_backend("cuda", compute);
        for (int i = 0; i < PROBLEMS; i++) {
            problem q = prepare(problems, i, compute == VG_COMPUTE_BF16);
            result want;
            spare_rows = 0;
            solve(ref, &q, &want);
            spare_rows = (size_t)round;
            compare_with(&want, b, &q, allowed);
            drop(&want);
            finish(&q);
        }
        vg_backend__close(b);
    }
    spare_rows = 0;
    vg_backend__close(ref);
}

static void float32(void **state) {
    (void)state;
    compare_all(VG_COMPUTE_F32, (bounds){2e-6, 2e-5});
}

static void bfloat16(void **state) {
    (void)state;
    compare_all(VG_COMPUTE_BF16, (bounds){1e-2, 6e-2});
}

static void without_relu(void **state) {
    (void)state;
    multiprocessors = 3;
    vg_backend *ref = open_backend("ref", VG_COMPUTE_F32), *b = open_backend("cuda", VG_COMPUTE_F32);
    for (int i = 0; i < PROBLEMS; i++) {
        problem q = prepare(problems, i, false);
        result want, got;
        if ((q.kind == 1 || q.kind == 2) && q.c < 128) {
            solve_without_relu(ref, &q, &want);
            solve_without_relu(b, &q, &got);
            for (int k = 0; k < want.count; k++)
                if (!(distance(got.values[k], want.values[k], want.counts[k]) <= 2e-6))
                    fail_msg("%s without ReLU: output %d differs from the plain backend", q.what, k);
            drop(&want);
            drop(&got);
        }
        finish(&q);
    }
    vg_backend__close(ref);
    vg_backend__close(b);
}

/* The result does not depend on which block and thread runs first. */
static void same_bits(void **state) {
    (void)state;
    multiprocessors = 3;
    vg_backend *b = open_backend("cuda", VG_COMPUTE_F32);
    for (int i = 0; i < PROBLEMS; i++) {
        problem q = prepare(problems, i, false);
        result once, again;
        solve(b, &q, &once);
        emulate_seed += 77;
        solve(b, &q, &again);
        for (int k = 0; k < once.count; k++)
            if (memcmp(once.values[k], again.values[k], once.counts[k] * sizeof(float)) != 0)
                fail_msg("%s: output %d depends on the order of blocks", q.what, k);
        drop(&once);
        drop(&again);
        finish(&q);
    }
    vg_backend__close(b);
}

/* A mean far from zero leaves the variance its digits. */
static void large_mean(void **state) {
    (void)state;
    const problem one = NORM("norm of a large mean", 33, 16, 8, 8, .training = true);
    problem q = prepare(&one, 0, false);
    for (size_t i = 0; i < q.n * q.c * q.h * q.w; i++)
        q.x[i] += 300.0f;
    result want;
    multiprocessors = 3;
    vg_backend *ref = open_backend("ref", VG_COMPUTE_F32), *b = open_backend("cuda", VG_COMPUTE_F32);
    solve(ref, &q, &want);
    compare_with(&want, b, &q, (bounds){1e-4, 1e-3});
    drop(&want);
    finish(&q);
    vg_backend__close(ref);
    vg_backend__close(b);
}

/* PLAIN rows are repeated too: logits, where a network ends with them. */
static void plain_rows(void **state) {
    (void)state;
    vg_shape s = {30, 1, 1};
    generator = vg_random__start(5, 5);
    float *x = draw(4 * 30, 1), *got[2];
    for (int k = 0; k < 2; k++) {
        vg_backend *b = k ? open_backend("cuda", VG_COMPUTE_BF16) : open_backend("ref", VG_COMPUTE_F32);
        vg_tensor *from = tensor(b, VG_TENSOR_PLAIN, 4, s, x), *to = tensor(b, VG_TENSOR_PLAIN, 11, s, NULL);
        OK(b->ops->repeat_rows(b, to, from, 1, 3, (vg_dropout){0.4f, 2}));
        got[k] = values_of(b, to);
        b->ops->tensor_free(b, from);
        b->ops->tensor_free(b, to);
        vg_backend__close(b);
    }
    for (int i = 0; i < 11 * 30; i++)
        assert_true(got[0][i] == got[1][i]);
    free(x);
    free(got[0]);
    free(got[1]);
}

/* Division by multiplication, for numbers below 2^31. */
static void divisions(void **state) {
    (void)state;
    static const uint32_t divisors[] = {1, 2, 3, 5, 7, 12, 20, 64, 144, 1023, 1024, 1025, 65535, 65537, 0x7FFFFFFF};
    for (size_t k = 0; k < sizeof divisors / sizeof divisors[0]; k++) {
        cuda_divider d = cuda_divider_of(divisors[k]);
        for (uint32_t n = 0; n < 5000; n++) {
            uint32_t near = n * divisors[k] & 0x7FFFFFFFu, high = 0x7FFFFFFFu - n;
            assert_int_equal(cuda_divide(n, d), n / divisors[k]);
            assert_int_equal(cuda_divide(near, d), near / divisors[k]);
            assert_int_equal(cuda_divide(near ? near - 1 : 0, d), (near ? near - 1 : 0) / divisors[k]);
            assert_int_equal(cuda_divide(high, d), high / divisors[k]);
        }
    }
}

/* Masks lane by lane as counter.h draws them, from any position on. */
static void masks(void **state) {
    (void)state;
    const uint64_t seed = 0xFEDCBA9876543210u, first = 0x1234567FFFFFFF0u;
    for (uint32_t p = 0; p <= 4; p++) {
        const uint32_t threshold = vg_counter__threshold((float)p / 5);
        const cuda_draw draw = {(uint32_t)seed, (uint32_t)(seed >> 32), 99, 201, first, threshold << 16};
        for (uint32_t position = 0; position < 200; position++) {
            const uint32_t row = position % 40;
            uint32_t x[4], y[4];
            cuda_lanes_odd(x, &draw, row, position);
            cuda_lanes_aligned(y, &draw, row, position);
            for (uint32_t j = 0; j < 8; j++) {
                uint16_t lanes[8];
                vg_counter__lanes(lanes, seed, 201, 99, first + row, (position + j) / 8);
                bool want = lanes[(position + j) % 8] >= threshold;
                assert_int_equal(cuda_kept(x, (int)j, draw.threshold), want);
                if (position % 8 == 0)
                    assert_int_equal(cuda_kept(y, (int)j, draw.threshold), want);
            }
        }
    }
}

int main(void) {
    multiprocessors = 3;
    const struct CMUnitTest tests[] = {cmocka_unit_test(float32),      cmocka_unit_test(bfloat16),
                                       cmocka_unit_test(without_relu), cmocka_unit_test(same_bits),
                                       cmocka_unit_test(large_mean),   cmocka_unit_test(plain_rows),
                                       cmocka_unit_test(divisions),    cmocka_unit_test(masks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
