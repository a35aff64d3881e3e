/* test_backend_faults.c - every operation of the host backends with the n-th allocation failing, for every n; and the
 * CPU backend with the n-th call of oneDNN failing, by its status and by an exception. Each ends with one line of
 * message and frees what it made. */
#ifdef VG_TEST_DNNL
#include <oneapi/dnnl/dnnl.h>
#endif
#include <math.h>

#include "backend/backend.h"
#include "fault_loop.h"

enum { N = 3, HEADS = 2, CLASSES = 3, MOST = 64 };

/* What a pass over all operations made. Values are whatever the tensors begin with: zeros. */
typedef struct bench {
    const char *name;
    vg_compute compute;
    vg_backend *b;
    vg_tensor *tensors[MOST];
    vg_block *blocks[MOST];
    size_t tensor_count, block_count;
} bench;

static vg_status new_tensor(bench *w, vg_tensor **out, vg_tensor_kind kind, size_t n, vg_shape shape) {
    VG_TRY(w->b->ops->tensor_new(w->b, out, kind, n, shape));
    w->tensors[w->tensor_count++] = *out;
    return VG_OK;
}

static vg_status new_block(bench *w, vg_block **out, size_t count) {
    VG_TRY(w->b->ops->block_new(w->b, out, count));
    w->blocks[w->block_count++] = *out;
    return VG_OK;
}

/* --- operations by kind */

static vg_status convolve(bench *w, vg_conv conv, vg_param p, vg_shape in, bool kept) {
    const vg_backend_ops *ops = w->b->ops;
    vg_tensor *x, *y, *add;
    vg_block *theta, *grad;
    vg_shape out = {p.o, (in.h + 2 * conv.pad - p.h) / conv.stride + 1, (in.w + 2 * conv.pad - p.w) / conv.stride + 1};
    VG_TRY(ops->param_plan(w->b, &p));
    VG_TRY(new_block(w, &theta, p.size));
    VG_TRY(new_block(w, &grad, p.size));
    VG_TRY(new_tensor(w, &x, VG_TENSOR_ACTIVATION, N, in));
    VG_TRY(new_tensor(w, &y, VG_TENSOR_ACTIVATION, N, out));
    VG_TRY(new_tensor(w, &add, VG_TENSOR_ACTIVATION, N, in));
    VG_TRY(ops->conv_forward(w->b, &conv, y, x, theta, &p, NULL));
    VG_TRY(ops->conv_forward(w->b, &conv, y, x, theta, &p, y));
    VG_TRY(ops->conv_backward_data(w->b, &conv, x, y, theta, &p, NULL));
    VG_TRY(ops->conv_backward_data(w->b, &conv, x, y, theta, &p, kept ? x : add));
    return ops->conv_backward_weights(w->b, &conv, grad, &p, x, y);
}

static vg_status convolutions(bench *w) {
    VG_TRY(convolve(w, (vg_conv){1, 0}, (vg_param){VG_PARAM_CONV, 16, 1, 5, 5, 0, 0}, (vg_shape){1, 12, 12}, true));
    VG_TRY(convolve(w, (vg_conv){1, 1}, (vg_param){VG_PARAM_CONV, 16, 16, 3, 3, 0, 0}, (vg_shape){16, 8, 8}, false));
    VG_TRY(convolve(w, (vg_conv){2, 1}, (vg_param){VG_PARAM_CONV, 7, 5, 3, 3, 0, 0}, (vg_shape){5, 7, 6}, false));
    return convolve(w, (vg_conv){2, 0}, (vg_param){VG_PARAM_CONV, 32, 16, 1, 1, 0, 0}, (vg_shape){16, 9, 9}, true);
}

