/* cuda_backend.c - the CUDA backend: opening and closing, device memory, tensors, blocks, parameters, the table of
 * operations. */
#include "backend/cuda/cuda_backend.h"

#include <stdio.h>
#include <string.h>

#include "backend/cuda/cuda_blas.h"
#include "backend/cuda/cuda_dnn.h"
#include "backend/cuda/cuda_library.h"
#include "backend/cuda/cuda_record.h"
#include "backend/cuda/cuda_store.h"
#include "backend/cuda/elementwise.h"
#include "backend/cuda/loss.h"
#include "base/cuda/cuda_reason.h"

/* --- errors and memory */

vg_status vg_cuda__check(cudaError_t error, const char *doing) {
    if (error == cudaSuccess)
        return VG_OK;
    cudaGetLastError();
    return vg_base__fail(error == cudaErrorMemoryAllocation ? VG_ERR_MEMORY : VG_ERR_UNSUPPORTED, "cuda: %s: %s", doing,
                         cudaGetErrorString(error));
}

/* On the backend's own stream: a plain cudaMemcpy of a few bytes may return before they have arrived, and other streams
 * do not wait for it. */
vg_status vg_cuda__copy(cuda_context *c, void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                        const char *what) {
    VG_TRY(vg_cuda__check(cudaMemcpyAsync(to, from, bytes, kind, c->main), what));
    return vg_cuda__check(cudaStreamSynchronize(c->main), what);
}

vg_status vg_cuda__launched(const char *kernel) { return vg_cuda__check(cudaGetLastError(), kernel); }

vg_status vg_cuda__alloc(cuda_context *c, void *out, size_t bytes, bool zero, const char *what) {
    void *memory = NULL;
    memcpy(out, &memory, sizeof memory);
    if (c->recording)
        return vg_base__fail(VG_ERR_ARGUMENT, "cuda: %s needs memory, which cannot be allocated during a recording",
                             what);
    cudaError_t error = cudaMalloc(&memory, bytes ? bytes : 256);
    if (error == cudaErrorMemoryAllocation) {
        size_t free = 0, total = 0;
        cudaGetLastError();
        cudaMemGetInfo(&free, &total);
        return vg_base__fail(
            VG_ERR_MEMORY,
            "cuda: out of memory: %s takes %.1f MiB, %.1f of %.1f MiB are free (a smaller batch needs less)", what,
            (double)bytes / 1048576, (double)free / 1048576, (double)total / 1048576);
    }
    VG_TRY(vg_cuda__check(error, what));
    if (zero)
        VG_TRY(vg_cuda__check(cudaMemsetAsync(memory, 0, bytes, c->stream), what));
    c->memory_used += bytes;
    memcpy(out, &memory, sizeof memory);
    return VG_OK;
}

void vg_cuda__free(cuda_context *c, void *memory, size_t bytes) {
    if (!memory)
        return;
    cudaFree(memory);
    c->memory_used -= bytes;
}

typedef struct cuda_retired {
    struct cuda_retired *next;
    void *memory;
    size_t size;
} cuda_retired;

/* Frees a buffer that was replaced by a larger one, or keeps it for the recordings that use it. */
static vg_status retire(cuda_context *c, void *memory, size_t size) {
    cuda_retired *item;
    if (!c->recordings) {
        vg_cuda__free(c, memory, size);
        return VG_OK;
    }
    VG_TRY(vg_base__alloc(&item, 1, sizeof *item, "working memory"));
    *item = (cuda_retired){c->retired, memory, size};
    c->retired = item;
    return VG_OK;
}

static void free_retired(cuda_context *c) {
    while (c->retired) {
        cuda_retired *item = c->retired;
        c->retired = item->next;
        vg_cuda__free(c, item->memory, item->size);
        vg_base__release(item);
    }
}

