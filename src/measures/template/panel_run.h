/* panel_run.h - a panel from input to sums.
 *
 * The columns of a large sample are divided into shares. A share is a panel of its own over some of the columns: it has
 * its own sums, and writes to its part of the arrays over columns. The sums of the shares are added in their order, so
 * that the result has the same bits whichever threads compute them. */

/* Sums of the last panel that are added to. fold_parts begins the others anew, and leaves 0 in the parts. */
static void P(clear_sets)(P(panel) * t) {
    const P(acc) zero = {{{0}}};
    for (size_t s = 0; s <= t->K; s++) {
        P(set) *set = &t->sets[s];
        if (t->shares > 1)
            set->tu = set->excess = set->eu = set->reverse = zero;
        if (t->shares > 1 || t->many)
            set->pairs = zero;
        if (t->floored)
            set->floors = set->diagonal = zero;
    }
    t->floored = false;
}

static void P(clear_sums)(P(panel) * t) {
    t->variance_sum = t->total = (P(acc)){{{0}}};
    t->sign = (vri){0};
    t->variance_part = vr_set(0);
    for (size_t m = 0; m < t->M; m++)
        t->rows[m] = vr_set(0);
    if (t->shares > 1 || t->many || t->floored)
        P(clear_sets)(t);
    if (!t->across) /* samples_normalisers and half_leaders begin theirs anew */
        return;
    for (size_t i = 0; i < t->K * t->M; i++) {
        t->zsum[i] = vr_set(0);
        t->ztotal[i] = 0;
    }
    for (size_t k = 0; k < t->K; k++)
        t->zbar[k] = (P(acc)){{{0}}};
    for (int h = 0; h < PANEL_HALVES; h++) {
        t->mu1[h] = t->mu2[h] = vd_set(-1.0);
        t->var1[h] = t->var2[h] = vd_set(0.0);
        t->first1[h] = t->second1[h] = (vl){0};
    }
}

/* Moments of the columns; without gates also their terms. */
static void P(first_pass)(P(panel) * t) {
    bool plain = t->ungated && (t->logs || t->M == 1) && !t->K && !t->pairs && !t->extremes && !t->job->options.logits;
    for (size_t j = t->begin; j < t->end; j += t->block) {
        if (t->across)
            P(load_block)(t, j);
        P(block_rows)(t);
        if (plain)
            t->spread ? P(block_spreads)(t) : P(block_entropies)(t);
        else
            P(block_moments)(t);
        if (t->margins)
            P(block_leaders)(t);
        if (!t->K && t->ungated && !plain)
            P(block_terms)(t);
    }
}

static void P(second_pass)(P(panel) * t) {
    for (size_t j = t->begin; j < t->end; j += t->block) {
        if (t->block < t->J)
            P(load_block)(t, j);
        P(block_terms)(t);
    }
}

/* Work on shares of t, or on the rows of its logits. */
typedef struct P(division) {
    P(panel) * t;
    bool second; /* which pass */
    bool alone;  /* no other thread works on it */
} P(division);

/* The worker's own workspace for a share: what is held of a block or a column. */
static void P(lend_scratch)(P(panel) * own, const P(division) * of, unsigned worker) {
    const vg_kernel_job *job = of->t->job;
    P(panel) scratch;
    size_t used = PANEL_START;
    if (of->alone)
        scratch = *of->t;
    else
        P(carve_arrays)(&scratch, job, true, job->workspaces + worker * job->workspace_bytes, &used);
    own->x = scratch.x;
    own->log = scratch.log;
    own->dev = scratch.dev;
    own->zsum = scratch.zsum;
    own->zblock = scratch.zblock;
    own->floor_log = scratch.floor_log;
    own->floor_least = scratch.floor_least;
    own->shift = scratch.shift;
    memcpy(own->integral, scratch.integral, sizeof own->integral);
    if (own->many && !of->alone && (of->second || !own->K))
        P(integral_weights)(own);
}

static void P(start_share)(P(panel) * own, const P(panel) * t, size_t share) {
    P(panel) slot = *own;
    *own = *t;
    own->rows = slot.rows;
    own->ztotal = slot.ztotal;
    own->zbar = slot.zbar;
    own->sets = slot.sets;
    own->floored = slot.floored;
    own->begin = panel_share_start(t->J, t->shares, share);
    own->end = panel_share_start(t->J, t->shares, share + 1);
}

static vg_status P(run_share)(void *context, size_t share, unsigned worker) {
    const P(division) *of = context;
    P(panel) *own = &of->t->parts[share];
    unsigned saved = vg_flush_begin();
    if (!of->second)
        P(start_share)(own, of->t, share);
    P(lend_scratch)(own, of, worker);
    if (of->second)
        P(second_pass)(own);
    else {
        P(clear_sums)(own);
        P(first_pass)(own);
    }
    vg_flush_end(saved);
    return VG_OK;
}

INLINE void P(add_sums)(P(acc) * to, const P(acc) * from) {
    for (int h = 0; h < PANEL_HALVES; h++)
        to->h[h] += from->h[h];
}

