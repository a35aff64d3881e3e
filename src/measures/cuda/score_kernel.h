/* score_kernel.h - the launchers of the scoring kernels. Plain C. Internal to measures. */
#ifndef VG_MEASURES_SCORE_KERNEL_H
#define VG_MEASURES_SCORE_KERNEL_H

#include <cuda_runtime_api.h>

#include "measures/cuda/score_job.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Figures over samples, each as the sum of two doubles, in the order of score_job.units. */
typedef struct score_totals {
    double sum[SCORE_FIGURES], rest[SCORE_FIGURES];
} score_totals;

/* Queues the kernel for a laid-out job. `blocks`: how many blocks the job's memory is for (0: one for each tile). */
cudaError_t vg_measures__score_launch(const score_job *job, long long blocks, cudaStream_t stream);
/* The same for a job in a form by lanes, whose memory is set. */
cudaError_t vg_measures__groups_launch(const score_job *job, cudaStream_t stream);
/* The most probable class of every member (ties: the lower index) of samples 0, step, 2 step, ... of the job's input:
 * tops[n][M] of the job's n, in device memory. */
cudaError_t vg_measures__tops_launch(const score_job *job, long long step, unsigned *tops, cudaStream_t stream);
/* Adds the job's units to totals (device memory). */
cudaError_t vg_measures__score_total(const score_job *job, score_totals *totals, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