static vg_status grow(cuda_context *c, void **memory, size_t *size, size_t bytes, const char *what) {
    if (bytes <= *size && *memory)
        return VG_OK;
    if (*memory && !c->recording) {
        VG_TRY(vg_cuda__check(cudaDeviceSynchronize(), "waiting for the device"));
        VG_TRY(retire(c, *memory, *size));
        *memory = NULL;
        *size = 0;
    }
    bytes = (bytes + 65535) / 65536 * 65536;
    VG_TRY(vg_cuda__alloc(c, memory, bytes, false, what));
    *size = bytes;
    return VG_OK;
}

vg_status vg_cuda__scratch(cuda_context *c, void *out, size_t bytes) {
    if (c->side && c->stream == c->side) {
        VG_TRY(grow(c, &c->side_scratch, &c->side_scratch_size, bytes, "working memory"));
        memcpy(out, &c->side_scratch, sizeof c->side_scratch);
        return VG_OK;
    }
    VG_TRY(grow(c, &c->scratch, &c->scratch_size, bytes, "working memory"));
    memcpy(out, &c->scratch, sizeof c->scratch);
    return VG_OK;
}

vg_status vg_cuda__spare(cuda_context *c, void *out, size_t bytes) {
    VG_TRY(grow(c, &c->spare, &c->spare_size, bytes, "working memory"));
    memcpy(out, &c->spare, sizeof c->spare);
    return VG_OK;
}

vg_status vg_cuda__third(cuda_context *c, void *out, size_t bytes) {
    VG_TRY(grow(c, &c->third, &c->third_size, bytes, "working memory"));
    memcpy(out, &c->third, sizeof c->third);
    return VG_OK;
}

/* --- tensors */

static void tensor_free(vg_backend *b, vg_tensor *tensor) {
    if (!tensor)
        return;
    cuda_context *c = cuda_of(b);
    cuda_tensor *t = cuda_t(tensor);
    vg_cuda__free(c, t->data, tensor->capacity * t->row * t->element);
    vg_cuda__free(c, t->twin, tensor->capacity * t->twin_row * 2);
    vg_cuda__free(c, t->patches, t->patches_size);
    vg_base__release(t);
}

static vg_status tensor_new(vg_backend *b, vg_tensor **out, vg_tensor_kind kind, size_t capacity, vg_shape shape) {
    cuda_context *c = cuda_of(b);
    cuda_tensor *t;
    size_t size;
    *out = NULL;
    VG_TRY(vg_base__zalloc(&t, 1, sizeof *t, "tensor"));
    cuda_tensor_plan(t, b, kind, capacity, shape);
    vg_status status = VG_OK;
    if (!vg_base__mul(&size, capacity, t->row) || !vg_base__mul(&size, size, 2 * t->element))
        status = vg_base__fail(VG_ERR_MEMORY, "a tensor of %zu x %zu x %zu x %zu does not fit in memory", capacity,
                               shape.c, shape.h, shape.w);
    if (status == VG_OK)
        status = vg_cuda__alloc(c, &t->data, capacity * t->row * t->element, true, "a tensor");
    if (status == VG_OK && kind == VG_TENSOR_PLAIN && cuda_bf16(b) && shape.h * shape.w == 1) {
        t->twin_row = cuda_pad(shape.c);
        status = vg_cuda__alloc(c, &t->twin, capacity * t->twin_row * 2, true, "a tensor");
    }
    if (status != VG_OK)
        tensor_free(b, &t->base);
    else
        *out = &t->base;
    return status;
}

static vg_status tensor_upload(vg_backend *b, vg_tensor *tensor, const float *values) {
    cuda_context *c = cuda_of(b);
    cuda_tensor *t = cuda_t(tensor);
    size_t bytes = tensor->n * vg_shape__size(tensor->shape) * sizeof(float);
    void *place = t->data;
    VG_TRY(vg_cuda__writes(b, tensor));
    t->twin_valid = t->patches_valid = false;
    if (tensor->kind == VG_TENSOR_ACTIVATION)
        VG_TRY(vg_cuda__spare(c, &place, bytes));
    VG_TRY(vg_cuda__check(cudaMemcpyAsync(place, values, bytes, cudaMemcpyHostToDevice, c->stream),
                          "copying to the device"));
    if (tensor->kind != VG_TENSOR_ACTIVATION)
        return VG_OK;
    vg_cuda__k_to_activation(c->stream, cuda_bf16(b), t->data, place, tensor->n, tensor->shape, t->channels);
    return vg_cuda__launched("layout");
}

