/* cpu_backend.c - the CPU backend: opening and closing, tensors, flat blocks and the optimiser. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_setaffinity */
#endif
#include "backend/cpu/cpu_backend.h"

#include <math.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "backend/counter.h"

/* --- tensors */

static void tensor_free(vg_backend *backend, vg_tensor *tensor) {
    (void)backend;
    if (tensor)
        vg_base__release(((cpu_tensor *)tensor)->data);
    vg_base__release(tensor);
}

static vg_status tensor_new(vg_backend *backend, vg_tensor **out, vg_tensor_kind kind, size_t capacity,
                            vg_shape shape) {
    cpu_context *cpu = cpu_of(backend);
    cpu_tensor *t;
    size_t count;
    *out = NULL;
    VG_TRY(vg_host__tensor_count(&count, capacity, shape));
    VG_TRY(vg_base__zalloc(&t, 1, sizeof *t, "tensor"));
    t->base = (vg_tensor){capacity, capacity, shape, kind};
    bool layered = kind == VG_TENSOR_ACTIVATION || kind == VG_TENSOR_CHOICE;
    t->bf16 = kind == VG_TENSOR_ACTIVATION && backend->compute == VG_COMPUTE_BF16;
    t->b = 1;
    if (layered && cpu->block == 0 && shape.c % 8 == 0 && shape.c <= VG_CPU_LANES)
        t->b = shape.c;
    else if (layered && cpu->block > 1 && shape.c % cpu->block == 0)
        t->b = cpu->block;
    size_t element = kind == VG_TENSOR_CHOICE ? 1 : t->bf16 ? 2 : 4;
    vg_status status = vg_base__zalloc(&t->data, count, element, "tensor");
    if (status != VG_OK)
        tensor_free(backend, &t->base);
    else
        *out = &t->base;
    return status;
}

/* Position in memory of element (c, k) of a row, k = y * W + x. */
static size_t place(const cpu_tensor *t, size_t c, size_t k) {
    size_t area = t->base.shape.h * t->base.shape.w;
    return (c / t->b * area + k) * t->b + c % t->b;
}

static vg_status tensor_upload(vg_backend *backend, vg_tensor *tensor, const float *values) {
    cpu_tensor *t = (cpu_tensor *)tensor;
    size_t area = tensor->shape.h * tensor->shape.w, row = vg_shape__size(tensor->shape);
    (void)backend;
    if (!t->bf16 && (t->b == 1 || area == 1)) {
        memcpy(t->data, values, tensor->n * row * sizeof(float));
        return VG_OK;
    }
    for (size_t n = 0; n < tensor->n; n++)
        for (size_t i = 0; i < row; i++) {
            size_t at = n * row + place(t, i / area, i % area);
            if (t->bf16)
                ((uint16_t *)t->data)[at] = vg_cpu__to_bf16(values[n * row + i]);
            else
                ((float *)t->data)[at] = values[n * row + i];
        }
    return VG_OK;
}

static vg_status tensor_download(vg_backend *backend, float *values, const vg_tensor *tensor) {
    const cpu_tensor *t = cpu_tensor_of(tensor);
    size_t area = tensor->shape.h * tensor->shape.w, row = vg_shape__size(tensor->shape);
    (void)backend;
    if (!t->bf16 && (t->b == 1 || area == 1)) {
        memcpy(values, t->data, tensor->n * row * sizeof(float));
        return VG_OK;
    }
    for (size_t n = 0; n < tensor->n; n++)
        for (size_t i = 0; i < row; i++) {
            size_t at = n * row + place(t, i / area, i % area);
            values[n * row + i] =
                t->bf16 ? vg_cpu__from_bf16(((const uint16_t *)t->data)[at]) : ((const float *)t->data)[at];
        }
    return VG_OK;
}

static vg_status index_upload(vg_backend *backend, vg_tensor *t, const int32_t *values) {
    (void)backend;
    memcpy(cpu_tensor_of(t)->data, values, t->n * vg_shape__size(t->shape) * sizeof(int32_t));
    return VG_OK;
}

