/* text_rows.h - rows of text for a file: numbers and punctuation collected in a buffer. */
#ifndef VG_WORKFLOW_TEXT_ROWS_H
#define VG_WORKFLOW_TEXT_ROWS_H

#include <stdbool.h>
#include <stddef.h>

#include "formats/text_file.h"
#include "vargate/formats.h"

enum { VG_TEXT_ROWS_BUFFER = 1 << 16 };

typedef struct vg_text_rows {
    vg_text *out;
    vg_status status; /* the first failure; later pieces are dropped */
    size_t used;
    char buffer[VG_TEXT_ROWS_BUFFER];
} vg_text_rows;

void vg_text_rows__put(vg_text_rows *rows, const char *text);
/* 17 significant digits; NaN and infinities: `null` for JSON, nan or inf for CSV. */
void vg_text_rows__real(vg_text_rows *rows, double value, bool json);
void vg_text_rows__int(vg_text_rows *rows, long long value);
void vg_text_rows__flush(vg_text_rows *rows);

#endif