static vg_status tensor_download(vg_backend *b, float *values, const vg_tensor *tensor) {
    cuda_context *c = cuda_of(b);
    cuda_tensor *t = cuda_t(tensor);
    size_t bytes = tensor->n * vg_shape__size(tensor->shape) * sizeof(float);
    void *place = t->data;
    if (tensor->kind == VG_TENSOR_ACTIVATION) {
        VG_TRY(vg_cuda__spare(c, &place, bytes));
        vg_cuda__k_from_activation(c->stream, cuda_bf16(b), place, t->data, tensor->n, tensor->shape, t->channels);
        VG_TRY(vg_cuda__launched("layout"));
    }
    VG_TRY(vg_cuda__check(cudaMemcpyAsync(values, place, bytes, cudaMemcpyDeviceToHost, c->stream),
                          "copying from the device"));
    return vg_cuda__check(cudaStreamSynchronize(c->stream), "waiting for the device");
}

static vg_status index_upload(vg_backend *b, vg_tensor *t, const int32_t *values) {
    return vg_cuda__check(cudaMemcpyAsync(cuda_t(t)->data, values, t->n * vg_shape__size(t->shape) * sizeof *values,
                                          cudaMemcpyHostToDevice, cuda_of(b)->stream),
                          "copying to the device");
}

static vg_status members(vg_backend *b, vg_tensor *out, const vg_tensor *z, const vg_tensor *prior,
                         const vg_member_rows *rows) {
    VG_TRY(vg_cuda__writes(b, out));
    cuda_t(out)->twin_valid = false;
    vg_cuda__k_members(cuda_of(b)->stream, cuda_t(out)->data, cuda_t(z)->data, prior ? cuda_t(prior)->data : NULL,
                       *rows, z->n, out->shape.c / rows->classes);
    return vg_cuda__launched("members");
}

static vg_status tensor_address(vg_backend *b, const vg_tensor *t, const float **values, void **stream) {
    if (t->kind != VG_TENSOR_PLAIN)
        return vg_base__fail(VG_ERR_ARGUMENT, "cuda: only plain tensors have an address");
    *values = cuda_t(t)->data;
    *stream = cuda_of(b)->stream;
    return VG_OK;
}

vg_status vg_cuda__operand(vg_backend *b, const void **out, size_t *row, const vg_tensor *tensor) {
    cuda_tensor *t = cuda_t(tensor);
    *out = t->data;
    *row = t->row;
    if (tensor->kind != VG_TENSOR_PLAIN || !cuda_bf16(b))
        return VG_OK;
    if (!t->twin)
        return vg_base__fail(VG_ERR_ARGUMENT, "cuda: a plain tensor with positions cannot be an operand");
    if (!t->twin_valid)
        vg_cuda__k_narrow_rows(cuda_of(b)->stream, t->twin, t->data, tensor->n, t->row, t->twin_row);
    t->twin_valid = true;
    *out = t->twin;
    *row = t->twin_row;
    return vg_cuda__launched("operand");
}

/* --- parameters */

static vg_status param_plan(vg_backend *b, vg_param *p) {
    (void)b;
    size_t row, size;
    bool good = p->o <= SIZE_MAX / 2 && p->i <= SIZE_MAX / 2 && vg_base__mul(&row, p->h, p->w) && row <= SIZE_MAX / 2;
    if (good && p->kind == VG_PARAM_VECTOR)
        row = 1;
    else if (good && vg_cuda__packed(p))
        row = cuda_pad(row * p->i);
    else if (good)
        good = vg_base__mul(&row, row, cuda_pad(p->i));
    if (!good || !vg_base__mul(&size, cuda_pad(p->o), row))
        return vg_base__fail(VG_ERR_MEMORY, "a parameter of %zu x %zu x %zu x %zu does not fit in memory", p->o, p->i,
                             p->h, p->w);
    p->size = size;
    return VG_OK;
}

