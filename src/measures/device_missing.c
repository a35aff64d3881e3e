/* device_missing.c - the device scorer of a build without CUDA: no device is available, so none is ever made. */
#ifndef VG_HAVE_CUDA
#include "base/base.h"
#include "measures/device_scorer_api.h"

vg_status vg_device_scorer__available(void) {
    return vg_base__fail(VG_ERR_UNSUPPORTED, "no CUDA device: this build has no device code; on x86_64 pip install "
                                             "'vargate-uq[cuda]' has it");
}

vg_status vg_device_scorer__new(vg_device_scorer **out, size_t m, size_t c, const vg_score_options *options) {
    (void)m, (void)c, (void)options;
    *out = NULL;
    return vg_device_scorer__available();
}
void vg_device_scorer__free(vg_device_scorer *scorer) { (void)scorer; }
vg_status vg_device_scorer__feed(vg_device_scorer *scorer, const vg_scores *out, const vg_predictions *block,
                                 const vg_scorer_feed_options *options) {
    (void)scorer, (void)out, (void)block, (void)options;
    return vg_device_scorer__available();
}
vg_status vg_device_scorer__summary(const vg_device_scorer *scorer, vg_score_summary *summary) {
    (void)scorer, (void)summary;
    return vg_device_scorer__available();
}
const char *vg_device_scorer__device(const vg_device_scorer *scorer) {
    (void)scorer;
    return "";
}
#else
typedef int vg_device_is_built;
#endif
