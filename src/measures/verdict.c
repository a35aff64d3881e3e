/* verdict.c - whether an ensemble's members disagree, and whether the ensemble decides, from the figures of a scoring
 * run.
 *
 * The rule and its thresholds are in vargate/measures.h; docs/measures.md shows the ensembles they were chosen on. D
 * alone is small for an accurate ensemble, whose members are certain of most samples, and for many classes;
 * k-sensitivity moves with the largest k, and both move with M. The share of the variance and the pairs of members do
 * neither. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/base.h"
#include "measures/measure_table.h"
#include "vargate/measures.h"

static const double share_collapsed = 0.001, share_diverse = 0.02;
static const double differ_collapsed = 0.05, differ_diverse = 0.2, differ_undecided = 0.5, abstained_undecided = 0.95;
enum { LABELS_LEAST = 30, PERCENT = 24 };

const char *vg_verdict__name(vg_verdict_state state) {
    static const char *const names[] = {"unknown", "one-member", "identical", "collapsed",
                                        "low",     "diverse",    "undecided", "no-skill"};
    return (unsigned)state < sizeof names / sizeof *names ? names[state] : names[0];
}

/* No better than guessing: below chance plus two standard errors, on enough labels for that to mean something. */
static bool lacks_skill(const vg_verdict *v, unsigned long long labelled) {
    double error = sqrt(v->chance * (1 - v->chance) / (double)labelled);
    return labelled >= LABELS_LEAST && v->accuracy <= v->chance + 2 * error;
}

static vg_verdict_state judge(const vg_verdict *v, const vg_score_summary *s, unsigned long long labelled) {
    double differ = v->disagreement / (1 - v->chance);
    if (s->samples == 0 || s->members == 0 || isnan(v->share) || isnan(v->disagreement))
        return VG_VERDICT_UNKNOWN;
    if (s->members == 1)
        return VG_VERDICT_ONE_MEMBER;
    if (s->member_variance == 0)
        return VG_VERDICT_IDENTICAL;
    bool undecided = differ >= differ_undecided || v->abstained >= abstained_undecided;
    if (undecided || v->share >= share_diverse || differ >= differ_diverse)
        return lacks_skill(v, labelled) ? VG_VERDICT_NO_SKILL : undecided ? VG_VERDICT_UNDECIDED : VG_VERDICT_DIVERSE;
    return v->share < share_collapsed && differ < differ_collapsed ? VG_VERDICT_COLLAPSED : VG_VERDICT_LOW;
}

/* --- in words ----------------------------------------------------------------------------------------------------- */
/* "28 %", "3.2 %", "0.045 %": two digits, no exponent, and no rounding to 100 % of what is less. */
static const char *percent(char text[PERCENT], double share) {
    double hundredths = 100 * share;
    if (share < 1 && hundredths >= 99.95)
        snprintf(text, PERCENT, "nearly 100 %%");
    else if (share < 1 && hundredths >= 99.5)
        snprintf(text, PERCENT, "%.1f %%", hundredths);
    else if (hundredths >= 9.95)
        snprintf(text, PERCENT, "%.0f %%", hundredths);
    else if (hundredths >= 1e-4)
        snprintf(text, PERCENT, "%.*f %%", (int)fmax(0, 1 - floor(log10(hundredths))), hundredths);
    else
        snprintf(text, PERCENT, "%s", share > 0 ? "less than 0.0001 %" : "0 %");
    return text;
}

static void add_text(vg_verdict *v, const char *format, const char *a, const char *b, const char *c) {
    size_t used = strlen(v->text);
    snprintf(v->text + used, sizeof v->text - used, format, a, b, c);
}

/* What the labels say beside too little, or too much, disagreement. */
static void add_accuracy(vg_verdict *v, unsigned long long labelled, const char *if_useful) {
    char right[PERCENT], chance[PERCENT];
    if (labelled == 0)
        return;
    percent(right, v->accuracy);
    if (lacks_skill(v, labelled))
        add_text(v, "; and the mean is right on %s, no better than chance (%s)%s", right, percent(chance, v->chance),
                 "");
    else
        add_text(v, "; the mean is right on %s%s%s", right, if_useful, "");
}

