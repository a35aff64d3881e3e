/* panel_score.h - which jobs are scored by panels, and how. */

/* Multiclass input whose members need no floor inside every logarithm. With few classes the members must be few: tiles
 * are faster above. Panels do not keep gated means. */
INLINE bool panel_takes(const vg_kernel_job *job) {
    const vg_score_options *o = &job->options;
    if (job->labels || job->gated_means || (!o->logits && (o->renormalise || o->floor_form != VG_FLOOR_MAX)))
        return false;
    return panel_across(job->c) || job->m <= PANEL_FEW || (job->m <= PANEL_FEW_SMALL && job->m * job->c <= PANEL_SMALL);
}

INLINE bool panel_single(const vg_kernel_job *job) { return job->single_precision && !job->options.logits; }

#define REPACK_SAMPLES 64             /* samples that are transposed at once: a page serves all of them */
#define REPACK_MOST ((size_t)1 << 18) /* elements of a sample; a thread holds REPACK_SAMPLES of them */

/* Whether samples are copied before a panel across classes reads them: their classes do not lie side by side, and the
 * same class of the next samples lies in the same lines of the cache. Bytes of an element, or 0. */
INLINE size_t repack_size(const vg_kernel_job *job) {
    static const size_t sizes[] = {4, 8, 2, 2};
    bool takes = panel_across(job->c) && job->in.stride_c != 1 && job->m <= REPACK_MOST / job->c;
    return takes ? sizes[job->in.dtype] : 0;
}
INLINE size_t repack_bytes(const vg_kernel_job *job) {
    return (REPACK_SAMPLES * job->m * job->c * repack_size(job) + 63) / 64 * 64;
}

/* Units that are scored at once. */
static size_t tier_units(const vg_kernel_job *job) {
    if (!panel_takes(job))
        return VG_LANES;
    if (panel_across(job->c))
        return repack_size(job) ? REPACK_SAMPLES : 1;
    return panel_single(job) ? 2 * VG_LANES : VG_LANES;
}

/* Shares into which the classes of one unit are divided. */
static size_t tier_shares(const vg_kernel_job *job) {
    size_t lanes = panel_single(job) ? 2 * VG_LANES : VG_LANES;
    if (!panel_takes(job) || !panel_across(job->c) || repack_size(job))
        return 1;
    return panel_shares(job->m, job->c, (job->c + lanes - 1) / lanes);
}

/* Samples first .. first + count - 1 to packed rows [sample][m][c], some classes at a time. */
INLINE void repack(char *to, const vg_kernel_job *job, size_t first, size_t count, const size_t size) {
    enum { SIDE = 16 };
    const vg_predictions *in = &job->in;
    ptrdiff_t bytes = (ptrdiff_t)size, step_n = in->stride_n * bytes, step_c = in->stride_c * bytes;
    char held[SIDE * REPACK_SAMPLES * sizeof(double)]; /* [class][sample] */
    for (size_t m = 0; m < job->m; m++)
        for (size_t c = 0; c < job->c; c += SIDE) {
            size_t classes = job->c - c < SIDE ? job->c - c : SIDE;
            const char *from = (const char *)in->data + (ptrdiff_t)first * step_n +
                               (ptrdiff_t)m * in->stride_m * bytes + (ptrdiff_t)c * step_c;
            for (size_t i = 0; i < classes; i++, from += step_c)
                for (size_t n = 0; n < count; n++)
                    memcpy(held + (i * REPACK_SAMPLES + n) * size, from + (ptrdiff_t)n * step_n, size);
            for (size_t n = 0; n < count; n++)
                for (size_t i = 0; i < classes; i++)
                    memcpy(to + ((n * job->m + m) * job->c + c + i) * size, held + (i * REPACK_SAMPLES + n) * size,
                           size);
        }
}

/* The same for floats of samples that lie side by side, as the sites of an image do, by vectors. */
static void repack_sites(float *to, const vg_kernel_job *job, size_t first, size_t count) {
    enum { SIDE = 2 * VG_LANES };
    const vg_predictions *in = &job->in;
    const float *rows[SIDE];
    vf held[REPACK_SAMPLES];
    for (size_t m = 0; m < job->m; m++)
        for (size_t c = 0; c < job->c; c += SIDE) {
            size_t classes = job->c - c < SIDE ? job->c - c : SIDE;
            const float *from = (const float *)in->data + (ptrdiff_t)first + (ptrdiff_t)m * in->stride_m;
            for (size_t i = 0; i < SIDE; i++)
                rows[i] = from + (ptrdiff_t)(c + (i < classes ? i : classes - 1)) * in->stride_c;
            transpose_s(held, rows, count);
            for (size_t n = 0; n < count; n++)
                memcpy(to + (n * job->m + m) * job->c + c, &held[n], classes * sizeof *to);
        }
}

/* A copy of the job that computes again in double what float cannot hold, and writes nothing else. GEPJS follows from
 * GEU where members are few; EPJS never has to, since the EU of so few members is below PANEL_LARGE. */
