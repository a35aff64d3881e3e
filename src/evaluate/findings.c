/* findings.c - an evaluation in plain words; the same for the command line, Python and the report. */
#include <ctype.h>
#include <stdio.h>

#include "base/c_locale.h"
#include "base/distributions.h"
#include "evaluate/bounds.h"
#include "evaluate/evaluate_internal.h"

enum { FEWEST_ERRORS = 10 }; /* with fewer, measures are not compared */
static const double level = 0.05;

static void name_p(char out[32], double p) {
    if (p < 0.001)
        snprintf(out, 32, "p < 0.001");
    else
        snprintf(out, 32, "p = %.2g", p);
}

static void set(vg_finding *out, const char *about, const char *verdict, const char *choice) {
    snprintf(out->about, sizeof out->about, "%s", about);
    snprintf(out->verdict, sizeof out->verdict, "%s", verdict);
    snprintf(out->choice, sizeof out->choice, "%s", choice);
}

/* --- is it calibrated --------------------------------------------------------------------------------------------- */
/* Mean confidence, and how many standard errors it lies above the accuracy if confidences are right. */
static double mean_confidence(const vg_evaluation *e, double *deviation) {
    double sum = 0, variance = 0, rows = (double)e->rows;
    for (size_t b = 0; b < e->bins; b++) {
        const vg_reliability_bin *bin = &e->reliability[b];
        if (bin->count == 0)
            continue;
        sum += (double)bin->count * bin->confidence;
        variance += (double)bin->count * (bin->confidence - bin->square);
    }
    double mean = sum / rows;
    *deviation = variance > 0 ? (mean - e->accuracy.value) * rows / sqrt(variance) : 0;
    return mean;
}

/* Only evaluations of sites have a mean IoU. */
static bool is_of_sites(const vg_evaluation *e) { return !isnan(e->miou.value); }

/* The tests and intervals of rows assume that the rows are independent. The sites of an image and the labels of a
 * sample are not. */
static bool rows_are_independent(const vg_evaluation *e) { return !e->label_count && !is_of_sites(e); }

static void find_calibration(vg_finding *out, const vg_evaluation *e) {
    const vg_calibration_check *c = &e->calibration;
    double deviation, confidence = mean_confidence(e, &deviation);
    char p[32];
    name_p(p, c->p_value);
    if (isnan(c->p_value)) {
        set(out, "calibration", "unknown", "");
        snprintf(out->text, sizeof out->text,
                 "Calibration: ECE %.4f; whether it is more than chance is not tested: %s.", e->ece.value,
                 is_of_sites(e) ? "the sites of an image are not independent" : "there are too many bins");
    } else if (c->p_value >= level) {
        set(out, "calibration", "calibrated", "");
        snprintf(out->text, sizeof out->text,
                 "Calibrated: ECE %.4f is what chance alone gives with these samples (%.4f on average; %s).",
                 e->ece.value, c->expected, p);
    } else {
        bool one_sided = fabs(deviation) > 2;
        const char *verdict = !one_sided ? "miscalibrated" : deviation > 0 ? "overconfident" : "underconfident";
        set(out, "calibration", verdict, "");
        snprintf(out->text, sizeof out->text,
                 "Not calibrated, %s: mean confidence %.2f %%, accuracy %.2f %%; ECE %.4f, of which %.4f is more than "
                 "chance (%s).%s",
                 one_sided ? verdict : "right on average but not at every confidence", 100 * confidence,
                 100 * e->accuracy.value, e->ece.value, c->debiased, p,
                 e->label_count ? "" : " Temperatures fitted to validation logits (vargate calibrate) may help.");
    }
}

