/* report_page.c - the page: a template with data inserted in its middle.
 *
 * Data are two kinds of script elements that no browser runs: one of JSON, and one for each column, the bytes of a
 * little-endian typed array in base64. W is uint16, or uint32 where there are more than 65,536 classes.
 *
 *     element                  content
 *     vg-meta                  JSON: names, k, the table of measures, evaluations, OOD figures, training
 *     vg-ratio, -pred, -label  float64, W, W of all N rows or, where the page has counts, of those in vg-sample; label
 *                              only where labels were given
 *     vg-gridkept, -gridwrong  uint32, k x groups: with counts, what the rule keeps of each group at each k
 *     vg-sample                uint32: the rows held in the page, to which all following columns belong
 *     vg-plotted               uint8: 1 = belongs to the random sample that is plotted
 *     vg-NAME                  float32: measure NAME, "tu", "gtu@1", ...
 *     vg-topclass, -topmean, -topstd, -topvotes    W, and uint16: the `top` largest classes of a sample
 *     vg-agree                 uint32: votes of the most voted class
 *     vg-oodS-NAME             float32: measure NAME of some samples of OOD set S
 *     vg-ids                   JSON: names of the samples in vg-sample, cut after 120 bytes; only where they have names
 *     vg-imagerows, -images    uint32 positions in vg-sample, and their pixels as bytes, planar
 *     vg-site...               images of sites: see report_sites.c
 *
 * A row is a sample, in multilabel mode a (sample, label) pair, of images a site. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "report/report_columns.h"
#include "report/report_parts.h"

typedef struct page {
    const vg_report *report;
    const vg_report_rows *rows;
    vg_chosen chosen;
    vg_emit *out;
    bool wide;                      /* class numbers need 32 bits */
    const vg_report_counts *counts; /* NULL: the ratios of all rows are in the page */
    const vg_promises *promises;
} page;

enum { ID_BYTES = 120 };
static const char marker[] = "<!--VARGATE-DATA-->";

/* --- columns ---------------------------------------------------------------------------------------------------- */

static void put_class(vg_base64 *b, const page *p, int64_t value) {
    if (p->wide)
        vg_report__put_u32(b, (uint32_t)value);
    else
        vg_report__put_u16(b, (uint32_t)value);
}

/* Columns of every row, or, beside counts, of those in the page: what the decision rule needs. */
static void emit_rule(page *p) {
    const vg_report *r = p->report;
    size_t count = p->counts ? p->chosen.count : r->n;
    const char *const names[] = {"ratio", "pred", "label"};
    for (int which = 0; which < (r->labels ? 3 : 2); which++) {
        vg_base64 b;
        vg_report__column_begin(&b, p->out, names[which]);
        for (size_t i = 0; i < count; i++) {
            size_t row = p->counts ? p->chosen.samples[i] : i;
            if (which == 0)
                vg_report__put_f64(&b, p->rows->ratio[row]);
            else
                put_class(&b, p, which == 1 ? p->rows->top_class[row * p->rows->top] : r->labels[row]);
        }
        vg_report__column_end(&b);
    }
}

/* Means and spreads of the largest classes, 0 .. 1 as 16 bits. */
static void emit_top(page *p) {
    size_t top = p->rows->top;
    const char *const names[] = {"topclass", "topmean", "topstd", "topvotes"};
    for (int which = 0; which < (p->rows->has_votes ? 4 : 3); which++) {
        vg_base64 b;
        vg_report__column_begin(&b, p->out, names[which]);
        for (size_t i = 0; i < p->chosen.count * top; i++) {
            size_t cell = p->chosen.samples[i / top] * top + i % top;
            if (which == 0)
                put_class(&b, p, p->rows->top_class[cell]);
            else if (which == 3)
                vg_report__put_u16(&b, p->rows->top_votes[cell] > 65535 ? 65535 : p->rows->top_votes[cell]);
            else {
                double value = which == 1 ? p->rows->top_mean[cell] : p->rows->top_std[cell];
                vg_report__put_u16(&b, (uint32_t)lrint(65535 * (value < 0 ? 0 : value > 1 ? 1 : value)));
            }
        }
        vg_report__column_end(&b);
    }
    if (!p->rows->has_votes)
        return;
    vg_base64 b;
    vg_report__column_begin(&b, p->out, "agree");
    for (size_t i = 0; i < p->chosen.count; i++)
        vg_report__put_u32(&b, p->rows->agree[p->chosen.samples[i]]);
    vg_report__column_end(&b);
}

