/* cpu_dnnl.c - the only file that includes oneDNN. Compiles against its version 2 (Debian 12: 2.6) and version 3 C
 * interfaces.
 *
 * A primitive is created once for each (pass, geometry, layouts) and kept. It is requested with the caller's activation
 * layouts. If only a slow implementation supports those, the library chooses the layouts, and operands are reordered
 * before and after. The layout of weights is always the library's choice; they are reordered only where it differs from
 * the caller's. */
#include "backend/cpu/cpu_engine.h"

#include <oneapi/dnnl/dnnl.h>
#include <stdlib.h>
#include <string.h>

#if DNNL_VERSION_MAJOR >= 3
typedef const_dnnl_memory_desc_t md_ref;
#define MD_REF(md) (md)
#define MD_FREE(md) dnnl_memory_desc_destroy(md)
#else
typedef const dnnl_memory_desc_t *md_ref;
#define MD_REF(md) (&(md))
#define MD_FREE(md) ((void)(md))
#endif

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

enum { IN1 = 0, IN2 = 1, OUT = 2, OPERANDS = 3 };

/* The key of a primitive. Keys are compared byte by byte, so a key is cleared before it is filled. */
typedef struct primitive_key {
    int kind; /* a vg_engine_pass, or MATMUL */
    vg_engine_type type;
    int64_t stride, pad;
    int64_t accumulate, bias;
    vg_engine_view views[OPERANDS];
} primitive_key;

enum { MATMUL = 100 };

/* One operand of a primitive: the caller's memory, the primitive's memory, and the reorders between them where they
 * differ. */
typedef struct slot {
    int argument;
    dnnl_memory_t user, own; /* the same object when no reorder is needed */
    dnnl_primitive_t to_own, to_user;
    void *scratch;
    const void *held; /* the source and version of what scratch holds */
    uint64_t held_version;
} slot;

typedef struct entry {
    primitive_key key;
    dnnl_primitive_t primitive;
    dnnl_memory_t bias;
    slot slots[OPERANDS];
    struct entry *next;
} entry;

enum { BUCKETS = 256 };

struct vg_engine {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    entry *buckets[BUCKETS];
};

vg_status vg_engine__new(vg_engine **out) {
    vg_engine *dnnl;
    *out = NULL;
    VG_TRY(vg_base__zalloc(&dnnl, 1, sizeof *dnnl, "oneDNN context"));
    dnnl_status_t status = dnnl_engine_create(&dnnl->engine, dnnl_cpu, 0);
    if (status == dnnl_success)
        status = dnnl_stream_create(&dnnl->stream, dnnl->engine, dnnl_stream_default_flags);
    if (status != dnnl_success) {
        vg_engine__free(dnnl);
        return failed(status, "dnnl_engine_create(");
    }
    *out = dnnl;
    return VG_OK;
}

static void slot_free(slot *s) {
    if (s->own && s->own != s->user)
        dnnl_memory_destroy(s->own);
    if (s->user)
        dnnl_memory_destroy(s->user);
    if (s->to_own)
        dnnl_primitive_destroy(s->to_own);
    if (s->to_user)
        dnnl_primitive_destroy(s->to_user);
    vg_base__release(s->scratch);
}

static void entry_free(entry *e) {
    for (int i = 0; i < OPERANDS; i++)
        slot_free(&e->slots[i]);
    if (e->bias)
        dnnl_memory_destroy(e->bias);
    if (e->primitive)
        dnnl_primitive_destroy(e->primitive);
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
    if (dnnl->engine)
        dnnl_engine_destroy(dnnl->engine);
    vg_base__release(dnnl);
}

/* --- memory descriptions */

static dnnl_data_type_t data_type(vg_engine_type type) { return type == VG_ENGINE_BF16 ? dnnl_bf16 : dnnl_f32; }

