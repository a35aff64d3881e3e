/* cpu_dnnl.c - products by oneDNN: its primitives, kept, and run over the caller's memory. Compiles against
 * its version 2 (Debian 12: 2.6) and version 3 C interfaces.
 *
 * A primitive is created once for each (pass, geometry, layouts) and kept. It is requested with the caller's activation
 * layouts. If only a slow implementation supports those, the library chooses the layouts, and operands are reordered
 * before and after. The layout of weights is always the library's choice; they are reordered only where it differs from
 * the caller's. Exceptions of oneDNN are caught in the functions that the backend calls (cpu_dnnl_guard.h). */
#include "backend/cpu/cpu_engine.h"

#include <stdlib.h>
#include <string.h>

#include "backend/cpu/cpu_dnnl_choice.h"
#include "backend/cpu/cpu_dnnl_guard.h"

#define DNNL_TRY(call)                                                                                                 \
    do {                                                                                                               \
        dnnl_status_t dnnl_try_ = (call);                                                                              \
        if (dnnl_try_ != dnnl_success)                                                                                 \
            return failed(dnnl_try_, #call);                                                                           \
    } while (0)

const char vg_engine__name[] = "oneDNN";

static vg_status failed(dnnl_status_t status, const char *call) {
    size_t length = strcspn(call, "(");
    return vg_base__fail(status == dnnl_out_of_memory ? VG_ERR_MEMORY : VG_ERR_UNSUPPORTED,
                         "oneDNN: %.*s failed with status %d", (int)length, call, (int)status);
}

/* A primitive and its scratch memory, which is in vg_engine.work. */
typedef struct kernel {
    dnnl_primitive_t primitive;
    dnnl_memory_t work; /* NULL: it needs none */
} kernel;

/* One operand of a primitive: the caller's memory, the primitive's memory, and the reorders between them where they
 * differ. */
typedef struct slot {
    int argument;
    dnnl_memory_t user, own; /* the same object when no reorder is needed */
    kernel to_own, to_user;
    void *scratch;
    const void *held; /* the source and version of what scratch holds */
    uint64_t held_version;
} slot;

typedef struct entry {
    vg_dnnl_key key;
    kernel kernel;
    dnnl_memory_t bias;
    slot slots[VG_DNNL_OPERANDS];
    struct entry *next;
} entry;

enum { BUCKETS = 256 };

struct vg_engine {
    vg_dnnl_device device;
    dnnl_stream_t stream;
    void *work; /* scratch memory, as large as the kernel with the most needs it */
    size_t work_size;
    entry *buckets[BUCKETS];
    /* The entry that is being made, and descriptions of it and of one of its reorders: released when oneDNN throws. */
    entry *unfinished;
    dnnl_primitive_desc_t description, reorder;
};

/* One guarded call of this file. */
typedef struct guarded_call {
    vg_status (*work)(vg_engine *dnnl, struct guarded_call *call);
    vg_engine *dnnl;
    vg_status status;
    const vg_dnnl_key *key;
    const vg_engine_operand **operands;
    const float *bias;
    vg_engine_layout *layout;
} guarded_call;

static void make_call(void *argument) {
    guarded_call *call = argument;
    call->status = call->work(call->dnnl, call);
}

static void entry_free(entry *e);
static void drop_unfinished(vg_engine *dnnl) {
    if (dnnl->unfinished)
        entry_free(dnnl->unfinished);
    if (dnnl->description)
        dnnl_primitive_desc_destroy(dnnl->description);
    if (dnnl->reorder)
        dnnl_primitive_desc_destroy(dnnl->reorder);
    dnnl->unfinished = NULL;
    dnnl->description = dnnl->reorder = NULL;
}

static vg_status guarded(guarded_call call) {
    vg_status status = vg_dnnl__guarded(make_call, &call);
    drop_unfinished(call.dnnl);
    return status == VG_OK ? call.status : status;
}

static vg_status open_engine(vg_engine *dnnl, guarded_call *call) {
    (void)call;
    VG_TRY(vg_dnnl__has_room());
    DNNL_TRY(vg_dnnl__device_open(&dnnl->device));
    DNNL_TRY(dnnl_stream_create(&dnnl->stream, dnnl->device.engine, dnnl_stream_default_flags));
    return VG_OK;
}

vg_status vg_engine__new(vg_engine **out) {
    vg_engine *dnnl;
    *out = NULL;
    VG_TRY(vg_base__zalloc(&dnnl, 1, sizeof *dnnl, "oneDNN context"));
    vg_status status = guarded((guarded_call){.work = open_engine, .dnnl = dnnl});
    if (status == VG_OK)
        *out = dnnl;
    else
        vg_engine__free(dnnl);
    return status;
}

static void kernel_free(kernel *k) {
    if (k->work)
        dnnl_memory_destroy(k->work);
    if (k->primitive)
        dnnl_primitive_destroy(k->primitive);
}

static void slot_free(slot *s) {
    if (s->own && s->own != s->user)
        dnnl_memory_destroy(s->own);
    if (s->user)
        dnnl_memory_destroy(s->user);
    kernel_free(&s->to_own);
    kernel_free(&s->to_user);
    vg_base__release(s->scratch);
}

static void entry_free(entry *e) {
    for (int i = 0; i < VG_DNNL_OPERANDS; i++)
        slot_free(&e->slots[i]);
    if (e->bias)
        dnnl_memory_destroy(e->bias);
    kernel_free(&e->kernel);
    vg_base__release(e);
}

void vg_engine__free(vg_engine *dnnl) {
    if (!dnnl)
        return;
    for (int i = 0; i < BUCKETS; i++)
        while (dnnl->buckets[i]) {
            entry *e = dnnl->buckets[i];
            dnnl->buckets[i] = e->next;
            entry_free(e);
        }
    if (dnnl->stream)
        dnnl_stream_destroy(dnnl->stream);
    vg_dnnl__device_close(&dnnl->device);
    vg_base__release(dnnl->work);
    vg_base__release(dnnl);
}

/* --- entries */

static vg_status grow_work(vg_engine *dnnl, size_t size) {
    void *larger;
    if (size <= dnnl->work_size)
        return VG_OK;
    VG_TRY(vg_base__alloc(&larger, size, 1, "oneDNN's scratch memory"));
    vg_base__release(dnnl->work);
    dnnl->work = larger;
    dnnl->work_size = size;
    return VG_OK;
}

static vg_status kernel_new(vg_engine *dnnl, kernel *k, dnnl_primitive_desc_t pd) {
    md_ref work = dnnl_primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0);
    size_t size = work ? dnnl_memory_desc_get_size(work) : 0;
    VG_TRY(grow_work(dnnl, size));
    DNNL_TRY(dnnl_primitive_create(&k->primitive, pd));
    if (size)
        DNNL_TRY(dnnl_memory_create(&k->work, work, dnnl->device.engine, DNNL_MEMORY_NONE));
    return VG_OK;
}

