/* lapack.c - LAPACKE, opened at the first use. */
#include "calibrate/lapack.h"

#include "base/base.h"

#ifdef VG_LAPACK_INSIDE
#include <lapacke.h>

vg_status vg_lapack__open(const vg_lapack **out) {
    static const vg_lapack inside = {LAPACKE_dpotrf_work, LAPACKE_dpotrs_work, LAPACKE_dtrtri_work,
                                     LAPACKE_dtrtrs_work};
    *out = &inside;
    return VG_OK;
}

#else
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static vg_status function(void *library, const char *name, void *out) {
    void *found = dlsym(library, name);
    if (!found)
        return vg_base__fail(VG_ERR_UNSUPPORTED, "LAPACKE has no %s", name);
    /* a pointer to data is no pointer to a function, though here both are addresses */
    memcpy(out, &found, sizeof found);
    return VG_OK;
}

vg_status vg_lapack__load(vg_lapack *out, const char *const *names) {
    void *library = NULL;
    for (size_t i = 0; names[i] && !library; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return vg_base__fail(VG_ERR_UNSUPPORTED,
                             "the Gaussian process needs LAPACKE (Debian: liblapacke): no %s was found", names[0]);
    VG_TRY(function(library, "LAPACKE_dpotrf_work", &out->potrf));
    VG_TRY(function(library, "LAPACKE_dpotrs_work", &out->potrs));
    VG_TRY(function(library, "LAPACKE_dtrtri_work", &out->trtri));
    return function(library, "LAPACKE_dtrtrs_work", &out->trtrs);
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static vg_lapack loaded;
static vg_status loading;
static char why[256];

static void load(void) {
    static const char *const names[] = {"liblapacke.so.3", "liblapacke.so", NULL};
    loading = vg_lapack__load(&loaded, names);
    if (loading != VG_OK)
        snprintf(why, sizeof why, "%s", vg_error_message());
}

vg_status vg_lapack__open(const vg_lapack **out) {
    pthread_once(&once, load);
    *out = &loaded;
    return loading == VG_OK ? VG_OK : vg_base__fail(loading, "%s", why);
}
#endif
