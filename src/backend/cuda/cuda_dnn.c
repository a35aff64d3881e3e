/* cuda_dnn.c - execution plans: describing a convolution to cuDNN, listing engines, timing them, remembering the
 * fastest.
 *
 * Timing all engines of a shape takes seconds, because some of them are compiled for it. VARGATE_CUDA_PATIENCE limits
 * it (seconds per shape, default 1); 0 takes the first that works. Engines that may give different bits in another
 * run are excluded, so training is always deterministic. In float32 mode engines that round operands to TF32 are
 * excluded as well. */
#include "backend/cuda/cuda_dnn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backend/cuda/cuda_accelerators.h"
#include "backend/cuda/cuda_choices.h"
#include "backend/cuda/cuda_library.h"

enum { UID_X = 1, UID_W = 2, UID_Y = 3, UID_ADDEND = 4, UID_SUM = 5, CONFIGS = 24, TRIALS = 4, ALIGNMENT = 16 };
static const size_t WORKSPACE_LIMIT = (size_t)768 << 20;

typedef cudnnBackendDescriptor_t descriptor;

typedef struct cuda_plan {
    cuda_conv_key key;
    descriptor plan;             /* NULL: no engine supports this key */
    const cuda_accelerator *own; /* the accelerator that does it instead of cuDNN, or NULL */
    size_t workspace;
    float time, own_time; /* milliseconds; own_time is the accelerator's, 0 where there is none */
} cuda_plan;

typedef struct cuda_plans {
    const cuda_library *lib;
    cudnnHandle_t handle;
    cuda_plan *items;
    size_t count, room;
    cuda_choices *choices;
    cudaEvent_t start, stop;
    double patience; /* seconds of timing engines per shape, after which the fastest so far is taken */
} cuda_plans;

static double clock_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* --- descriptors: each maker returns NULL when cuDNN refuses */

static void drop(const cuda_library *lib, descriptor d) {
    if (d)
        lib->cudnnBackendDestroyDescriptor(d);
}

static bool set(const cuda_library *lib, descriptor d, cudnnBackendAttributeName_t name,
                cudnnBackendAttributeType_t type, int64_t count, const void *values) {
    return lib->cudnnBackendSetAttribute(d, name, type, count, values) == CUDNN_STATUS_SUCCESS;
}

static descriptor start(const cuda_library *lib, cudnnBackendDescriptorType_t type) {
    descriptor d = NULL;
    return lib->cudnnBackendCreateDescriptor(type, &d) == CUDNN_STATUS_SUCCESS ? d : NULL;
}

static descriptor finish(const cuda_library *lib, descriptor d, bool good) {
    if (good && lib->cudnnBackendFinalize(d) == CUDNN_STATUS_SUCCESS)
        return d;
    drop(lib, d);
    return NULL;
}