/* `arguments` has room for one more. */
static vg_status kernel_run(vg_engine *dnnl, const kernel *k, dnnl_exec_arg_t *arguments, int count) {
    if (k->work) {
        DNNL_TRY(dnnl_memory_set_data_handle(k->work, dnnl->work));
        arguments[count++] = (dnnl_exec_arg_t){DNNL_ARG_SCRATCHPAD, k->work};
    }
    DNNL_TRY(dnnl_primitive_execute(k->primitive, dnnl->stream, count, arguments));
    return VG_OK;
}

static vg_status reorder_new(vg_engine *dnnl, kernel *out, md_ref from, md_ref to) {
    dnnl_engine_t engine = dnnl->device.engine;
    DNNL_TRY(dnnl_reorder_primitive_desc_create(&dnnl->reorder, from, engine, to, engine, dnnl->device.plain));
    vg_status status = kernel_new(dnnl, out, dnnl->reorder);
    dnnl_primitive_desc_destroy(dnnl->reorder);
    dnnl->reorder = NULL;
    return status;
}

static vg_status slot_new(vg_engine *dnnl, slot *s, int argument, const vg_engine_view *view, md_ref own, bool in,
                          bool out) {
    dnnl_memory_desc_t user;
    s->argument = argument;
    DNNL_TRY(vg_dnnl__md_of_view(&user, view));
    vg_status status = VG_OK;
    dnnl_status_t made = dnnl_memory_create(&s->user, MD_REF(user), dnnl->device.engine, DNNL_MEMORY_NONE);
    if (made != dnnl_success) {
        MD_FREE(user);
        return failed(made, "dnnl_memory_create(");
    }
    if (dnnl_memory_desc_equal(MD_REF(user), own)) {
        s->own = s->user;
    } else {
        status = vg_base__alloc(&s->scratch, dnnl_memory_desc_get_size(own) + 64, 1, "reordered operand");
        made = status == VG_OK ? dnnl_memory_create(&s->own, own, dnnl->device.engine, s->scratch) : dnnl_success;
        if (made != dnnl_success)
            status = failed(made, "dnnl_memory_create(");
        if (status == VG_OK && in)
            status = reorder_new(dnnl, &s->to_own, MD_REF(user), own);
        if (status == VG_OK && out)
            status = reorder_new(dnnl, &s->to_user, own, MD_REF(user));
    }
    MD_FREE(user);
    return status;
}

