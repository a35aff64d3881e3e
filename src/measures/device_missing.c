/* device_missing.c - the functions of device.h in a build without CUDA. */
#ifndef VG_HAVE_CUDA
#include "base/base.h"
#include "vargate/device.h"

vg_status vg_device_check(void) {
    return vg_base__fail(VG_ERR_UNSUPPORTED, "no CUDA device: this build of vargate is without CUDA");
}

vg_status vg_device_scorer_new(vg_device_scorer **out, size_t m, size_t c, const vg_score_options *options) {
    (void)m, (void)c, (void)options;
    *out = NULL;
    return vg_device_check();
}
void vg_device_scorer_free(vg_device_scorer *scorer) { (void)scorer; }
vg_status vg_device_scorer_feed(vg_device_scorer *scorer, const vg_scores *out, vg_memory out_at,
                                const vg_predictions *block, vg_memory block_at) {
    (void)scorer, (void)out, (void)out_at, (void)block, (void)block_at;
    return vg_device_check();
}
vg_status vg_device_scorer_stream(vg_device_scorer *scorer, void *stream) {
    (void)scorer, (void)stream;
    return vg_device_check();
}
vg_status vg_device_scorer_summary(const vg_device_scorer *scorer, vg_score_summary *summary) {
    (void)scorer, (void)summary;
    return vg_device_check();
}
const char *vg_device_scorer_device(const vg_device_scorer *scorer) {
    (void)scorer;
    return "";
}
#else
typedef int vg_device_is_built;
#endif
