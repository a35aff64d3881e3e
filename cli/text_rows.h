/* text_rows.h - rows of text on their way to a file: numbers and punctuation gathered in a buffer. */
#ifndef CLI_TEXT_ROWS_H
#define CLI_TEXT_ROWS_H

#include <stdbool.h>
#include <stddef.h>

#include "vargate/formats.h"

enum { TEXT_ROWS_BUFFER = 1 << 16 };

typedef struct text_rows {
    vg_text *out;
    vg_status status; /* the first failure; later pieces are dropped */
    size_t used;
    char buffer[TEXT_ROWS_BUFFER];
} text_rows;

void text_rows_put(text_rows *rows, const char *text);
/* 17 significant digits; what is not finite: `null` for JSON, nan or inf for CSV. */
void text_rows_real(text_rows *rows, double value, bool json);
void text_rows_int(text_rows *rows, long long value);
void text_rows_flush(text_rows *rows);

#endif
