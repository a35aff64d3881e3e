/* collapse.c - the verdict on diversity.
 *
 * A collapsed ensemble shows as D -> 0 and as gated measures that do not move with k. The k-sensitivity is free of the number
 * of classes and of how confident the members are, so it decides where it is known; D alone decides otherwise. */
#include "collapse.h"

#include <math.h>

collapse_state collapse_verdict(size_t members, const vg_score_summary *summary) {
    if (members == 1)
        return COLLAPSE_ONE_MEMBER;
    if (summary->diversity == 0)
        return COLLAPSE_IDENTICAL;
    if (isnan(summary->k_sensitivity))
        return summary->diversity < 2e-6 ? COLLAPSE_COLLAPSED : summary->diversity < 5e-5 ? COLLAPSE_LOW : COLLAPSE_DIVERSE;
    return summary->k_sensitivity < 0.02 ? COLLAPSE_COLLAPSED : summary->k_sensitivity < 0.1 ? COLLAPSE_LOW : COLLAPSE_DIVERSE;
}

const char *collapse_name(collapse_state state) {
    static const char *const names[] = {"one-member", "identical", "collapsed", "low", "diverse"};
    return names[state];
}

const char *collapse_text(collapse_state state) {
    switch (state) {
    case COLLAPSE_ONE_MEMBER: return "one member: there is no disagreement to measure, epistemic terms are 0";
    case COLLAPSE_IDENTICAL: return "identical members: epistemic terms are 0 and the gate does nothing";
    case COLLAPSE_COLLAPSED: return "collapsed: the members hardly disagree, gated measures barely move with k";
    case COLLAPSE_LOW: return "low diversity: the members agree on most samples, trust epistemic terms with care";
    default: return "diverse: the members disagree where it matters, the gate has something to work with";
    }
}
