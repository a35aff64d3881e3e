/* trees.c - the prediction of every tree of a forest for every sample, from the memory in which the forest lies.
 *
 * A tree is a table of nodes, each field an array with the same stride in bytes (scikit-learn keeps nodes as
 * structs, so a field is a strided view of them). Node 0 is the root. A node with left < 0 is a leaf; any other
 * sends a sample to the left when x[feature] <= threshold, a NaN to where `missing` says. A leaf's row of `value`
 * is the tree's distribution.
 *
 * The descent from the root is a chain of dependent loads, so LANES samples descend one tree at a time and their
 * loads overlap. A lane holds the byte offset of its node. A lane that has reached a leaf stays there until the others
 * have, without a branch.
 *
 * Leaf numbers take far less memory than distributions. Many samples are therefore taken down one tree while it is in
 * the cache, and the distributions are copied later, for few samples at a time, so that they are still in the cache
 * when they are scored. */
#include <math.h>
#include <string.h>

#include "measures/kernel.h"

enum { LANES = 8, AHEAD = 8 };

static inline int64_t whole_at(const void *field, size_t offset) {
    int64_t value;
    memcpy(&value, (const char *)field + offset, sizeof value);
    return value;
}

static inline double real_at(const void *field, size_t offset) {
    double value;
    memcpy(&value, (const char *)field + offset, sizeof value);
    return value;
}

/* Where a sample goes from the node at `offset`: a child's offset, or the same one at a leaf (whose feature may be
 * anything). */
static inline size_t step(const vg_tree *t, size_t offset, const float *x) {
    int64_t left = whole_at(t->left, offset), right = whole_at(t->right, offset);
    int64_t feature = whole_at(t->feature, offset);
    float value = x[left < 0 ? 0 : feature];
    int64_t next = (double)value <= real_at(t->threshold, offset) ? left : right;
    if (__builtin_expect(value != value, 0))
        next = t->missing && *((const unsigned char *)t->missing + offset) ? left : right;
    return left < 0 ? offset : (size_t)next * t->node_stride;
}

static void walk_lanes(size_t at[LANES], const vg_tree *t, const float *x, size_t features) {
    size_t a[LANES] = {0}, moved;
    do {
        moved = 0;
        for (size_t j = 0; j < LANES; j++) {
            size_t next = step(t, a[j], x + j * features);
            moved |= next ^ a[j];
            a[j] = next;
        }
    } while (moved);
    memcpy(at, a, sizeof a);
}

static size_t walk_one(const vg_tree *t, const float *x) {
    size_t at = 0, next;
    while ((next = step(t, at, x)) != at)
        at = next;
    return at;
}

void vg_trees_leaves(uint32_t *leaves, const vg_tree *trees, size_t tree_count, const float *x, size_t n,
                     size_t features) {
    size_t at[LANES];
    if (!leaves || !trees || !x)
        return;
    for (size_t m = 0; m < tree_count; m++)
        for (size_t first = 0; first < n; first += LANES) {
            const vg_tree *t = &trees[m];
            size_t samples = n - first < LANES ? n - first : LANES;
            if (samples == LANES)
                walk_lanes(at, t, x + first * features, features);
            else
                for (size_t j = 0; j < samples; j++)
                    at[j] = walk_one(t, x + (first + j) * features);
            for (size_t j = 0; j < samples; j++)
                *leaves++ = (uint32_t)(at[j] / t->node_stride);
        }
}

void vg_trees_values(double *out, const vg_tree *trees, size_t tree_count, const uint32_t *leaves, size_t leaf_stride,
                     size_t n, size_t classes) {
    if (!out || !trees || !leaves)
        return;
    for (size_t m = 0; m < tree_count; m++, leaves += leaf_stride) {
        const double *value = trees[m].value;
        size_t stride = trees[m].value_stride;
        for (size_t i = 0; i < n; i++, out += classes) {
            const double *row = value + leaves[i] * stride;
            if (i + AHEAD < n)
                __builtin_prefetch(value + leaves[i + AHEAD] * stride);
            for (size_t c = 0; c < classes; c++)
                out[c] = row[c];
        }
    }
}

vg_status vg_trees_check(const vg_tree *trees, size_t tree_count, size_t features) {
    VG_TRY(vg_base__given(trees || tree_count == 0, "vg_trees_check: trees"));
    for (size_t m = 0; m < tree_count; m++) {
        const vg_tree *t = &trees[m];
        if (t->nodes == 0 || t->nodes > UINT32_MAX)
            return vg_base__fail(VG_ERR_DATA, "tree %zu has %zu nodes, expected 1 to 2^32 - 1", m, t->nodes);
        for (size_t i = 0; i < t->nodes; i++) {
            int64_t left = whole_at(t->left, i * t->node_stride);
            if (left < 0)
                continue;
            int64_t right = whole_at(t->right, i * t->node_stride), feature = whole_at(t->feature, i * t->node_stride);
            bool below =
                left > (int64_t)i && right > (int64_t)i; /* children come later, so every descent ends at a leaf */
            if (!below || (uint64_t)left >= t->nodes || (uint64_t)right >= t->nodes || feature < 0 ||
                (uint64_t)feature >= features)
                return vg_base__fail(
                    VG_ERR_DATA,
                    "tree %zu, node %zu: children %lld and %lld, feature %lld; expected nodes after it, "
                    "below %zu, and one of %zu features",
                    m, i, (long long)left, (long long)right, (long long)feature, t->nodes, features);
        }
    }
    return VG_OK;
}