vg_status vg_cpu__work(vg_backend *backend, size_t count, float **out) {
    cpu_context *cpu = cpu_of(backend);
    if (count > cpu->work_count) {
        vg_base__release(cpu->work);
        cpu->work = NULL;
        cpu->work_count = 0;
        VG_TRY(vg_base__alloc(&cpu->work, count, sizeof(float), "partial sums"));
        cpu->work_count = count;
    }
    *out = cpu->work;
    return VG_OK;
}

vg_status vg_cpu__spare(vg_backend *backend, size_t bytes, void **out) {
    cpu_context *cpu = cpu_of(backend);
    if (bytes > cpu->spare_size) {
        vg_base__release(cpu->spare);
        cpu->spare = NULL;
        cpu->spare_size = 0;
        VG_TRY(vg_base__alloc(&cpu->spare, bytes, 1, "activation"));
        cpu->spare_size = bytes;
    }
    *out = cpu->spare;
    return VG_OK;
}

/* --- masks */

vg_cpu_mask vg_cpu__mask(const vg_backend *backend, vg_dropout dropout, uint16_t lanes[VG_CPU_LANES],
                         const cpu_span *at) {
    vg_cpu_mask mask = {NULL, 0, 1.0f};
    if (dropout.p <= 0.0f)
        return mask;
    const vg_step *s = &backend->step;
    size_t channels = at->t->shape.c, b = at->b;
    mask = (vg_cpu_mask){lanes, vg_counter__threshold(dropout.p), 1.0f / (1.0f - dropout.p)};
    if (b % 8 == 0 && channels % 8 == 0) { /* all channels of a position: its groups of 8 are consecutive */
        bool whole = b == channels;
        vg_cpu_draw draw = {.seed = s->seed,
                            .row = s->row + at->n,
                            .stream = dropout.stream,
                            .step = s->number,
                            .first = (uint32_t)((at->first * channels + at->cb * b) / 8),
                            .stride = whole ? 1 : (uint32_t)(channels / 8),
                            .per = whole ? 1 : (uint32_t)(b / 8)};
        cpu_of(backend)->kernels->lanes(lanes, &draw, at->count * (b / 8));
        return mask;
    }
    for (size_t i = 0; i < at->count * b; i++) { /* odd channel counts: one by one */
        size_t position = (at->first + i / b) * channels + at->cb * b + i % b;
        uint16_t own[8];
        vg_counter__lanes(own, s->seed, dropout.stream, s->number, s->row + at->n, (uint32_t)(position / 8));
        lanes[i] = own[position % 8];
    }
    return mask;
}

/* --- flat blocks */

static void block_free(vg_backend *backend, vg_block *block) {
    if (block)
        vg_base__release(((cpu_block *)block)->shadow);
    vg_host__block_free(backend, block);
}

static vg_status block_new(vg_backend *backend, vg_block **out, size_t count) {
    return vg_host__block_new(out, sizeof(cpu_block), count, ++cpu_of(backend)->blocks << 40);
}

static vg_status block_multiply(vg_backend *backend, vg_block *a, size_t offset, const vg_block *b, size_t count) {
    float *x = ((cpu_block *)a)->data + offset;
    const float *y = ((const cpu_block *)b)->data;
    (void)backend;
    CPU_PARALLEL
    for (size_t i = 0; i < count; i++)
        x[i] *= y[i];
    a->version++;
    return VG_OK;
}

static vg_status block_anchor(vg_backend *backend, vg_block *grad, const vg_block *theta, const vg_anchor *anchor,
                              double *penalty) {
    size_t count = anchor->count;
    float scale = anchor->scale;
    float *g = ((cpu_block *)grad)->data + anchor->offset;
    const float *t = ((const cpu_block *)theta)->data + anchor->offset, *s = ((const cpu_block *)anchor->start)->data;
    (void)backend;
    CPU_PARALLEL
    for (size_t i = 0; i < count; i++)
        g[i] += 2.0f * scale * (t[i] - s[i]);
    if (penalty) {
        double sum = 0;
        for (size_t i = 0; i < count; i++)
            sum += ((double)t[i] - s[i]) * ((double)t[i] - s[i]);
        *penalty += scale * sum;
    }
    return VG_OK;
}

