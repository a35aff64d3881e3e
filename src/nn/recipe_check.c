/* recipe_check.c - which settings of a recipe can be combined, and the networks of a deep ensemble as separate
 * recipes. */
#include <stdbool.h>
#include <string.h>

#include "base/base.h"
#include "nn/recipe.h"

enum { MOST_NETWORKS = 64, DEFAULT_NETWORKS = 5, DEFAULT_PASSES = 20 };

enum { LOSS_GATED = 2 }; /* vg_recipe.loss */

int vg_recipe__is_joint(const vg_recipe *r) { return r->ensemble == VG_ENSEMBLE_DEEP && r->loss == LOSS_GATED; }
int vg_recipe__is_deep(const vg_recipe *r) { return r->ensemble >= VG_ENSEMBLE_DEEP && !vg_recipe__is_joint(r); }

/* Networks of a deep ensemble, trained together or one by one. */
static size_t count_networks(const vg_recipe *r) { return r->members ? r->members : DEFAULT_NETWORKS; }

size_t vg_recipe__heads(const vg_recipe *r) { return vg_recipe__is_joint(r) ? count_networks(r) : r->heads; }

/* --- networks of a deep ensemble */

/* What each network of a deep ensemble is. A plain network is an LLE of one head. */
static vg_ensemble network_ensemble(vg_ensemble deep) {
    switch (deep) {
    case VG_ENSEMBLE_DEEP_MCD: return VG_ENSEMBLE_MCD;
    case VG_ENSEMBLE_DEEP_MCD_LLE: return VG_ENSEMBLE_MCD_LLE;
    case VG_ENSEMBLE_DEEP:
    case VG_ENSEMBLE_DEEP_LLE: return VG_ENSEMBLE_LLE;
    default: return deep;
    }
}

size_t vg_recipe__networks(const vg_recipe *r) { return vg_recipe__is_deep(r) ? count_networks(r) : 1; }

void vg_recipe__network(vg_recipe *out, const vg_recipe *r, size_t i) {
    *out = *r;
    if (!vg_recipe__is_deep(r))
        return;
    out->ensemble = network_ensemble(r->ensemble);
    out->members = r->ensemble != VG_ENSEMBLE_DEEP_MCD ? 0 : r->passes ? r->passes : DEFAULT_PASSES;
    out->passes = 0;
    out->seed = r->seed + i;
    out->limit_seed = vg_recipe__limit_seed(r);
}

uint64_t vg_recipe__limit_seed(const vg_recipe *r) {
    return r->limit_seed == VG_LIMIT_SEED_AS_SEED ? r->seed : r->limit_seed;
}

int vg_recipe__shares_temperature(const vg_recipe *r) {
    return r->ensemble == VG_ENSEMBLE_MCD || r->ensemble == VG_ENSEMBLE_DEEP_MCD;
}

/* --- checks */

int vg_recipe__has_one_head(const vg_recipe *r) {
    return r->ensemble == VG_ENSEMBLE_MCD || r->ensemble == VG_ENSEMBLE_DEEP || r->ensemble == VG_ENSEMBLE_DEEP_MCD;
}

/* Checks the ensemble against the counts of one network. */
static vg_status check_ensemble(const vg_recipe *r) {
    if (r->ensemble == VG_ENSEMBLE_MCD && r->heads != 1)
        return vg_base__fail(VG_ERR_ARGUMENT, "recipe %s: ensemble mcd has one head, found heads %zu", r->name,
                             r->heads);
    if (r->ensemble != VG_ENSEMBLE_MCD && r->members > r->heads)
        return vg_base__fail(VG_ERR_ARGUMENT,
                             "recipe %s: there are as many members as heads at most, found members %zu and heads %zu",
                             r->name, r->members, r->heads);
    if (r->ensemble != VG_ENSEMBLE_LLE && !(r->dropout > 0))
        return vg_base__fail(VG_ERR_ARGUMENT, "recipe %s: this ensemble needs dropout above 0", r->name);
    return VG_OK;
}

static vg_status check_deep(const vg_recipe *r) {
    vg_recipe one;
    if (vg_recipe__has_one_head(r) && r->heads != 1)
        return vg_base__fail(VG_ERR_ARGUMENT,
                             "recipe %s: the networks of ensemble %s have one head each, found heads %zu; set heads to "
                             "1, or take ensemble %s",
                             r->name, r->ensemble == VG_ENSEMBLE_DEEP ? "deep" : "deep-mcd", r->heads,
                             r->ensemble == VG_ENSEMBLE_DEEP ? "deep-lle" : "deep-mcd-lle");
    if (r->members > MOST_NETWORKS)
        return vg_base__fail(VG_ERR_ARGUMENT,
                             "recipe %s: members is the number of networks of a deep ensemble, at most %d, found %zu",
                             r->name, MOST_NETWORKS, r->members);
    if (vg_recipe__is_joint(r))
        return VG_OK;
    vg_recipe__network(&one, r, 0);
    return check_ensemble(&one);
}

static vg_status refuse(const vg_recipe *r, const char *why) {
    return vg_base__fail(VG_ERR_ARGUMENT, "recipe %s: %s", r->name, why);
}