/* The two largest of a lane's leading classes and of class `at`, which has a higher index. */
static void P(join_leader)(P(panel) * t, int h, int i, double mu, int64_t at) {
    if (mu > t->mu1[h][i]) {
        t->mu2[h][i] = t->mu1[h][i];
        t->second1[h][i] = t->first1[h][i];
        t->mu1[h][i] = mu;
        t->first1[h][i] = at;
    } else if (mu > t->mu2[h][i]) {
        t->mu2[h][i] = mu;
        t->second1[h][i] = at;
    }
}

/* The two largest of two pairs of leading classes, lane by lane. */
static void P(join_leaders)(P(panel) * t, const P(panel) * own) {
    for (int h = 0; h < PANEL_HALVES; h++)
        for (int i = 0; i < VG_LANES; i++) {
            P(join_leader)(t, h, i, own->mu1[h][i], own->first1[h][i]);
            P(join_leader)(t, h, i, own->mu2[h][i], own->second1[h][i]);
        }
}

/* Adds the sums of the first pass over a share. */
static void P(join_moments)(P(panel) * t, const P(panel) * own) {
    P(add_sums)(&t->variance_sum, &own->variance_sum);
    P(add_sums)(&t->total, &own->total);
    t->sign |= own->sign;
    for (size_t m = 0; m < t->M; m++)
        t->rows[m] += own->rows[m];
    for (size_t i = 0; i < t->K * t->M; i++)
        t->ztotal[i] += own->ztotal[i];
    for (size_t k = 0; k < t->K; k++)
        P(add_sums)(&t->zbar[k], &own->zbar[k]);
    P(join_leaders)(t, own);
#if VG_PANEL_DOUBLE
    t->top_log = vr_max(own->top_log, t->top_log);
#endif
}

/* Adds the terms of a share. */
static void P(join_terms)(P(panel) * t, const P(panel) * own) {
    t->floored |= own->floored;
    for (size_t s = 0; s <= t->K; s++) {
        P(set) *to = &t->sets[s];
        const P(set) *from = &own->sets[s];
        P(add_sums)(&to->tu, &from->tu);
        P(add_sums)(&to->excess, &from->excess);
        P(add_sums)(&to->eu, &from->eu);
        P(add_sums)(&to->reverse, &from->reverse);
        P(add_sums)(&to->pairs, &from->pairs);
        P(add_sums)(&to->floors, &from->floors);
        P(add_sums)(&to->diagonal, &from->diagonal);
    }
}

/* A body for every index, by the threads of the job's pool where it has one. */
static void P(divide)(P(panel) * t, size_t count, vg_pool_body body, bool second) {
    P(division) of = {t, second, !t->job->pool};
    if (t->job->pool)
        vg_pool__run(t->job->pool, count, body, &of); /* no body fails */
    for (size_t i = 0; !t->job->pool && i < count; i++)
        body(&of, i, 0);
}

/* One pass over all columns. */
static void P(run_pass)(P(panel) * t, bool second) {
    if (t->shares == 1) {
        second ? P(second_pass)(t) : P(first_pass)(t);
        return;
    }
    P(divide)(t, t->shares, P(run_share), second);
    for (size_t s = 0; s < t->shares; s++) {
        if (!second)
            P(join_moments)(t, &t->parts[s]);
        if (second || !t->K)
            P(join_terms)(t, &t->parts[s]);
    }
}

#if VG_PANEL_DOUBLE
static vg_status P(run_row)(void *context, size_t m, unsigned worker) {
    const P(division) *of = context;
    (void)worker;
    unsigned saved = vg_flush_begin();
    P(row_total)(of->t, m);
    vg_flush_end(saved);
    return VG_OK;
}

/* Largest logit and logsumexp of every row of an across panel. Returns whether all are finite. */
static bool P(row_totals)(P(panel) * t) {
    bool finite = true;
    P(divide)(t, t->M, P(run_row), false);
    for (size_t m = 0; m < t->M; m++) {
        finite &= !isnan(t->offset[m]);
        t->total_lse += t->top[m] * P(inverse_temperature)(t, m) + t->offset[m];
    }
    return finite;
}
#endif

/* The panel's columns, or what is needed before they can be read. Returns whether all logits are finite. */
static bool P(enter_panel)(P(panel) * t) {
    bool finite = true;
#if VG_PANEL_DOUBLE
    t->total_lse = vr_set(0);
    t->top_log = vr_set(-INFINITY);
    if (t->across && t->job->options.logits)
        finite = P(row_totals)(t);
#endif
    if (!t->across) {
        P(load_samples)(t);
#if VG_PANEL_DOUBLE
        if (t->job->options.logits)
            finite = P(softmax)(t);
#endif
    }
    if (t->many && !t->K)
        P(integral_weights)(t);
    t->direct = P(direct_columns)(t);
    return finite;
}

static vg_status P(run_panel)(P(panel) * t, size_t first, size_t count) {
    t->first = first;
    t->count = count;
    P(clear_sums)(t);
    bool finite = P(enter_panel)(t);
    if (finite)
        P(run_pass)(t, false);
    if (!finite || P(has_ambiguous_values)(t))
        VG_TRY(vg_measures__check_units(t->job, t->first, t->count));
    if (t->K) {
        P(weights)(t);
        if (t->many)
            P(integral_weights)(t);
        P(run_pass)(t, true);
    }
    P(join_lanes)(t);
    P(normalise_entropies)(t);
    return VG_OK;
}
