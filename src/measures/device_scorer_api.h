/* device_scorer_api.h - the scorer of a GPU behind vg_scorer, which checks options, output pointers and callers
 * before it calls these. A build without CUDA has them too (device_missing.c): no device is available there.
 * Internal to measures. */
#ifndef VG_MEASURES_DEVICE_SCORER_API_H
#define VG_MEASURES_DEVICE_SCORER_API_H

#include "vargate/measures.h"

typedef struct vg_device_scorer vg_device_scorer;
/* VG_OK where there is a device to score on; else VG_ERR_UNSUPPORTED, "no CUDA device: <reason>". */
vg_status vg_device_scorer__available(void);
/* On the current device. `options` are complete and checked. */
vg_status vg_device_scorer__new(vg_device_scorer **out, size_t m, size_t c, const vg_score_options *options);
void vg_device_scorer__free(vg_device_scorer *scorer); /* NULL is accepted */
vg_status vg_device_scorer__feed(vg_device_scorer *scorer, const vg_scores *out, const vg_predictions *block,
                                 const vg_scorer_feed_options *options);
vg_status vg_device_scorer__summary(const vg_device_scorer *scorer, vg_score_summary *summary);
/* The device in words. Borrowed. */
const char *vg_device_scorer__device(const vg_device_scorer *scorer);

#endif