/* Fills an entry from a primitive description: its primitive and its operands. */
static vg_status entry_fill(vg_engine *dnnl, entry *e, dnnl_primitive_desc_t pd) {
    static const struct {
        int argument;
        dnnl_query_t query;
    } roles[4][VG_DNNL_OPERANDS] = {{{DNNL_ARG_SRC, dnnl_query_src_md},
                                     {DNNL_ARG_WEIGHTS, dnnl_query_weights_md},
                                     {DNNL_ARG_DST, dnnl_query_dst_md}},
                                    {{DNNL_ARG_DIFF_DST, dnnl_query_diff_dst_md},
                                     {DNNL_ARG_WEIGHTS, dnnl_query_weights_md},
                                     {DNNL_ARG_DIFF_SRC, dnnl_query_diff_src_md}},
                                    {{DNNL_ARG_SRC, dnnl_query_src_md},
                                     {DNNL_ARG_DIFF_DST, dnnl_query_diff_dst_md},
                                     {DNNL_ARG_DIFF_WEIGHTS, dnnl_query_diff_weights_md}},
                                    {{DNNL_ARG_SRC, dnnl_query_src_md},
                                     {DNNL_ARG_WEIGHTS, dnnl_query_weights_md},
                                     {DNNL_ARG_DST, dnnl_query_dst_md}}};
    int role = e->key.kind == VG_DNNL_MATMUL ? 3 : e->key.kind;
    VG_TRY(kernel_new(dnnl, &e->kernel, pd));
    for (int i = 0; i < VG_DNNL_OPERANDS; i++) {
        md_ref own = dnnl_primitive_desc_query_md(pd, roles[role][i].query, 0);
        VG_TRY(slot_new(dnnl, &e->slots[i], roles[role][i].argument, &e->key.views[i], own,
                        i != VG_DNNL_OUT || e->key.accumulate, i == VG_DNNL_OUT));
    }
    if (e->key.bias)
        DNNL_TRY(dnnl_memory_create(&e->bias, dnnl_primitive_desc_query_md(pd, dnnl_query_weights_md, 1),
                                    dnnl->device.engine, DNNL_MEMORY_NONE));
    return VG_OK;
}

static vg_status pd_for_conv(vg_engine *dnnl, dnnl_primitive_desc_t *pd, const vg_dnnl_key *key) {
    /* The positions of x, w and y among the operands of each pass. */
    static const int place[3][3] = {{VG_DNNL_IN1, VG_DNNL_IN2, VG_DNNL_OUT},
                                    {VG_DNNL_OUT, VG_DNNL_IN2, VG_DNNL_IN1},
                                    {VG_DNNL_IN1, VG_DNNL_OUT, VG_DNNL_IN2}};
    const int *p = place[key->kind];
    const vg_engine_view *x = &key->views[p[0]], *w = &key->views[p[1]], *y = &key->views[p[2]];
    dnnl_primitive_desc_t other = NULL;
    *pd = NULL;
    dnnl_status_t status = vg_dnnl__conv_choose(&dnnl->device, pd, key, x, w, y, true);
    if (status == dnnl_success && !vg_dnnl__is_slow(*pd))
        return VG_OK;
    if (status == dnnl_out_of_memory) /* no reason for other layouts, which would give other bits */
        return failed(status, "dnnl_convolution(");
    dnnl_status_t free_layouts = vg_dnnl__conv_choose(&dnnl->device, &other, key, x, w, y, false);
    if (free_layouts == dnnl_out_of_memory) /* nor for the slow implementation */
        return failed(free_layouts, "dnnl_convolution(");
    if (free_layouts == dnnl_success) {
        if (status == dnnl_success)
            dnnl_primitive_desc_destroy(*pd);
        *pd = other;
        return VG_OK;
    }
    return status == dnnl_success ? VG_OK : failed(status, "dnnl_convolution(");
}

