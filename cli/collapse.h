/* collapse.h - whether an ensemble's members still disagree, in words. */
#ifndef CLI_COLLAPSE_H
#define CLI_COLLAPSE_H

#include "vargate/measures.h"

typedef enum collapse_state {
    COLLAPSE_ONE_MEMBER,
    COLLAPSE_IDENTICAL,
    COLLAPSE_COLLAPSED,
    COLLAPSE_LOW,
    COLLAPSE_DIVERSE
} collapse_state;

/* From diversity and, when it was computed, k-sensitivity, of an ensemble of M members over C classes. */
collapse_state collapse_verdict(size_t m, size_t c, const vg_score_summary *summary);
/* "one-member", "identical", "collapsed", "low", "diverse": stable, for JSON. */
const char *collapse_name(collapse_state state);
/* A sentence for the person. */
const char *collapse_text(collapse_state state);

#endif