static vg_status layers(bench *w) {
    const vg_backend_ops *ops = w->b->ops;
    const vg_shape in = {16, 6, 6}, half = {16, 3, 3}, row = {16, 1, 1};
    vg_pooling pooling = {2, true, {0.25f, 1}};
    vg_norm norm = {1e-5f, true, true, {0.25f, 2}};
    vg_param bias = {VG_PARAM_VECTOR, 16, 1, 1, 1, 0, 16}, beta = {VG_PARAM_VECTOR, 16, 1, 1, 1, 16, 16};
    vg_tensor *x, *y, *choice, *running, *saved, *mean;
    vg_block *theta, *grad;
    VG_TRY(new_block(w, &theta, 32));
    VG_TRY(new_block(w, &grad, 32));
    VG_TRY(new_tensor(w, &x, VG_TENSOR_ACTIVATION, N, in));
    VG_TRY(new_tensor(w, &y, VG_TENSOR_ACTIVATION, N, half));
    VG_TRY(new_tensor(w, &choice, VG_TENSOR_CHOICE, N, half));
    VG_TRY(new_tensor(w, &running, VG_TENSOR_PLAIN, 2, row));
    VG_TRY(new_tensor(w, &saved, VG_TENSOR_PLAIN, 2, row));
    VG_TRY(new_tensor(w, &mean, VG_TENSOR_ACTIVATION, N, row));
    VG_TRY(ops->pooling_forward(w->b, &pooling, y, choice, x, theta, &bias));
    VG_TRY(ops->pooling_forward(w->b, &pooling, y, choice, x, theta, NULL));
    VG_TRY(ops->pooling_backward(w->b, &pooling, &(vg_pooling_gradient){x, y, y, choice, &bias}, grad));
    vg_norm_pass pass = {x, x, &bias, &beta, running, saved};
    VG_TRY(ops->norm_forward(w->b, &norm, &pass, theta));
    VG_TRY(ops->norm_backward(w->b, &norm, &(vg_norm_gradient){x, x, x, NULL, saved, &bias, &beta}, theta, grad));
    VG_TRY(ops->average_forward(w->b, mean, x));
    VG_TRY(ops->average_backward(w->b, x, mean));
    return ops->repeat_rows(w->b, x, x, 0, 1, (vg_dropout){0.5f, 3});
}

static vg_status products(bench *w) {
    const vg_backend_ops *ops = w->b->ops;
    const vg_shape in = {16, 2, 2}, out = {HEADS * CLASSES, 1, 1};
    vg_param p = {VG_PARAM_LINEAR, HEADS * CLASSES, 16, 2, 2, 0, 0}, bias = {VG_PARAM_VECTOR, 6, 1, 1, 1, 384, 6};
    vg_tensor *x, *y;
    vg_block *theta, *grad, *m, *v;
    VG_TRY(ops->param_plan(w->b, &p));
    VG_TRY(new_block(w, &theta, 400));
    VG_TRY(new_block(w, &grad, 400));
    VG_TRY(new_block(w, &m, 400));
    VG_TRY(new_block(w, &v, 400));
    VG_TRY(new_tensor(w, &x, VG_TENSOR_ACTIVATION, N, in));
    VG_TRY(new_tensor(w, &y, VG_TENSOR_PLAIN, N, out));
    VG_TRY(ops->linear_forward(w->b, y, x, theta, &p, &bias));
    VG_TRY(ops->linear_forward(w->b, y, x, theta, &p, NULL));
    VG_TRY(ops->linear_backward_data(w->b, x, y, theta, &p));
    VG_TRY(ops->linear_backward_weights(w->b, grad, &p, &bias, x, y));
    VG_TRY(ops->clip(w->b, grad, 1));
    VG_TRY(ops->adam(w->b, theta, grad, m, v));
    VG_TRY(ops->sgd(w->b, theta, grad, m));
    VG_TRY(ops->block_average(w->b, m, theta));
    VG_TRY(ops->block_clear(w->b, grad));
    return ops->sync(w->b);
}

