/* measure_table.h - looking up measures and verdicts by name. The table itself is public: vg_measure_info_at. */
#ifndef VG_MEASURE_TABLE_H
#define VG_MEASURE_TABLE_H

#include "vargate/measures.h"

/* The row of a name, "tu" or "gtu"; a gated measure may include its gate setting, "gtu@2". NULL when there is none. */
const vg_measure_info *vg_measure__find(const char *name);

/* "unknown", "one-member", "identical", "collapsed", "low", "diverse", "undecided", "no-skill". */
const char *vg_verdict__name(vg_verdict_state state);

#endif