/* --- which measure ------------------------------------------------------------------------------------------------ */
/* The lead in words: "leads tu (0.9012) by 0.0111 (95 % interval 0.004 to 0.018; ...)". */
static void name_lead(char *out, size_t room, const vg_evaluation *e) {
    const vg_measure_lead *lead = &e->lead;
    const vg_ranking *rival = &e->measures[lead->rival];
    char p[32];
    name_p(p, lead->corrected);
    snprintf(out, room, "%s (%.4f) by %.4f (%g %% interval %.4f to %.4f; paired %s, %s corrected for %zu comparison%s)",
             rival->name, rival->error_auroc.value, lead->difference.value, 100 * e->confidence, lead->difference.low,
             lead->difference.high, e->resamples > 0 ? "bootstrap" : "DeLong test", p, e->measure_count - 1,
             e->measure_count == 2 ? "" : "s");
}

static void find_measure_to_use(vg_finding *out, const vg_evaluation *e) {
    const vg_measure_lead *lead = &e->lead;
    char words[240];
    if (e->errors < FEWEST_ERRORS || lead->leader == e->measure_count) {
        bool nothing_right = e->errors > 0 && e->accuracy.value == 0;
        set(out, "measure", "few-errors", "");
        if (nothing_right)
            snprintf(out->text, sizeof out->text,
                     "Measures: every prediction is an error, so that no measure can tell errors from correct ones.");
        else
            snprintf(out->text, sizeof out->text,
                     "Measures: %zu error%s %s too few to tell which measure finds them best.", e->errors,
                     e->errors == 1 ? "" : "s", e->errors == 1 ? "is" : "are");
        return;
    }
    const vg_ranking *leader = &e->measures[lead->leader];
    if (lead->rival == e->measure_count || isnan(lead->corrected)) {
        set(out, "measure", "alone", leader->name);
        snprintf(out->text, sizeof out->text, "Errors are found by %s with an error AUROC of %.4f.", leader->name,
                 leader->error_auroc.value);
        return;
    }
    name_lead(words, sizeof words, e);
    if (lead->corrected < level) {
        set(out, "measure", "clear", leader->name);
        snprintf(out->text, sizeof out->text,
                 "To find errors use %s: its error AUROC of %.4f leads %s, which is more than noise.", leader->name,
                 leader->error_auroc.value, words);
        return;
    }
    bool leads = strcmp(leader->name, "tu") == 0;
    const char *simple = leads ? leader->name : e->measures[lead->rival].name;
    set(out, "measure", "noise", simple);
    snprintf(out->text, sizeof out->text,
             "No measure is clearly best at finding errors: %s, with an error AUROC of %.4f, leads %s, which is within "
             "noise. Use %s%s.",
             leader->name, leader->error_auroc.value, words, simple, strcmp(simple, "tu") == 0 ? ", the simplest" : "");
}

/* --- abstaining --------------------------------------------------------------------------------------------------- */
/* The probability of at least as many errors among the abstained rows if those were drawn at random
 * (hypergeometric). */
static double blind_chance(const vg_rule_row *r) {
    double errors = (double)(r->kept_errors + r->abstained_errors), right = (double)r->rows - errors;
    double drawn = (double)r->abstained,
           all = lgamma((double)r->rows + 1) - lgamma(drawn + 1) - lgamma((double)r->kept + 1);
    double sum = 0;
    for (double x = (double)r->abstained_errors; x <= errors && x <= drawn; x++) {
        double term = lgamma(errors + 1) - lgamma(x + 1) - lgamma(errors - x + 1) + lgamma(right + 1) -
                      lgamma(drawn - x + 1) - lgamma(right - drawn + x + 1) - all;
        sum += exp(term);
        if (term < -60 && x > drawn * errors / (double)r->rows)
            break; /* the terms that follow are smaller */
    }
    return fmin(sum, 1);
}

/* The share of errors caught minus the share of correct predictions given up. */
static double gain(const vg_rule_row *r) {
    double errors = (double)(r->kept_errors + r->abstained_errors);
    double right = (double)(r->rows) - errors;
    return (errors > 0 ? (double)r->abstained_errors / errors : 0) -
           (right > 0 ? (double)r->abstained_correct / right : 0);
}

