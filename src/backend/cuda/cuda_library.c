/* cuda_library.c - opening cuDNN and cuBLASLt at run time. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dladdr */
#endif
#include "backend/cuda/cuda_library.h"

#include <dlfcn.h>
#include <glob.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static cuda_library library;
static bool ready;

static void *open_at(const char *folder, size_t length, const char *name) {
    char path[4096];
    int size = snprintf(path, sizeof path, "%.*s/%s", (int)length, folder, name);
    return size > 0 && (size_t)size < sizeof path ? dlopen(path, RTLD_NOW | RTLD_GLOBAL) : NULL;
}

static void *open_in_list(const char *folders, const char *name) {
    while (folders && *folders) {
        size_t length = strcspn(folders, ":");
        void *handle = length ? open_at(folders, length, name) : NULL;
        if (handle)
            return handle;
        folders += length + (folders[length] == ':');
    }
    return NULL;
}

/* NVIDIA's packages from PyPI (`pip install vargate-uq[cuda]`) put their libraries into site-packages/nvidia/NAME/lib.
 * This code is in site-packages/vargate/lib, or in the program beside lib/pythonX.Y. */
static void *open_beside(const char *name) {
    static const char *const places[] = {"../../nvidia/*/lib", "../lib/python3*/site-packages/nvidia/*/lib"};
    Dl_info own;
    void *handle = NULL;
    if (!dladdr(&library, &own) || !own.dli_fname || !strrchr(own.dli_fname, '/'))
        return NULL;
    for (size_t i = 0; i < sizeof places / sizeof *places && !handle; i++) {
        char pattern[4096];
        glob_t found;
        int folder = (int)(strrchr(own.dli_fname, '/') - own.dli_fname);
        int size = snprintf(pattern, sizeof pattern, "%.*s/%s/%s", folder, own.dli_fname, places[i], name);
        if (size <= 0 || (size_t)size >= sizeof pattern || glob(pattern, 0, NULL, &found) != 0)
            continue;
        for (size_t j = 0; j < found.gl_pathc && !handle; j++)
            handle = dlopen(found.gl_pathv[j], RTLD_NOW | RTLD_GLOBAL);
        globfree(&found);
    }
    return handle;
}

static void *open_library(const char *name, const char *built_with) {
    void *handle = open_in_list(getenv("VARGATE_CUDA_LIBRARIES"), name);
    if (!handle)
        handle = open_beside(name);
    if (!handle)
        handle = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
    return handle ? handle : open_in_list(built_with, name);
}

/* POSIX allows a pointer from dlsym to be used as a function; C has no cast for that without a warning. */
static bool find(void *handle, const char *name, void *place, char *problem, size_t size) {
    void *symbol = dlsym(handle, name);
    memcpy(place, &symbol, sizeof symbol);
    if (!symbol)
        snprintf(problem, size, "%s has no function %s", "the library", name);
    return symbol != NULL;
}

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

static vg_status open_all(void) {
    char problem[256] = "";
    const char *cudnn = "libcudnn.so." TEXT(CUDNN_MAJOR), *cublas = "libcublasLt.so." TEXT(CUBLAS_VER_MAJOR);
    void *blas = open_library(cublas, VG_CUBLAS_FOLDERS);
    if (!blas)
        return vg_base__fail(
            VG_ERR_UNSUPPORTED,
            "%s was not found: pip install 'vargate-uq[cuda]', or name its folder in VARGATE_CUDA_LIBRARIES",
            cublas);
    void *dnn = open_library(cudnn, VG_CUDNN_FOLDERS);
    if (!dnn)
        return vg_base__fail(
            VG_ERR_UNSUPPORTED,
            "%s was not found: pip install 'vargate-uq[cuda]', or name its folder in VARGATE_CUDA_LIBRARIES",
            cudnn);
    bool good = true;
#define FIND_DNN(name) good = good && find(dnn, #name, &library.name, problem, sizeof problem);
#define FIND_BLAS(name) good = good && find(blas, #name, &library.name, problem, sizeof problem);
    VG_CUDNN_FUNCTIONS(FIND_DNN)
    VG_CUBLAS_FUNCTIONS(FIND_BLAS)
    if (!good)
        return vg_base__fail(VG_ERR_UNSUPPORTED, "cuda: %s", problem);
    return VG_OK;
}

vg_status vg_cuda__library(const cuda_library **out) {
    vg_status status = VG_OK;
    pthread_mutex_lock(&lock);
    if (!ready)
        status = open_all();
    ready = status == VG_OK;
    pthread_mutex_unlock(&lock);
    *out = status == VG_OK ? &library : NULL;
    return status;
}
