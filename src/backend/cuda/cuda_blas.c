/* cuda_blas.c - algorithms of cuBLASLt by shape. Algorithms whose reductions have no fixed order are excluded. */
#include "backend/cuda/cuda_blas.h"

#include <stdio.h>
#include <string.h>

#include "backend/cuda/cuda_choices.h"
#include "backend/cuda/cuda_library.h"

enum { ALGORITHMS = 12, TRIALS = 5 };
static const size_t WORKSPACE = (size_t)32 << 20;

typedef struct cuda_product {
    cuda_product_key key;
    cublasLtMatmulDesc_t operation;
    cublasLtMatrixLayout_t a, b, d;
    cublasLtMatmulAlgo_t algorithm;
    size_t workspace;
    bool served;
} cuda_product;

typedef struct cuda_products {
    const cuda_library *lib;
    cublasLtHandle_t handle;
    cuda_product *items;
    size_t count, room;
    cuda_choices *choices;
    cudaEvent_t start, stop;
} cuda_products;

static void drop(const cuda_library *lib, cuda_product *p) {
    if (p->operation)
        lib->cublasLtMatmulDescDestroy(p->operation);
    cublasLtMatrixLayout_t layouts[] = {p->a, p->b, p->d};
    for (int i = 0; i < 3; i++)
        if (layouts[i])
            lib->cublasLtMatrixLayoutDestroy(layouts[i]);
}

/* op(A) is m x k, op(B) k x n. */
static bool describe(const cuda_library *lib, cuda_product *p, vg_compute compute) {
    const cuda_product_key *k = &p->key;
    cudaDataType_t type = compute == VG_COMPUTE_BF16 ? CUDA_R_16BF : CUDA_R_32F, out = k->wide ? CUDA_R_32F : type,
                   bias_type = CUDA_R_32F;
    cublasComputeType_t how = compute == VG_COMPUTE_TF32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    cublasOperation_t ta = k->transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N, tb = k->transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
    cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_BIAS;
    uint64_t ar = (uint64_t)(k->transpose_a ? k->k : k->m), ac = (uint64_t)(k->transpose_a ? k->m : k->k);
    uint64_t br = (uint64_t)(k->transpose_b ? k->n : k->k), bc = (uint64_t)(k->transpose_b ? k->k : k->n);
    bool good =
        lib->cublasLtMatmulDescCreate(&p->operation, how, CUDA_R_32F) == CUBLAS_STATUS_SUCCESS &&
        lib->cublasLtMatmulDescSetAttribute(p->operation, CUBLASLT_MATMUL_DESC_TRANSA, &ta, sizeof ta) ==
            CUBLAS_STATUS_SUCCESS &&
        lib->cublasLtMatmulDescSetAttribute(p->operation, CUBLASLT_MATMUL_DESC_TRANSB, &tb, sizeof tb) ==
            CUBLAS_STATUS_SUCCESS &&
        lib->cublasLtMatrixLayoutCreate(&p->a, type, ar, ac, k->lda) == CUBLAS_STATUS_SUCCESS &&
        lib->cublasLtMatrixLayoutCreate(&p->b, type, br, bc, k->ldb) == CUBLAS_STATUS_SUCCESS &&
        lib->cublasLtMatrixLayoutCreate(&p->d, out, (uint64_t)k->m, (uint64_t)k->n, k->ldd) == CUBLAS_STATUS_SUCCESS;
    if (good && k->bias)
        good = lib->cublasLtMatmulDescSetAttribute(p->operation, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue,
                                                   sizeof epilogue) == CUBLAS_STATUS_SUCCESS &&
               lib->cublasLtMatmulDescSetAttribute(p->operation, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, &bias_type,
                                                   sizeof bias_type) == CUBLAS_STATUS_SUCCESS;
    return good;
}

static int algorithms_of(cuda_products *s, cuda_product *p, cublasLtMatmulHeuristicResult_t *found) {
    const cuda_library *lib = s->lib;
    cublasLtMatmulPreference_t preference = NULL;
    uint32_t schemes = CUBLASLT_REDUCTION_SCHEME_MASK & ~(uint32_t)CUBLASLT_REDUCTION_SCHEME_INPLACE;
    size_t workspace = WORKSPACE;
    int count = 0;
    if (lib->cublasLtMatmulPreferenceCreate(&preference) != CUBLAS_STATUS_SUCCESS)
        return 0;
    if (lib->cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace,
                                                  sizeof workspace) != CUBLAS_STATUS_SUCCESS ||
        lib->cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &schemes,
                                                  sizeof schemes) != CUBLAS_STATUS_SUCCESS ||
        lib->cublasLtMatmulAlgoGetHeuristic(s->handle, p->operation, p->a, p->b, p->d, p->d, preference, ALGORITHMS,
                                            found, &count) != CUBLAS_STATUS_SUCCESS)
        count = 0;
    lib->cublasLtMatmulPreferenceDestroy(preference);
    return count;
}

static vg_status execute(vg_backend *b, cuda_product *p, void *d, const void *a, const void *m, const float *bias) {
    cuda_context *c = cuda_of(b);
    cuda_products *s = c->products;
    void *workspace;
    float one = 1, zero = 0;
    VG_TRY(vg_cuda__scratch(c, &workspace, p->workspace));
    if (p->key.bias && s->lib->cublasLtMatmulDescSetAttribute(p->operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias,
                                                              sizeof bias) != CUBLAS_STATUS_SUCCESS)
        return vg_base__fail(VG_ERR_UNSUPPORTED, "cuda: cuBLASLt refused a bias");
    cublasStatus_t status = s->lib->cublasLtMatmul(s->handle, p->operation, &one, a, p->a, m, p->b, &zero, d, p->d, d,
                                                   p->d, &p->algorithm, workspace, p->workspace, c->stream);
    if (status != CUBLAS_STATUS_SUCCESS)
        return vg_base__fail(VG_ERR_UNSUPPORTED, "cuda: a matrix product failed with status %d", (int)status);
    return VG_OK;
}