static vg_status pd_for_matmul(vg_engine *dnnl, dnnl_primitive_desc_t *pd, const vg_dnnl_key *key) {
    dnnl_memory_desc_t mds[VG_DNNL_OPERANDS], bias;
    vg_engine_view views[VG_DNNL_OPERANDS];
    int64_t bias_dims[2] = {1, key->views[VG_DNNL_OUT].dims[1]};
    for (int i = 0; i < VG_DNNL_OPERANDS; i++) {
        views[i] = key->views[i];
        if (i == VG_DNNL_OUT)
            continue;
        if (views[i].type != key->type) { /* It is converted anyway, so the copy is packed. */
            views[i].type = key->type;
            bool by_rows = views[i].strides[1] == 1;
            views[i].strides[0] = by_rows ? views[i].dims[1] : 1;
            views[i].strides[1] = by_rows ? 1 : views[i].dims[0];
        }
    }
    DNNL_TRY(vg_dnnl__md_of_view(&mds[VG_DNNL_IN1], &views[VG_DNNL_IN1]));
    DNNL_TRY(vg_dnnl__md_of_view(&mds[VG_DNNL_IN2], &views[VG_DNNL_IN2]));
    DNNL_TRY(vg_dnnl__md_of_view(&mds[VG_DNNL_OUT], &views[VG_DNNL_OUT]));
    DNNL_TRY(vg_dnnl__md_by_tag(&bias, 2, bias_dims, VG_ENGINE_F32, dnnl_ab));
    dnnl_status_t status = vg_dnnl__matmul_choose(&dnnl->device, pd, MD_REF(mds[VG_DNNL_IN1]), MD_REF(mds[VG_DNNL_IN2]),
                                                  key->bias ? MD_REF(bias) : NULL, MD_REF(mds[VG_DNNL_OUT]));
    for (int i = 0; i < VG_DNNL_OPERANDS; i++)
        MD_FREE(mds[i]);
    MD_FREE(bias);
    DNNL_TRY(status);
    return VG_OK;
}

/* Makes dnnl->unfinished. */
static vg_status entry_new(vg_engine *dnnl, const vg_dnnl_key *key) {
    VG_TRY(vg_base__zalloc(&dnnl->unfinished, 1, sizeof *dnnl->unfinished, "oneDNN primitive"));
    dnnl->unfinished->key = *key;
    VG_TRY(vg_dnnl__has_room());
    VG_TRY(key->kind == VG_DNNL_MATMUL ? pd_for_matmul(dnnl, &dnnl->description, key)
                                       : pd_for_conv(dnnl, &dnnl->description, key));
    return entry_fill(dnnl, dnnl->unfinished, dnnl->description);
}

static vg_status find_entry(vg_engine *dnnl, entry **out, const vg_dnnl_key *key) {
    uint64_t hash = 1469598103934665603u;
    for (size_t i = 0; i < sizeof *key; i++)
        hash = (hash ^ ((const unsigned char *)key)[i]) * 1099511628211u;
    entry **bucket = &dnnl->buckets[hash % BUCKETS];
    for (entry *e = *bucket; e; e = e->next)
        if (memcmp(&e->key, key, sizeof *key) == 0) {
            *out = e;
            return VG_OK;
        }
    VG_TRY(entry_new(dnnl, key));
    *out = dnnl->unfinished;
    dnnl->unfinished = NULL;
    (*out)->next = *bucket;
    *bucket = *out;
    return VG_OK;
}

static vg_status move(vg_engine *dnnl, const kernel *reorder, dnnl_memory_t from, dnnl_memory_t to) {
    dnnl_exec_arg_t arguments[3] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
    return kernel_run(dnnl, reorder, arguments, 2);
}

/* The product of call->key over the caller's memory. */
static vg_status run(vg_engine *dnnl, guarded_call *call) {
    const vg_engine_operand **operands = call->operands;
    dnnl_exec_arg_t arguments[VG_DNNL_OPERANDS + 2]; /* the bias and scratch memory */
    int count = 0;
    entry *e;
    VG_TRY(find_entry(dnnl, &e, call->key));
    for (int i = 0; i < VG_DNNL_OPERANDS; i++) {
        slot *s = &e->slots[i];
        DNNL_TRY(dnnl_memory_set_data_handle(s->user, operands[i]->data));
        bool held = operands[i]->version && s->held == operands[i]->data && s->held_version == operands[i]->version;
        if (s->to_own.primitive && !held) {
            VG_TRY(move(dnnl, &s->to_own, s->user, s->own));
            s->held = operands[i]->data;
            s->held_version = operands[i]->version;
        }
        arguments[count++] = (dnnl_exec_arg_t){s->argument, s->own};
    }
    if (e->bias) {
        void *values = (void *)(uintptr_t)call->bias;
        DNNL_TRY(dnnl_memory_set_data_handle(e->bias, values));
        arguments[count++] = (dnnl_exec_arg_t){DNNL_ARG_BIAS, e->bias};
    }
    VG_TRY(kernel_run(dnnl, &e->kernel, arguments, count));
    const slot *out = &e->slots[VG_DNNL_OUT];
    if (out->to_user.primitive)
        VG_TRY(move(dnnl, &out->to_user, out->own, out->user));
    DNNL_TRY(dnnl_stream_wait(dnnl->stream));
    return VG_OK;
}