static const vg_rule_row *best_rule(const vg_evaluation *e) {
    const vg_rule_row *best = &e->rule[0];
    for (size_t i = 1; i < e->rule_count; i++)
        if (gain(&e->rule[i]) > gain(best))
            best = &e->rule[i];
    return best;
}

/* --- which k ------------------------------------------------------------------------------------------------------ */
/* A row that the rule abstains on at one k is abstained on at every larger one, so two ks differ only in the rows
 * between them: the counts of both hold all that a paired test of their gains needs. */
typedef struct k_lead {
    double difference, low, high, p_value;
} k_lead;

/* The variance of a share of n; above 0 also where none or all of them changed. */
static double share_variance(double part, double n) {
    double share = (part + 1) / (n + 2);
    return share * (1 - share) / n;
}

static k_lead compare_k(const vg_rule_row *best, const vg_rule_row *usual, double confidence) {
    double errors = (double)(best->kept_errors + best->abstained_errors), right = (double)best->rows - errors;
    double caught = (double)best->abstained_errors - (double)usual->abstained_errors;
    double given = (double)best->abstained_correct - (double)usual->abstained_correct;
    double error = sqrt(share_variance(fabs(caught), errors) + share_variance(fabs(given), right));
    double wide = vg_base__normal_quantile(1 - (1 - confidence) / 2) * error, d = caught / errors - given / right;
    return (k_lead){d, d - wide, d + wide, erfc(fabs(d) / error / sqrt(2))};
}

/* The k that is advised: the best where its lead is more than noise, else the first. */
typedef struct k_choice {
    const vg_rule_row *advised, *other;
    k_lead lead;
    double corrected;
    bool few, clear;
} k_choice;

static k_choice choose_k(const vg_evaluation *e) {
    const vg_rule_row *best = best_rule(e), *usual = &e->rule[0];
    size_t errors = best->kept_errors + best->abstained_errors;
    k_choice out = {.advised = usual, .other = best, .few = errors < FEWEST_ERRORS || errors == best->rows};
    if (out.few || best == usual)
        return out;
    out.lead = compare_k(best, usual, e->confidence);
    out.corrected = fmin(1, out.lead.p_value * (double)(e->rule_count - 1));
    out.clear = out.corrected < level;
    if (out.clear) {
        out.advised = best;
        out.other = usual;
    }
    return out;
}

static void find_k(vg_finding *out, const vg_evaluation *e) {
    k_choice c = choose_k(e);
    size_t errors = c.advised->kept_errors + c.advised->abstained_errors;
    char p[32];
    if (c.few) {
        set(out, "k", "few-errors", c.advised->name);
        snprintf(out->text, sizeof out->text, "k: %zu error%s cannot tell which k is best. Use k = %s.", errors,
                 errors == 1 ? "" : "s", c.advised->name);
        return;
    }
    if (c.advised == c.other) {
        set(out, "k", "first", c.advised->name);
        snprintf(out->text, sizeof out->text,
                 "Use k = %s: no other of these ks catches more errors for the correct predictions that it gives up.",
                 c.advised->name);
        return;
    }
    name_p(p, c.corrected);
    set(out, "k", c.clear ? "clear" : "noise", c.advised->name);
    snprintf(out->text, sizeof out->text,
             "Use k = %s: %s k = %s, the share of errors caught less that of correct predictions given up is larger by "
             "%.4f (%g %% interval %.4f to %.4f; paired test, %s corrected for %zu comparison%s), %s.",
             c.advised->name, c.clear ? "over" : "at another,", c.other->name, c.lead.difference, 100 * e->confidence,
             c.lead.low, c.lead.high, p, e->rule_count - 1, e->rule_count == 2 ? "" : "s",
             c.clear ? "which is more than noise" : "which is within noise");
}

/* The k that abstaining is described at: the advised one, where it abstains and keeps something. */
static const vg_rule_row *described_rule(const vg_evaluation *e) {
    const vg_rule_row *r = e->rule_count > 1 && rows_are_independent(e) ? choose_k(e).advised : best_rule(e);
    return r->abstained > 0 && r->kept > 0 ? r : best_rule(e);
}