/* A channels-last tensor of dims (n, c, h, w). inner: it has no memory of its own. */
static descriptor tensor_of(const cuda_library *lib, int64_t uid, cudnnDataType_t type, const int64_t dims[4],
                            bool inner) {
    descriptor d = start(lib, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    int64_t c = dims[1], w = dims[3], strides[4] = {dims[2] * w * c, 1, w * c, c}, alignment = ALIGNMENT;
    bool good = d && set(lib, d, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type) &&
                set(lib, d, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, dims) &&
                set(lib, d, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, strides) &&
                set(lib, d, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &uid) &&
                set(lib, d, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &alignment);
    if (good && inner)
        good = set(lib, d, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &inner);
    return finish(lib, d, good);
}

static descriptor geometry_of(const cuda_library *lib, const cuda_conv_key *k) {
    descriptor d = start(lib, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    cudnnDataType_t compute = CUDNN_DATA_FLOAT;
    cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
    int64_t dims = 2, ones[2] = {1, 1}, strides[2] = {k->stride, k->stride}, pads[2] = {k->pad, k->pad};
    bool good = d && set(lib, d, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &compute) &&
                set(lib, d, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode) &&
                set(lib, d, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1, &dims) &&
                set(lib, d, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, 2, ones) &&
                set(lib, d, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, 2, strides) &&
                set(lib, d, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, 2, pads) &&
                set(lib, d, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, 2, pads);
    return finish(lib, d, good);
}

static descriptor product_of(const cuda_library *lib, cuda_conv_kind kind, descriptor geometry, descriptor x,
                             descriptor w, descriptor y) {
    static const struct {
        cudnnBackendDescriptorType_t type;
        cudnnBackendAttributeName_t alpha, beta, geometry, x, w, y;
    } names[3] = {
        {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y},
        {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY},
        {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY},
    };
    float one = 1, zero = 0;
    descriptor d = start(lib, names[kind].type);
    bool good = d && set(lib, d, names[kind].alpha, CUDNN_TYPE_FLOAT, 1, &one) &&
                set(lib, d, names[kind].beta, CUDNN_TYPE_FLOAT, 1, &zero) &&
                set(lib, d, names[kind].geometry, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &geometry) &&
                set(lib, d, names[kind].x, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &x) &&
                set(lib, d, names[kind].w, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &w) &&
                set(lib, d, names[kind].y, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &y);
    return finish(lib, d, good);
}

static descriptor sum_of(const cuda_library *lib, descriptor a, descriptor b, descriptor y) {
    descriptor d = NULL, mode = start(lib, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    cudnnPointwiseMode_t add = CUDNN_POINTWISE_ADD;
    cudnnDataType_t compute = CUDNN_DATA_FLOAT;
    mode = finish(lib, mode,
                  mode && set(lib, mode, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &add) &&
                      set(lib, mode, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &compute));
    if (mode) {
        d = start(lib, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
        d = finish(
            lib, d,
            d && set(lib, d, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &mode) &&
                set(lib, d, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &a) &&
                set(lib, d, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &b) &&
                set(lib, d, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &y));
    }
    drop(lib, mode);
    return d;
}

/* The operation graph of a key. cuDNN keeps its own references to the parts. */
static descriptor graph_of(const cuda_plans *p, const cuda_conv_key *k, bool bf16) {
    const cuda_library *lib = p->lib;
    cudnnDataType_t type = bf16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_FLOAT;
    cudnnDataType_t wtype = k->wide ? CUDNN_DATA_FLOAT : type, inner = CUDNN_DATA_FLOAT;
    const int64_t x[4] = {k->n, k->c, k->h, k->w}, w[4] = {k->o, k->c, k->r, k->s}, y[4] = {k->n, k->o, k->oh, k->ow};
    descriptor d[8] = {0}, graph = NULL;
    d[0] = tensor_of(lib, UID_X, type, x, false);
    d[1] = tensor_of(lib, UID_W, wtype, w, false);
    d[2] = tensor_of(lib, k->addend ? UID_SUM : UID_Y, k->addend ? inner : type, y, k->addend != 0);
    d[3] = geometry_of(lib, k);
    bool good = d[0] && d[1] && d[2] && d[3];
    if (good)
        d[4] = product_of(lib, (cuda_conv_kind)k->kind, d[3], d[0], d[1], d[2]);
    good = d[4] != NULL;
    if (good && k->addend) {
        d[5] = tensor_of(lib, UID_ADDEND, type, y, false);
        d[6] = tensor_of(lib, UID_Y, type, y, false);
        d[7] = d[5] && d[6] ? sum_of(lib, d[2], d[5], d[6]) : NULL;
        good = d[7] != NULL;
    }
    if (good) {
        descriptor operations[2] = {d[4], d[7]};
        cudnnHandle_t handle = p->handle;
        graph = start(lib, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
        graph = finish(lib, graph,
                       graph && set(lib, graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle) &&
                           set(lib, graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                               k->addend ? 2 : 1, operations));
    }
    for (int i = 0; i < 8; i++)
        drop(lib, d[i]);
    return graph;
}

/* --- engines */

/* Appends the engine configurations that one mode of cuDNN's heuristics proposes. */
static int configs_of(const cuda_plans *p, descriptor graph, cudnnBackendHeurMode_t mode, descriptor *configs,
                      int have) {
    const cuda_library *lib = p->lib;
    descriptor heuristic = start(lib, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    heuristic = finish(
        lib, heuristic,
        heuristic &&
            set(lib, heuristic, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &graph) &&
            set(lib, heuristic, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode));
    if (!heuristic)
        return have;
    int made = have;
    while (made < CONFIGS && (configs[made] = start(lib, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR)) != NULL)
        made++;
    int64_t found = 0;
    if (lib->cudnnBackendGetAttribute(heuristic, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                      made - have, &found, configs + have) != CUDNN_STATUS_SUCCESS)
        found = 0;
    found = found > made - have ? made - have : found;
    for (int i = have + (int)found; i < made; i++)
        drop(lib, configs[i]);
    drop(lib, heuristic);
    return have + (int)found;
}

/* Same bits every run; in float32, no operands rounded to TF32. */
static bool acceptable(const cuda_plans *p, descriptor config, bool plain_float) {
    const cuda_library *lib = p->lib;
    descriptor engine = start(lib, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    cudnnBackendNumericalNote_t notes[CUDNN_NUMERICAL_NOTE_TYPE_COUNT];
    int64_t count = 0;
    bool good = engine &&
                lib->cudnnBackendGetAttribute(config, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                                              &count, &engine) == CUDNN_STATUS_SUCCESS &&
                lib->cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                                              CUDNN_NUMERICAL_NOTE_TYPE_COUNT, &count, notes) == CUDNN_STATUS_SUCCESS;
    for (int64_t i = 0; good && i < count; i++)
        if (notes[i] == CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC ||
            notes[i] == CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION ||
            (plain_float &&
             (notes[i] == CUDNN_NUMERICAL_NOTE_TENSOR_CORE || notes[i] == CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS)))
            good = false;
    drop(lib, engine);
    return good;
}

static descriptor plan_of(const cuda_plans *p, descriptor config, size_t *workspace) {
    const cuda_library *lib = p->lib;
    cudnnHandle_t handle = p->handle;
    descriptor plan = start(lib, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    plan =
        finish(lib, plan,
               plan && set(lib, plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle) &&
                   set(lib, plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &config));
    int64_t size = 0, count = 0;
    if (plan && (lib->cudnnBackendGetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1,
                                               &count, &size) != CUDNN_STATUS_SUCCESS ||
                 size < 0 || (size_t)size > WORKSPACE_LIMIT)) {
        drop(lib, plan);
        return NULL;
    }
    *workspace = (size_t)size;
    return plan;
}

static vg_status execute(vg_backend *b, const cuda_plan *plan, const cuda_conv_places *places) {
    cuda_plans *p = cuda_of(b)->plans;
    const cuda_library *lib = p->lib;
    void *workspace;
    if (plan->own)
        return plan->own->conv_run(b, &plan->key, places);
    VG_TRY(vg_cuda__scratch(cuda_of(b), &workspace, plan->workspace));
    int64_t uids[4] = {UID_X, UID_W, UID_Y, UID_ADDEND}, count = plan->key.addend ? 4 : 3;
    void *pointers[4] = {places->x, places->w, places->y, places->addend};
    descriptor pack = start(lib, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    pack = finish(lib, pack,
                  pack && set(lib, pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, count, uids) &&
                      set(lib, pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, count, pointers) &&
                      set(lib, pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace));
    if (!pack)
        return vg_base__fail(VG_ERR_UNSUPPORTED, "cuda: cuDNN refused a convolution's operands");
    cudnnStatus_t status = lib->cudnnBackendExecute(p->handle, plan->plan, pack);
    drop(lib, pack);
    if (status != CUDNN_STATUS_SUCCESS)
        return vg_base__fail(VG_ERR_UNSUPPORTED, "cuda: a convolution failed: %s", lib->cudnnGetErrorString(status));
    return VG_OK;
}

/* Milliseconds of one run, the smallest of several; negative when the engine fails. */
static float time_of(vg_backend *b, const cuda_plan *plan, const cuda_conv_places *places) {
    cuda_context *c = cuda_of(b);
    cuda_plans *p = c->plans;
    float best = -1;
    if (execute(b, plan, places) != VG_OK || cudaStreamSynchronize(c->stream) != cudaSuccess) {
        cudaGetLastError();
        return -1;
    }
    for (int i = 0; i < TRIALS; i++) {
        float time = -1;
        cudaEventRecord(p->start, c->stream);
        if (execute(b, plan, places) != VG_OK)
            return -1;
        cudaEventRecord(p->stop, c->stream);
        if (cudaEventSynchronize(p->stop) != cudaSuccess ||
            cudaEventElapsedTime(&time, p->start, p->stop) != cudaSuccess)
            return -1;
        time = time < 1e-5f ? 1e-5f : time;
        best = best < 0 || time < best ? time : best;
    }
    return best;
}

/* --- choosing */

static void name_of(char *out, size_t size, const cuda_conv_key *k, const vg_backend *b) {
    static const char *const kinds[] = {"forward", "data", "weights"};
    snprintf(out, size, "%s-%d-n%lld-c%lld-%lldx%lld-o%lld-%lldx%lld-s%lld-p%lld-a%lld-f%lld", kinds[k->kind],
             (int)b->compute, (long long)k->n, (long long)k->c, (long long)k->h, (long long)k->w, (long long)k->o,
             (long long)k->r, (long long)k->s, (long long)k->stride, (long long)k->pad, (long long)k->addend,
             (long long)k->wide);
}

/* Takes the fastest of `count` configurations, or the one that an earlier run chose. */
static void choose(vg_backend *b, cuda_plan *plan, descriptor *configs, int count, const cuda_conv_places *places) {
    cuda_plans *p = cuda_of(b)->plans;
    char name[160];
    name_of(name, sizeof name, &plan->key, b);
    int chosen = vg_cuda__choice(p->choices, name, count, &plan->time), best = -1;
    if (chosen >= 0 && (plan->plan = plan_of(p, configs[chosen], &plan->workspace)) != NULL)
        return;
    double started = clock_now();
    for (int i = 0; i < count && (best < 0 || clock_now() - started < p->patience); i++) {
        cuda_plan trial = {.key = plan->key};
        if (!acceptable(p, configs[i], b->compute == VG_COMPUTE_F32) ||
            (trial.plan = plan_of(p, configs[i], &trial.workspace)) == NULL)
            continue;
        trial.time = time_of(b, &trial, places);
        if (trial.time >= 0 && (best < 0 || trial.time < plan->time)) {
            drop(p->lib, plan->plan);
            *plan = trial;
            best = i;
        } else {
            drop(p->lib, trial.plan);
        }
    }
    if (best < 0)
        return;
    chosen = vg_cuda__choose(p->choices, name, count, best, &plan->time);
    cuda_plan other = {.key = plan->key, .time = plan->time};
    if (chosen != best && (other.plan = plan_of(p, configs[chosen], &other.workspace)) != NULL) {
        drop(p->lib, plan->plan);
        *plan = other;
    }
}

/* Replaces the plan by an accelerator's kernel, where one serves the key and is faster. */
static void try_own(vg_backend *b, cuda_plan *plan, const cuda_conv_places *places) {
    cuda_plans *p = cuda_of(b)->plans;
    cuda_plan trial = {.key = plan->key};
    char name[176];
    if (cuda_of(b)->acceleration == VG_ACCELERATE_NEVER ||
        (trial.own = vg_cuda__conv_accelerator(b, &plan->key)) == NULL)
        return;
    name_of(name, 160, &plan->key, b);
    strcat(name, "-own");
    trial.time = 1e-5f;
    int chosen =
        cuda_of(b)->acceleration == VG_ACCELERATE_ALWAYS ? 1 : vg_cuda__choice(p->choices, name, 2, &trial.time);
    if (chosen < 0) {
        trial.time = time_of(b, &trial, places);
        chosen = trial.time >= 0 && (!plan->plan || trial.time < plan->time);
        chosen = vg_cuda__choose(p->choices, name, 2, chosen, &trial.time);
    }
    trial.own_time = plan->own_time = trial.time > 0 ? trial.time : 0;
    if (!chosen)
        return;
    drop(p->lib, plan->plan);
    *plan = trial;
}

static vg_status plan_for(vg_backend *b, const cuda_conv_key *key, const cuda_conv_places *places, cuda_plan **out) {
    cuda_plans *p = cuda_of(b)->plans;
    for (size_t i = 0; i < p->count; i++)
        if (memcmp(&p->items[i].key, key, sizeof *key) == 0) {
            *out = &p->items[i];
            return VG_OK;
        }
    if (cuda_of(b)->recording)
        return vg_base__fail(VG_ERR_ARGUMENT, "cuda: a convolution of a new shape appeared during a recording");
    if (p->count == p->room) {
        size_t room = p->room ? 2 * p->room : 64;
        cuda_plan *items;
        VG_TRY(vg_base__zalloc(&items, room, sizeof *items, "convolution plans"));
        if (p->count)
            memcpy(items, p->items, p->count * sizeof *items);
        vg_base__release(p->items);
        p->items = items;
        p->room = room;
    }
    cuda_plan plan = {.key = *key};
    /* cuDNN has no fast engines for float32 gradients of bfloat16 operands, and none that add to a gradient. */
    bool foreign = !key->wide && !(key->kind == CUDA_CONV_DATA && key->addend);
    descriptor graph = foreign ? graph_of(p, key, cuda_bf16(b)) : NULL, configs[CONFIGS + 1] = {0};
    if (graph) {
        int count = configs_of(p, graph, CUDNN_HEUR_MODE_A, configs, 0);
        count = configs_of(p, graph, CUDNN_HEUR_MODE_FALLBACK, configs, count);
        choose(b, &plan, configs, count, places);
        for (int i = 0; i < count; i++)
            drop(p->lib, configs[i]);
        drop(p->lib, graph);
    }
    try_own(b, &plan, places);
    p->items[p->count] = plan;
    *out = &p->items[p->count++];
    return VG_OK;
}

vg_status vg_cuda__conv_run(vg_backend *b, const cuda_conv_key *key, const cuda_conv_places *places, bool *served) {
    cuda_plan *plan;
    VG_TRY(plan_for(b, key, places, &plan));
    *served = plan->plan || plan->own;
    return *served ? execute(b, plan, places) : VG_OK;
}

vg_status vg_cuda__conv_own(vg_backend *b, const cuda_conv_key *key, const cuda_conv_places *places, float more,
                            bool *own) {
    cuda_plan *plan;
    VG_TRY(plan_for(b, key, places, &plan));
    *own = plan->own || (plan->own_time > 0 && plan->own_time <= plan->time + more);
    return VG_OK;
}

float vg_cuda__conv_time(vg_backend *b, const cuda_conv_key *key) {
    cuda_plans *p = cuda_of(b)->plans;
    for (size_t i = 0; i < p->count; i++)
        if (memcmp(&p->items[i].key, key, sizeof *key) == 0)
            return p->items[i].plan || p->items[i].own ? p->items[i].time : 0;
    return -1;
}

/* --- life */

vg_status vg_cuda__plans_stream(vg_backend *b, cudaStream_t stream) {
    cuda_plans *p = cuda_of(b)->plans;
    cudnnStatus_t status = p->lib->cudnnSetStream(p->handle, stream);
    if (status != CUDNN_STATUS_SUCCESS)
        return vg_base__fail(VG_ERR_UNSUPPORTED, "cuda: cuDNN did not accept the stream: %s",
                             p->lib->cudnnGetErrorString(status));
    return VG_OK;
}

vg_status vg_cuda__plans_new(vg_backend *b) {
    cuda_context *c = cuda_of(b);
    cuda_plans *p;
    VG_TRY(vg_base__zalloc(&p, 1, sizeof *p, "convolution plans"));
    c->plans = p;
    VG_TRY(vg_cuda__library(&p->lib));
    const char *patience = getenv("VARGATE_CUDA_PATIENCE");
    p->patience = patience ? atof(patience) : 1;
    cudnnStatus_t status = p->lib->cudnnCreate(&p->handle);
    if (status == CUDNN_STATUS_SUCCESS)
        status = p->lib->cudnnSetStream(p->handle, c->stream);
    if (status != CUDNN_STATUS_SUCCESS)
        return vg_base__fail(VG_ERR_UNSUPPORTED, "cuda: cuDNN could not be initialised: %s",
                             p->lib->cudnnGetErrorString(status));
    VG_TRY(vg_cuda__check(cudaEventCreate(&p->start), "making an event"));
    VG_TRY(vg_cuda__check(cudaEventCreate(&p->stop), "making an event"));
    return vg_cuda__choices_open(&p->choices, p->lib->cudnnGetVersion(), b->device);
}

void vg_cuda__plans_free(vg_backend *b) {
    cuda_plans *p = cuda_of(b)->plans;
    if (!p)
        return;
    for (size_t i = 0; i < p->count && !cuda_of(b)->lost; i++)
        drop(p->lib, p->items[i].plan);
    vg_cuda__choices_close(p->choices);
    if (p->start)
        cudaEventDestroy(p->start);
    if (p->stop)
        cudaEventDestroy(p->stop);
    if (p->handle && !cuda_of(b)->lost) /* after a device failure cuDNN may crash in it */
        p->lib->cudnnDestroy(p->handle);
    vg_base__release(p->items);
    vg_base__release(p);
    cuda_of(b)->plans = NULL;
}