/* --- interface */

vg_status vg_engine__conv(vg_engine *dnnl, const vg_engine_conv *conv, const vg_engine_operand *x,
                          const vg_engine_operand *w, const vg_engine_operand *y) {
    const vg_engine_pass pass = conv->pass;
    const vg_engine_operand *operands[3][VG_DNNL_OPERANDS] = {{x, w, y}, {y, w, x}, {x, y, w}};
    vg_dnnl_key key;
    memset(&key, 0, sizeof key);
    key.kind = (int)pass;
    key.type = conv->type;
    key.stride = (int64_t)conv->stride;
    key.pad = (int64_t)conv->pad;
    key.accumulate = conv->accumulate;
    for (int i = 0; i < VG_DNNL_OPERANDS; i++)
        memcpy(&key.views[i], &operands[pass][i]->view, sizeof key.views[i]);
    return guarded((guarded_call){.work = run, .dnnl = dnnl, .key = &key, .operands = operands[pass]});
}

vg_status vg_engine__matmul(vg_engine *dnnl, vg_engine_type type, const vg_engine_operand *c,
                            const vg_engine_operand *a, const vg_engine_operand *b, const float *bias) {
    const vg_engine_operand *operands[VG_DNNL_OPERANDS] = {a, b, c};
    vg_dnnl_key key;
    memset(&key, 0, sizeof key);
    key.kind = VG_DNNL_MATMUL;
    key.type = type;
    key.bias = bias != NULL;
    for (int i = 0; i < VG_DNNL_OPERANDS; i++)
        memcpy(&key.views[i], &operands[i]->view, sizeof key.views[i]);
    return guarded((guarded_call){.work = run, .dnnl = dnnl, .key = &key, .operands = operands, .bias = bias});
}

bool vg_engine__has_bf16(vg_engine *dnnl) {
    (void)dnnl;
    return (dnnl_get_effective_cpu_isa() & dnnl_cpu_isa_avx512_core_bf16) == dnnl_cpu_isa_avx512_core_bf16;
}

static vg_status find_preferred(vg_engine *dnnl, guarded_call *call) {
    static const vg_engine_layout candidates[] = {VG_ENGINE_BLOCKED16, VG_ENGINE_BLOCKED8, VG_ENGINE_CHANNELS_LAST};
    vg_engine_view x = {call->key->type, VG_ENGINE_PLAIN, {32, 64, 16, 16}, {0, 0}},
                   w = {call->key->type, VG_ENGINE_PLAIN, {64, 64, 3, 3}, {0, 0}};
    vg_engine_layout *layout = call->layout;
    VG_TRY(vg_dnnl__has_room());
    DNNL_TRY(vg_dnnl__conv_choose(&dnnl->device, &dnnl->description, call->key, &x, &w, &x, false));
    md_ref chosen = dnnl_primitive_desc_query_md(dnnl->description, dnnl_query_src_md, 0);
    *layout = VG_ENGINE_PLAIN;
    for (size_t i = 0; i < sizeof candidates / sizeof candidates[0] && *layout == VG_ENGINE_PLAIN; i++) {
        dnnl_memory_desc_t md;
        x.layout = candidates[i];
        DNNL_TRY(vg_dnnl__md_of_view(&md, &x));
        if (dnnl_memory_desc_equal(MD_REF(md), chosen))
            *layout = candidates[i];
        MD_FREE(md);
    }
    return VG_OK;
}

vg_status vg_engine__preferred(vg_engine *dnnl, vg_engine_type type, vg_engine_layout *layout) {
    vg_dnnl_key key;
    memset(&key, 0, sizeof key);
    key.type = type;
    key.stride = key.pad = 1;
    return guarded((guarded_call){.work = find_preferred, .dnnl = dnnl, .key = &key, .layout = layout});
}
