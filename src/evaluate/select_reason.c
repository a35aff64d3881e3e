/* select_reason.c - what it would take to meet a risk target that was missed. These are estimates for a message. */
#include <stdio.h>

#include "base/c_locale.h"
#include "evaluate/select_internal.h"

/* p-value of a risk observed on n samples, n real. */
static double p_value(double risk, double n, double target, bool several) {
    double p = vg_evaluate__binomial_cdf(risk * n, n, target);
    return several ? 2 * exp(1) * p : p;
}

size_t vg_evaluate__fewest(double target, double level, bool several) {
    return (size_t)ceil(log(several ? level / 2 : level) / log1p(-target) - 1e-9);
}

double vg_evaluate__samples_for(double risk, double target, double level, bool several) {
    double low = 1, high = 1e12;
    if (!(risk < target) || p_value(risk, high, target, several) > level)
        return INFINITY;
    while (high / low > 1.001) {
        double middle = sqrt(low * high);
        *(p_value(risk, middle, target, several) <= level ? &high : &low) = middle;
    }
    return high;
}

void vg_selection_reason(char *text, size_t room, const vg_selection *s) {
    VG_IN_C_LOCALE;
    if (room == 0)
        return;
    text[0] = '\0';
    if (!s || s->met || !(s->target_risk > 0))
        return;
    if (s->grid_count == 0)
        snprintf(text, room, "every sample has a margin of 0, so that no threshold keeps any");
    else if (s->fewest > s->samples && s->needed)
        snprintf(text, room,
                 "%zu validation samples cannot show it: even without an error it takes %zu answered ones, at the "
                 "risks found "
                 "here about %zu validation samples",
                 s->samples, s->fewest, s->needed);
    else if (s->fewest > s->samples)
        snprintf(text, room,
                 "%zu validation samples cannot show it: even without an error it takes %zu answered ones, and the "
                 "risk found "
                 "is above the target at every threshold",
                 s->samples, s->fewest);
    else if (s->needed)
        snprintf(text, room, "at the risks found here it would take about %zu validation samples", s->needed);
    else if (s->grid_count == 1)
        snprintf(text, room, "all values are the same, so that they do not separate errors from correct predictions");
    else
        snprintf(text, room,
                 "the risk found is above the target at every threshold: more samples would not help, these values do "
                 "not tell "
                 "errors from correct predictions well enough");
}
