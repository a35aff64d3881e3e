/* device.h - the measures on an NVIDIA GPU: measures.h's scorer, with predictions in host or device memory.
 *
 *     vg_device_scorer *scorer;
 *     vg_score_options options = VG_SCORE_OPTIONS_INIT;
 *     if (vg_device_scorer_new(&scorer, M, C, &options) != VG_OK) puts(vg_error_message());   // "no CUDA device: ..."
 *     vg_predictions p = vg_predictions_f32(on_device, N, M, C);
 *     vg_device_scorer_feed(scorer, &out, VG_MEMORY_HOST, &p, VG_MEMORY_DEVICE);
 *
 * Results agree with vg_scorer's within 1e-6, and are the same bits every time. What the kernels do not do
 * (multilabel tasks, the floors CLAMP and ADD of probabilities, renormalise) is done by vg_scorer in the same call.
 * Views may have any strides; those in device memory whose classes follow each other are read in place, others are
 * packed by way of the host. */
#ifndef VARGATE_DEVICE_H
#define VARGATE_DEVICE_H

#include <stddef.h>

#include "vargate/measures.h"
#include "vargate/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where an array lies. DEVICE: memory of the current CUDA device. */
typedef enum vg_memory { VG_MEMORY_HOST = 0, VG_MEMORY_DEVICE = 1 } vg_memory;

/* VG_OK when there is a device to score on; else VG_ERR_UNSUPPORTED, "no CUDA device: <reason>". */
VG_API vg_status vg_device_check(void);

/* Serves one caller at a time, on the device that was current when it was made. The caller's, freed by
 * vg_device_scorer_free (NULL is accepted). */
typedef struct vg_device_scorer vg_device_scorer;
/* As vg_scorer_new, on the current CUDA device. Its memory is bounded by M and C, whatever N. */
VG_API vg_status vg_device_scorer_new(vg_device_scorer **out, size_t m, size_t c, const vg_score_options *options);
/* Frees the scorer and its device memory. NULL is fine. */
VG_API void vg_device_scorer_free(vg_device_scorer *scorer);
/* As vg_scorer_feed; `block` lies in memory `block_at`, the places of `out` in memory `out_at`. Done when it
 * returns. Blocks in device memory must be complete, or be written by work queued before on the stream given below. */
VG_API vg_status vg_device_scorer_feed(vg_device_scorer *scorer, const vg_scores *out, vg_memory out_at,
                                       const vg_predictions *block, vg_memory block_at);
/* Names the cudaStream_t whose queued work writes the blocks; NULL: the default stream. It holds for the calls that
 * follow and stays the caller's, who destroys it after the scorer. */
VG_API vg_status vg_device_scorer_stream(vg_device_scorer *scorer, void *stream);
/* As vg_scorer_summary: figures over all samples fed so far. */
VG_API vg_status vg_device_scorer_summary(const vg_device_scorer *scorer, vg_score_summary *summary);
/* The device in words, borrowed: "NVIDIA H200". */
VG_API const char *vg_device_scorer_device(const vg_device_scorer *scorer);

#ifdef __cplusplus
}
#endif
#endif