vg_status vg_cpu__shadow(vg_backend *backend, const vg_block *block, const vg_param *p, uint16_t **out) {
    enum { PIECE = 16384 };
    cpu_block *b = (cpu_block *)(uintptr_t)block; /* The values do not change; only a cache of them is filled. */
    const vg_cpu_kernels *kernels = cpu_of(backend)->kernels;
    if (!b->shadow)
        VG_TRY(vg_base__alloc(&b->shadow, block->count, sizeof *b->shadow, "bfloat16 parameters"));
    if (b->shadow_version != block->version) {
        size_t count = block->count;
        CPU_PARALLEL
        for (size_t at = 0; at < count; at += PIECE)
            kernels->to_bf16(b->shadow + at, b->data + at, count - at < PIECE ? count - at : PIECE);
        b->shadow_version = block->version;
    }
    *out = b->shadow + p->offset;
    return VG_OK;
}

static vg_status adam(vg_backend *backend, vg_block *theta, const vg_block *grad, vg_block *m, vg_block *v) {
    enum { PIECE = 16384 };
    const vg_step *s = &backend->step;
    const vg_cpu_kernels *kernels = cpu_of(backend)->kernels;
    const float decay = s->decoupled ? 0.0f : s->decay, shrink = 1.0f - s->rate * s->decay;
    const float figures[7] = {s->rate / s->correction1,     s->beta1,       s->beta2, s->epsilon, decay,
                              1.0f / sqrtf(s->correction2), 1.0f - s->beta1};
    size_t count = theta->count, pieces = (count + PIECE - 1) / PIECE;
    float *t = ((cpu_block *)theta)->data, *mm = ((cpu_block *)m)->data, *vv = ((cpu_block *)v)->data;
    const float *g = ((const cpu_block *)grad)->data;
    uint16_t *shadow = ((cpu_block *)theta)->shadow;
    CPU_PARALLEL
    for (size_t i = 0; i < pieces; i++) {
        size_t at = i * PIECE, length = count - at < PIECE ? count - at : PIECE;
        for (size_t k = at; s->decoupled && k < at + length; k++)
            t[k] *= shrink;
        kernels->adam(t + at, g + at, mm + at, vv + at, length, figures);
        if (shadow)
            kernels->to_bf16(shadow + at, t + at, length);
    }
    theta->version++;
    if (shadow) /* otherwise there is none yet that would be of this version */
        ((cpu_block *)theta)->shadow_version = theta->version;
    return VG_OK;
}

static vg_status sgd(vg_backend *backend, vg_block *theta, const vg_block *grad, vg_block *m) {
    const vg_step s = backend->step;
    size_t count = theta->count;
    float *t = ((cpu_block *)theta)->data, *mm = ((cpu_block *)m)->data;
    const float *gg = ((const cpu_block *)grad)->data;
    CPU_PARALLEL
    for (size_t i = 0; i < count; i++) {
        float g = gg[i] + s.decay * t[i];
        mm[i] = s.inertia * mm[i] + g;
        t[i] -= s.rate * (s.nesterov ? g + s.inertia * mm[i] : mm[i]);
    }
    theta->version++;
    return VG_OK;
}

/* Squares are summed by pieces of a fixed size and the pieces in order: the same bits at any number of threads. */
static vg_status clip(vg_backend *backend, vg_block *grad, float most) {
    enum { PIECE = 16384 };
    size_t count = grad->count, pieces = (count + PIECE - 1) / PIECE;
    float *g = ((cpu_block *)grad)->data, *work;
    VG_TRY(vg_cpu__work(backend, 2 * pieces, &work));
    double *sums = (double *)(void *)work, sum = 0;
    CPU_PARALLEL
    for (size_t i = 0; i < pieces; i++) {
        size_t end = (i + 1) * PIECE < count ? (i + 1) * PIECE : count;
        double own = 0;
        for (size_t k = i * PIECE; k < end; k++)
            own += (double)g[k] * g[k];
        sums[i] = own;
    }
    for (size_t i = 0; i < pieces; i++)
        sum += sums[i];
    const float factor = (float)(most / (sqrt(sum) + 1e-6));
    if (factor < 1) {
        CPU_PARALLEL
        for (size_t i = 0; i < count; i++)
            g[i] *= factor;
    }
    grad->version++;
    return VG_OK;
}

