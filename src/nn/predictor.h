/* predictor.h - checkpoints of a run folder, and functions of a predictor besides vg_predictor_run: another order of
 * the classes, logits that stay in GPU memory. For the modules above nn. */
#ifndef VG_PREDICTOR_H
#define VG_PREDICTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vargate/nn.h"
#include "vargate/status.h"

/* Writes FOLDER/last.safetensors or FOLDER/best.safetensors to out[room], as `which` says: 0 last, 1 best, -1 the
 * recipe's `checkpoint`. *best (may be NULL) becomes 1 for the best one. VG_ERR_ARGUMENT when the path does not fit. */
vg_status vg_run__checkpoint(char *out, size_t room, const char *folder, int which, int *best);
/* vg_predictor_describe for callers compiled with this library. */
vg_predictor_info vg_predictor__info(const vg_predictor *predictor);
/* Gives the logits of later calls in the order of these class names, so that networks trained with other numbers for
 * the same classes make one ensemble. Once per predictor; its own names must be known. VG_ERR_DATA, naming the class,
 * when the network's classes are not the same ones. */
vg_status vg_predictor__order_classes(vg_predictor *predictor, const char *const *names, size_t count);
/* As vg_predictor_run, but the logits stay in GPU memory: *logits is valid for work queued on *stream (a cudaStream_t)
 * until the next call. n is at most vg_predictor__piece(). VG_ERR_UNSUPPORTED when the network runs on the CPU. */
vg_status vg_predictor__run_on_device(vg_predictor *predictor, const float **logits, void **stream, const float *images,
                                      size_t n, uint64_t first);
size_t vg_predictor__piece(const vg_predictor *predictor);
/* Whether it can: the network runs on a GPU. The description of a device may name a GPU that is not used. */
bool vg_predictor__is_on_gpu(const vg_predictor *predictor);
/* Makes the predictor's device the calling thread's current one until the predictor is freed, for a scorer that reads
 * the logits there. */
vg_status vg_predictor__stay(vg_predictor *predictor);
/* Softmax over the last axis of rows x classes, in place. */
void vg_nn__softmax_rows(float *values, size_t rows, size_t classes);
/* The gated members Q of n samples from their probabilities [n][members][classes], in place, as the gated loss has
 * them: backend/ref/ref_gate.c. k: of every class. */
vg_status vg_nn__gate_rows(float *values, size_t n, size_t members, size_t classes, const double *k);

#endif