static vg_status losses(bench *w) {
    const vg_backend_ops *ops = w->b->ops;
    const vg_shape row = {HEADS * CLASSES, 1, 1}, one = {1, 1, 1};
    static const int32_t labels[N] = {0, 1, 2};
    vg_param gate = {VG_PARAM_VECTOR, CLASSES, 1, 1, 1, 0, CLASSES};
    vg_head_loss loss = {.heads = HEADS, .classes = CLASSES, .gate = &gate};
    vg_loss_totals totals;
    vg_tensor *z, *dz, *y;
    vg_block *theta, *grad;
    VG_TRY(new_block(w, &theta, 16));
    VG_TRY(new_block(w, &grad, 16));
    VG_TRY(new_tensor(w, &z, VG_TENSOR_PLAIN, N, row));
    VG_TRY(new_tensor(w, &dz, VG_TENSOR_PLAIN, N, row));
    VG_TRY(new_tensor(w, &y, VG_TENSOR_INDEX, N, one));
    VG_TRY(ops->index_upload(w->b, y, labels));
    loss.theta = theta;
    loss.grad = grad;
    for (int form = VG_LOSS_MEAN; form <= VG_LOSS_GATED; form++) {
        loss.form = (vg_loss_form)form;
        VG_TRY(ops->loss(w->b, &loss, NULL, z, NULL, y, NULL));
        VG_TRY(ops->loss(w->b, &loss, dz, z, NULL, y, NULL));
    }
    return ops->loss_read(w->b, &totals);
}

static vg_status use_all(bench *w) {
    VG_TRY(w->b->ops->step_set(w->b, &(vg_step){.rate = 1e-3f, .correction1 = 1, .correction2 = 1, .epsilon = 1e-8f}));
    VG_TRY(convolutions(w));
    VG_TRY(layers(w));
    VG_TRY(products(w));
    return losses(w);
}

static vg_status whole_pass(void *context) {
    bench *w = context;
    vg_backend_options options = {.threads = 1, .compute = w->compute};
    w->tensor_count = w->block_count = 0;
    VG_TRY(vg_backend__open(&w->b, w->name, &options));
    vg_status status = use_all(w);
    for (size_t i = 0; i < w->tensor_count; i++)
        w->b->ops->tensor_free(w->b, w->tensors[i]);
    for (size_t i = 0; i < w->block_count; i++)
        w->b->ops->block_free(w->b, w->blocks[i]);
    vg_backend__close(w->b);
    return status;
}

static void walk(const char *name, vg_compute compute) {
    bench w = {.name = name, .compute = compute};
    if (whole_pass(&w) == VG_ERR_UNSUPPORTED) {
        print_message("skipped: %s\n", vg_error_message());
        skip();
    }
    walk_faults((fault_walk){
        .what = name, .body = whole_pass, .context = &w, .kind = "alloc", .status = VG_ERR_MEMORY, .tolerated = 1});
}

static void plain_backend(void **state) { (void)state, walk("ref", VG_COMPUTE_F32); }
static void cpu_backend(void **state) { (void)state, walk("cpu", VG_COMPUTE_F32); }
static void cpu_backend_in_bfloat16(void **state) { (void)state, walk("cpu", VG_COMPUTE_BF16); }

/* A device that is opened by "auto" is not replaced by a slower one where memory ran out. */
static void automatic_choice(void **state) {
    (void)state;
    bench w = {.name = "auto"};
    walk_faults((fault_walk){.what = "auto",
                             .body = whole_pass,
                             .context = &w,
                             .kind = "alloc",
                             .status = VG_ERR_MEMORY,
                             .stride = 5,
                             .tolerated = 1});
}

/* --- oneDNN */

#ifdef VG_TEST_DNNL

static unsigned long dnnl_calls, dnnl_fault; /* the call that fails, from 1; 0: none */
static long dnnl_live;                       /* objects made and not destroyed */
enum way { BY_STATUS, BY_MEMORY, BY_BAD_ALLOC, BY_EXCEPTION, BY_HANDLER };
static enum way fault_way;

void _ZSt17__throw_bad_allocv(void);              /* std::__throw_bad_alloc() */
void _ZSt20__throw_out_of_rangePKc(const char *); /* std::__throw_out_of_range(const char *) */
typedef void (*new_handler)(void);
new_handler _ZSt15get_new_handlerv(void); /* std::get_new_handler() */

/* The status of this call, or an exception, or dnnl_success: it is made. */
static dnnl_status_t faulty(void) {
    if (++dnnl_calls != dnnl_fault)
        return dnnl_success;
    if (fault_way == BY_BAD_ALLOC)
        _ZSt17__throw_bad_allocv();
    if (fault_way == BY_EXCEPTION)
        _ZSt20__throw_out_of_rangePKc("a test");
    if (fault_way == BY_HANDLER) { /* as operator new does: the reserve is spent, then there is none left */
        _ZSt15get_new_handlerv()();
        _ZSt15get_new_handlerv()();
    }
    return fault_way == BY_MEMORY ? dnnl_out_of_memory : dnnl_unimplemented;
}