static void describe(vg_verdict *v, const vg_score_summary *s, unsigned long long labelled) {
    char share[PERCENT], differ[PERCENT], rest[PERCENT], right[PERCENT];
    const char *who = s->members == 2 ? "the two members" : "the members";
    const char *pairs = s->members == 2 ? "they" : "pairs of them";
    percent(share, v->share);
    percent(differ, v->disagreement);
    percent(rest, v->abstained);
    v->text[0] = '\0';
    switch (v->state) {
    case VG_VERDICT_UNKNOWN: add_text(v, "unknown: there is nothing to judge by%s%s%s", "", "", ""); return;
    case VG_VERDICT_ONE_MEMBER:
        add_text(v, "one member: there is no disagreement to measure, epistemic terms are 0%s%s%s", "", "", "");
        return;
    case VG_VERDICT_IDENTICAL:
        add_text(v, "identical members: epistemic terms are 0 and the gate does nothing%s%s%s", "", "", "");
        add_accuracy(v, labelled, "");
        return;
    case VG_VERDICT_COLLAPSED:
        add_text(v, "collapsed: %s are nearly copies (%s of the variance lies between them, %s", who, share, pairs);
        add_text(v, " name different classes on about %s)%s; epistemic terms and the gate say little%s", differ, "",
                 "");
        add_accuracy(v, labelled, ", and TU or GMU still rank its errors");
        return;
    case VG_VERDICT_LOW:
        add_text(v, "low diversity: %s agree on most samples (%s of the variance lies between them, %s", who, share,
                 pairs);
        add_text(v, " name different classes on about %s)%s; use epistemic terms with care%s", differ, "", "");
        add_accuracy(v, labelled, "");
        return;
    case VG_VERDICT_DIVERSE:
        add_text(v, "diverse: %s of the variance lies between %s, %s", share, who, pairs);
        add_text(v, " name different classes on about %s; the rule abstains on %s at k = 1%s", differ, rest, "");
        return;
    case VG_VERDICT_UNDECIDED:
        add_text(v, "undecided: %s disagree more than they agree (%s name different classes on about %s", who, pairs,
                 differ);
        add_text(v, ", %s of the variance lies between them): %s; the rule abstains on %s at k = 1", share,
                 v->share < share_diverse ? "none prefers any class" : "each prefers its own", rest);
        add_accuracy(v, labelled, ": rank by GMU or TU, or use a smaller k");
        return;
    default:
        add_text(v, "no skill: the mean is right on %s where chance is %s", percent(right, v->accuracy),
                 percent(rest, v->chance), "");
        add_text(v,
                 ", so that no measure of the members' disagreement (%s of the variance) can help; "
                 "check labels and the order of classes%s%s",
                 share, "", "");
    }
}

vg_status vg_verdict_judge(vg_verdict *out, const vg_score_summary *summary, unsigned long long correct,
                           unsigned long long labelled) {
    VG_IN_C_LOCALE;
    if (!out || !summary)
        return vg_base__fail(VG_ERR_ARGUMENT, "vg_verdict_judge: out and summary must not be NULL");
    if (out->struct_size != sizeof *out)
        return vg_base__fail(VG_ERR_ARGUMENT, "a verdict of size %zu, expected %zu: start from VG_VERDICT_INIT",
                             out->struct_size, sizeof *out);
    if (correct > labelled)
        return vg_base__fail(VG_ERR_ARGUMENT, "a verdict on %llu correct of %llu labelled", correct, labelled);
    double m = (double)summary->members, unbiased = m > 1 ? m / (m - 1) : 1;
    double between = unbiased * summary->member_variance, within = summary->total_variance - summary->member_variance;
    vg_verdict v = {.struct_size = sizeof v,
                    .diversity = unbiased * summary->diversity,
                    .class_variance = between,
                    .share = between > 0 ? between / (between + fmax(within, 0)) : between,
                    .disagreement = summary->disagreement,
                    .abstained = summary->abstained,
                    .accuracy = labelled ? (double)correct / (double)labelled : NAN,
                    .chance = summary->outcomes ? 1 / (double)summary->outcomes : NAN};
    v.state = judge(&v, summary, labelled);
    v.name = vg_verdict__name(v.state);
    describe(&v, summary, labelled);
    *out = v;
    return VG_OK;
}