static void block_free(vg_backend *b, vg_block *block) {
    if (!block)
        return;
    vg_cuda__free(cuda_of(b), cuda_b(block)->data, block->count * sizeof(float));
    vg_cuda__free(cuda_of(b), cuda_b(block)->twin, block->count * 2);
    vg_cuda__free(cuda_of(b), cuda_b(block)->narrow, block->count / 16);
    vg_base__release(cuda_b(block)->narrow_host);
    vg_base__release(block);
}

static vg_status block_new(vg_backend *b, vg_block **out, size_t count) {
    cuda_block *block;
    *out = NULL;
    count = (count + 15) / 16 * 16;
    VG_TRY(vg_base__zalloc(&block, 1, sizeof *block, "parameter block"));
    block->base = (vg_block){count, 1};
    vg_status status = vg_cuda__alloc(cuda_of(b), &block->data, count * sizeof(float), true, "parameters");
    if (status != VG_OK)
        block_free(b, &block->base);
    else
        *out = &block->base;
    return status;
}

static vg_status block_clear(vg_backend *b, vg_block *block) {
    VG_TRY(vg_cuda__join(b));
    block->version++;
    return vg_cuda__check(cudaMemsetAsync(cuda_b(block)->data, 0, block->count * sizeof(float), cuda_of(b)->stream),
                          "clearing");
}

/* Place of element (o, i, y, x) within a parameter. */
static size_t place_of(const vg_param *p, size_t o, size_t i, size_t y, size_t x) {
    if (p->kind == VG_PARAM_VECTOR)
        return o;
    if (vg_cuda__packed(p))
        return o * cuda_pad(p->h * p->w * p->i) + (y * p->w + x) * p->i + i;
    return ((o * p->h + y) * p->w + x) * cuda_pad(p->i) + i;
}

static void reorder(float *to, const float *from, const vg_param *p, bool pack) {
    size_t at = 0;
    for (size_t o = 0; o < p->o; o++)
        for (size_t i = 0; i < p->i; i++)
            for (size_t y = 0; y < p->h; y++)
                for (size_t x = 0; x < p->w; x++, at++) {
                    size_t place = place_of(p, o, i, y, x);
                    to[pack ? place : at] = from[pack ? at : place];
                }
}

static bool is_narrow(const vg_block *block, const vg_param *p) {
    return cuda_b(block)->narrow_host && cuda_b(block)->narrow_host[p->offset / 16];
}

/* Records on host and device whether a parameter's gradient lies in the bfloat16 copy. */
static vg_status mark(vg_backend *b, cuda_block *block, const vg_param *p, bool narrow) {
    size_t first = p->offset / 16, count = (p->size + 15) / 16;
    memset(block->narrow_host + first, narrow, count);
    return vg_cuda__check(cudaMemsetAsync(block->narrow + first, narrow, count, cuda_of(b)->stream),
                          "marking gradients");
}

vg_status vg_cuda__narrow_gradient(vg_backend *b, vg_block *grad, const vg_param *w, void **out) {
    cuda_context *c = cuda_of(b);
    cuda_block *block = cuda_b(grad);
    if (!block->twin)
        VG_TRY(vg_cuda__alloc(c, &block->twin, grad->count * 2, true, "gradients"));
    if (!block->narrow_host)
        VG_TRY(vg_base__zalloc(&block->narrow_host, grad->count / 16, 1, "gradients"));
    if (!block->narrow)
        VG_TRY(vg_cuda__alloc(c, &block->narrow, grad->count / 16, true, "gradients"));
    *out = (uint16_t *)block->twin + w->offset;
    return is_narrow(grad, w) ? VG_OK : mark(b, block, w, true);
}