/* A function of oneDNN that may fail, and by which `made` more objects exist. */
#define FAULTY(made, name, parameters, arguments)                                                                      \
    dnnl_status_t __real_##name parameters;                                                                            \
    dnnl_status_t __wrap_##name parameters;                                                                            \
    dnnl_status_t __wrap_##name parameters {                                                                           \
        dnnl_status_t status = faulty();                                                                               \
        if (status == dnnl_success)                                                                                    \
            status = __real_##name arguments;                                                                          \
        dnnl_live += status == dnnl_success ? (made) : 0;                                                              \
        return status;                                                                                                 \
    }
#define DESTROYER(name, type)                                                                                          \
    dnnl_status_t __real_##name(type object);                                                                          \
    dnnl_status_t __wrap_##name(type object);                                                                          \
    dnnl_status_t __wrap_##name(type object) {                                                                         \
        dnnl_live--;                                                                                                   \
        return __real_##name(object);                                                                                  \
    }
FAULTY(1, dnnl_engine_create, (dnnl_engine_t * e, dnnl_engine_kind_t kind, size_t i), (e, kind, i))
FAULTY(1, dnnl_stream_create, (dnnl_stream_t * s, dnnl_engine_t e, unsigned flags), (s, e, flags))
FAULTY(1, dnnl_primitive_create, (dnnl_primitive_t * p, const_dnnl_primitive_desc_t d), (p, d))
FAULTY(1, dnnl_memory_create, (dnnl_memory_t * m, const dnnl_memory_desc_t *d, dnnl_engine_t e, void *h), (m, d, e, h))
FAULTY(0, dnnl_memory_set_data_handle, (dnnl_memory_t m, void *h), (m, h))
FAULTY(0, dnnl_primitive_execute, (const_dnnl_primitive_t p, dnnl_stream_t s, int n, const dnnl_exec_arg_t *a),
       (p, s, n, a))
FAULTY(0, dnnl_stream_wait, (dnnl_stream_t s), (s))
FAULTY(1, dnnl_reorder_primitive_desc_create,
       (dnnl_primitive_desc_t * p, const dnnl_memory_desc_t *x, dnnl_engine_t e, const dnnl_memory_desc_t *y,
        dnnl_engine_t f, const_dnnl_primitive_attr_t a),
       (p, x, e, y, f, a))
FAULTY(0, dnnl_memory_desc_init_by_tag,
       (dnnl_memory_desc_t * m, int rank, const dnnl_dims_t dims, dnnl_data_type_t type, dnnl_format_tag_t tag),
       (m, rank, dims, type, tag))
FAULTY(0, dnnl_memory_desc_init_by_strides,
       (dnnl_memory_desc_t * m, int rank, const dnnl_dims_t dims, dnnl_data_type_t type, const dnnl_dims_t strides),
       (m, rank, dims, type, strides))
FAULTY(1, dnnl_primitive_attr_create, (dnnl_primitive_attr_t * a), (a))
FAULTY(0, dnnl_primitive_attr_set_scratchpad_mode, (dnnl_primitive_attr_t a, dnnl_scratchpad_mode_t m), (a, m))
FAULTY(1, dnnl_post_ops_create, (dnnl_post_ops_t * p), (p))
FAULTY(0, dnnl_post_ops_append_sum, (dnnl_post_ops_t p, float scale), (p, scale))
FAULTY(0, dnnl_primitive_attr_set_post_ops, (dnnl_primitive_attr_t a, const_dnnl_post_ops_t p), (a, p))
FAULTY(1, dnnl_primitive_desc_create,
       (dnnl_primitive_desc_t * p, const_dnnl_op_desc_t d, const_dnnl_primitive_attr_t a, dnnl_engine_t e,
        const_dnnl_primitive_desc_t h),
       (p, d, a, e, h))
