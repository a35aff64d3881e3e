/* sites.c - arrays with their axes in any order, as blocks of samples.
 *
 * Site s = ((n H + h) W + w) D + d lies at n stride[0] + h stride[1] + w stride[2] + d stride[3]. Neighbouring axes
 * of which the outer one continues where the inner one ends are one axis; `run` is the length of the innermost of those
 * that are left. (N, M, C, H, W) in C order has runs of H W sites that lie side by side, (N, H, W, M, C) one run. */
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "vargate/measures.h"

static const char letters[] = "NHWDMC"; /* the axes of sites in their order, then the others */
enum { AXIS_M = VG_SITE_AXES, AXIS_C, AXIS_COUNT };

/* The axes that arrays of a rank may have, for messages. */
static const char *fitting(size_t rank) {
    switch (rank) {
    case 2: return "NC (one member)";
    case 3: return "NMC or MNC, or CHW (one image, one member)";
    case 4: return "NCHW (one member) or MCHW (one image)";
    case 5: return "NMCHW, MNCHW or NCHWM, or NCHWD (one member)";
    case 6: return "NMCHWD, MNCHWD or NCHWDM";
    default: return "NC, NMC, NMCHW or NMCHWD, of 2 to 6 axes";
    }
}

/* "(20, 5, 19)" */
static void show_shape(char *out, size_t room, size_t rank, const size_t *shape) {
    size_t used = (size_t)snprintf(out, room, "(");
    for (size_t i = 0; i < rank && used + 24 < room; i++)
        used += (size_t)snprintf(out + used, room - used, "%s%zu", i ? ", " : "", shape[i]);
    snprintf(out + used, room - used, ")");
}

/* The positions of the letters among the axes; SIZE_MAX: missing. */
static vg_status place_letters(size_t place[AXIS_COUNT], const char *axes, size_t rank, const size_t *shape) {
    char shown[160];
    for (size_t i = 0; i < AXIS_COUNT; i++)
        place[i] = SIZE_MAX;
    for (size_t i = 0; axes[i]; i++) {
        const char *found = strchr(letters, axes[i]);
        if (!found)
            return vg_base__fail(
                VG_ERR_ARGUMENT,
                "axes '%.16s': '%c' is not an axis; use N samples, M members, C classes and, of images "
                "and volumes, H W D, each once, in any order",
                axes, axes[i]);
        if (place[found - letters] != SIZE_MAX)
            return vg_base__fail(VG_ERR_ARGUMENT, "axes '%.16s': %c is there twice; what fits %zu axes: %s", axes,
                                 axes[i], rank, fitting(rank));
        place[found - letters] = i;
    }
    show_shape(shown, sizeof shown, rank, shape);
    if (strlen(axes) != rank)
        return vg_base__fail(VG_ERR_ARGUMENT,
                             "axes '%.16s' names %zu, but the array has %zu %s; what fits: %s, or another order of "
                             "these letters",
                             axes, strlen(axes), rank, shown, fitting(rank));
    if (place[AXIS_C] == SIZE_MAX)
        return vg_base__fail(VG_ERR_ARGUMENT, "axes '%.16s' has no C, the classes; what fits %zu axes %s: %s", axes,
                             rank, shown, fitting(rank));
    if (place[0] == SIZE_MAX && place[1] == SIZE_MAX && place[2] == SIZE_MAX && place[3] == SIZE_MAX)
        return vg_base__fail(VG_ERR_ARGUMENT, "axes '%.16s' has neither N nor H, W, D; what fits %zu axes %s: %s", axes,
                             rank, shown, fitting(rank));
    return VG_OK;
}

/* Counts the sites that are consecutive at the stride of the innermost axis longer than 1 (else of N). */
static void measure_run(vg_sites *s) {
    size_t inner = 0;
    for (size_t i = 1; i < VG_SITE_AXES; i++)
        inner = s->shape[i] != 1 ? i : inner;
    s->run = s->shape[inner];
    s->stride_run = s->stride[inner];
    for (size_t i = inner; i > 0; i--) {
        if (s->shape[i - 1] != 1 && s->stride[i - 1] != s->stride_run * (ptrdiff_t)s->run)
            break;
        s->run *= s->shape[i - 1];
    }
}

vg_status vg_sites_view(vg_sites *out, const void *data, vg_element dtype, const char *axes, size_t rank,
                        const size_t *shape, const ptrdiff_t *strides) {
    size_t place[AXIS_COUNT], lengths[AXIS_COUNT], all = 1;
    ptrdiff_t packed[AXIS_COUNT] = {0}, steps[AXIS_COUNT] = {0};
    if (!out || !axes || !shape)
        return vg_base__fail(VG_ERR_ARGUMENT, "vg_sites_view: out, axes and shape must not be NULL");
    if (dtype > VG_ELEMENT_BF16)
        return vg_base__fail(VG_ERR_ARGUMENT, "predictions are float32, float64, float16 or bfloat16");
    VG_TRY(place_letters(place, axes, rank, shape));
    for (size_t i = rank; i-- > 0;) {
        packed[i] = (ptrdiff_t)all;
        if (!vg_base__mul(&all, all, shape[i]) || all > PTRDIFF_MAX)
            return vg_base__fail(VG_ERR_MEMORY, "an array of that shape does not fit in memory");
        all = all ? all : 1; /* the strides of an empty array do not matter */
    }
    for (size_t i = 0; i < AXIS_COUNT; i++) {
        lengths[i] = place[i] == SIZE_MAX ? 1 : shape[place[i]];
        steps[i] = place[i] == SIZE_MAX ? 0 : strides ? strides[place[i]] : packed[place[i]];
    }
    vg_sites s = {.struct_size = sizeof s, .data = data, .dtype = dtype, .m = lengths[AXIS_M], .c = lengths[AXIS_C]};
    s.n = 1;
    for (size_t i = 0; i < VG_SITE_AXES; i++) {
        s.shape[i] = lengths[i];
        s.stride[i] = steps[i];
        s.n *= lengths[i];
    }
    s.stride_c = steps[AXIS_C];
    /* one member: any stride will do, this one is the packed view's */
    s.stride_m = s.m > 1 ? steps[AXIS_M] : (ptrdiff_t)s.c * (s.stride_c > 0 ? s.stride_c : 1);
    measure_run(&s);
    *out = s;
    return VG_OK;
}
