/* tier_portable.c - the kernel for any processor: two doubles per vector, compiled for the baseline instruction set. */
#include "measures/kernel.h"

#define VG_LANES 2
#include "measures/template/all.h"

const vg_kernel_tier vg_measures__portable = {"portable", tier_units, tier_shares, tier_workspace,
                                              tier_score, tier_votes, first_top,   NULL};