static vg_status block_average(vg_backend *backend, vg_block *mean, const vg_block *theta) {
    const float share = backend->step.average;
    size_t count = mean->count;
    float *a = ((cpu_block *)mean)->data;
    const float *t = ((const cpu_block *)theta)->data;
    CPU_PARALLEL
    for (size_t i = 0; i < count; i++)
        a[i] += share * (t[i] - a[i]);
    mean->version++;
    return VG_OK;
}

/* --- life */

/* Backends that compute: only the first binds its threads; those of several would be bound to the same cores. */
static atomic_int computing;

#if defined(_OPENMP) && defined(__linux__) && !defined(VG_OWN_OPENMP)
/* The cores that this worker of OpenMP could use before it was bound. */
static _Thread_local cpu_set_t unbound_cores;
static _Thread_local bool is_bound;

static void bind_worker(const cpu_set_t *allowed) {
    int wanted = omp_get_thread_num(), seen = 0;
    for (int core = 0; core < CPU_SETSIZE && wanted > 0; core++)
        if (CPU_ISSET(core, allowed) && seen++ == wanted) {
            cpu_set_t one;
            CPU_ZERO(&one);
            CPU_SET(core, &one);
            is_bound = sched_getaffinity(0, sizeof unbound_cores, &unbound_cores) == 0 &&
                       sched_setaffinity(0, sizeof one, &one) == 0;
            break;
        }
}

/* Binds the OpenMP workers to the cores that this process may use, one worker per core, because two on one core
 * would halve the speed. The calling thread stays unbound, because threads that it creates later would inherit its
 * binding. Workers that OMP_PROC_BIND binds are left alone. Returns whether they were bound. */
static bool bind_threads(unsigned threads) {
    cpu_set_t allowed;
    if (threads < 2 || omp_get_proc_bind() != omp_proc_bind_false ||
        sched_getaffinity(0, sizeof allowed, &allowed) != 0 || (unsigned)CPU_COUNT(&allowed) < threads)
        return false;
#pragma omp parallel num_threads((int)threads)
    bind_worker(&allowed);
    return true;
}

static void release_threads(unsigned threads) {
#pragma omp parallel num_threads((int)threads)
    if (is_bound) {
        sched_setaffinity(0, sizeof unbound_cores, &unbound_cores);
        is_bound = false;
    }
}
#else
static bool bind_threads(unsigned threads) {
    (void)threads;
    return false;
}
static void release_threads(unsigned threads) { (void)threads; }
#endif

/* The calling thread's loops have backend->threads threads, on cores of their own, until it leaves. */
static vg_status enter_cpu(vg_backend *backend) {
    cpu_context *cpu = cpu_of(backend);
#ifdef _OPENMP
    cpu->caller_threads = omp_get_max_threads();
    omp_set_num_threads((int)backend->threads);
#endif
    cpu->bound = atomic_fetch_add(&computing, 1) == 0 && !cpu->unbound && bind_threads(backend->threads);
    return VG_OK;
}

static void leave_cpu(vg_backend *backend) {
    cpu_context *cpu = cpu_of(backend);
    if (cpu->bound)
        release_threads(backend->threads);
    atomic_fetch_sub(&computing, 1);
#ifdef _OPENMP
    omp_set_num_threads(cpu->caller_threads);
#endif
}

static void close_cpu(vg_backend *backend) {
    cpu_context *cpu = cpu_of(backend);
    if (cpu) {
        vg_engine__free(cpu->engine);
        if (cpu->accelerator)
            cpu->accelerator->close(cpu->accelerator_state);
        vg_base__release(cpu->work);
        vg_base__release(cpu->spare);
        vg_backend__leave(backend);
    }
    vg_base__release(cpu);
    vg_base__release(backend);
}