static dnnl_format_tag_t tag_of(vg_engine_layout layout) {
    switch (layout) {
    case VG_ENGINE_CHANNELS_LAST: return dnnl_acdb;
    case VG_ENGINE_BLOCKED16: return dnnl_aBcd16b;
    case VG_ENGINE_BLOCKED8: return dnnl_aBcd8b;
    case VG_ENGINE_FILTER16: return dnnl_ABcd16b16a;
    case VG_ENGINE_FILTER8: return dnnl_ABcd8b8a;
    case VG_ENGINE_FILTER_FIRST16: return dnnl_Acdb16a;
    case VG_ENGINE_FILTER_FIRST8: return dnnl_Acdb8a;
    default: return dnnl_abcd;
    }
}

static dnnl_status_t md_by_tag(dnnl_memory_desc_t *md, int rank, const int64_t *dims, vg_engine_type type,
                               dnnl_format_tag_t tag) {
    dnnl_dims_t d;
    for (int i = 0; i < rank; i++)
        d[i] = dims[i];
#if DNNL_VERSION_MAJOR >= 3
    return dnnl_memory_desc_create_with_tag(md, rank, d, data_type(type), tag);
#else
    return dnnl_memory_desc_init_by_tag(md, rank, d, data_type(type), tag);
#endif
}

/* The caller's memory. */
static dnnl_status_t md_of_view(dnnl_memory_desc_t *md, const vg_engine_view *view) {
    if (view->layout != VG_ENGINE_STRIDED)
        return md_by_tag(md, 4, view->dims, view->type, tag_of(view->layout));
    dnnl_dims_t dims = {view->dims[0], view->dims[1]}, strides = {view->strides[0], view->strides[1]};
#if DNNL_VERSION_MAJOR >= 3
    return dnnl_memory_desc_create_with_strides(md, 2, dims, data_type(view->type), strides);
#else
    return dnnl_memory_desc_init_by_strides(md, 2, dims, data_type(view->type), strides);
#endif
}

static dnnl_status_t attributes(dnnl_primitive_attr_t *attr, bool accumulate) {
    dnnl_post_ops_t ops = NULL;
    *attr = NULL;
    if (!accumulate)
        return dnnl_success;
    dnnl_status_t status = dnnl_primitive_attr_create(attr);
    if (status == dnnl_success)
        status = dnnl_post_ops_create(&ops);
    if (status == dnnl_success)
#if DNNL_VERSION_MAJOR >= 3
        status = dnnl_post_ops_append_sum(ops, 1.0f, 0, dnnl_data_type_undef);
#else
        status = dnnl_post_ops_append_sum(ops, 1.0f);
#endif
    if (status == dnnl_success)
        status = dnnl_primitive_attr_set_post_ops(*attr, ops);
    if (ops)
        dnnl_post_ops_destroy(ops);
    return status;
}

/* --- primitive descriptions */

/* One convolution pass over memory x, w, y. */
typedef struct conv_memory {
    int pass; /* a vg_engine_pass */
    md_ref x, w, y;
    int64_t stride, pad;
} conv_memory;