vg_status vg_cuda__wide_gradient(vg_backend *b, vg_block *grad, const vg_param *w) {
    return is_narrow(grad, w) ? mark(b, cuda_b(grad), w, false) : VG_OK;
}

static vg_status param_upload(vg_backend *b, vg_block *block, const vg_param *p, const float *values) {
    cuda_context *c = cuda_of(b);
    float *packed;
    VG_TRY(vg_cuda__join(b));
    VG_TRY(vg_base__zalloc(&packed, p->size, sizeof *packed, "a parameter"));
    reorder(packed, values, p, true);
    vg_status status = vg_cuda__check(cudaStreamSynchronize(c->stream), "waiting for the device");
    if (status == VG_OK)
        status = vg_cuda__copy(c, cuda_b(block)->data + p->offset, packed, p->size * sizeof *packed,
                               cudaMemcpyHostToDevice, "copying to the device");
    vg_base__release(packed);
    block->version++;
    if (status == VG_OK && is_narrow(block, p))
        status = mark(b, cuda_b(block), p, false);
    return status;
}

static vg_status param_download(vg_backend *b, float *values, const vg_block *block, const vg_param *p) {
    cuda_context *c = cuda_of(b);
    float *packed;
    VG_TRY(vg_cuda__join(b));
    VG_TRY(vg_base__alloc(&packed, p->size, sizeof *packed, "a parameter"));
    if (is_narrow(block, p))
        vg_cuda__k_widen(c->stream, cuda_b(block)->data + p->offset, (const uint16_t *)cuda_b(block)->twin + p->offset,
                         p->size);
    vg_status status = vg_cuda__check(cudaStreamSynchronize(c->stream), "waiting for the device");
    if (status == VG_OK)
        status = vg_cuda__copy(c, packed, cuda_b(block)->data + p->offset, p->size * sizeof *packed,
                               cudaMemcpyDeviceToHost, "copying from the device");
    if (status == VG_OK)
        reorder(values, packed, p, false);
    vg_base__release(packed);
    return status;
}

vg_status vg_cuda__weights(vg_backend *b, const void **out, const vg_block *theta, const vg_param *w) {
    cuda_block *block = cuda_b(theta);
    *out = block->data + w->offset;
    if (!cuda_bf16(b))
        return VG_OK;
    if (!block->twin)
        VG_TRY(vg_cuda__alloc(cuda_of(b), &block->twin, theta->count * 2, false, "weights"));
    if (block->twin_version != theta->version)
        vg_cuda__k_narrow(cuda_of(b)->stream, block->twin, block->data, theta->count);
    block->twin_version = theta->version;
    *out = (const uint16_t *)block->twin + w->offset;
    return vg_cuda__launched("weights");
}

/* --- flat blocks */

vg_status vg_cuda__block_multiply(vg_backend *b, vg_block *a, size_t offset, const vg_block *with, size_t count) {
    VG_TRY(vg_cuda__join(b));
    vg_cuda__k_multiply(cuda_of(b)->stream, cuda_b(a)->data + offset, cuda_b(with)->data, count);
    a->version++;
    return vg_cuda__launched("mask");
}

vg_status vg_cuda__block_anchor(vg_backend *b, vg_block *grad, const vg_block *theta, const vg_anchor *anchor,
                                double *penalty) {
    cuda_context *c = cuda_of(b);
    double *partial, sums[256], sum = 0;
    VG_TRY(vg_cuda__join(b));
    VG_TRY(vg_cuda__scratch(c, &partial, sizeof sums));
    int blocks = vg_cuda__k_anchor(c->stream, cuda_b(grad)->data + anchor->offset, cuda_b(theta)->data + anchor->offset,
                                   cuda_b(anchor->start)->data, anchor->count, anchor->scale, partial);
    VG_TRY(vg_cuda__launched("anchor"));
    grad->version++;
    if (!penalty)
        return VG_OK;
    VG_TRY(vg_cuda__check(
        cudaMemcpyAsync(sums, partial, (size_t)blocks * sizeof *sums, cudaMemcpyDeviceToHost, c->stream), "anchor"));
    VG_TRY(vg_cuda__check(cudaStreamSynchronize(c->stream), "waiting for the device"));
    for (int i = 0; i < blocks; i++)
        sum += sums[i];
    *penalty += anchor->scale * sum;
    return VG_OK;
}