static void emit_measures(page *p) {
    const vg_report *r = p->report;
    for (size_t m = 0; m < r->measure_count; m++) {
        vg_base64 b;
        vg_report__column_begin(&b, p->out, r->measures[m].name);
        for (size_t i = 0; i < p->chosen.count; i++)
            vg_report__put_f32(&b, r->measures[m].values[p->chosen.samples[i] * r->measures[m].stride]);
        vg_report__column_end(&b);
    }
}

static void emit_samples(page *p) {
    vg_base64 b;
    vg_report__column_begin(&b, p->out, "sample");
    for (size_t i = 0; i < p->chosen.count; i++)
        vg_report__put_u32(
            &b, (uint32_t)(p->report->positions ? p->report->positions[p->chosen.samples[i]] : p->chosen.samples[i]));
    vg_report__column_end(&b);
    vg_report__column_begin(&b, p->out, "plotted");
    vg_report__base64(&b, p->chosen.plotted, p->chosen.count);
    vg_report__column_end(&b);
}

static size_t sample_of(const vg_report *r, size_t row) { return row / (r->label_count ? r->label_count : 1); }

/* Names of the samples in the page. Names are cut, because a hostile file could have one of any length. */
static void emit_ids(page *p) {
    const vg_report *r = p->report;
    if (!r->ids)
        return;
    vg_report__raw(p->out, "<script type=\"application/json\" id=\"vg-ids\">");
    p->out->comma = false;
    vg_report__open(p->out, '[');
    for (size_t i = 0; i < p->chosen.count; i++) {
        char text[ID_BYTES + 1];
        snprintf(text, sizeof text, "%s", r->ids[sample_of(r, p->chosen.samples[i])]);
        vg_report__text(p->out, text);
    }
    vg_report__close(p->out, ']');
    vg_report__raw(p->out, "</script>\n");
}

/* GAU and GEU at every k of some samples of each OOD set, evenly spaced. */
static void emit_ood_points(page *p) {
    const vg_report *r = p->report;
    for (size_t s = 0; s < r->ood_count; s++) {
        const vg_report_ood *set = &r->ood[s];
        size_t count = set->n < VG_REPORT_OOD_POINTS ? set->n : VG_REPORT_OOD_POINTS;
        for (size_t m = 0; m < r->measure_count; m++) {
            const char *name = r->measures[m].name;
            char id[VG_NAME_SIZE + 32];
            if (strncmp(name, "gau@", 4) != 0 && strncmp(name, "geu@", 4) != 0)
                continue;
            snprintf(id, sizeof id, "ood%zu-%s", s, name);
            vg_base64 b;
            vg_report__column_begin(&b, p->out, id);
            for (size_t i = 0; i < count; i++)
                vg_report__put_f32(&b, set->measures[m].values[(size_t)((double)i / (double)count * (double)set->n) *
                                                               set->measures[m].stride]);
            vg_report__column_end(&b);
        }
    }
}

static vg_status emit_images(page *p) {
    const vg_report *r = p->report;
    uint8_t *pixels;
    if (p->chosen.image_count == 0)
        return VG_OK;
    size_t size = r->channels * r->height * r->width;
    VG_TRY(vg_base__alloc(&pixels, size, 1, "an image"));
    vg_base64 b;
    vg_report__column_begin(&b, p->out, "imagerows");
    for (size_t i = 0; i < p->chosen.image_count; i++)
        vg_report__put_u32(&b, (uint32_t)p->chosen.image_rows[i]);
    vg_report__column_end(&b);
    vg_report__column_begin(&b, p->out, "images");
    vg_status status = VG_OK;
    for (size_t i = 0; i < p->chosen.image_count && status == VG_OK; i++) {
        status = r->image(r->image_context, sample_of(r, p->chosen.samples[p->chosen.image_rows[i]]), pixels);
        if (status == VG_OK)
            vg_report__base64(&b, pixels, size);
    }
    vg_report__column_end(&b);
    vg_base__release(pixels);
    return status;
}

