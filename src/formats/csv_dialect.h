/* csv_dialect.h - how a table is written: what separates its fields, and the decimal mark of its numbers. Internal to
 * formats. */
#ifndef VG_CSV_DIALECT_H
#define VG_CSV_DIALECT_H

#include "formats/lines.h"

typedef struct vg_csv_dialect {
    char separator; /* ',', ';', '\t', or ' ': any number of spaces and tabs */
    char decimal;   /* '.' or ','; 0: decided by the first number that has either */
    bool given;     /* the caller named the decimal mark */
    size_t line;    /* line of the number that decided */
    /* A comma before exactly three digits may separate thousands. `unsure_line` is the first line with such a number
     * (0: none); `sure` is true when another number has a comma that can only be a decimal one. */
    size_t unsure_line;
    bool sure;
} vg_csv_dialect;

/* The dialect of source's text: as source->roles names it, by the ending .tsv, or by its first lines. Fails, naming
 * the option that decides, where two separators are possible. */
vg_status vg_csv__detect(vg_csv_dialect *out, const vg_source *source);

/* The next field of the current line from *at, without its quotes and with doubled quotes made single (RFC 4180).
 * *at moves past its separator, or to length + 1 after the last field. *text points into the line or into
 * lines->field and is valid until the next call. VG_ERR_FORMAT: a quoted field is not closed, or text follows its
 * closing quote. */
vg_status vg_csv__field(vg_lines *lines, char separator, size_t *at, const char **text, size_t *length);

/* Whether the field is a number in this dialect; `out` may be NULL. Does not decide the decimal mark. */
bool vg_csv__is_number(const vg_csv_dialect *dialect, const char *text, size_t length, double *out);
/* The number in a field. Decides the decimal mark where it is not known, and fails where it contradicts another
 * number's. */
vg_status vg_csv__number(vg_csv_dialect *dialect, const vg_lines *lines, size_t column, const char *text, size_t length,
                         double *out);
/* At the end of the table: refuses commas that may separate thousands. */
vg_status vg_csv__check_decimals(const vg_csv_dialect *dialect, const vg_source *source);

#endif
