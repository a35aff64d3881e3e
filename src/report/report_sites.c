/* report_sites.c - counts of the decision rule and images of sites, as JSON and columns of the page.
 *
 *     element                      content, of `count` images of height x width sites each
 *     vg-gridkept, vg-gridwrong    uint32, k x groups
 *     vg-sitepred, -sitelabel      uint8, or uint16 of more than 256 classes
 *     vg-sitesteps                 uint16: the number of k at which the rule keeps the site; 65535: left out
 *     vg-sitelevel                 uint8: the measure in 255 levels; 255: left out
 *     vg-sitephoto                 uint8: the image itself, planar
 *     vg-siteabstained             uint32, count x k: sites of the whole image that are abstained from */
#include "report/report_columns.h"
#include "report/report_parts.h"

static void counts_list(vg_emit *e, const char *key, const unsigned long long *values, size_t count) {
    vg_report__key(e, key);
    vg_report__open(e, '[');
    for (size_t i = 0; i < count; i++)
        vg_report__count(e, (size_t)values[i]);
    vg_report__close(e, ']');
}

void vg_report__emit_counts(vg_emit *e, const vg_report_counts *c) {
    if (!c) {
        vg_report__text(e, NULL);
        return;
    }
    vg_report__open(e, '{');
    vg_report__key_count(e, "groups", c->groups);
    vg_report__key_count(e, "errors", (size_t)c->errors);
    vg_report__key(e, "k");
    vg_report__open(e, '[');
    for (size_t i = 0; i < c->count; i++)
        vg_report__number(e, c->k[i]);
    vg_report__close(e, ']');
    counts_list(e, "kept", c->kept, c->count);
    counts_list(e, "wrong", c->wrong, c->count);
    counts_list(e, "total", c->total, c->groups);
    counts_list(e, "support", c->support, c->groups);
    counts_list(e, "predicted", c->predicted, c->groups);
    counts_list(e, "found", c->found, c->groups);
    vg_report__close(e, '}');
}

static void column_u32(vg_emit *e, const char *name, const uint32_t *values, size_t count) {
    vg_base64 b;
    vg_report__column_begin(&b, e, name);
    for (size_t i = 0; i < count; i++)
        vg_report__put_u32(&b, values[i]);
    vg_report__column_end(&b);
}

/* Numbers of two bytes or, where they fit, of one. */
static void column_numbers(vg_emit *e, const char *name, const uint16_t *values, size_t count, bool wide) {
    vg_base64 b;
    if (!values)
        return;
    vg_report__column_begin(&b, e, name);
    for (size_t i = 0; i < count; i++) {
        uint8_t bytes[2] = {(uint8_t)values[i], (uint8_t)(values[i] >> 8)};
        vg_report__base64(&b, bytes, wide ? 2 : 1);
    }
    vg_report__column_end(&b);
}

static void column_bytes(vg_emit *e, const char *name, const uint8_t *values, size_t count) {
    vg_base64 b;
    if (!values)
        return;
    vg_report__column_begin(&b, e, name);
    vg_report__base64(&b, values, count);
    vg_report__column_end(&b);
}

void vg_report__emit_count_columns(vg_emit *e, const vg_report_counts *c) {
    if (c->groups == 0)
        return;
    column_u32(e, "gridkept", c->group_kept, c->count * c->groups);
    column_u32(e, "gridwrong", c->group_wrong, c->count * c->groups);
}

void vg_report__emit_sites(vg_emit *e, const vg_report_sites *s) {
    if (!s) {
        vg_report__text(e, NULL);
        return;
    }
    vg_report__open(e, '{');
    vg_report__key(e, "shape");
    vg_report__open(e, '[');
    for (size_t i = 0; i < 4; i++)
        vg_report__count(e, s->shape[i]);
    vg_report__close(e, ']');
    vg_report__key_count(e, "ignored", (size_t)s->ignored);
    vg_report__key_count(e, "stride", s->stride);
    vg_report__key_count(e, "height", s->height);
    vg_report__key_count(e, "width", s->width);
    vg_report__key_count(e, "channels", s->photo ? s->channels : 0);
    vg_report__key_text(e, "measure", s->measure);
    vg_report__key_number(e, "low", s->low);
    vg_report__key_number(e, "high", s->high);
    vg_report__key(e, "images"); /* number, sites that are not left out */
    vg_report__open(e, '[');
    for (size_t i = 0; i < s->count; i++) {
        vg_report__open(e, '[');
        vg_report__count(e, s->numbers[i]);
        vg_report__count(e, s->sites[i]);
        vg_report__close(e, ']');
    }
    vg_report__close(e, ']');
    vg_report__close(e, '}');
}

void vg_report__emit_site_columns(vg_emit *e, const vg_report_sites *s, const vg_report_counts *counts) {
    size_t all = s->count * s->height * s->width;
    column_numbers(e, "sitepred", s->pred, all, s->classes > 256);
    column_numbers(e, "sitelabel", s->label, all, s->classes > 256);
    column_numbers(e, "sitesteps", s->steps, all, true);
    column_bytes(e, "sitelevel", s->level, all);
    column_bytes(e, "sitephoto", s->photo, all * s->channels);
    column_u32(e, "siteabstained", s->abstained, s->count * counts->count);
}