/* --- meta ------------------------------------------------------------------------------------------------------- */

static void emit_names(vg_emit *e, const char *key, const char *const *names, size_t count) {
    vg_report__key(e, key);
    if (!names) {
        vg_report__text(e, NULL);
        return;
    }
    vg_report__open(e, '[');
    for (size_t c = 0; c < count; c++)
        vg_report__text(e, names[c]);
    vg_report__close(e, ']');
}

/* The library's table of measures: the page takes symbols, order and direction from it. */
static void emit_measure_table(vg_emit *e) {
    vg_report__key(e, "measure_table");
    vg_report__open(e, '[');
    const vg_measure_info *info;
    for (size_t i = 0; (info = vg_measure_info_at(i)) != NULL; i++) {
        vg_report__open(e, '{');
        vg_report__key_text(e, "name", info->name);
        vg_report__key_text(e, "symbol", info->symbol);
        vg_report__key_text(e, "meaning", info->meaning);
        vg_report__key_count(e, "gated", info->gated != 0);
        vg_report__key_count(e, "certainty", info->certainty != 0);
        vg_report__close(e, '}');
    }
    vg_report__close(e, ']');
}

static void emit_header(page *p) {
    const vg_report *r = p->report;
    vg_emit *e = p->out;
    vg_report__key_text(e, "version", vg_version());
    vg_report__key_text(e, "title", r->title);
    vg_report__key_text(e, "dataset", r->dataset);
    vg_report__key_text(e, "ensemble", r->ensemble);
    vg_report__key_text(e, "source", r->source);
    vg_report__key_text(e, "note", r->note);
    vg_report__key_text(e, "created", r->created);
    vg_report__key_text(e, "command", r->command);
    vg_report__key_text(e, "decide", r->decide);
    vg_report__key_text(e, "policy", r->policy);
    vg_report__key_count(e, "n", p->counts ? (size_t)p->counts->rows : r->n);
    vg_report__key_count(e, "m", r->members);
    vg_report__key_count(e, "c", r->classes);
    vg_report__key_count(e, "labels", r->label_count);
    emit_names(e, "class_names", r->class_names, r->classes);
    emit_names(e, "label_names", r->label_names, r->label_count);
    vg_report__key(e, "k");
    vg_report__open(e, '[');
    for (size_t i = 0; i < r->k_count; i++)
        vg_report__number(e, r->k[i]);
    vg_report__close(e, ']');
    vg_report__key(e, "measures");
    vg_report__open(e, '[');
    for (size_t i = 0; i < r->measure_count; i++)
        vg_report__text(e, r->measures[i].name);
    vg_report__close(e, ']');
    emit_measure_table(e);
    vg_report__key_number(e, "diversity", r->summary.diversity);
    vg_report__key_number(e, "k_sensitivity", r->summary.k_sensitivity);
    vg_report__key_text(e, "verdict", r->verdict);
    vg_report__key_text(e, "verdict_text", r->verdict_text);
}

