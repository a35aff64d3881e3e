/* text_rows.c - buffered text. See text_rows.h. */
#include "workflow/text_rows.h"
#include "formats/text_file.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void vg_text_rows__flush(vg_text_rows *rows) {
    if (rows->status == VG_OK && rows->used > 0)
        rows->status = vg_text__write(rows->out, rows->buffer, rows->used);
    rows->used = 0;
}

void vg_text_rows__put(vg_text_rows *rows, const char *text) {
    size_t length = strlen(text);
    if (length > VG_TEXT_ROWS_BUFFER - rows->used)
        vg_text_rows__flush(rows);
    if (length <= VG_TEXT_ROWS_BUFFER) {
        memcpy(rows->buffer + rows->used, text, length);
        rows->used += length;
    } else if (rows->status == VG_OK) {
        rows->status = vg_text__write(rows->out, text, length);
    }
}

void vg_text_rows__real(vg_text_rows *rows, double value, bool json) {
    char text[40];
    if (isfinite(value))
        snprintf(text, sizeof text, "%.17g", value);
    else
        snprintf(text, sizeof text, "%s", json ? "null" : isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
    vg_text_rows__put(rows, text);
}

void vg_text_rows__int(vg_text_rows *rows, long long value) {
    char text[24];
    snprintf(text, sizeof text, "%lld", value);
    vg_text_rows__put(rows, text);
}
