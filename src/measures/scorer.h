/* scorer.h - what scorer.c and options.c share. Internal to measures. */
#ifndef VG_MEASURES_SCORER_H
#define VG_MEASURES_SCORER_H

#include "vargate/measures.h"

/* Copies the caller's options to `out`, completes those of an older, smaller struct by the defaults, and checks them for
 * predictions of m members and c classes. */
vg_status vg_measures__take_options(vg_score_options *out, const vg_score_options *given, size_t m, size_t c);

#endif
