/* lines.h - what the text formats share: lines of a file, and columns that grow. Internal to formats. */
#ifndef VG_LINES_H
#define VG_LINES_H

#include "formats/source.h"

enum { VG_LINE_LIMIT = 64 << 20 }; /* bytes of a line of a table */

/* Iterates over the lines of a source that are not blank, without byte-order mark and carriage returns. */
typedef struct vg_lines {
    const vg_source *source;
    size_t at, dropped;
    bool keep_tabs; /* a tab at the end of a line is the end of an empty field */
    size_t number;  /* of the current line, from 1 */
    const char *text;
    size_t length;
    char *field; /* a field with its doubled quotes made single; released by the code that reads the table */
    size_t field_room;
} vg_lines;
bool vg_lines__next(vg_lines *lines);

/* A growing array of 8-byte values. */
typedef struct vg_column {
    union {
        double *f64;
        int64_t *i64;
        void *data;
    };
    size_t count, room;
} vg_column;
vg_status vg_column__push_f64(vg_column *column, double value);
vg_status vg_column__push_i64(vg_column *column, int64_t value);
/* Gives the values to the source as an array. The column is empty afterwards, also on failure. */
vg_status vg_column__give(vg_column *column, vg_source *source, const char *name, vg_element element, size_t rank,
                          const size_t *shape);
void vg_column__free(vg_column *column);

#endif
