/* options.c - presets, checks of options and views, and the choice of the SIMD tier. */
#include <math.h>

#include "base/cpu.h"
#include "measures/kernel.h"
#include "measures/scorer.h"

vg_status vg_score_options_preset(vg_score_options *options, vg_preset preset) {
    /* Every release had the fields that a preset sets, so only a struct without them is refused. */
    if (!options || options->struct_size < offsetof(vg_score_options, k) || options->struct_size > sizeof *options)
        return vg_base__fail(VG_ERR_ARGUMENT, "score options: start from VG_SCORE_OPTIONS_INIT");
    vg_score_options o = VG_SCORE_OPTIONS_INIT;
    switch (preset) {
    case VG_PRESET_PAPER: break;
    case VG_PRESET_VGE:
        o.pairs = VG_PAIRS_DISTINCT;
        o.sigma_margin = VG_SIGMA_SAMPLE;
        o.log_base = VG_LOG_2;
        o.normalise = 1;
        o.floor_form = VG_FLOOR_CLAMP;
        o.floor = 1e-8;
        o.gate_eps_form = VG_GATE_EPS_INSIDE;
        o.margin_eps_form = VG_MARGIN_EPS_TWICE;
        break;
    case VG_PRESET_MLJKU:
        o.floor_form = VG_FLOOR_ADD;
        o.floor = 1e-10;
        break;
    default: return vg_base__fail(VG_ERR_ARGUMENT, "preset %d is not known", (int)preset);
    }
    options->pairs = o.pairs;
    options->sigma_gate = o.sigma_gate;
    options->sigma_margin = o.sigma_margin;
    options->log_base = o.log_base;
    options->normalise = o.normalise;
    options->floor_form = o.floor_form;
    options->floor = o.floor;
    options->gate_eps_form = o.gate_eps_form;
    options->margin_eps_form = o.margin_eps_form;
    options->eps = o.eps;
    return VG_OK;
}

static vg_status check_switches(const vg_score_options *o) {
    const struct {
        const char *name;
        int value, most;
    } switches[] = {{"task", (int)o->task, 2},
                    {"pairs", (int)o->pairs, 1},
                    {"sigma_gate", (int)o->sigma_gate, 1},
                    {"sigma_margin", (int)o->sigma_margin, 1},
                    {"log_base", (int)o->log_base, 1},
                    {"floor_form", (int)o->floor_form, 2},
                    {"gate_eps_form", (int)o->gate_eps_form, 1},
                    {"margin_eps_form", (int)o->margin_eps_form, 1},
                    {"device", (int)o->device, 2}};
    for (size_t i = 0; i < sizeof switches / sizeof *switches; i++)
        if (switches[i].value < 0 || switches[i].value > switches[i].most)
            return vg_base__fail(VG_ERR_ARGUMENT, "score options: %s is %d, expected 0 to %d", switches[i].name,
                                 switches[i].value, switches[i].most);
    return VG_OK;
}

static vg_status check_class_k(const vg_score_options *o, size_t c) {
    if (o->class_k && o->class_k_count != 1 && o->class_k_count != c)
        return vg_base__fail(VG_ERR_ARGUMENT, "a k for each of %zu classes, the predictions have %zu", o->class_k_count,
                             c);
    for (size_t i = 0; o->class_k && i < o->class_k_count; i++)
        if (!(o->class_k[i] > 0 && o->class_k[i] <= VG_CLASS_K_MOST))
            return vg_base__fail(VG_ERR_ARGUMENT, "k of class %zu is %g, expected more than 0 and at most %g", i,
                                 o->class_k[i], VG_CLASS_K_MOST);
    return VG_OK;
}

bool vg_measures__wide_gates(const vg_score_options *o) {
    double least = INFINITY, most = 0;
    for (size_t i = 0; o->class_k && i < o->class_k_count; i++) {
        least = o->class_k[i] < least ? o->class_k[i] : least;
        most = o->class_k[i] > most ? o->class_k[i] : most;
    }
    return most > 8 * least;
}

