/* tile.h - one tile from input to results: the order of the phases, and the conventions applied to finished sums. */

/* VG_FLOOR_ADD: the gated members themselves are measured. */
static measures gated_add(tile *t, size_t k) {
    vd *p = t->p, *q = t->plog;
    const vd *mean = t->gmean + k * t->C;
    double add = t->job->options.floor;
    measures out = {.tu = entropy(mean, t->C, add)};
    if (!t->job->need_gated_logs)
        return out;
    for (size_t m = 0; m < t->M; m++)
        for (size_t c = 0; c < t->C; c++)
            q[m * t->C + c] = p[m * t->C + c] * (t->gamma[k * t->C + c] * t->weight[k * t->M + m]);
    t->p = q;
    for (size_t c = 0; c < t->C; c++) {
        class_terms(t, c, mean[c], add, false, false);
        out.eu += (mean[c] + add) * t->phi[c] + add * t->psi[c];
        out.reverse += mean[c] * t->psi[c];
    }
    t->p = p;
    return out;
}

static void score_ungated(tile *t, size_t first, size_t count) {
    const vg_kernel_job *job = t->job;
    const vg_scores *out = &job->out;
    places to = {{out->tu, out->au, out->eu, out->epce, out->epkl, out->epjs}};
    if (!job->need_logs && !out->tu && !out->epjs)
        return;
    measures set = ungated(t);
    vd results[SET_RESULTS];
    conventions by = conventions_of(job);
    finish_set(&by, &set, t->js[0], results, 1);
    for (int i = 0; i < SET_RESULTS; i++)
        put(to.at[i], results[i], first, count);
    for (size_t i = 0; out->tu && job->figures && i < count; i++)
        job->unit_tu[first + i] = set.tu[i];
}

static void score_gated(tile *t, size_t first, size_t count) {
    const vg_kernel_job *job = t->job;
    const vg_scores *out = &job->out;
    conventions by = conventions_of(job);
    size_t K = t->K;
    places to = {{out->gtu, out->gau, out->geu, out->gepce, out->gepkl, out->gepjs}};
    for (size_t k = 0; k < K; k++) {
        measures set = floor_add(t) ? gated_add(t, k) : t->fused ? gated32(t, k) : gated(t, k);
        finish_set(&by, &set, t->js[1 + k], t->results + k, K);
        if (k == job->widest && out->gtu && job->figures)
            for (size_t i = 0; i < count; i++)
                job->unit_gtu[first + i] = set.tu[i];
    }
    if (job->gated_means)
        put_rows(job->gated_means + first * K * t->C, K * t->C, t->gmean, count);
    for (int i = 0; i < SET_RESULTS; i++) {
        if (to.at[i] && !job->plane)
            put_rows(to.at[i] + first * K, K, t->results + (size_t)i * K, count);
        for (size_t k = 0; to.at[i] && job->plane && k < K; k++)
            put(to.at[i] + k * job->plane, t->results[(size_t)i * K + k], first, count);
    }
}

/* The double forms, phase by phase; the integral in float where that is exact enough. */
static void plain_classes(tile *t) {
    const vg_kernel_job *job = t->job;
    bool single = job->single_precision && !floor_add(t);
    if (job->need_logs)
        ungated_terms(t);
    if (t->K)
        gated_means(t);
    t->gmean64 = t->gmean;
    if (job->need_gated_logs && !floor_add(t))
        gated_cross(t);
    if (!job->out.epjs && !job->out.gepjs)
        return;
    if (single)
        js_prepare(t);
    for (size_t c = 0; c < t->C; c++) {
        if (single)
            js32_load(t, c, true);
        js_class(t, c, single);
    }
    if (single && t->M <= JS32_FEW)
        js_finish(t);
}

/* maxlogit and energy, from log p = z/T - logsumexp(z/T). */
static void write_logits(const tile *t, size_t first, size_t count) {
    double inverse = 1.0 / (double)t->M;
    vd total = t->total_lse * inverse, top = vd_set(-INFINITY);
    for (size_t c = 0; c < t->C; c++) {
        vd sum = {0};
        for (size_t m = 0; m < t->M; m++)
            sum += t->log[m * t->C + c];
        top = vd_max(sum, top);
    }
    put(t->job->out.energy, -total, first, count);
    put(t->job->out.maxlogit, -(top * inverse + total), first, count);
}

static vg_status score_tile(const vg_kernel_job *job, void *workspace, size_t first, size_t count) {
    tile t;
    size_t bytes;
    carve(&t, job, workspace, &bytes);
    t.first = first;
    t.count = count;
    unsigned saved = vg_flush_begin();
    vg_status status = fill(&t, first, count);
    if (status == VG_OK) {
        if (job->out.flags)
            memset(job->out.flags + first, 0, count * sizeof *job->out.flags);
        bool more = beyond_moments(&t);
        if (t.fused)
            moments32(&t, job->need_reverse || job->need_gated_reverse || job->out.epjs || job->out.gepjs);
        else
            moments(&t);
        for (size_t c = 0; (job->need_gated || job->out.std) && c < t.C; c++)
            t.sigma[c] = vd_sqrt(t.variance[c]);
        write_moments(&t, first, count);
        if (job->figures || wants_margin(&job->out))
            write_margins(&t, first, count);
        if (job->options.logits && (job->out.energy || job->out.maxlogit))
            write_logits(&t, first, count);
        if (job->need_gated) {
            t.fused ? gates32(&t) : gates(&t);
            t.fused ? gated_weights32(&t) : gated_weights(&t);
        }
        js_reset(&t);
        if (t.fused && more)
            fused_classes(&t);
        else if (more)
            plain_classes(&t);
        score_ungated(&t, first, count);
        if (job->need_gated)
            score_gated(&t, first, count);
    }
    vg_flush_end(saved);
    return status;
}

static bool tile_workspace(size_t *bytes, const vg_kernel_job *job) {
    tile t;
    return carve(&t, job, NULL, bytes);
}
