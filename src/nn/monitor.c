/* monitor.c - validation figures from the library's own scorer and tally. See monitor.h.
 *
 * A batch passes through three steps: the scorer gives the mean probabilities (n x C) and its own sums, the tally
 * counts them against the labels, and the members' cross-entropy and disagreement are added up in the order of the
 * samples. */
#include "nn/monitor.h"

#include <math.h>
#include <string.h>

#include "evaluate/evaluate_internal.h"
#include "measures/scorer.h"
#include "nn/member_figures.h"

struct vg_monitor {
    vg_monitor_options options;
    vg_scorer *scorer;
    vg_tally *tally;
    vg_pool *pool;
    size_t room;                              /* samples that the arrays below have room for */
    double *mean;                             /* room x C */
    double *gated;                            /* room x settings x C; NULL: none */
    double *tu, *gtu, *losses, *disagreement; /* room; gtu: x settings */
    int64_t *labels;                          /* room */
    uint32_t *work;                           /* threads x (M + C) */
    double loss_sum, disagreement_sum;        /* over samples */
    bool has_bad_logits;                      /* a logit was NaN or infinite */
    double k[2];                              /* gate settings: with gates 1 and, if it is larger, options.k */
    size_t settings;
};

/* Means are those of the gated members, where there are gates; a mean by the members themselves needs no more. */
static bool takes_member_loss(const vg_monitor *m) { return !m->options.mixture && !m->options.gates; }

static vg_status make(vg_monitor *m) {
    vg_score_options score = VG_SCORE_OPTIONS_INIT;
    vg_tally_options tally = VG_TALLY_OPTIONS_INIT;
    score.logits = 1;
    m->k[0] = m->options.gates ? 1 : m->options.k;
    m->k[1] = m->options.k;
    m->settings = m->options.gates && m->options.k > 1 ? 2 : 1;
    score.k = m->k;
    score.k_count = m->settings;
    score.threads = m->options.threads;
    if (m->options.gates) {
        score.class_k = m->options.gates;
        score.class_k_count = m->options.classes;
        score.gate_eps_form = VG_GATE_EPS_INSIDE; /* k (sigma + eps), as in training */
        score.device = VG_SCORE_ON_CPU;           /* the gated means are computed there */
    }
    tally.floor = m->options.gates ? 1e-8 : 0; /* as in training; without gates the loss of probability 0 is infinite */
    tally.confusion = 0;
    VG_TRY(vg_pool__new(&m->pool, m->options.threads));
    VG_TRY(vg_base__zalloc(&m->work, m->options.members + m->options.classes,
                           vg_pool__threads(m->pool) * sizeof *m->work, "classes of members"));
    VG_TRY(vg_tally_new(&m->tally, m->options.classes, &tally));
    return vg_scorer_new(&m->scorer, m->options.members, m->options.classes, &score);
}

vg_status vg_monitor__new(vg_monitor **out, const vg_monitor_options *options) {
    vg_monitor *m;
    *out = NULL;
    VG_TRY(vg_base__zalloc(&m, 1, sizeof *m, "validation figures"));
    m->options = *options;
    vg_status status = make(m);
    if (status == VG_OK)
        *out = m;
    else
        vg_monitor__free(m);
    return status;
}

static void release_arrays(vg_monitor *m) {
    vg_base__release(m->mean);
    vg_base__release(m->gated);
    vg_base__release(m->tu);
    vg_base__release(m->gtu);
    vg_base__release(m->losses);
    vg_base__release(m->disagreement);
    vg_base__release(m->labels);
    m->mean = m->gated = m->tu = m->gtu = m->losses = m->disagreement = NULL;
    m->labels = NULL;
    m->room = 0;
}

void vg_monitor__free(vg_monitor *m) {
    if (!m)
        return;
    release_arrays(m);
    vg_base__release(m->work);
    vg_scorer_free(m->scorer);
    vg_tally_free(m->tally);
    vg_pool__free(m->pool);
    vg_base__release(m);
}

