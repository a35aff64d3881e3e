/* report_emit.c - buffered text, JSON and base64. See report_emit.h. */
#include "report/report_emit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/printable.h"

void vg_report__emit_begin(vg_emit *e, const vg_sink *sink) {
    e->sink = sink;
    e->status = VG_OK;
    e->comma = false;
    e->used = 0;
}

static void flush(vg_emit *e) {
    if (e->status == VG_OK && e->used > 0)
        e->status = e->sink->write(e->sink->context, e->buffer, e->used);
    e->used = 0;
}

vg_status vg_report__emit_end(vg_emit *e) {
    flush(e);
    return e->status;
}

vg_status vg_report__split_page(vg_page_parts *out, const unsigned char *page, size_t size, const char *marker,
                                const char *file) {
    size_t at = 0, length = strlen(marker);
    while (at + length <= size && memcmp(page + at, marker, length) != 0)
        at++;
    if (at + length > size)
        return vg_base__fail(VG_ERR_FORMAT, "%s lacks the marker at which data are inserted", file);
    *out = (vg_page_parts){(const char *)page, (const char *)page + at + length, at, size - at - length};
    return VG_OK;
}

void vg_report__bytes(vg_emit *e, const void *bytes, size_t size) {
    const char *from = bytes;
    while (size > 0 && e->status == VG_OK) {
        size_t room = sizeof e->buffer - e->used, part = size < room ? size : room;
        memcpy(e->buffer + e->used, from, part);
        e->used += part;
        from += part;
        size -= part;
        if (e->used == sizeof e->buffer)
            flush(e);
    }
}

void vg_report__raw(vg_emit *e, const char *text) { vg_report__bytes(e, text, strlen(text)); }

void vg_report__format(vg_emit *e, const char *format, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (length > 0)
        vg_report__bytes(e, text, (size_t)length < sizeof text ? (size_t)length : sizeof text - 1);
}

/* --- JSON ------------------------------------------------------------------------------------------------------- */

static void separate(vg_emit *e) {
    if (e->comma)
        vg_report__raw(e, ",");
    e->comma = true;
}

void vg_report__open(vg_emit *e, char bracket) {
    separate(e);
    vg_report__bytes(e, &bracket, 1);
    e->comma = false;
}

void vg_report__close(vg_emit *e, char bracket) {
    vg_report__bytes(e, &bracket, 1);
    e->comma = true;
}

static void quoted(vg_emit *e, const char *text) {
    const unsigned char *at = (const unsigned char *)text;
    vg_report__raw(e, "\"");
    while (*at) {
        size_t length = vg_printable__sequence((const char *)at);
        if (length == 0) {
            vg_report__raw(e, "\\ufffd");
            length = 1;
        } else if (length == 1 &&
                   (*at < 0x20 || *at == '"' || *at == '\\' || *at == '<' || *at == '>' || *at == '&' || *at == 0x7f)) {
            vg_report__format(e, "\\u%04x", *at);
        } else {
            vg_report__bytes(e, at, length);
        }
        at += length;
    }
    vg_report__raw(e, "\"");
}

void vg_report__key(vg_emit *e, const char *key) {
    separate(e);
    quoted(e, key);
    vg_report__raw(e, ":");
    e->comma = false;
}

void vg_report__text(vg_emit *e, const char *text) {
    separate(e);
    if (text)
        quoted(e, text);
    else
        vg_report__raw(e, "null");
}

void vg_report__number_short(vg_emit *e, double value, int digits) {
    separate(e);
    if (isfinite(value))
        vg_report__format(e, "%.*g", digits, value);
    else
        vg_report__raw(e, "null");
}

void vg_report__number(vg_emit *e, double value) { vg_report__number_short(e, value, 17); }

void vg_report__count(vg_emit *e, size_t value) {
    separate(e);
    vg_report__format(e, "%zu", value);
}

void vg_report__key_text(vg_emit *e, const char *key, const char *text) {
    vg_report__key(e, key);
    vg_report__text(e, text);
}

void vg_report__key_number(vg_emit *e, const char *key, double value) {
    vg_report__key(e, key);
    vg_report__number(e, value);
}

void vg_report__key_count(vg_emit *e, const char *key, size_t value) {
    vg_report__key(e, key);
    vg_report__count(e, value);
}

/* --- base64 ----------------------------------------------------------------------------------------------------- */

static void triple(vg_emit *e, const uint8_t *in, unsigned count) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint32_t word = (uint32_t)in[0] << 16 | (uint32_t)(count > 1 ? in[1] : 0) << 8 | (count > 2 ? in[2] : 0);
    char out[4] = {digits[word >> 18], digits[word >> 12 & 63], count > 1 ? digits[word >> 6 & 63] : '=',
                   count > 2 ? digits[word & 63] : '='};
    vg_report__bytes(e, out, 4);
}

void vg_report__base64(vg_base64 *b, const void *bytes, size_t size) {
    const uint8_t *in = bytes;
    for (size_t i = 0; i < size; i++) {
        b->rest[b->count++] = in[i];
        if (b->count == 3) {
            triple(b->out, b->rest, 3);
            b->count = 0;
        }
    }
}

void vg_report__base64_finish(vg_base64 *b) {
    if (b->count > 0)
        triple(b->out, b->rest, b->count);
    b->count = 0;
}
