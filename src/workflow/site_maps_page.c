/* site_maps_page.c - fills maps_page.html. See site_maps_page.h.
 *
 * A site takes three bytes: its class; the largest number of steps of k (0.05 each) below its margin ratio, so that the
 * rule at step j keeps it exactly when that number is at least j; its uncertainty in 255 levels. 255 as the number of
 * steps or the level marks a site that is left out. */
#include "workflow/site_maps_page.h"

#include <math.h>
#include <string.h>

#include "base/base.h"
#include "formats/text_file.h"
#include "report/report_emit.h"

extern const unsigned char vg_maps__template[];
extern const size_t vg_maps__template_size;

#define STEP 0.05
enum { LEFT_OUT = 255, MOST = 254 };

typedef struct page_room {
    int32_t *pred;
    double *ratio, *level;
    uint8_t *bytes;
} page_room;

static vg_status write_bytes(void *context, const void *bytes, size_t size) {
    return vg_text__write(context, bytes, size);
}

static uint8_t steps_of(double ratio) {
    if (isnan(ratio))
        return LEFT_OUT;
    double steps = ratio / STEP < MOST ? floor(ratio / STEP) : MOST;
    steps = steps > 0 ? steps : 0;
    while (steps > 0 && !(steps * STEP < ratio))
        steps--;
    while (steps < MOST && (steps + 1) * STEP < ratio)
        steps++;
    return (uint8_t)steps;
}

static uint8_t level_of(double value, const vg_maps_page *page) {
    double share = page->high > page->low ? (value - page->low) / (page->high - page->low) : 0;
    if (isnan(value))
        return LEFT_OUT;
    return (uint8_t)(MOST * (share < 0 ? 0 : share > 1 ? 1 : share) + 0.5);
}

static void emit_column(vg_emit *e, const char *key, const uint8_t *bytes, size_t size) {
    vg_base64 text = {.out = e};
    vg_report__key(e, key);
    vg_report__raw(e, "\"");
    vg_report__base64(&text, bytes, size);
    vg_report__base64_finish(&text);
    vg_report__raw(e, "\"");
    e->comma = true;
}

static vg_status emit_image(vg_emit *e, const vg_maps_page *page, size_t image, const page_room *room) {
    size_t sites = page->height * page->width;
    VG_TRY(page->slice(page->context, image, room->pred, room->ratio, room->level));
    vg_report__open(e, '{');
    vg_report__key_count(e, "number", image);
    for (size_t i = 0; i < sites; i++)
        room->bytes[i] = (uint8_t)room->pred[i];
    emit_column(e, "pred", room->bytes, sites);
    for (size_t i = 0; i < sites; i++)
        room->bytes[i] = steps_of(room->ratio[i]);
    emit_column(e, "steps", room->bytes, sites);
    for (size_t i = 0; i < sites; i++)
        room->bytes[i] = level_of(room->level[i], page);
    emit_column(e, "level", room->bytes, sites);
    vg_report__close(e, '}');
    return VG_OK;
}

static vg_status emit_data(vg_emit *e, const vg_maps_page *page, const page_room *room) {
    vg_report__open(e, '{');
    vg_report__key_text(e, "file", page->file);
    vg_report__key_count(e, "count", page->count);
    vg_report__key_count(e, "height", page->height);
    vg_report__key_count(e, "width", page->width);
    if (page->depth > 1)
        vg_report__key_count(e, "slice", page->depth / 2);
    vg_report__key_count(e, "ignored", (size_t)page->ignored);
    vg_report__key_number(e, "k", page->k);
    vg_report__key_number(e, "step", STEP);
    vg_report__key_text(e, "measure", page->measure);
    vg_report__key(e, "low");
    vg_report__number_short(e, page->low, 4);
    vg_report__key(e, "high");
    vg_report__number_short(e, page->high, 4);
    if (page->classes) {
        vg_report__key(e, "classes");
        vg_report__open(e, '[');
        for (size_t c = 0; c < page->class_count; c++)
            vg_report__text(e, page->classes[c]);
        vg_report__close(e, ']');
    }
    vg_report__key(e, "images");
    vg_report__open(e, '[');
    for (size_t i = 0; i < page->images; i++)
        VG_TRY(emit_image(e, page, i, room));
    vg_report__close(e, ']');
    vg_report__close(e, '}');
    return VG_OK;
}

static vg_status write_page(vg_text *file, const vg_maps_page *page, const page_room *room) {
    vg_page_parts parts;
    vg_sink sink = {.context = file, .write = write_bytes};
    vg_emit *e;
    VG_TRY(
        vg_report__split_page(&parts, vg_maps__template, vg_maps__template_size, "/*RESULT*/null", "maps_page.html"));
    VG_TRY(vg_base__alloc(&e, 1, sizeof *e, "the page"));
    vg_report__emit_begin(e, &sink);
    vg_report__bytes(e, parts.before, parts.before_size);
    vg_status status = emit_data(e, page, room);
    vg_report__bytes(e, parts.after, parts.after_size);
    vg_status written = vg_report__emit_end(e);
    vg_base__release(e);
    return status == VG_OK ? written : status;
}

vg_status vg_maps_page__write(const vg_maps_page *page) {
    size_t sites = page->height * page->width * page->depth;
    page_room room = {NULL, NULL, NULL, NULL};
    vg_text *file = NULL;
    vg_status status = vg_base__alloc(&room.pred, sites, sizeof *room.pred, "the page");
    if (status == VG_OK)
        status = vg_base__alloc(&room.ratio, sites, sizeof *room.ratio, "the page");
    if (status == VG_OK)
        status = vg_base__alloc(&room.level, sites, sizeof *room.level, "the page");
    if (status == VG_OK)
        status = vg_base__alloc(&room.bytes, sites, 1, "the page");
    if (status == VG_OK)
        status = vg_text__open(&file, page->path);
    if (status == VG_OK)
        status = write_page(file, page, &room);
    if (status == VG_OK)
        status = vg_text__close(file);
    else
        vg_text__abandon(file);
    vg_base__release(room.pred);
    vg_base__release(room.ratio);
    vg_base__release(room.level);
    vg_base__release(room.bytes);
    return status;
}