static float time_of(vg_backend *b, cuda_product *p, void *d, const void *a, const void *m, const float *bias) {
    cuda_context *c = cuda_of(b);
    float best = -1;
    if (execute(b, p, d, a, m, bias) != VG_OK || cudaStreamSynchronize(c->stream) != cudaSuccess) {
        cudaGetLastError();
        return -1;
    }
    for (int i = 0; i < TRIALS; i++) {
        float time;
        cudaEventRecord(c->products->start, c->stream);
        if (execute(b, p, d, a, m, bias) != VG_OK)
            return -1;
        cudaEventRecord(c->products->stop, c->stream);
        if (cudaEventSynchronize(c->products->stop) != cudaSuccess ||
            cudaEventElapsedTime(&time, c->products->start, c->products->stop) != cudaSuccess)
            return -1;
        best = best < 0 || time < best ? time : best;
    }
    return best;
}

static void choose(vg_backend *b, cuda_product *p, void *d, const void *a, const void *m, const float *bias) {
    cuda_products *s = cuda_of(b)->products;
    const cuda_product_key *k = &p->key;
    cublasLtMatmulHeuristicResult_t found[ALGORITHMS];
    char name[160];
    float time = 0, least = -1;
    int count = algorithms_of(s, p, found), best = -1;
    snprintf(name, sizeof name, "product-%d-%lldx%lldx%lld-%lld-%lld-%lld-%d%d%d%d", (int)b->compute, (long long)k->m,
             (long long)k->n, (long long)k->k, (long long)k->lda, (long long)k->ldb, (long long)k->ldd,
             k->transpose_a != 0, k->transpose_b != 0, k->wide != 0, k->bias != 0);
    int chosen = vg_cuda__choice(s->choices, name, count, &time);
    for (int i = 0; i < count && chosen < 0; i++) {
        if (found[i].state != CUBLAS_STATUS_SUCCESS)
            continue;
        p->algorithm = found[i].algo;
        p->workspace = found[i].workspaceSize;
        time = time_of(b, p, d, a, m, bias);
        if (time >= 0 && (least < 0 || time < least)) {
            least = time;
            best = i;
        }
    }
    if (chosen < 0 && best >= 0)
        chosen = vg_cuda__choose(s->choices, name, count, best, &least);
    best = chosen >= 0 ? chosen : best;
    p->served = best >= 0;
    if (p->served) {
        p->algorithm = found[best].algo;
        p->workspace = found[best].workspaceSize;
    }
}

vg_status vg_cuda__product(vg_backend *b, const cuda_product_key *key, void *d, const void *a, const void *m,
                           const float *bias, bool *served) {
    cuda_products *s = cuda_of(b)->products;
    cuda_product *p = NULL;
    for (size_t i = 0; i < s->count && !p; i++)
        if (memcmp(&s->items[i].key, key, sizeof *key) == 0)
            p = &s->items[i];
    if (!p) {
        if (cuda_of(b)->recording)
            return vg_base__fail(VG_ERR_ARGUMENT, "cuda: a product of a new shape appeared during a recording");
        if (s->count == s->room) {
            size_t room = s->room ? 2 * s->room : 32;
            cuda_product *items;
            VG_TRY(vg_base__zalloc(&items, room, sizeof *items, "products"));
            if (s->count)
                memcpy(items, s->items, s->count * sizeof *items);
            vg_base__release(s->items);
            s->items = items;
            s->room = room;
        }
        p = &s->items[s->count++];
        *p = (cuda_product){.key = *key};
        if (describe(s->lib, p, b->compute))
            choose(b, p, d, a, m, bias);
    }
    *served = p->served;
    return p->served ? execute(b, p, d, a, m, bias) : VG_OK;
}

vg_status vg_cuda__products_new(vg_backend *b) {
    cuda_products *s;
    VG_TRY(vg_base__zalloc(&s, 1, sizeof *s, "products"));
    cuda_of(b)->products = s;
    VG_TRY(vg_cuda__library(&s->lib));
    if (s->lib->cublasLtCreate(&s->handle) != CUBLAS_STATUS_SUCCESS)
        return vg_base__fail(VG_ERR_UNSUPPORTED, "cuda: cuBLASLt could not be initialised");
    VG_TRY(vg_cuda__check(cudaEventCreate(&s->start), "making an event"));
    VG_TRY(vg_cuda__check(cudaEventCreate(&s->stop), "making an event"));
    char device[160];
    snprintf(device, sizeof device, "%s products", b->device);
    return vg_cuda__choices_open(&s->choices, s->lib->cublasLtGetVersion(), device);
}

void vg_cuda__products_free(vg_backend *b) {
    cuda_products *s = cuda_of(b)->products;
    if (!s)
        return;
    for (size_t i = 0; i < s->count; i++)
        drop(s->lib, &s->items[i]);
    vg_cuda__choices_close(s->choices);
    if (s->start)
        cudaEventDestroy(s->start);
    if (s->stop)
        cudaEventDestroy(s->stop);
    if (s->handle && !cuda_of(b)->lost)
        s->lib->cublasLtDestroy(s->handle);
    vg_base__release(s->items);
    vg_base__release(s);
    cuda_of(b)->products = NULL;
}
