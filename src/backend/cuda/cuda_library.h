/* cuda_library.h - cuDNN and cuBLASLt, loaded when the backend is opened. Internal.
 *
 * The program is not linked with them, because it must start on machines that have neither. Their functions are called
 * through these tables, which use the libraries' own types. */
#ifndef VG_CUDA_LIBRARY_H
#define VG_CUDA_LIBRARY_H

#include <cublasLt.h>
#include <cudnn.h>

#include "base/base.h"

#define VG_CUDNN_FUNCTIONS(X)                                                                                          \
    X(cudnnGetVersion)                                                                                                 \
    X(cudnnGetErrorString)                                                                                             \
    X(cudnnGetLastErrorString)                                                                                         \
    X(cudnnCreate)                                                                                                     \
    X(cudnnDestroy)                                                                                                    \
    X(cudnnSetStream)                                                                                                  \
    X(cudnnBackendCreateDescriptor)                                                                                    \
    X(cudnnBackendDestroyDescriptor)                                                                                   \
    X(cudnnBackendSetAttribute)                                                                                        \
    X(cudnnBackendGetAttribute)                                                                                        \
    X(cudnnBackendFinalize)                                                                                            \
    X(cudnnBackendExecute)

#define VG_CUBLAS_FUNCTIONS(X)                                                                                         \
    X(cublasLtCreate)                                                                                                  \
    X(cublasLtDestroy)                                                                                                 \
    X(cublasLtGetVersion)                                                                                              \
    X(cublasLtMatmul)                                                                                                  \
    X(cublasLtMatmulDescCreate)                                                                                        \
    X(cublasLtMatmulDescDestroy)                                                                                       \
    X(cublasLtMatmulDescSetAttribute)                                                                                  \
    X(cublasLtMatrixLayoutCreate)                                                                                      \
    X(cublasLtMatrixLayoutDestroy)                                                                                     \
    X(cublasLtMatmulPreferenceCreate)                                                                                  \
    X(cublasLtMatmulPreferenceDestroy)                                                                                 \
    X(cublasLtMatmulPreferenceSetAttribute)                                                                            \
    X(cublasLtMatmulAlgoGetHeuristic)

#define VG_CUDA_MEMBER(name) __typeof__(name) *name;
typedef struct cuda_library {
    VG_CUDNN_FUNCTIONS(VG_CUDA_MEMBER)
    VG_CUBLAS_FUNCTIONS(VG_CUDA_MEMBER)
} cuda_library;
#undef VG_CUDA_MEMBER

/* Opens both libraries, once; the table is valid for the life of the process. Searched: VARGATE_CUDA_LIBRARIES
 * (folders separated by colons), then the folders that the loader searches, then the folders next to the headers this
 * was built with. */
vg_status vg_cuda__library(const cuda_library **out);

#endif