static vg_status make_room(vg_monitor *m, size_t n) {
    size_t values;
    if (n <= m->room)
        return VG_OK;
    if (!vg_base__mul(&values, n, m->options.classes))
        return vg_base__fail(VG_ERR_MEMORY, "%zu samples of %zu classes do not fit in memory", n, m->options.classes);
    release_arrays(m);
    VG_TRY(vg_base__alloc(&m->mean, values, sizeof *m->mean, "mean probabilities"));
    VG_TRY(vg_base__alloc(&m->tu, n, sizeof *m->tu, "total uncertainties"));
    VG_TRY(vg_base__alloc(&m->gtu, n * m->settings, sizeof *m->gtu, "gated uncertainties"));
    if (m->options.gates)
        VG_TRY(vg_base__alloc(&m->gated, values, m->settings * sizeof *m->gated, "gated means"));
    VG_TRY(vg_base__alloc(&m->losses, n, sizeof *m->losses, "losses"));
    VG_TRY(vg_base__alloc(&m->disagreement, n, sizeof *m->disagreement, "shares of differing pairs"));
    VG_TRY(vg_base__alloc(&m->labels, n, sizeof *m->labels, "labels"));
    m->room = n;
    return VG_OK;
}

static vg_status add_members(vg_monitor *m, const float *logits, const int32_t *labels, size_t n) {
    vg_member_logits in = {logits, labels, n, m->options.members, m->options.classes};
    vg_member_figures out = {takes_member_loss(m) ? m->losses : NULL, m->disagreement, m->work};
    VG_TRY(vg_member_figures__batch(&out, &in, m->pool));
    for (size_t i = 0; i < n; i++) {
        m->loss_sum += out.loss ? out.loss[i] : 0;
        m->disagreement_sum += m->disagreement[i];
    }
    return VG_OK;
}

/* The scorer takes a logit of -inf for a probability of 0; a network that gives one has diverged. */
static bool are_finite(const float *logits, size_t count) {
    size_t i = 0;
    while (i < count && isfinite(logits[i]))
        i++;
    return i == count;
}

vg_status vg_monitor__feed(vg_monitor *m, const float *logits, const int32_t *labels, size_t n) {
    vg_predictions block = vg_predictions_f32(logits, n, m->options.members, m->options.classes);
    VG_TRY(make_room(m, n));
    vg_scores places = {.mean = m->mean, .tu = m->tu, .gtu = m->gtu};
    if (m->gated)
        vg_scorer__set_gated_means(m->scorer, m->gated);
    if (!are_finite(logits, n * m->options.members * m->options.classes)) {
        m->has_bad_logits = true;
        return VG_OK;
    }
    VG_TRY(vg_scorer_feed(m->scorer, &places, &block, NULL));
    for (size_t i = 0; i < n; i++)
        m->labels[i] = labels[i];
    for (size_t i = 0, C = m->options.classes; m->gated && i < n; i++)
        memcpy(m->mean + i * C, m->gated + i * m->settings * C, C * sizeof *m->mean);
    VG_TRY(vg_tally_feed(m->tally, m->mean, NULL, m->labels, n));
    return add_members(m, logits, labels, n);
}

static vg_status no_figures(vg_epoch_metrics *metrics) {
    metrics->val_loss = metrics->val_ece = metrics->diversity = metrics->k_sensitivity = NAN;
    metrics->val_accuracy = 0;
    metrics->verdict = (vg_verdict)VG_VERDICT_INIT;
    return VG_OK;
}

vg_status vg_monitor__figures(const vg_monitor *m, vg_epoch_metrics *metrics) {
    double figures[VG_TALLY_FIGURES];
    vg_score_summary summary;
    if (m->has_bad_logits || m->tally->rows == 0)
        return no_figures(metrics);
    VG_TRY(vg_scorer_summary(m->scorer, &summary));
    summary.disagreement = m->disagreement_sum / (double)m->tally->rows;
    vg_evaluate__tally_figures(figures, m->tally);
    metrics->val_loss = takes_member_loss(m) ? m->loss_sum / (double)m->tally->rows : figures[VG_TALLY_NLL];
    metrics->val_accuracy = figures[VG_TALLY_ACCURACY];
    metrics->val_ece = figures[VG_TALLY_ECE];
    metrics->diversity = summary.diversity;
    metrics->k_sensitivity = summary.mean_tu > 0 ? summary.k_sensitivity : 0;
    metrics->verdict = (vg_verdict)VG_VERDICT_INIT;
    return vg_verdict_judge(&metrics->verdict, &summary, m->tally->correct, m->tally->rows);
}