static vg_status emit_meta(page *p) {
    const vg_report *r = p->report;
    vg_emit *e = p->out;
    vg_report__raw(e, "<script type=\"application/json\" id=\"vg-meta\">");
    e->comma = false;
    vg_report__open(e, '{');
    emit_header(p);
    vg_report__key_count(e, "rows", p->chosen.count);
    vg_report__key_count(e, "top", p->rows->top);
    vg_report__key_count(e, "wide", p->wide);
    vg_report__key_count(e, "is_calibrated", r->is_calibrated != 0);
    vg_report__key(e, "evaluation");
    vg_report__emit_evaluation(e, r->evaluation, 1);
    vg_report__key(e, "other");
    vg_report__emit_evaluation(e, r->other, 0);
    vg_report__key(e, "training");
    VG_TRY(vg_report__emit_training(e, r));
    vg_report__key(e, "ood");
    VG_TRY(vg_report__emit_ood(e, r));
    vg_report__key(e, "promise");
    vg_report__emit_promises(e, p->promises);
    vg_report__key(e, "grid");
    vg_report__emit_counts(e, p->counts);
    vg_report__key(e, "sites");
    vg_report__emit_sites(e, r->sites);
    vg_report__emit_advice(e, r);
    vg_report__key_count(e, "channels", p->chosen.image_count ? r->channels : 0);
    vg_report__key_count(e, "height", r->height);
    vg_report__key_count(e, "width", r->width);
    vg_report__close(e, '}');
    vg_report__raw(e, "</script>\n");
    return VG_OK;
}

static vg_status emit_page(page *p) {
    const vg_report *r = p->report;
    vg_page_parts parts;
    VG_TRY(
        vg_report__split_page(&parts, vg_report__template, vg_report__template_size, marker, "report_template.html"));
    vg_report__bytes(p->out, parts.before, parts.before_size);
    VG_TRY(emit_meta(p));
    emit_rule(p);
    emit_samples(p);
    emit_ids(p);
    emit_measures(p);
    if (!r->sites)
        emit_top(p);
    if (p->counts)
        vg_report__emit_count_columns(p->out, p->counts);
    if (r->sites)
        vg_report__emit_site_columns(p->out, r->sites, p->counts);
    emit_ood_points(p);
    VG_TRY(emit_images(p));
    vg_report__bytes(p->out, parts.after, parts.after_size);
    return VG_OK;
}

vg_status vg_report__take(vg_report *out, const vg_report *given) {
    static const vg_report defaults = VG_REPORT_INIT;
    if (!given)
        return vg_base__fail(VG_ERR_ARGUMENT, "the report must not be NULL");
    return vg_base__take_options(out, given, &defaults, sizeof *out, "vg_report");
}

static vg_status check(const vg_report *r) {
    if (r->n == 0 || !r->rows || r->rows->n != r->n || r->rows->classes != r->classes)
        return vg_base__fail(
            VG_ERR_ARGUMENT,
            "a report of %zu samples and %zu classes needs rows of the same sizes (vg_report__rows_new)", r->n,
            r->classes);
    if (r->n > UINT32_MAX)
        return vg_base__fail(VG_ERR_ARGUMENT, "%zu samples are too many for a page, which holds at most 2^32 - 1",
                             r->n);
    if (r->image && r->channels != 1 && r->channels != 3)
        return vg_base__fail(VG_ERR_ARGUMENT, "images of %zu channels; a page shows 1 (grey) or 3 (RGB)", r->channels);
    return VG_OK;
}

static vg_status write_page(page *p, const vg_sink *sink) {
    VG_TRY(vg_base__alloc(&p->out, 1, sizeof *p->out, "the page"));
    vg_report__emit_begin(p->out, sink);
    vg_status status = emit_page(p), ended = vg_report__emit_end(p->out);
    vg_base__release(p->out);
    return status == VG_OK ? ended : status;
}

vg_status vg_report__page(const vg_report *report, const vg_sink *sink) {
    vg_report taken;
    vg_promises *promises = NULL;
    vg_report_counts counted = {.count = 0};
    VG_TRY(vg_report__take(&taken, report));
    VG_TRY(check(&taken));
    page p = {.report = &taken, .rows = taken.rows, .wide = taken.classes > 65536, .counts = taken.counts};
    VG_TRY(vg_report__choose(&p.chosen, &taken));
    vg_status status = vg_report__promise(&promises, &taken);
    p.promises = promises;
    if (status == VG_OK && !p.counts && taken.n > VG_REPORT_EXACT_ROWS) {
        status = vg_report__count_rows(&counted, &taken, promises);
        p.counts = &counted;
    }
    if (status == VG_OK)
        status = write_page(&p, sink);
    vg_report__counts_free(&counted);
    vg_base__release(promises);
    vg_report__chosen_free(&p.chosen);
    return status;
}