static void find_abstaining(vg_finding *out, const vg_evaluation *e) {
    const vg_rule_row *r = described_rule(e);
    size_t errors = r->kept_errors + r->abstained_errors;
    const char *unit = e->label_count ? "labels" : is_of_sites(e) ? "sites" : "samples";
    double chance = errors > 0 ? fmin(1, blind_chance(r) * (double)e->rule_count) : 1;
    char p[32];
    name_p(p, chance);
    if (r->abstained == 0 || r->kept == 0) {
        set(out, "abstaining", r->kept == 0 ? "keeps-nothing" : "keeps-all", "");
        snprintf(out->text, sizeof out->text, "Abstaining: the rule %s at every k of these, so that nothing is gained.",
                 r->kept == 0 ? "keeps nothing" : "abstains on nothing");
    } else if (!rows_are_independent(e)) {
        set(out, "abstaining", "untested", r->name);
        snprintf(
            out->text, sizeof out->text,
            "Abstaining at k = %s on %.2f %% of the %s: accuracy on the rest is %.2f %% instead of %.2f %%; %zu of "
            "%zu errors are caught and %zu of %zu correct predictions given up. This is not compared with chance: "
            "the %s are not independent.",
            r->name, 100 * (1 - r->coverage.value), unit, 100 * r->accuracy.value, 100 * e->accuracy.value,
            r->abstained_errors, errors, r->abstained_correct, r->rows - errors,
            e->label_count ? "labels of a sample" : "sites of an image");
    } else if (chance >= level) {
        set(out, "abstaining", "noise", "");
        snprintf(
            out->text, sizeof out->text,
            "Abstaining at k = %s on %.2f %% of the %s catches %zu of %zu error%s: no more than chance would (%s).",
            r->name, 100 * (1 - r->coverage.value), unit, r->abstained_errors, errors, errors == 1 ? "" : "s", p);
    } else {
        double side = 1 - (1 - e->confidence) / 2;
        set(out, "abstaining", "helps", r->name);
        snprintf(out->text, sizeof out->text,
                 "Abstaining at k = %s on %.2f %% of the %s raises accuracy on the rest from %.2f to %.2f %% (%g %% "
                 "interval %.2f to %.2f): it catches %zu of %zu errors and gives up %zu of %zu correct predictions (%s "
                 "against chance).",
                 r->name, 100 * (1 - r->coverage.value), unit, 100 * e->accuracy.value, 100 * r->accuracy.value,
                 100 * e->confidence, 100 * (1 - vg_bounds__clopper_pearson(r->kept_errors, r->kept, side)),
                 100 * vg_bounds__clopper_pearson(r->kept - r->kept_errors, r->kept, side), r->abstained_errors, errors,
                 r->abstained_correct, r->rows - errors, p);
    }
}

size_t vg_evaluation_findings(vg_finding findings[VG_MAX_FINDINGS], const vg_evaluation *e, const vg_verdict *verdict) {
    VG_IN_C_LOCALE;
    size_t count = 0;
    if (!findings || !e)
        return 0;
    if (verdict && verdict->state != VG_VERDICT_UNKNOWN) {
        set(&findings[count], "diversity", verdict->name, "");
        size_t length = strlen(verdict->text);
        bool ended = length > 0 && verdict->text[length - 1] == '.';
        snprintf(findings[count].text, VG_FINDING_SIZE, "%s%s", verdict->text, ended ? "" : ".");
        char *first = findings[count++].text;
        *first = (char)toupper((unsigned char)*first);
    }
    if (e->rows == 0)
        return count;
    find_calibration(&findings[count++], e);
    if (e->measure_count > 0)
        find_measure_to_use(&findings[count++], e);
    if (e->rule_count > 1 && rows_are_independent(e))
        find_k(&findings[count++], e);
    if (e->rule_count > 0)
        find_abstaining(&findings[count++], e);
    return count;
}
