/* tree_nodes.h - the nodes of a decision tree as scikit-learn keeps them, for the tests of trees. */
#ifndef VG_TESTS_TREE_NODES_H
#define VG_TESTS_TREE_NODES_H

#include <stddef.h>
#include <stdint.h>

#include "vargate/measures.h"

typedef struct node {
    int64_t left, right, feature;
    double threshold;
    unsigned char missing;
} node;

/* value: `outputs` of every node. */
static inline vg_tree tree_of(const node *nodes, size_t count, const double *value, size_t outputs) {
    return (vg_tree){.left = &nodes->left,
                     .right = &nodes->right,
                     .feature = &nodes->feature,
                     .threshold = &nodes->threshold,
                     .missing = &nodes->missing,
                     .node_stride = sizeof *nodes,
                     .nodes = count,
                     .value = value,
                     .value_stride = outputs};
}

#endif
