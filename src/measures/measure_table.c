/* measure_table.c - the table of measures: name, meaning, and position in vg_scores.
 *
 * The order is that of files and listings: the measures with one value per row, then the gated ones. */
#include "measures/measure_table.h"
#include "vargate/measures.h"

#include <string.h>

#define PLACE(FIELD) offsetof(vg_scores, FIELD)

static const vg_measure_info table[] = {
    {"tu", "TU", "total uncertainty: entropy of the mean distribution", 0, 0, PLACE(tu)},
    {"au", "AU", "aleatoric uncertainty: mean entropy of the members' distributions", 0, 0, PLACE(au)},
    {"eu", "EU", "epistemic uncertainty: TU - AU, the mutual information of class and member", 0, 0, PLACE(eu)},
    {"epce", "EPCE", "expected pairwise cross-entropy of members", 0, 0, PLACE(epce)},
    {"epkl", "EPKL", "expected pairwise Kullback-Leibler divergence of members", 0, 0, PLACE(epkl)},
    {"epjs", "EPJS", "expected pairwise Jensen-Shannon divergence of members", 0, 0, PLACE(epjs)},
    {"gmu", "GMU", "variance-gated margin uncertainty: 0 certain, 1 uncertain", 0, 0, PLACE(gmu)},
    {"snr", "SNR", "signal-to-noise ratio of the margin between the two most probable classes", 0, 1, PLACE(snr)},
    {"maxprob", "1 - MSP", "maximum probability: 1 minus the largest mean probability", 0, 0, PLACE(maxprob)},
    {"gap", "1 - margin", "margin of the mean: 1 minus the margin between the two largest mean probabilities", 0, 0,
     PLACE(gap)},
    {"topstd", "top std", "standard deviation of the top class: spread of the members in the most probable class", 0, 0,
     PLACE(topstd)},
    {"votes", "VR", "variation ratio: share of members that do not name the class most of them name", 0, 0,
     PLACE(votes)},
    {"maxlogit", "-max logit", "maximum logit: minus the largest mean logit; logits only", 0, 0, PLACE(maxlogit)},
    {"energy", "energy", "free energy: minus the members' mean log-sum-exp of logits; logits only", 0, 0,
     PLACE(energy)},
    {"gtu", "GTU", "variance-gated total uncertainty: TU of the gated distributions", 1, 0, PLACE(gtu)},
    {"gau", "GAU", "variance-gated aleatoric uncertainty: AU of the gated distributions", 1, 0, PLACE(gau)},
    {"geu", "GEU", "variance-gated epistemic uncertainty: EU of the gated distributions", 1, 0, PLACE(geu)},
    {"gepce", "GEPCE", "variance-gated pairwise cross-entropy: EPCE of the gated distributions", 1, 0, PLACE(gepce)},
    {"gepkl", "GEPKL", "variance-gated pairwise divergence: EPKL of the gated distributions", 1, 0, PLACE(gepkl)},
    {"gepjs", "GEPJS", "variance-gated Jensen-Shannon divergence: EPJS of the gated distributions", 1, 0, PLACE(gepjs)},
};

enum { COUNT = sizeof table / sizeof *table };

const vg_measure_info *vg_measure_info_at(size_t index) { return index < COUNT ? &table[index] : NULL; }

const vg_measure_info *vg_measure__find(const char *name) {
    size_t length = name ? strcspn(name, "@") : 0;
    for (size_t i = 0; i < COUNT; i++)
        if (strlen(table[i].name) == length && memcmp(table[i].name, name, length) == 0)
            return name[length] && !table[i].gated ? NULL : &table[i];
    return NULL;
}