static vg_status check_optimiser(const vg_recipe *r) {
    if (r->optimiser != 2 && (r->momentum > 0 || r->nesterov))
        return refuse(r, "momentum and nesterov are for optimiser sgd; Adam's momentum is beta1");
    if (r->nesterov && !(r->momentum > 0))
        return refuse(r, "nesterov needs momentum above 0");
    if (r->loss && (r->label_smoothing > 0 || r->class_balance))
        return refuse(r, "label_smoothing and class_weights need loss mean");
    if (r->class_balance == 2 && !r->class_weight_count)
        return refuse(r, "class_weights needs a number for every class");
    if (r->class_balance && r->sampling)
        return refuse(r, "class_weights and sampling balanced correct for the same thing: choose one");
    return VG_OK;
}

static vg_status check_course(const vg_recipe *r) {
    if (r->min_delta > 0 && !r->patience)
        return refuse(r, "min_delta is for patience, which is 0");
    if (r->schedule == 2 && !r->snapshots)
        return refuse(r, "schedule cyclic has one cycle per snapshot: set snapshots");
    if (r->snapshots > r->epochs)
        return refuse(r, "there are fewer epochs than snapshots");
    if (r->snapshots && r->patience)
        return refuse(r, "patience and snapshots exclude each other: snapshots need the whole schedule");
    if (r->snapshots && r->checkpoint)
        return refuse(r, "checkpoint best and snapshots exclude each other: predictions take the snapshots");
    if (r->snapshots * vg_recipe__networks(r) > MOST_NETWORKS)
        return vg_base__fail(VG_ERR_ARGUMENT, "recipe %s: %zu snapshots of %zu networks are more than %d networks",
                             r->name, r->snapshots, vg_recipe__networks(r), MOST_NETWORKS);
    return VG_OK;
}

/* The gate weighs members by their agreement, so every training step needs several. */
static vg_status check_gated(const vg_recipe *r) {
    if (r->loss != LOSS_GATED)
        return VG_OK;
    if (r->ensemble != VG_ENSEMBLE_LLE && r->ensemble != VG_ENSEMBLE_DEEP)
        return refuse(r, "loss gated trains the members together: it is for ensembles lle and deep");
    if (vg_recipe__heads(r) < 2)
        return vg_base__fail(VG_ERR_ARGUMENT,
                             "recipe %s: loss gated needs at least 2 members that can differ, found %s", r->name,
                             r->ensemble == VG_ENSEMBLE_DEEP ? "members 1" : "heads 1");
    if (r->snapshots)
        return refuse(r, "loss gated and snapshots exclude each other: every snapshot has a k of its own");
    if (r->ensemble == VG_ENSEMBLE_DEEP &&
        (r->head_features > 0 || r->head_prior > 0 || r->head_init_scale > 0 || r->head_anchor > 0))
        return refuse(r, "the networks of a deep ensemble share no trunk: the keys head_... are for ensemble lle");
    return VG_OK;
}

vg_status vg_recipe__check(const vg_recipe *r) {
    VG_TRY(r->ensemble >= VG_ENSEMBLE_DEEP ? check_deep(r) : check_ensemble(r));
    VG_TRY(check_gated(r));
    VG_TRY(check_optimiser(r));
    VG_TRY(check_course(r));
    if (r->passes && r->ensemble != VG_ENSEMBLE_DEEP_MCD)
        return vg_base__fail(VG_ERR_ARGUMENT,
                             "recipe %s: passes is for ensemble deep-mcd; of mcd the passes are its members", r->name);
    if (r->loss && r->head_bootstrap)
        return vg_base__fail(VG_ERR_ARGUMENT, "recipe %s: head_bootstrap needs loss mean", r->name);
    if (!(r->rate > 0))
        return vg_base__fail(VG_ERR_ARGUMENT, "recipe %s: rate must be above 0", r->name);
    if (!r->k_count)
        return vg_base__fail(VG_ERR_ARGUMENT, "recipe %s: k needs at least one gate setting", r->name);
    return VG_OK;
}

vg_status vg_recipe__check_split(const vg_recipe *a, const vg_recipe *b) {
    if (a->validation != b->validation)
        return vg_base__fail(VG_ERR_DATA, "different shares were held out: validation %g and %g", a->validation,
                             b->validation);
    if (a->test != b->test)
        return vg_base__fail(VG_ERR_DATA, "different shares were held out: test %g and %g", a->test, b->test);
    if (a->split_seed != b->split_seed)
        return vg_base__fail(VG_ERR_DATA, "different images were held out: split_seed %llu and %llu",
                             (unsigned long long)a->split_seed, (unsigned long long)b->split_seed);
    return VG_OK;
}

/* The square or rectangle that is cut out; {0, 0}: nothing. */
static void crop_of(size_t out[2], const vg_recipe *r) {
    const size_t *size = r->center_crop[0] ? r->center_crop : r->resize;
    bool none = size == r->resize && r->resize[1];
    out[0] = none ? 0 : size[0];
    out[1] = none ? 0 : size[1] ? size[1] : size[0];
}

vg_status vg_recipe__check_reading(const vg_recipe *a, const vg_recipe *b) {
    size_t x[2], y[2];
    crop_of(x, a);
    crop_of(y, b);
    if (a->resize[0] != b->resize[0] || a->resize[1] != b->resize[1])
        return vg_base__fail(VG_ERR_DATA, "they read images differently: resize %zux%zu and %zux%zu (0: by the ratio)",
                             a->resize[0], a->resize[1], b->resize[0], b->resize[1]);
    if (x[0] != y[0] || x[1] != y[1])
        return vg_base__fail(VG_ERR_DATA, "they read images differently: center_crop %zux%zu and %zux%zu (0: none)",
                             x[0], x[1], y[0], y[1]);
    return VG_OK;
}
