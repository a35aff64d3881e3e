/* scorer.h - what scorer.c and options.c share. Internal to measures. */
#ifndef VG_MEASURES_SCORER_H
#define VG_MEASURES_SCORER_H

#include "vargate/measures.h"

vg_status vg_measures__check_options(const vg_score_options *options, size_t m, size_t c);

#endif