/* --- life */

static vg_status step_set(vg_backend *b, const vg_step *step) {
    b->step = *step;
    cuda_step value = {*step};
    vg_cuda__k_step(cuda_of(b)->stream, cuda_of(b)->step, value);
    return vg_cuda__launched("step");
}

static vg_status sync_all(vg_backend *b) {
    VG_TRY(vg_cuda__join(b));
    return vg_cuda__check(cudaStreamSynchronize(cuda_of(b)->stream), "waiting for the device");
}

static size_t memory_used(vg_backend *b) { return cuda_of(b)->memory_used; }

/* The library computes on the first device. */
static vg_status enter_cuda(vg_backend *b) {
    VG_TRY(vg_cuda__check(cudaGetDevice(&cuda_of(b)->caller_device), "the current device"));
    return vg_cuda__check(cudaSetDevice(0), "selecting the device");
}

static void leave_cuda(vg_backend *b) { (void)cudaSetDevice(cuda_of(b)->caller_device); }

static void close_cuda(vg_backend *b) {
    cuda_context *c = cuda_of(b);
    if (c) {
        c->lost = c->main && cudaDeviceSynchronize() != cudaSuccess;
        vg_cuda__plans_free(b);
        vg_cuda__products_free(b);
        free_retired(c);
        vg_cuda__free(c, c->scratch, c->scratch_size);
        vg_cuda__free(c, c->spare, c->spare_size);
        vg_cuda__free(c, c->third, c->third_size);
        vg_cuda__free(c, c->side_scratch, c->side_scratch_size);
        vg_cuda__free(c, c->step, sizeof *c->step);
        vg_cuda__free(c, c->totals, sizeof(cuda_totals));
        vg_cuda__free(c, c->clip, sizeof *c->clip);
        vg_cuda__free(c, c->counters, CUDA_COUNTERS * sizeof *c->counters);
        if (c->totals_host)
            cudaFreeHost(c->totals_host);
        vg_cuda__streams_close(c);
        vg_backend__leave(b);
        vg_base__release(c);
    }
    vg_base__release(b);
}

static const vg_backend_ops ops = {
    .close = close_cuda,
    .enter = enter_cuda,
    .leave = leave_cuda,
    .sync = sync_all,
    .step_set = step_set,
    VG_BACKEND_OWN_STORAGE,
    .param_plan = param_plan,
    .block_free = block_free,
    .block_clear = block_clear,
    .param_upload = param_upload,
    .param_download = param_download,
    .conv_forward = vg_cuda__conv_forward,
    .conv_backward_data = vg_cuda__conv_backward_data,
    .conv_backward_weights = vg_cuda__conv_backward_weights,
    .pooling_forward = vg_cuda__pooling_forward,
    .pooling_backward = vg_cuda__pooling_backward,
    .norm_forward = vg_cuda__norm_forward,
    .norm_backward = vg_cuda__norm_backward,
    .average_forward = vg_cuda__average_forward,
    .average_backward = vg_cuda__average_backward,
    .linear_forward = vg_cuda__linear_forward,
    .linear_backward_data = vg_cuda__linear_backward_data,
    .linear_backward_weights = vg_cuda__linear_backward_weights,
    .copy_columns = vg_cuda__copy_columns,
    .loss = vg_cuda__loss,
    .loss_read = vg_cuda__loss_read,
    .block_multiply = vg_cuda__block_multiply,
    .block_anchor = vg_cuda__block_anchor,
    .adam = vg_cuda__adam,
    .sgd = vg_cuda__sgd,
    .clip = vg_cuda__clip,
    .block_average = vg_cuda__block_average,
    .repeat_rows = vg_cuda__repeat_rows,
    .conv_norm_forward = vg_cuda__conv_norm_forward,
    .conv_pooling_forward = vg_cuda__conv_pooling_forward,
    .conv_pooling_backward = vg_cuda__conv_pooling_backward,
    .adam_part = vg_cuda__adam_part,
    .members = members,
    .store_new = vg_cuda__store_new,
    .store_free = vg_cuda__store_free,
    .store_plan = vg_cuda__store_plan,
    .store_batch = vg_cuda__store_batch,
    .record_begin = vg_cuda__record_begin,
    .record_end = vg_cuda__record_end,
    .replay = vg_cuda__replay,
    .recording_free = vg_cuda__recording_free,
    .tensor_address = tensor_address,
    .memory_used = memory_used,
};