static const vg_backend_ops ops = {
    .close = close_cpu,
    .enter = enter_cpu,
    .leave = leave_cpu,
    VG_BACKEND_OWN_STORAGE,
    VG_HOST_OPERATIONS,
    .block_free = block_free,
    .param_upload = vg_cpu__param_upload,
    .param_download = vg_cpu__param_download,
    .conv_forward = vg_cpu__conv_forward,
    .conv_backward_data = vg_cpu__conv_backward_data,
    .conv_backward_weights = vg_cpu__conv_backward_weights,
    .pooling_forward = vg_cpu__pooling_forward,
    .pooling_backward = vg_cpu__pooling_backward,
    .norm_forward = vg_cpu__norm_forward,
    .norm_backward = vg_cpu__norm_backward,
    .average_forward = vg_cpu__average_forward,
    .average_backward = vg_cpu__average_backward,
    .linear_forward = vg_cpu__linear_forward,
    .linear_backward_data = vg_cpu__linear_backward_data,
    .linear_backward_weights = vg_cpu__linear_backward_weights,
    .copy_columns = vg_cpu__copy_columns,
    .loss = vg_cpu__loss,
    .loss_read = vg_cpu__loss_read,
    VG_BACKEND_OWN_UPDATES,
    .repeat_rows = vg_cpu__repeat_rows,
};

static vg_status open_context(vg_backend *backend) {
    cpu_context *cpu = cpu_of(backend);
    vg_engine_type type = backend->compute == VG_COMPUTE_BF16 ? VG_ENGINE_BF16 : VG_ENGINE_F32;
    cpu->totals.bad_step = -1;
    cpu->kernels = vg_cpu__kernels();
    VG_TRY(vg_engine__new(&cpu->engine));
    cpu->accelerator = vg_cpu__conv_accelerator();
    if (cpu->accelerator)
        VG_TRY(cpu->accelerator->open(&cpu->accelerator_state));
    if (type == VG_ENGINE_BF16 && !vg_engine__has_bf16(cpu->engine))
        return vg_base__fail(VG_ERR_UNSUPPORTED, "%s: no bfloat16 products on this processor; compute in float32",
                             vg_engine__name);
    VG_TRY(vg_engine__preferred(cpu->engine, type, &cpu->layout));
    cpu->block = cpu->layout == VG_ENGINE_BLOCKED16  ? 16
                 : cpu->layout == VG_ENGINE_BLOCKED8 ? 8
                                                     : cpu->layout == VG_ENGINE_PLAIN;
    snprintf(backend->device, sizeof backend->device, "CPU, %u thread%s, %s in %s, %s kernels", backend->threads,
             backend->threads == 1 ? "" : "s", vg_engine__name, type == VG_ENGINE_BF16 ? "bfloat16" : "float32",
             cpu->kernels->tier);
    return VG_OK;
}

/* VG_ERR_MEMORY when so many threads cannot be started, because OpenMP's library would end the process. */
static vg_status can_start(unsigned threads) {
    vg_pool *pool;
    VG_TRY(vg_pool__new(&pool, threads));
    vg_pool__free(pool);
    return VG_OK;
}

vg_status vg_backend__open_cpu(vg_backend **out, const vg_backend_options *options) {
    vg_backend *backend;
    *out = NULL;
    VG_TRY(can_start(options->threads));
    VG_TRY(vg_base__zalloc(&backend, 1, sizeof *backend, "backend"));
    backend->name = "cpu";
    backend->ops = &ops;
    backend->read_every = 1;
    backend->compute = options->compute;
#ifdef _OPENMP
    backend->threads = options->threads ? options->threads : vg_base__cores();
#else
    backend->threads = 1;
#endif
    vg_status status = vg_base__zalloc(&backend->context, 1, sizeof(cpu_context), "backend");
    if (status == VG_OK) {
        cpu_of(backend)->unbound = options->unbound;
        status = vg_backend__enter(backend);
    }
    if (status == VG_OK)
        status = open_context(backend);
    if (status != VG_OK)
        close_cpu(backend);
    else
        *out = backend;
    return status;
}
