/* report_emit.h - a buffer for text that goes to a sink: JSON pieces that are safe inside an HTML script element,
 * and base64. Internal. */
#ifndef VG_REPORT_EMIT_H
#define VG_REPORT_EMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "report/report.h"

enum { VG_EMIT_BUFFER = 1 << 14 };

typedef struct vg_emit {
    const vg_sink *sink;
    vg_status status; /* the first failure; later pieces are dropped */
    bool comma;       /* a comma is due before the next element */
    size_t used;
    char buffer[VG_EMIT_BUFFER];
} vg_emit;

void vg_report__emit_begin(vg_emit *e, const vg_sink *sink);
/* Flushes the buffer. Returns the first failure of all pieces. */
vg_status vg_report__emit_end(vg_emit *e);
void vg_report__raw(vg_emit *e, const char *text);
void vg_report__bytes(vg_emit *e, const void *bytes, size_t size);
/* A page without data is embedded when the library is built; data are inserted where `marker` is. */
typedef struct vg_page_parts {
    const char *before, *after;
    size_t before_size, after_size;
} vg_page_parts;
vg_status vg_report__split_page(vg_page_parts *out, const unsigned char *page, size_t size, const char *marker,
                                const char *file);
void vg_report__format(vg_emit *e, const char *format, ...) VG_PRINTF(2, 3);

/* JSON. open writes `{` or `[`, close `}` or `]`; commas are inserted between elements. */
void vg_report__open(vg_emit *e, char bracket);
void vg_report__close(vg_emit *e, char bracket);
void vg_report__key(vg_emit *e, const char *key);
/* Any bytes: what is not UTF-8 becomes U+FFFD; `<`, `>` and `&` are written as \u escapes. NULL: null. */
void vg_report__text(vg_emit *e, const char *text);
/* 17 digits, null when not finite. The short form has `digits` significant ones. */
void vg_report__number(vg_emit *e, double value);
void vg_report__number_short(vg_emit *e, double value, int digits);
void vg_report__count(vg_emit *e, size_t value);
void vg_report__key_text(vg_emit *e, const char *key, const char *text);
void vg_report__key_number(vg_emit *e, const char *key, double value);
void vg_report__key_count(vg_emit *e, const char *key, size_t value);

/* Base64 of bytes that come in pieces; finish writes the rest and the padding. */
typedef struct vg_base64 {
    vg_emit *out;
    uint8_t rest[3];
    unsigned count;
} vg_base64;
void vg_report__base64(vg_base64 *b, const void *bytes, size_t size);
void vg_report__base64_finish(vg_base64 *b);

#endif
