/* cpu_dnnl_choice.c - descriptions of memory and of primitives for oneDNN. See cpu_dnnl_choice.h. */
#include "backend/cpu/cpu_dnnl_choice.h"

#include <string.h>

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

dnnl_status_t vg_dnnl__md_by_tag(dnnl_memory_desc_t *md, int rank, const int64_t *dims, vg_engine_type type,
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

dnnl_status_t vg_dnnl__md_of_view(dnnl_memory_desc_t *md, const vg_engine_view *view) {
    if (view->layout != VG_ENGINE_STRIDED)
        return vg_dnnl__md_by_tag(md, 4, view->dims, view->type, tag_of(view->layout));
    dnnl_dims_t dims = {view->dims[0], view->dims[1]}, strides = {view->strides[0], view->strides[1]};
#if DNNL_VERSION_MAJOR >= 3
    return dnnl_memory_desc_create_with_strides(md, 2, dims, data_type(view->type), strides);
#else
    return dnnl_memory_desc_init_by_strides(md, 2, dims, data_type(view->type), strides);
#endif
}

/* --- the device */

static dnnl_status_t add_to_output(vg_dnnl_device *device) {
    dnnl_status_t status = dnnl_post_ops_create(&device->sum);
    if (status == dnnl_success)
#if DNNL_VERSION_MAJOR >= 3
        status = dnnl_post_ops_append_sum(device->sum, 1.0f, 0, dnnl_data_type_undef);
#else
        status = dnnl_post_ops_append_sum(device->sum, 1.0f);
#endif
    if (status == dnnl_success)
        status = dnnl_primitive_attr_set_post_ops(device->adding, device->sum);
    return status;
}

static dnnl_status_t attributes_new(dnnl_primitive_attr_t *out) {
    dnnl_status_t status = dnnl_primitive_attr_create(out);
    return status == dnnl_success ? dnnl_primitive_attr_set_scratchpad_mode(*out, dnnl_scratchpad_mode_user) : status;
}

dnnl_status_t vg_dnnl__device_open(vg_dnnl_device *device) {
    dnnl_status_t status = dnnl_engine_create(&device->engine, dnnl_cpu, 0);
    if (status == dnnl_success)
        status = attributes_new(&device->plain);
    if (status == dnnl_success)
        status = attributes_new(&device->adding);
    return status == dnnl_success ? add_to_output(device) : status;
}

void vg_dnnl__device_close(vg_dnnl_device *device) {
    if (device->sum)
        dnnl_post_ops_destroy(device->sum);
    if (device->adding)
        dnnl_primitive_attr_destroy(device->adding);
    if (device->plain)
        dnnl_primitive_attr_destroy(device->plain);
    if (device->engine)
        dnnl_engine_destroy(device->engine);
}

/* --- primitive descriptions */

/* One convolution pass over memory x, w, y. */
typedef struct conv_memory {
    int pass; /* a vg_engine_pass */
    md_ref x, w, y;
    int64_t stride, pad;
} conv_memory;

/* Backward passes take the forward one as a hint. */
static dnnl_status_t conv_pd_once(dnnl_engine_t engine, dnnl_primitive_desc_t *pd, const conv_memory *conv,
                                  dnnl_primitive_attr_t attr, dnnl_primitive_desc_t hint) {
    const int pass = conv->pass;
    const md_ref x = conv->x, w = conv->w, y = conv->y;
    dnnl_dims_t strides = {conv->stride, conv->stride}, pads = {conv->pad, conv->pad};
#if DNNL_VERSION_MAJOR >= 3
    dnnl_dims_t dilates = {0, 0};
    if (pass == VG_ENGINE_FORWARD)
        return dnnl_convolution_forward_primitive_desc_create(pd, engine, dnnl_forward_training,
                                                              dnnl_convolution_direct, x, w, NULL, y, strides, dilates,
                                                              pads, pads, attr);
    if (pass == VG_ENGINE_BACKWARD_DATA)
        return dnnl_convolution_backward_data_primitive_desc_create(pd, engine, dnnl_convolution_direct, x, w, y,
                                                                    strides, dilates, pads, pads, hint, attr);
    return dnnl_convolution_backward_weights_primitive_desc_create(pd, engine, dnnl_convolution_direct, x, w, NULL, y,
                                                                   strides, dilates, pads, pads, hint, attr);
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
    return status == dnnl_success ? dnnl_primitive_desc_create(pd, &desc, attr, engine, hint) : status;
#endif
}

static dnnl_status_t matmul_pd_once(const vg_dnnl_device *device, dnnl_primitive_desc_t *pd, md_ref a, md_ref b,
                                    md_ref bias, md_ref c) {
#if DNNL_VERSION_MAJOR >= 3
    return dnnl_matmul_primitive_desc_create(pd, device->engine, a, b, bias, c, device->plain);
#else
    dnnl_matmul_desc_t desc;
    dnnl_status_t status = dnnl_matmul_desc_init(&desc, a, b, bias, c);
    return status == dnnl_success ? dnnl_primitive_desc_create(pd, &desc, device->plain, device->engine, NULL) : status;
#endif
}

static const char *implementation(dnnl_primitive_desc_t pd) {
    const char *name = "";
    dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, (void *)&name);
    return name;
}

