/* device_scorer.h - the parts of the device scorer: memory, results in flight, and the fallback to the host. Internal
 * to measures. */
#ifndef VG_MEASURES_DEVICE_SCORER_H
#define VG_MEASURES_DEVICE_SCORER_H

#include <cuda_runtime_api.h>

#include "base/base.h"
#include "measures/cuda/score_kernel.h"
#include "measures/device_scorer_api.h"

enum { DEVICE_FIELDS = 20 };

/* A buffer that grows: device memory, or pinned host memory. */
typedef struct device_memory {
    void *data;
    size_t bytes;
    bool host;
} device_memory;

/* One of the two chunks in flight. */
typedef struct device_slot {
    cudaStream_t stream;
    device_memory input, staged; /* host input: on the device, and staged for the copy to it */
    device_memory results;       /* score_report, the fields asked for, then redo[2][n] and units[SCORE_FIGURES][n] */
    device_memory arrived;       /* report and fields, on the host */
    device_memory work[2];       /* arrays that do not fit shared memory: of the kernel, and of its double form */
    score_totals *totals;        /* device */
    size_t first, samples;       /* the chunk; samples is 0 when the slot is free */
    size_t redo;                 /* offset of redo in results */
    size_t fields_bytes;         /* of report and fields */
} device_slot;

struct vg_device_scorer {
    size_t m, c, k;
    vg_score_options options; /* k and temperature are the scorer's own copies */
    double *gates, *class_k, *temperature;
    bool by_host;               /* the kernels do not implement these options: vg_scorer does all the work */
    vg_scorer *host, *rescorer; /* whole blocks; single samples */
    double *gates_device, *class_k_device, *inverse_temperature;
    device_slot slots[2];
    score_job plans[2]; /* the last jobs: usual and in double */
    int widest, multiprocessors;
    size_t shared, shared_all;
    cudaEvent_t ready;
    vg_pool *pool;
    unsigned long long samples;
    bool has_tu, has_gtu;
    double disagreement, looked_at; /* weighted sum over the samples that count, and their weight */
    uint32_t *tops;                 /* workspace of the disagreement */
    char device[256];
};

vg_status vg_device__check(cudaError_t error, const char *doing);
/* Makes room for at least `bytes`; the contents are lost. */
vg_status vg_device__grow(device_memory *, size_t bytes, const char *what);
void vg_device__drop(device_memory *);

/* The fields of a vg_scores, in order: the pointer, bytes per element, elements per sample. */
void *vg_device__field(const vg_scores *scores, int field);
void vg_device__set_field(vg_scores *scores, int field, void *place);
size_t vg_device__field_bytes(const vg_device_scorer *,
                              int field); /* per sample; in multilabel mode of all its labels */
/* The output pointers from sample `first` on. */
vg_scores vg_device__places_from(const vg_device_scorer *, const vg_scores *, size_t first);

/* Bytes per element. */
size_t vg_device__element(vg_dtype dtype);
bool vg_device__packed(const vg_predictions *);
/* memcpy by several threads where the block is large enough to gain from it. */
vg_status vg_device__copy(vg_device_scorer *, void *to, const void *from, size_t bytes);
/* Samples first .. first + count - 1, packed, to host memory, from either memory and by any strides. */
vg_status vg_device__pack(vg_device_scorer *, void *to, const vg_predictions *, vg_memory at, size_t first,
                          size_t count);

/* The whole block by vg_scorer. */
vg_status vg_device__feed_host(vg_device_scorer *, const vg_scores *out, vg_memory out_at, const vg_predictions *,
                               vg_memory at);
/* One sample by vg_scorer. */
vg_status vg_device__rescore(vg_device_scorer *, const vg_scores *out, vg_memory out_at, const vg_predictions *,
                             vg_memory at, size_t sample);
/* Adds the disagreement of the block's samples that count (measures/disagreement.h); called before s->samples
 * advances. */
vg_status vg_device__compare_tops(vg_device_scorer *, const vg_predictions *, vg_memory at);
/* The message for a row that is not a distribution. */
vg_status vg_device__bad_row(vg_device_scorer *, const vg_predictions *, vg_memory at, size_t sample);

#endif