/* Backward passes take the forward one as a hint. */
static dnnl_status_t conv_pd(vg_engine *dnnl, dnnl_primitive_desc_t *pd, const conv_memory *conv,
                             dnnl_primitive_attr_t attr, dnnl_primitive_desc_t hint) {
    const int pass = conv->pass;
    const md_ref x = conv->x, w = conv->w, y = conv->y;
    dnnl_dims_t strides = {conv->stride, conv->stride}, pads = {conv->pad, conv->pad};
#if DNNL_VERSION_MAJOR >= 3
    dnnl_dims_t dilates = {0, 0};
    if (pass == VG_ENGINE_FORWARD)
        return dnnl_convolution_forward_primitive_desc_create(pd, dnnl->engine, dnnl_forward_training,
                                                              dnnl_convolution_direct, x, w, NULL, y, strides, dilates,
                                                              pads, pads, attr);
    if (pass == VG_ENGINE_BACKWARD_DATA)
        return dnnl_convolution_backward_data_primitive_desc_create(pd, dnnl->engine, dnnl_convolution_direct, x, w, y,
                                                                    strides, dilates, pads, pads, hint, attr);
    return dnnl_convolution_backward_weights_primitive_desc_create(pd, dnnl->engine, dnnl_convolution_direct, x, w,
                                                                   NULL, y, strides, dilates, pads, pads, hint, attr);
#else
    dnnl_convolution_desc_t desc;
    dnnl_status_t status;
    if (pass == VG_ENGINE_FORWARD)
        status = dnnl_convolution_forward_desc_init(&desc, dnnl_forward_training, dnnl_convolution_direct, x, w, NULL,
                                                    y, strides, pads, pads);
    else if (pass == VG_ENGINE_BACKWARD_DATA)
        status = dnnl_convolution_backward_data_desc_init(&desc, dnnl_convolution_direct, x, w, y, strides, pads, pads);
    else
        status = dnnl_convolution_backward_weights_desc_init(&desc, dnnl_convolution_direct, x, w, NULL, y, strides,
                                                             pads, pads);
    return status == dnnl_success ? dnnl_primitive_desc_create(pd, &desc, attr, dnnl->engine, hint) : status;
#endif
}

static dnnl_status_t matmul_pd(vg_engine *dnnl, dnnl_primitive_desc_t *pd, md_ref a, md_ref b, md_ref bias, md_ref c) {
#if DNNL_VERSION_MAJOR >= 3
    return dnnl_matmul_primitive_desc_create(pd, dnnl->engine, a, b, bias, c, NULL);
#else
    dnnl_matmul_desc_t desc;
    dnnl_status_t status = dnnl_matmul_desc_init(&desc, a, b, bias, c);
    return status == dnnl_success ? dnnl_primitive_desc_create(pd, &desc, NULL, dnnl->engine, NULL) : status;
#endif
}

/* Implementations by plain loops or through im2col are used only where there is no other. */
static bool is_slow(dnnl_primitive_desc_t pd) {
    const char *name = "";
    dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, (void *)&name);
    return strstr(name, "ref") || strstr(name, "gemm:") == name;
}

/* A convolution pass in `type`: x and y in the caller's layouts when `fixed`, else in the library's choice. The layout
 * of weights is always the library's choice; weight gradients are float32. */
static dnnl_status_t conv_choose(vg_engine *dnnl, dnnl_primitive_desc_t *pd, const primitive_key *key,
                                 const vg_engine_view *x, const vg_engine_view *w, const vg_engine_view *y,
                                 bool fixed) {
    dnnl_memory_desc_t mx, mw, my, mf;
    dnnl_primitive_attr_t attr = NULL;
    dnnl_primitive_desc_t hint = NULL;
    vg_engine_type weight_type = key->kind == VG_ENGINE_BACKWARD_WEIGHTS ? VG_ENGINE_F32 : key->type;
    dnnl_status_t status = md_by_tag(&mx, 4, x->dims, key->type, fixed ? tag_of(x->layout) : dnnl_format_tag_any);
    if (status != dnnl_success)
        return status;
    status = md_by_tag(&my, 4, y->dims, key->type, fixed ? tag_of(y->layout) : dnnl_format_tag_any);
    if (status != dnnl_success)
        goto free_x;
    status = md_by_tag(&mw, 4, w->dims, weight_type, dnnl_format_tag_any);
    if (status != dnnl_success)
        goto free_y;
    status = md_by_tag(&mf, 4, w->dims, key->type, dnnl_format_tag_any);
    if (status != dnnl_success)
        goto free_w;
    status = attributes(&attr, key->accumulate);
    if (status == dnnl_success && key->kind != VG_ENGINE_FORWARD)
        status = conv_pd(dnnl, &hint,
                         &(conv_memory){VG_ENGINE_FORWARD, MD_REF(mx), MD_REF(mf), MD_REF(my), key->stride, key->pad},
                         NULL, NULL);
    if (status == dnnl_success)
        status = conv_pd(dnnl, pd, &(conv_memory){key->kind, MD_REF(mx), MD_REF(mw), MD_REF(my), key->stride, key->pad},
                         attr, hint);
    if (hint)
        dnnl_primitive_desc_destroy(hint);
    if (attr)
        dnnl_primitive_attr_destroy(attr);
    MD_FREE(mf);
free_w:
    MD_FREE(mw);
free_y:
    MD_FREE(my);
free_x:
    MD_FREE(mx);
    return status;
}

