/* set_scores.c - nonconformity scores of the classes of one sample. See set_rule.h and docs/design/prediction-sets.md.
 *
 *     lac     1 - v(y)
 *     aps     A(y) + u v(y),  A(y) the sum of v over the classes ranked above y
 *     raps    aps + lambda max(0, r - k_reg)
 *     saps    u max v where r = 1, else max v + (r - 2 + u) lambda
 *     margin  max of the others - v(y)
 *     topk    r
 *     snr     (v(j) - v(y)) / (sigma(j) + sigma(y) + eps), j the first class other than y
 *
 * A label's score takes one pass over the classes. The scores of all classes up to a limit take a heap of the classes:
 * O(C + s log C) for a set of s classes, because the ranking ends at the first score above the limit. */
#include "base/random.h"
#include "evaluate/set_rule.h"

double vg_set__uniform(uint64_t seed, unsigned stream, uint64_t sample) {
    const uint32_t counter[4] = {(uint32_t)sample, (uint32_t)(sample >> 32), stream, 0x5e75u};
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    uint32_t words[4];
    vg_random__philox(words, counter, key);
    uint64_t bits = words[0] | (uint64_t)words[1] << 32;
    return ((double)(bits >> 12) + 0.5) * 0x1p-52; /* odd multiples of 2^-53: never 0 or 1 */
}

/* A multiple of 2^-39: scores that are equal except for rounding, such as those of the last class at u = 1, which
 * are 1, must compare equal. */
static inline double coarse(double score) { return (score + 0x3p12) - 0x3p12; }

/* Whether class a of value x is ranked before class b of value y. */
static inline bool before(double x, size_t a, double y, size_t b) { return x > y || (x == y && a < b); }

/* The scores that depend on the rank, from the sum above, the class's own value and the largest. Not inlined, so
 * that labels and classes get the same arithmetic whatever the compiler contracts. */
__attribute__((noinline)) double vg_set__ranked_score(const vg_set_rule *rule, const vg_set_parts *p) {
    double above = p->above, own = p->own, most = p->most, u = p->u;
    size_t rank = p->rank;
    double r = (double)rank, over = r - rule->k_reg;
    switch (rule->score) {
    case VG_SET_APS: return coarse(above + u * own);
    case VG_SET_RAPS: return coarse(above + u * own + (over > 0 ? rule->lambda * over : 0));
    case VG_SET_SAPS: return coarse(rank == 1 ? u * most : most + (r - 2 + u) * rule->lambda);
    default: return r;
    }
}

void vg_set__leaders(size_t out[2], const vg_set_rule *rule, const double *v) {
    size_t C = rule->classes, first = rule->kernels->top(v, C), behind = C - first - 1;
    size_t low = first ? rule->kernels->top(v, first) : C;
    size_t high = behind ? first + 1 + rule->kernels->top(v + first + 1, behind) : C;
    out[0] = first;
    out[1] = high == C || (low < C && v[low] >= v[high]) ? low : high;
}

static double rival_score(const vg_set_rule *rule, const vg_set_row *row, const size_t lead[2], size_t y) {
    size_t j = lead[0] == y ? lead[1] : lead[0];
    double lag = row->value[j] - row->value[y];
    return rule->score == VG_SET_MARGIN ? lag : lag / (row->spread[j] + row->spread[y] + rule->eps);
}

vg_set_parts vg_set__label_parts(const vg_set_rule *rule, const vg_set_row *row, size_t y) {
    vg_set_above over = rule->kernels->above(row->value, rule->classes, y);
    return (vg_set_parts){
        over.sum, vg_set__exact(row->value[y]), vg_set__exact(over.most), row->u, (uint32_t)(over.count + 1), 0, 0};
}

double vg_set__label_score(const vg_set_rule *rule, const vg_set_row *row, size_t y) {
    size_t lead[2];
    if (rule->score == VG_SET_LAC)
        return 1 - row->value[y];
    if (rule->score == VG_SET_MARGIN || rule->score == VG_SET_SNR) {
        vg_set__leaders(lead, rule, row->value);
        return rival_score(rule, row, lead, y);
    }
    vg_set_parts parts = vg_set__label_parts(rule, row, y);
    return vg_set__ranked_score(rule, &parts);
}

/* Moves the class at `at` down to its place in the heap order[0 .. count - 1], whose root is the first in rank. */
static void sift(uint32_t *order, size_t count, size_t at, const double *v) {
    uint32_t moved = order[at];
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && before(v[order[child + 1]], order[child + 1], v[order[child]], order[child]))
            child++;
        if (before(v[moved], moved, v[order[child]], order[child]))
            break;
        order[at] = order[child];
    }
    order[at] = moved;
}

static void ranked_scores(double *out, const vg_set_rule *rule, const vg_set_row *row, double limit, uint32_t *order) {
    const double *v = row->value;
    size_t C = rule->classes, left = C;
    double above = 0, most = 0;
    for (size_t c = 0; c < C; c++) {
        out[c] = INFINITY;
        order[c] = (uint32_t)c;
    }
    for (size_t i = C / 2; i-- > 0;)
        sift(order, C, i, v);
    for (size_t rank = 1; rank <= C; rank++) {
        uint32_t c = order[0];
        double own = vg_set__exact(v[c]);
        most = rank == 1 ? own : most;
        vg_set_parts parts = {above, own, most, row->u, (uint32_t)rank, 0, 0};
        out[c] = vg_set__ranked_score(rule, &parts);
        if (out[c] > limit)
            return;
        above += own;
        order[0] = order[--left];
        if (left > 1)
            sift(order, left, 0, v);
    }
}

void vg_set__scores(double *out, const vg_set_rule *rule, const vg_set_row *row, double limit, uint32_t *order) {
    size_t lead[2];
    switch (rule->score) {
    case VG_SET_LAC:
        for (size_t c = 0; c < rule->classes; c++)
            out[c] = 1 - row->value[c];
        return;
    case VG_SET_MARGIN:
    case VG_SET_SNR:
        vg_set__leaders(lead, rule, row->value);
        for (size_t c = 0; rule->score == VG_SET_MARGIN && c < rule->classes; c++)
            out[c] = row->value[lead[0]] - row->value[c];
        for (size_t c = 0; rule->score == VG_SET_SNR && c < rule->classes; c++)
            out[c] = (row->value[lead[0]] - row->value[c]) / (row->spread[lead[0]] + row->spread[c] + rule->eps);
        out[lead[0]] = rival_score(rule, row, lead, lead[0]);
        return;
    default: ranked_scores(out, rule, row, limit, order);
    }
}