FAULTY(0, dnnl_matmul_desc_init,
       (dnnl_matmul_desc_t * d, const dnnl_memory_desc_t *a, const dnnl_memory_desc_t *b,
        const dnnl_memory_desc_t *bias, const dnnl_memory_desc_t *c),
       (d, a, b, bias, c))
FAULTY(0, dnnl_convolution_forward_desc_init,
       (dnnl_convolution_desc_t * d, dnnl_prop_kind_t k, dnnl_alg_kind_t g, const dnnl_memory_desc_t *x,
        const dnnl_memory_desc_t *w, const dnnl_memory_desc_t *bias, const dnnl_memory_desc_t *y, const dnnl_dims_t s,
        const dnnl_dims_t l, const dnnl_dims_t r),
       (d, k, g, x, w, bias, y, s, l, r))
DESTROYER(dnnl_engine_destroy, dnnl_engine_t)
DESTROYER(dnnl_stream_destroy, dnnl_stream_t)
DESTROYER(dnnl_primitive_destroy, dnnl_primitive_t)
DESTROYER(dnnl_memory_destroy, dnnl_memory_t)
DESTROYER(dnnl_primitive_desc_destroy, dnnl_primitive_desc_t)
DESTROYER(dnnl_primitive_attr_destroy, dnnl_primitive_attr_t)
DESTROYER(dnnl_post_ops_destroy, dnnl_post_ops_t)

static void fail_calls(enum way way, vg_status wanted, unsigned long stride) {
    bench w = {.name = "cpu"};
    dnnl_fault = 0;
    dnnl_calls = 0;
    fault_way = way;
    if (whole_pass(&w) != VG_OK)
        fail_msg("%s", vg_error_message());
    unsigned long calls = dnnl_calls, survived = 0;
    assert_true(calls > 100);
    for (unsigned long n = 1; n <= calls; n += stride) {
        dnnl_calls = 0;
        dnnl_fault = n;
        long live = dnnl_live, blocks = vg_fault_live();
        vg_status status = whole_pass(&w);
        dnnl_fault = 0;
        survived += status == VG_OK;
        if (status != VG_OK && status != wanted)
            fail_msg("call %lu of %lu: status %d: %s", n, calls, (int)status, vg_error_message());
        if (status != VG_OK && strncmp(vg_error_message(), "oneDNN: ", 8) != 0)
            fail_msg("call %lu of %lu: %s", n, calls, vg_error_message());
        /* An exception leaves what the function that it passed held: descriptions of primitives and attributes. */
        if (dnnl_live - live > (way >= BY_BAD_ALLOC ? 4 : 0))
            fail_msg("call %lu of %lu: %ld objects of oneDNN are left", n, calls, dnnl_live - live);
        if (vg_fault_live() > blocks)
            fail_msg("call %lu of %lu: %ld blocks are left", n, calls, vg_fault_live() - blocks);
    }
    print_message("%lu calls of oneDNN, %lu failures survived\n", calls, survived);
    if (way != BY_STATUS && survived > 0) /* where it has no implementation another one is taken */
        fail_msg("%lu failures made no difference", survived);
}

static void statuses_of_onednn(void **state) { (void)state, fail_calls(BY_STATUS, VG_ERR_UNSUPPORTED, 1); }
static void onednn_without_memory(void **state) { (void)state, fail_calls(BY_MEMORY, VG_ERR_MEMORY, 1); }
static void exceptions_of_onednn(void **state) {
    (void)state;
    fail_calls(BY_BAD_ALLOC, VG_ERR_MEMORY, 7);
    fail_calls(BY_EXCEPTION, VG_ERR_UNSUPPORTED, 11);
    fail_calls(BY_HANDLER, VG_ERR_MEMORY, 29);
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_backend),           cmocka_unit_test(cpu_backend),
        cmocka_unit_test(cpu_backend_in_bfloat16), cmocka_unit_test(automatic_choice),
#ifdef VG_TEST_DNNL
        cmocka_unit_test(statuses_of_onednn),      cmocka_unit_test(onednn_without_memory),
#ifdef VG_DNNL_CATCH
        cmocka_unit_test(exceptions_of_onednn),
#endif
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
