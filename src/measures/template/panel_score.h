/* panel_score.h - which jobs are scored by panels, and how. */

/* Multiclass input whose members need no floor inside every logarithm. With few classes the members must be few: tiles
 * are faster above. Panels do not keep gated means. */
INLINE bool panel_takes(const vg_kernel_job *job) {
    const vg_score_options *o = &job->options;
    if (job->labels || job->gated_means || (!o->logits && (o->renormalise || o->floor_form != VG_FLOOR_MAX)))
        return false;
    return panel_across(job->c) || job->m <= PANEL_FEW;
}

INLINE bool panel_single(const vg_kernel_job *job) { return job->single_precision && !job->options.logits; }

/* Units that are scored at once. */
static size_t tier_units(const vg_kernel_job *job) {
    if (!panel_takes(job))
        return VG_LANES;
    return panel_across(job->c) ? 1 : panel_single(job) ? 2 * VG_LANES : VG_LANES;
}

/* A copy of the job that computes again in double what float cannot hold, and writes nothing else. EPJS follows from EU
 * where members are few. */
static vg_kernel_job panel_again(const vg_kernel_job *job, bool ungated) {
    vg_kernel_job again = *job;
    const vg_scores *out = &job->out;
    bool pairs = job->m <= PANEL_PAIRS;
    again.figures = false; /* those of the panel stand */
    again.out = (vg_scores){.gau = out->gau, .geu = out->geu, .gepce = out->gepce, .gepkl = out->gepkl};
    if (pairs)
        again.out.gepjs = out->gepjs;
    if (ungated) {
        again.out.au = out->au;
        again.out.eu = out->eu;
        again.out.epce = out->epce;
        again.out.epkl = out->epkl;
        if (pairs)
            again.out.epjs = out->epjs;
    }
    return again;
}

static vg_status panel_correct(const panel_s *of, void *workspace, size_t lane, bool ungated) {
    const vg_kernel_job *job = of->job;
    vg_kernel_job again = panel_again(job, ungated);
    size_t unit = of->first + lane;
    panel_d t;
    size_t used = 0;
    carve_panel_d(&t, &again, true, workspace, &used);
    for (size_t s = 0; s <= of->K; s++)
        of->kept_tu[s] = of->sets[s].tu.h[lane / VG_LANES][lane % VG_LANES];
    t.given_tu = of->kept_tu;
    return score_panel_d(&t, unit, 1);
}

/* Lanes of a float panel with a divergence so large that float does not hold its absolute error. The choice must not
 * depend on which results are requested, so that a result has the same bits in every request. */
static vg_status panel_large(const panel_s *t, char *workspace) {
    const vg_kernel_job *job = t->job;
    for (size_t i = 0; t->logs && i < t->count; i++) {
        int h = (int)(i / VG_LANES), lane = (int)(i % VG_LANES);
        bool large = !(t->sets[0].eu.h[h][lane] < LARGE) || !(t->sets[0].reverse.h[h][lane] < LARGE), gated = large;
        for (size_t k = 0; k < t->K && (job->need_gated_logs || job->out.gepjs); k++)
            gated |= !(t->psi_z[k].h[h][lane] < LARGE) || !(t->sets[1 + k].reverse.h[h][lane] < LARGE);
        if (gated)
            VG_TRY(panel_correct(t, workspace, i, large));
    }
    return VG_OK;
}

static vg_status score_panels(const vg_kernel_job *job, void *workspace, size_t first, size_t count) {
    bool across = panel_across(job->c);
    size_t used = 0, units = tier_units(job);
    if (!panel_single(job)) {
        panel_d t;
        carve_panel_d(&t, job, across, workspace, &used);
        for (size_t u = first; u < first + count; u += units)
            VG_TRY(score_panel_d(&t, u, first + count - u < units ? first + count - u : units));
        return VG_OK;
    }
    panel_s t;
    carve_panel_s(&t, job, across, workspace, &used);
    for (size_t u = first; u < first + count; u += units) {
        VG_TRY(score_panel_s(&t, u, first + count - u < units ? first + count - u : units));
        VG_TRY(panel_large(&t, (char *)workspace + used));
    }
    return VG_OK;
}

static bool panel_workspace(size_t *bytes, const vg_kernel_job *job) {
    bool across = panel_across(job->c);
    panel_s single;
    panel_d twice;
    *bytes = 0;
    if (!panel_single(job))
        return carve_panel_d(&twice, job, across, NULL, bytes);
    return carve_panel_s(&single, job, across, NULL, bytes) && carve_panel_d(&twice, job, true, NULL, bytes);
}

/* --- the tier's functions: panels where they apply, else tiles --------------------------------------------------- */

static bool tier_workspace(size_t *bytes, const vg_kernel_job *job) {
    return panel_takes(job) ? panel_workspace(bytes, job) : tile_workspace(bytes, job);
}

static vg_status tier_score(const vg_kernel_job *job, void *workspace, size_t first, size_t count) {
    for (size_t u = first; !panel_takes(job) && u < first + count; u += VG_LANES)
        VG_TRY(score_tile(job, workspace, u, first + count - u < VG_LANES ? first + count - u : VG_LANES));
    if (!panel_takes(job))
        return VG_OK;
    unsigned saved = vg_flush_begin();
    vg_status status = score_panels(job, workspace, first, count);
    vg_flush_end(saved);
    return status;
}