vg_status vg_measures__take_options(vg_score_options *out, const vg_score_options *given, size_t m, size_t c) {
    vg_score_options defaults = VG_SCORE_OPTIONS_INIT;
    const vg_score_options *o = out;
    defaults.scores_size =
        offsetof(vg_scores, maxprob); /* for programs that do not set it: the size in the first release */
    if (!given)
        return vg_base__fail(VG_ERR_ARGUMENT, "score options: start from VG_SCORE_OPTIONS_INIT");
    VG_TRY(vg_base__take_options(out, given, &defaults, sizeof *out, "vg_score_options"));
    if (o->scores_size < offsetof(vg_scores, maxprob) || o->scores_size > sizeof(vg_scores))
        return vg_base__fail(VG_ERR_ARGUMENT, "score options: scores_size is %zu, expected %zu to %zu", o->scores_size,
                             offsetof(vg_scores, maxprob), sizeof(vg_scores));
    VG_TRY(check_switches(o));
    if (m == 0 || c == 0)
        return vg_base__fail(VG_ERR_ARGUMENT,
                             "predictions have %zu members and %zu classes, expected at least 1 of each", m, c);
    if (o->task == VG_TASK_MULTICLASS && c == 1)
        return vg_base__fail(VG_ERR_ARGUMENT,
                             "one class cannot be scored in multiclass mode (a single label: multilabel)");
    if (!(o->floor >= 1e-30 && o->floor < 1))
        return vg_base__fail(VG_ERR_ARGUMENT, "score options: floor is %g, expected 1e-30 to 1", o->floor);
    if (!(o->eps > 0 && o->eps < 1))
        return vg_base__fail(VG_ERR_ARGUMENT, "score options: eps is %g, expected between 0 and 1", o->eps);
    if (o->floor_form == VG_FLOOR_CLAMP && o->task == VG_TASK_MULTICLASS && !(o->floor * (double)c < 1))
        return vg_base__fail(VG_ERR_ARGUMENT, "a floor of %g is too high for %zu classes", o->floor, c);
    for (size_t i = 0; o->k && i < o->k_count; i++)
        if (!(o->k[i] > 0) || !isfinite(o->k[i]))
            return vg_base__fail(VG_ERR_ARGUMENT, "k must be greater than 0, got %g", o->k[i]);
    VG_TRY(check_class_k(o, c));
    if (o->temperature && o->temperature_count != 1 && o->temperature_count != m)
        return vg_base__fail(VG_ERR_ARGUMENT, "%zu temperatures for %zu members, expected 1 or %zu",
                             o->temperature_count, m, m);
    if (o->temperature && !o->logits)
        return vg_base__fail(VG_ERR_ARGUMENT, "a temperature applies to logits, and the input holds probabilities");
    for (size_t i = 0; o->temperature && i < o->temperature_count; i++)
        if (!(o->temperature[i] > 0) || !isfinite(o->temperature[i]))
            return vg_base__fail(VG_ERR_ARGUMENT, "temperature %zu must be greater than 0, got %g", i,
                                 o->temperature[i]);
    return VG_OK;
}

const vg_kernel_tier *vg_measures__tier(void) {
    switch (vg_base__cpu_tier()) {
#if defined(__x86_64__) && defined(VG_WITH_MEASURES_X86)
    case VG_TIER_AVX512: return &vg_measures__avx512;
    case VG_TIER_AVX2: return &vg_measures__avx2;
#endif
#if defined(__aarch64__)
    case VG_TIER_NEON: return &vg_measures__neon;
#endif
    default: return &vg_measures__portable;
    }
}

const char *vg_cpu_tier(void) { return vg_measures__tier()->name; }

vg_status vg_measures__check_block(const vg_scores *out, const vg_predictions *block, size_t m, size_t c) {
    if (!out || !block)
        return vg_base__fail(VG_ERR_ARGUMENT, "scoring: out and the block of predictions must not be NULL");
    if (block->m != m || block->c != c)
        return vg_base__fail(VG_ERR_ARGUMENT,
                             "a block has %zu members and %zu classes, the scorer was made for %zu and %zu", block->m,
                             block->c, m, c);
    if (block->n > 0 && !block->data)
        return vg_base__fail(VG_ERR_ARGUMENT, "a block of %zu samples has no data", block->n);
    if ((int)block->dtype < 0 || block->dtype > VG_BF16)
        return vg_base__fail(VG_ERR_ARGUMENT, "element type %d is not known", (int)block->dtype);
    return VG_OK;
}