bool vg_dnnl__is_slow(dnnl_primitive_desc_t pd) {
    const char *name = implementation(pd);
    return strstr(name, "ref") || strstr(name, "gemm:") == name;
}

/* oneDNN skips an implementation that runs out of memory without notice, and the next one gives other bits. So every
 * description is made twice, and both must choose the same. */
static dnnl_status_t compare_choices(dnnl_status_t status, dnnl_primitive_desc_t *pd, dnnl_primitive_desc_t again) {
    if (status == dnnl_success && strcmp(implementation(*pd), implementation(again)) != 0)
        status = dnnl_out_of_memory;
    if (again)
        dnnl_primitive_desc_destroy(again);
    if (status != dnnl_success && *pd) {
        dnnl_primitive_desc_destroy(*pd);
        *pd = NULL;
    }
    return status;
}

static dnnl_status_t conv_pd(dnnl_engine_t engine, dnnl_primitive_desc_t *pd, const conv_memory *conv,
                             dnnl_primitive_attr_t attr, dnnl_primitive_desc_t hint) {
    dnnl_primitive_desc_t again = NULL;
    *pd = NULL;
    dnnl_status_t status = conv_pd_once(engine, pd, conv, attr, hint);
    if (status == dnnl_success)
        status = conv_pd_once(engine, &again, conv, attr, hint);
    return compare_choices(status, pd, again);
}

dnnl_status_t vg_dnnl__matmul_choose(const vg_dnnl_device *device, dnnl_primitive_desc_t *pd, md_ref a, md_ref b,
                                     md_ref bias, md_ref c) {
    dnnl_primitive_desc_t again = NULL;
    *pd = NULL;
    dnnl_status_t status = matmul_pd_once(device, pd, a, b, bias, c);
    if (status == dnnl_success)
        status = matmul_pd_once(device, &again, a, b, bias, c);
    return compare_choices(status, pd, again);
}

dnnl_status_t vg_dnnl__conv_choose(const vg_dnnl_device *device, dnnl_primitive_desc_t *pd, const vg_dnnl_key *key,
                                   const vg_engine_view *x, const vg_engine_view *w, const vg_engine_view *y,
                                   bool fixed) {
    dnnl_memory_desc_t mx, mw, my, mf;
    dnnl_primitive_desc_t hint = NULL;
    vg_engine_type weight_type = key->kind == VG_ENGINE_BACKWARD_WEIGHTS ? VG_ENGINE_F32 : key->type;
    dnnl_status_t status =
        vg_dnnl__md_by_tag(&mx, 4, x->dims, key->type, fixed ? tag_of(x->layout) : dnnl_format_tag_any);
    if (status != dnnl_success)
        return status;
    status = vg_dnnl__md_by_tag(&my, 4, y->dims, key->type, fixed ? tag_of(y->layout) : dnnl_format_tag_any);
    if (status != dnnl_success)
        goto free_x;
    status = vg_dnnl__md_by_tag(&mw, 4, w->dims, weight_type, dnnl_format_tag_any);
    if (status != dnnl_success)
        goto free_y;
    status = vg_dnnl__md_by_tag(&mf, 4, w->dims, key->type, dnnl_format_tag_any);
    if (status != dnnl_success)
        goto free_w;
    if (key->kind != VG_ENGINE_FORWARD)
        status = conv_pd(device->engine, &hint,
                         &(conv_memory){VG_ENGINE_FORWARD, MD_REF(mx), MD_REF(mf), MD_REF(my), key->stride, key->pad},
                         NULL, NULL);
    if (status == dnnl_success)
        status = conv_pd(device->engine, pd,
                         &(conv_memory){key->kind, MD_REF(mx), MD_REF(mw), MD_REF(my), key->stride, key->pad},
                         key->accumulate ? device->adding : device->plain, hint);
    if (hint)
        dnnl_primitive_desc_destroy(hint);
    MD_FREE(mf);
free_w:
    MD_FREE(mw);
free_y:
    MD_FREE(my);
free_x:
    MD_FREE(mx);
    return status;
}