/* Finds a device that this build can use and names it, or fails with the reason. `brief`: without loading libraries to
 * see what else is missing, which takes 200 MB. */
static vg_status find_device(vg_backend *b, cuda_context *c, bool brief) {
    int count = 0;
    struct cudaDeviceProp properties;
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error != cudaSuccess || count == 0) { /* adds what else is missing */
        const cuda_library *library;
        char reason[160], also[320] = "";
        vg_cuda__reason(reason, sizeof reason, error);
        if (!brief && vg_cuda__library(&library) != VG_OK)
            snprintf(also, sizeof also, "; %s", vg_error_message());
        return vg_base__fail(VG_ERR_UNSUPPORTED, "cuda: %s%s", reason, also);
    }
    VG_TRY(vg_cuda__check(cudaGetDeviceProperties(&properties, 0), "querying the device"));
    if (properties.major < 8)
        return vg_base__fail(VG_ERR_UNSUPPORTED, "cuda: %s has compute capability %d.%d, 8.0 or newer is needed",
                             properties.name, properties.major, properties.minor);
    c->multiprocessors = properties.multiProcessorCount;
    /* a batch whose tiles in WRN-28-10 fill whole waves of the multiprocessors */
    b->rows = 5 * (unsigned)c->multiprocessors;
    snprintf(b->device, sizeof b->device, "%.60s", properties.name);
    return VG_OK;
}

static vg_status open_all(vg_backend *b, const vg_backend_options *options) {
    cuda_context *c = cuda_of(b);
    const cuda_library *library;
    VG_TRY(find_device(b, c, options->brief));
    VG_TRY(vg_cuda__library(&library));
    VG_TRY(vg_backend__enter(b));
    VG_TRY(vg_cuda__streams_open(c, options->streams));
    VG_TRY(vg_cuda__alloc(c, &c->step, sizeof *c->step, true, "the step"));
    VG_TRY(vg_cuda__alloc(c, &c->counters, CUDA_COUNTERS * sizeof *c->counters, true, "counters"));
    VG_TRY(vg_cuda__totals_new(c));
    VG_TRY(vg_cuda__plans_new(b));
    VG_TRY(vg_cuda__products_new(b));
    static const char *const computes[] = {"float32", "bfloat16", "TF32"};
    size_t used = strlen(b->device);
    snprintf(b->device + used, sizeof b->device - used, ", %s", computes[b->compute]);
    return VG_OK;
}

vg_status vg_backend__open_cuda(vg_backend **out, const vg_backend_options *options) {
    vg_backend *b;
    cuda_context *context;
    *out = NULL;
    VG_TRY(vg_base__zalloc(&b, 1, sizeof *b, "backend"));
    vg_status status = vg_base__zalloc(&context, 1, sizeof *context, "backend");
    b->name = "cuda";
    b->ops = &ops;
    b->compute = options->compute;
    b->threads = options->threads;
    b->read_every = 100;
    b->context = status == VG_OK ? context : NULL;
    if (status == VG_OK) {
        context->acceleration = options->acceleration;
        status = open_all(b, options);
    }
    if (status != VG_OK)
        close_cuda(b);
    else
        *out = b;
    return status;
}