static vg_kernel_job panel_again(const vg_kernel_job *job, bool ungated) {
    vg_kernel_job again = *job;
    const vg_scores *out = &job->out;
    again.figures = false; /* those of the panel stand */
    again.pool = NULL;     /* whose workers' workspaces are not laid out for it */
    again.out = (vg_scores){.gau = out->gau, .geu = out->geu, .gepce = out->gepce, .gepkl = out->gepkl};
    if (job->m <= PANEL_PAIRS)
        again.out.gepjs = out->gepjs;
    if (ungated) {
        again.out.au = out->au;
        again.out.eu = out->eu;
        again.out.epce = out->epce;
        again.out.epkl = out->epkl;
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
    VG_TRY(run_panel_d(&t, unit, 1));
    write_panel_d(&t);
    return VG_OK;
}

#define PANEL_LARGE 2.1 /* nats of EU, above log PANEL_PAIRS */

/* Lanes of a float panel with a divergence so large that float does not hold its absolute error. The choice must not
 * depend on which results are requested, so that a result has the same bits in every request. */
static vg_status panel_large(const panel_s *t, char *workspace) {
    const vg_kernel_job *job = t->job;
    const set_s *own = &t->sets[0];
    /* lanes past the last unit repeat it */
    vdm some = vd_reaches(own->eu.h[0], PANEL_LARGE) | vd_reaches(own->eu.h[1], PANEL_LARGE);
    for (size_t k = 0; t->logs && k < t->K; k++)
        some |= vd_reaches(t->psi_z[k].h[0], LARGE) | vd_reaches(t->psi_z[k].h[1], LARGE);
    for (size_t i = 0; t->logs && vdm_any(some) && i < t->count; i++) {
        int h = (int)(i / VG_LANES), lane = (int)(i % VG_LANES);
        bool large = !(t->sets[0].eu.h[h][lane] < PANEL_LARGE), gated = large;
        for (size_t k = 0; k < t->K && (job->need_gated_logs || job->out.gepjs); k++)
            gated |= !(t->psi_z[k].h[h][lane] < LARGE);
        if (gated)
            VG_TRY(panel_correct(t, workspace, i, large));
    }
    return VG_OK;
}

static vg_status score_packed(const vg_kernel_job *job, void *workspace, size_t first, size_t count) {
    bool across = panel_across(job->c);
    size_t units = across ? 1 : tier_units(job);
    if (!panel_single(job)) {
        panel_d *t = panel_in_d(workspace, job, across);
        for (size_t u = first; u < first + count; u += units) {
            VG_TRY(run_panel_d(t, u, first + count - u < units ? first + count - u : units));
            write_panel_d(t);
        }
        return VG_OK;
    }
    panel_s *t = panel_in_s(workspace, job, across);
    for (size_t u = first; u < first + count; u += units) {
        VG_TRY(run_panel_s(t, u, first + count - u < units ? first + count - u : units));
        refine_panel(t);
        write_panel_s(t);
        VG_TRY(panel_large(t, (char *)workspace + t->bytes));
    }
    return VG_OK;
}

static vg_status score_panels(const vg_kernel_job *job, char *workspace, size_t first, size_t count) {
    size_t size = repack_size(job), row = job->m * job->c;
    if (!size)
        return score_packed(job, workspace, first, count);
    vg_kernel_job own = *job;
    own.in.stride_n = (ptrdiff_t)row, own.in.stride_m = (ptrdiff_t)job->c, own.in.stride_c = 1;
    for (size_t u = first; u < first + count; u += REPACK_SAMPLES) {
        size_t some = first + count - u < REPACK_SAMPLES ? first + count - u : REPACK_SAMPLES;
        if (job->in.dtype == VG_F32 && job->in.stride_n == 1)
            repack_sites((float *)(void *)workspace, job, u, some);
        else if (size == 4)
            repack(workspace, job, u, some, 4);
        else
            size == 8 ? repack(workspace, job, u, some, 8) : repack(workspace, job, u, some, 2);
        own.in.data = (const void *)((uintptr_t)workspace - u * row * size); /* units keep their numbers */
        own.in.n = u + some;
        VG_TRY(score_packed(&own, workspace + repack_bytes(job), u, some));
    }
    return VG_OK;
}

static bool panel_workspace(size_t *bytes, const vg_kernel_job *job) {
    bool across = panel_across(job->c);
    panel_s single;
    panel_d twice;
    *bytes = repack_bytes(job) + (sizeof single > sizeof twice ? sizeof single : sizeof twice) + 63;
    *bytes = *bytes / 64 * 64; /* PANEL_START */
    if (!panel_single(job))
        return carve_panel_d(&twice, job, across, NULL, bytes);
    return carve_panel_s(&single, job, across, NULL, bytes) && carve_panel_d(&twice, job, true, NULL, bytes);
}

/* --- the tier's functions: panels where they apply, else tiles --------------------------------------------------- */

static bool tier_workspace(size_t *bytes, const vg_kernel_job *job) {
    return panel_takes(job) ? panel_workspace(bytes, job) : tile_workspace(bytes, job);
}

static bool tier_votes(const vg_kernel_job *job) {
    return panel_takes(job) && !panel_across(job->c) && !job->options.logits;
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
