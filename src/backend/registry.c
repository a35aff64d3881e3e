/* registry.c - the backends of this build, and opening one by name. */
#include <stdio.h>
#include <string.h>

#include "backend/backend.h"

typedef vg_status (*opener)(vg_backend **out, const vg_backend_options *options);

static const struct {
    const char *name;
    opener open;
} registry[] = {
#ifdef VG_HAVE_CUDA
    {"cuda", vg_backend__open_cuda},
#endif
    {"cpu", vg_backend__open_cpu},
    {"ref", vg_backend__open_ref},
};

enum { BACKENDS = sizeof registry / sizeof registry[0] };

static vg_status unknown(const char *name) {
    char names[64] = "";
    for (size_t i = 0; i < BACKENDS; i++) {
        if (i)
            strncat(names, ", ", sizeof names - strlen(names) - 1);
        strncat(names, registry[i].name, sizeof names - strlen(names) - 1);
    }
    bool cuda = strcmp(name, "cuda") == 0;
    return vg_base__fail(VG_ERR_UNSUPPORTED, "device '%s' is not in this build; it has %s%s", name, names,
                         cuda ? "; on x86_64 pip install 'vargate-uq[cuda]' has it, or build it (docs/gpu.md)" : "");
}

/* Opens one backend. The CPU backends have no TF32 and compute in float32 instead. */
static vg_status open_one(vg_backend **out, size_t index, const vg_backend_options *options, bool brief) {
    vg_backend_options own = *options;
    own.brief = brief;
    if (own.compute == VG_COMPUTE_TF32 && strcmp(registry[index].name, "cuda") != 0)
        own.compute = VG_COMPUTE_F32;
    return registry[index].open(out, &own);
}

vg_status vg_backend__open(vg_backend **out, const char *name, const vg_backend_options *options) {
    vg_backend_options defaults = {.compute = VG_COMPUTE_F32};
    char passed_over[96] = "";
    if (!options)
        options = &defaults;
    *out = NULL;
    bool any = !name || strcmp(name, "auto") == 0;
    vg_status status = VG_ERR_UNSUPPORTED;
    for (size_t i = 0; i < BACKENDS; i++) {
        if (!any && strcmp(name, registry[i].name) != 0)
            continue;
        status = open_one(out, i, options, any);
        /* The reason is appended to the description of the device that was opened instead. */
        if (status == VG_OK && *passed_over) {
            size_t used = strlen((*out)->device);
            snprintf((*out)->device + used, sizeof(*out)->device - used, " (%s)", passed_over);
        }
        if (status == VG_OK || !any)
            return status;
        /* The plain backend, which comes next, has no bfloat16 at all, and would hide why the CPU has none. Where
         * memory ran out, it would give other bits, slowly. */
        if (strcmp(registry[i].name, "cpu") == 0 && (options->compute == VG_COMPUTE_BF16 || status == VG_ERR_MEMORY))
            return status;
        if (strcmp(registry[i].name, "cuda") == 0) /* the reason without the advice */
            snprintf(passed_over, sizeof passed_over, "%.*s", (int)strcspn(vg_error_message(), ";"),
                     vg_error_message());
    }
    if (any)
        return status;
    return unknown(name);
}

void vg_backend__close(vg_backend *backend) {
    if (!backend)
        return;
    (void)vg_backend__enter(backend); /* a device that is lost is closed too */
    backend->ops->close(backend);
}

vg_status vg_backend__enter(vg_backend *backend) {
    if (!backend->entered && backend->ops->enter)
        VG_TRY(backend->ops->enter(backend));
    backend->entered = true;
    return VG_OK;
}

void vg_backend__leave(vg_backend *backend) {
    if (backend->entered && backend->ops->leave)
        backend->ops->leave(backend);
    backend->entered = false;
}
