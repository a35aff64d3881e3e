/* set_ranking.c - sets of scores that grow with the rank: the number of leading classes in the set, without ranking
 * all classes. See set_rule.h.
 *
 * The values above a guessed bound are collected, sorted and summed. A set is a prefix of that order, found by
 * bisection. The guess was too high where even a next class of value 0 would be in the set; the bound is then
 * lowered. It is adapted from sample to sample, which changes the work and never the result. */
#include <math.h>
#include <string.h>

#include "evaluate/evaluate_internal.h"
#include "evaluate/set_rule.h"

enum { COUNTED = 64 }; /* values that are sorted by comparing all with all */

size_t vg_set_room__doubles(size_t classes) { return 5 * (classes + VG_SET_SPARE); }

vg_set_room vg_set_room__at(double *memory, size_t classes) {
    size_t step = classes + VG_SET_SPARE;
    return (vg_set_room){
        memory, memory + step, memory + 2 * step, memory + 3 * step, memory + 4 * step, 1 / (4 * (double)classes)};
}

/* The `count` values of room->found in falling order. */
static void order(vg_set_room *room, const vg_set_kernels *kernels, size_t count) {
    if (count <= COUNTED) {
        kernels->order(room->falling, room->found, count);
        return;
    }
    uint64_t *keys = (uint64_t *)(void *)room->keys, *scratch = (uint64_t *)(void *)room->falling;
    for (size_t i = 0; i < count; i++)
        keys[i] = ~vg_evaluate__key(room->found[i]);
    vg_evaluate__sort_keys(keys, scratch, count);
    for (size_t i = 0; i < count; i++)
        room->falling[i] = vg_evaluate__unkey(~keys[i]);
}

size_t vg_set__order_row(vg_set_room *room, const vg_set_kernels *kernels, const double *v, size_t n, double least) {
    size_t count = kernels->collect(room->found, v, n, least);
    double sum = 0;
    order(room, kernels, count);
    for (size_t i = 0; i < count; i++)
        room->sums[i] = sum += vg_set__exact(room->falling[i]);
    return count;
}

/* The score of the class at a rank up to `count`; at rank count + 1, its smallest possible score. */
static double score_at(const vg_set_rule *rule, const double *sums, size_t rank, size_t count, double u) {
    double above = rank > 1 ? sums[rank - 2] : 0, own = rank <= count ? sums[rank - 1] - above : 0;
    vg_set_parts parts = {above, own, count ? sums[0] : 0, u, (uint32_t)rank, 0, 0};
    return vg_set__ranked_score(rule, &parts);
}

size_t vg_set__prefix(const vg_set_rule *rule, const double *sums, size_t count, double u, double threshold) {
    size_t in = 0, out = count + 1;
    while (out - in > 1) {
        size_t middle = in + (out - in) / 2;
        *(score_at(rule, sums, middle, count, u) <= threshold ? &in : &out) = middle;
    }
    return in;
}

/* Prefixes for all thresholds; false where one may go beyond the collected values. */
static bool find_prefixes(size_t *out, const vg_set_rule *rules, const double *thresholds, size_t alphas,
                          const vg_set_room *room, size_t count, double u) {
    size_t classes = rules->classes;
    for (size_t a = 0; a < alphas; a++) {
        out[a] = vg_set__prefix(&rules[a], room->sums, count, u, thresholds[a]);
        if (out[a] == count && count < classes && score_at(&rules[a], room->sums, count + 1, count, u) <= thresholds[a])
            return false;
    }
    return true;
}

void vg_set__prefixes(size_t *out, const vg_set_rule *rules, const double *thresholds, size_t alphas, vg_set_room *room,
                      const vg_set_row *row) {
    const vg_set_kernels *kernels = rules->kernels;
    size_t classes = rules->classes, most = 0, count;
    double least = room->least;
    for (;; least = least > 0.01 * room->least ? least / 8 : 0) {
        count = vg_set__order_row(room, kernels, row->value, classes, least);
        if (find_prefixes(out, rules, thresholds, alphas, room, count, row->u))
            break;
    }
    for (size_t a = 0; a < alphas; a++)
        most = out[a] > most ? out[a] : most;
    if (least < room->least)
        room->least *= 0.75;
    else if (count > most + most / 2 + 4)
        room->least = fmin(room->least * 1.05, 0.5);
}

size_t vg_set__mark_prefix(uint8_t *mask, const vg_set_kernels *kernels, const double *v, size_t classes,
                           const vg_set_room *room, size_t count) {
    if (count == 0) {
        memset(mask, 0, (classes + 7) / 8);
        return 0;
    }
    double last = room->falling[count - 1];
    size_t marked = kernels->mark_from(mask, v, classes, last);
    for (size_t c = classes; marked > count;) /* of equal values the first classes are in the set */
        if (v[--c] == last) {
            mask[c / 8] &= (uint8_t) ~(0x80u >> c % 8);
            marked--;
        }
    return count;
}
