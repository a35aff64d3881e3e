/* report_promise.c - the promises of the page: for each of a list of target risks the k that vg_select__k_targets
 * finds on the report's samples. So the page does no statistics of its own, and agrees with `vargate decide
 * --target-risk` with these samples as validation data. The labels of a sample are not independent: the unit of a
 * multilabel promise is the sample. */
#include <math.h>

#include "base/base.h"
#include "evaluate/rule.h"
#include "report/report_parts.h"

/* Target risks in hundredths of a percent: steps of 1 up to 1 %, of 5 up to 5 %, of 50 up to 50 %. */
enum { FINE = 100, MIDDLE = 80 };

static double target_at(size_t i) {
    size_t steps = i < FINE ? i + 1 : i < FINE + MIDDLE ? 100 + 5 * (i - FINE + 1) : 500 + 50 * (i - FINE - MIDDLE + 1);
    return (double)steps / 10000;
}

vg_status vg_report__promise(vg_promises **out, const vg_report *r) {
    uint8_t *errors = NULL;
    vg_promises *p = NULL;
    *out = NULL;
    if (!r->labels || r->counts || r->n < 2 * (r->label_count ? r->label_count : 1))
        return VG_OK;
    vg_select_options options = VG_SELECT_OPTIONS_INIT;
    options.rows_per_sample = r->label_count;
    vg_status status = vg_base__alloc(&errors, r->n, 1, "errors of the samples");
    if (status == VG_OK)
        status = vg_base__alloc(&p, 1, sizeof *p, "promised risks");
    if (status == VG_OK) {
        p->confidence = options.confidence;
        for (size_t i = 0; i < r->n; i++)
            errors[i] = r->labels[i] != r->rows->top_class[i * r->rows->top];
        for (size_t i = 0; i < VG_PROMISES; i++) {
            p->target[i] = target_at(i);
            p->found[i] = (vg_selection)VG_SELECTION_INIT;
        }
        status = vg_select__k_targets(p->found, p->target, VG_PROMISES, r->rows->ratio, errors, r->n, &options);
    }
    vg_base__release(errors);
    if (status == VG_OK)
        *out = p;
    else
        vg_base__release(p);
    return status;
}

void vg_report__emit_promises(vg_emit *e, const vg_promises *p) {
    if (!p) {
        vg_report__number(e, NAN);
        return;
    }
    vg_report__open(e, '{');
    vg_report__key_number(e, "confidence", p->confidence);
    vg_report__key_count(e, "tested", p->found[0].samples);
    vg_report__key_count(e, "set_aside", p->found[0].set_aside);
    vg_report__key(
        e, "rows"); /* target, k or null, bound, samples it would take (0: no number would), fewest without error */
    vg_report__open(e, '[');
    for (size_t i = 0; i < VG_PROMISES; i++) {
        const vg_selection *s = &p->found[i];
        vg_report__open(e, '[');
        vg_report__number_short(e, p->target[i], 6);
        vg_report__number(e, s->met ? s->threshold : (double)NAN);
        vg_report__number_short(e, s->risk_bound, 6);
        vg_report__count(e, s->needed);
        vg_report__count(e, s->fewest);
        vg_report__close(e, ']');
    }
    vg_report__close(e, ']');
    vg_report__close(e, '}');
}