/* --- entries */

static vg_status reorder_new(vg_engine *dnnl, dnnl_primitive_t *out, md_ref from, md_ref to) {
    dnnl_primitive_desc_t pd;
    DNNL_TRY(dnnl_reorder_primitive_desc_create(&pd, from, dnnl->engine, to, dnnl->engine, NULL));
    dnnl_status_t status = dnnl_primitive_create(out, pd);
    dnnl_primitive_desc_destroy(pd);
    DNNL_TRY(status);
    return VG_OK;
}

static vg_status slot_new(vg_engine *dnnl, slot *s, int argument, const vg_engine_view *view, md_ref own, bool in,
                          bool out) {
    dnnl_memory_desc_t user;
    s->argument = argument;
    DNNL_TRY(md_of_view(&user, view));
    vg_status status = VG_OK;
    dnnl_status_t made = dnnl_memory_create(&s->user, MD_REF(user), dnnl->engine, DNNL_MEMORY_NONE);
    if (made != dnnl_success) {
        MD_FREE(user);
        return failed(made, "dnnl_memory_create(");
    }
    if (dnnl_memory_desc_equal(MD_REF(user), own)) {
        s->own = s->user;
    } else {
        status = vg_base__alloc(&s->scratch, dnnl_memory_desc_get_size(own) + 64, 1, "reordered operand");
        if (status == VG_OK && dnnl_memory_create(&s->own, own, dnnl->engine, s->scratch) != dnnl_success)
            status = vg_base__fail(VG_ERR_MEMORY, "oneDNN: no memory for a reordered operand");
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
    } roles[4][OPERANDS] = {{{DNNL_ARG_SRC, dnnl_query_src_md},
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
    int role = e->key.kind == MATMUL ? 3 : e->key.kind;
    DNNL_TRY(dnnl_primitive_create(&e->primitive, pd));
    for (int i = 0; i < OPERANDS; i++) {
        md_ref own = dnnl_primitive_desc_query_md(pd, roles[role][i].query, 0);
        VG_TRY(slot_new(dnnl, &e->slots[i], roles[role][i].argument, &e->key.views[i], own,
                        i != OUT || e->key.accumulate, i == OUT));
    }
    if (e->key.bias)
        DNNL_TRY(dnnl_memory_create(&e->bias, dnnl_primitive_desc_query_md(pd, dnnl_query_weights_md, 1), dnnl->engine,
                                    DNNL_MEMORY_NONE));
    return VG_OK;
}

static vg_status pd_for_conv(vg_engine *dnnl, dnnl_primitive_desc_t *pd, const primitive_key *key) {
    /* The positions of x, w and y among the operands of each pass. */
    static const int place[3][3] = {{IN1, IN2, OUT}, {OUT, IN2, IN1}, {IN1, OUT, IN2}};
    const int *p = place[key->kind];
    const vg_engine_view *x = &key->views[p[0]], *w = &key->views[p[1]], *y = &key->views[p[2]];
    dnnl_primitive_desc_t other = NULL;
    *pd = NULL;
    dnnl_status_t status = conv_choose(dnnl, pd, key, x, w, y, true);
    if (status == dnnl_success && !is_slow(*pd))
        return VG_OK;
    if (conv_choose(dnnl, &other, key, x, w, y, false) == dnnl_success) {
        if (status == dnnl_success)
            dnnl_primitive_desc_destroy(*pd);
        *pd = other;
        return VG_OK;
    }
    return status == dnnl_success ? VG_OK : failed(status, "dnnl_convolution(");
}

static vg_status pd_for_matmul(vg_engine *dnnl, dnnl_primitive_desc_t *pd, const primitive_key *key) {
    dnnl_memory_desc_t mds[OPERANDS], bias;
    vg_engine_view views[OPERANDS];
    int64_t bias_dims[2] = {1, key->views[OUT].dims[1]};
    for (int i = 0; i < OPERANDS; i++) {
        views[i] = key->views[i];
        if (i == OUT)
            continue;
        if (views[i].type != key->type) { /* It is converted anyway, so the copy is packed. */
            views[i].type = key->type;
            bool by_rows = views[i].strides[1] == 1;
            views[i].strides[0] = by_rows ? views[i].dims[1] : 1;
            views[i].strides[1] = by_rows ? 1 : views[i].dims[0];
        }
    }
    DNNL_TRY(md_of_view(&mds[IN1], &views[IN1]));
    DNNL_TRY(md_of_view(&mds[IN2], &views[IN2]));
    DNNL_TRY(md_of_view(&mds[OUT], &views[OUT]));
    DNNL_TRY(md_by_tag(&bias, 2, bias_dims, VG_ENGINE_F32, dnnl_ab));
    dnnl_status_t status =
        matmul_pd(dnnl, pd, MD_REF(mds[IN1]), MD_REF(mds[IN2]), key->bias ? MD_REF(bias) : NULL, MD_REF(mds[OUT]));
    for (int i = 0; i < OPERANDS; i++)
        MD_FREE(mds[i]);
    MD_FREE(bias);
    DNNL_TRY(status);
    return VG_OK;
}

static vg_status find_entry(vg_engine *dnnl, entry **out, const primitive_key *key) {
    uint64_t hash = 1469598103934665603u;
    for (size_t i = 0; i < sizeof *key; i++)
        hash = (hash ^ ((const unsigned char *)key)[i]) * 1099511628211u;
    entry **bucket = &dnnl->buckets[hash % BUCKETS];
    for (entry *e = *bucket; e; e = e->next)
        if (memcmp(&e->key, key, sizeof *key) == 0) {
            *out = e;
            return VG_OK;
        }
    entry *e;
    dnnl_primitive_desc_t pd = NULL;
    VG_TRY(key->kind == MATMUL ? pd_for_matmul(dnnl, &pd, key) : pd_for_conv(dnnl, &pd, key));
    vg_status status = vg_base__zalloc(&e, 1, sizeof *e, "oneDNN primitive");
    if (status == VG_OK) {
        e->key = *key;
        status = entry_fill(dnnl, e, pd);
        if (status != VG_OK)
            entry_free(e);
    }
    dnnl_primitive_desc_destroy(pd);
    if (status != VG_OK)
        return status;
    e->next = *bucket;
    *bucket = e;
    *out = e;
    return VG_OK;
}

static vg_status move(vg_engine *dnnl, dnnl_primitive_t reorder, dnnl_memory_t from, dnnl_memory_t to) {
    dnnl_exec_arg_t arguments[2] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
    DNNL_TRY(dnnl_primitive_execute(reorder, dnnl->stream, 2, arguments));
    return VG_OK;
}

static vg_status run(vg_engine *dnnl, entry *e, const vg_engine_operand *operands[OPERANDS], const float *bias) {
    dnnl_exec_arg_t arguments[OPERANDS + 1];
    int count = 0;
    for (int i = 0; i < OPERANDS; i++) {
        slot *s = &e->slots[i];
        DNNL_TRY(dnnl_memory_set_data_handle(s->user, operands[i]->data));
        bool held = operands[i]->version && s->held == operands[i]->data && s->held_version == operands[i]->version;
        if (s->to_own && !held) {
            VG_TRY(move(dnnl, s->to_own, s->user, s->own));
            s->held = operands[i]->data;
            s->held_version = operands[i]->version;
        }
        arguments[count++] = (dnnl_exec_arg_t){s->argument, s->own};
    }
    if (e->bias) {
        void *values = (void *)(uintptr_t)bias;
        DNNL_TRY(dnnl_memory_set_data_handle(e->bias, values));
        arguments[count++] = (dnnl_exec_arg_t){DNNL_ARG_BIAS, e->bias};
    }
    DNNL_TRY(dnnl_primitive_execute(e->primitive, dnnl->stream, count, arguments));
    if (e->slots[OUT].to_user)
        VG_TRY(move(dnnl, e->slots[OUT].to_user, e->slots[OUT].own, e->slots[OUT].user));
    DNNL_TRY(dnnl_stream_wait(dnnl->stream));
    return VG_OK;
}

/* --- what the backend calls */

vg_status vg_engine__conv(vg_engine *dnnl, const vg_engine_conv *conv, const vg_engine_operand *x,
                          const vg_engine_operand *w, const vg_engine_operand *y) {
    const vg_engine_pass pass = conv->pass;
    const vg_engine_operand *operands[3][OPERANDS] = {{x, w, y}, {y, w, x}, {x, y, w}};
    primitive_key key;
    entry *e;
    memset(&key, 0, sizeof key);
    key.kind = (int)pass;
    key.type = conv->type;
    key.stride = (int64_t)conv->stride;
    key.pad = (int64_t)conv->pad;
    key.accumulate = conv->accumulate;
    for (int i = 0; i < OPERANDS; i++)
        memcpy(&key.views[i], &operands[pass][i]->view, sizeof key.views[i]);
    VG_TRY(find_entry(dnnl, &e, &key));
    return run(dnnl, e, operands[pass], NULL);
}

vg_status vg_engine__matmul(vg_engine *dnnl, vg_engine_type type, const vg_engine_operand *c,
                            const vg_engine_operand *a, const vg_engine_operand *b, const float *bias) {
    const vg_engine_operand *operands[OPERANDS] = {a, b, c};
    primitive_key key;
    entry *e;
    memset(&key, 0, sizeof key);
    key.kind = MATMUL;
    key.type = type;
    key.bias = bias != NULL;
    for (int i = 0; i < OPERANDS; i++)
        memcpy(&key.views[i], &operands[i]->view, sizeof key.views[i]);
    VG_TRY(find_entry(dnnl, &e, &key));
    return run(dnnl, e, operands, bias);
}

bool vg_engine__has_bf16(vg_engine *dnnl) {
    (void)dnnl;
    return (dnnl_get_effective_cpu_isa() & dnnl_cpu_isa_avx512_core_bf16) == dnnl_cpu_isa_avx512_core_bf16;
}

vg_status vg_engine__preferred(vg_engine *dnnl, vg_engine_type type, vg_engine_layout *layout) {
    static const vg_engine_layout candidates[] = {VG_ENGINE_BLOCKED16, VG_ENGINE_BLOCKED8, VG_ENGINE_CHANNELS_LAST};
    vg_engine_view x = {type, VG_ENGINE_PLAIN, {32, 64, 16, 16}, {0, 0}},
                   w = {type, VG_ENGINE_PLAIN, {64, 64, 3, 3}, {0, 0}};
    primitive_key key;
    dnnl_primitive_desc_t pd = NULL;
    memset(&key, 0, sizeof key);
    key.type = type;
    key.stride = key.pad = 1;
    DNNL_TRY(conv_choose(dnnl, &pd, &key, &x, &w, &x, false));
    md_ref chosen = dnnl_primitive_desc_query_md(pd, dnnl_query_src_md, 0);
    *layout = VG_ENGINE_PLAIN;
    for (size_t i = 0; i < sizeof candidates / sizeof candidates[0] && *layout == VG_ENGINE_PLAIN; i++) {
        dnnl_memory_desc_t md;
        x.layout = candidates[i];
        if (md_of_view(&md, &x) != dnnl_success)
            continue;
        if (dnnl_memory_desc_equal(MD_REF(md), chosen))
            *layout = candidates[i];
        MD_FREE(md);
    }
    dnnl_primitive_desc_destroy(pd);
    return VG_OK;
}
