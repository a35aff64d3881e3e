/* value_spill.c - columns in a temporary file, read back by rising value. See value_spill.h. */
#include "workflow/value_spill.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"

enum { GROUP = 1 << 15, DIGITS = 1 << 16, PIECE = 4096, LEVELS = 4 };

struct vg_value_spill {
    size_t columns, part_rows, rows, held; /* rows: in all; held: those in `group`, not yet written */
    int file;
    char *group; /* marks of GROUP rows, then GROUP values of every column */
    size_t group_bytes;
    double *values; /* part_rows, while a column is read */
    uint8_t *errors;
};

/* --- the file ----------------------------------------------------------------------------------------------------- */
static vg_status open_unnamed(int *file) {
    char name[4096];
    const char *folder = getenv("TMPDIR");
    int length = snprintf(name, sizeof name, "%s/.vargate-XXXXXX", folder && *folder ? folder : "/tmp");
    if (length < 0 || (size_t)length >= sizeof name)
        return vg_base__fail(VG_ERR_ARGUMENT, "temporary file: path is too long");
    *file = mkstemp(name);
    if (*file < 0)
        return vg_base__fail(VG_ERR_IO, "%s: %s", name, strerror(errno));
    unlink(name);
    return VG_OK;
}

static vg_status move_bytes(int file, void *bytes, size_t size, size_t offset, bool out) {
    for (char *at = bytes; size > 0;) {
        ssize_t done = out ? pwrite(file, at, size, (off_t)offset) : pread(file, at, size, (off_t)offset);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return vg_base__fail(VG_ERR_IO, "temporary file: %s", done < 0 ? strerror(errno) : "ends too early");
        at += done;
        size -= (size_t)done;
        offset += (size_t)done;
    }
    return VG_OK;
}

vg_status vg_value_spill__new(vg_value_spill **out, size_t columns, size_t part_rows) {
    vg_value_spill *s;
    VG_TRY(vg_base__zalloc(&s, 1, sizeof *s, "values"));
    s->columns = columns;
    s->part_rows = part_rows > PIECE ? part_rows : PIECE;
    s->group_bytes = GROUP * (1 + columns * sizeof(double));
    s->file = -1;
    vg_status status = open_unnamed(&s->file);
    if (status == VG_OK)
        status = vg_base__alloc(&s->group, s->group_bytes, 1, "values");
    if (status != VG_OK) {
        vg_value_spill__free(s);
        return status;
    }
    *out = s;
    return VG_OK;
}

void vg_value_spill__free(vg_value_spill *s) {
    if (!s)
        return;
    if (s->file >= 0)
        close(s->file);
    vg_base__release(s->group);
    vg_base__release(s->values);
    vg_base__release(s->errors);
    vg_base__release(s);
}

size_t vg_value_spill__rows(const vg_value_spill *s) { return s->rows; }

static double *group_values(const vg_value_spill *s, size_t column) {
    return (double *)(void *)(s->group + GROUP + column * GROUP * sizeof(double));
}

vg_status vg_value_spill__add(vg_value_spill *s, const double *const *columns, const uint8_t *errors, size_t rows) {
    for (size_t done = 0, now; done < rows; done += now) {
        now = rows - done < GROUP - s->held ? rows - done : GROUP - s->held;
        memcpy(s->group + s->held, errors + done, now);
        for (size_t c = 0; c < s->columns; c++) {
            double *to = group_values(s, c) + s->held;
            for (size_t i = 0; i < now; i++) {
                to[i] = columns[c][done + i] + 0.0; /* -0 and 0 count as one value */
                if (isnan(to[i]))
                    return vg_base__fail(VG_ERR_DATA, "a measure of site %zu is not a number", s->rows + i);
            }
        }
        s->held += now;
        s->rows += now;
        if (s->held == GROUP) {
            VG_TRY(move_bytes(s->file, s->group, s->group_bytes, (s->rows / GROUP - 1) * s->group_bytes, true));
            s->held = 0;
        }
    }
    return VG_OK;
}

/* --- reading back ------------------------------------------------------------------------------------------------- */
/* Rows in a file: a column of the groups, or a region with all values in front of all marks. */
typedef struct spill_rows {
    const vg_value_spill *spill; /* NULL: a region */
    size_t column;
    int file;
    size_t offset, rows;
} spill_rows;

static uint64_t order_of(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
}

static size_t digit_of(double value, int level) { return order_of(value) >> (48 - 16 * level) & (DIGITS - 1); }

/* Reads rows first .. first + count - 1; of groups, within one group. */
static vg_status read_rows(const spill_rows *r, size_t first, size_t count, double *values, uint8_t *errors) {
    if (!r->spill) {
        VG_TRY(move_bytes(r->file, values, count * sizeof *values, r->offset + first * sizeof *values, false));
        return move_bytes(r->file, errors, count, r->offset + r->rows * sizeof *values + first, false);
    }
    const vg_value_spill *s = r->spill;
    size_t group = first / GROUP, at = first % GROUP;
    if (group == s->rows / GROUP) { /* the last rows are still in memory */
        memcpy(values, group_values(s, r->column) + at, count * sizeof *values);
        memcpy(errors, s->group + at, count);
        return VG_OK;
    }
    size_t start = group * s->group_bytes, column = start + GROUP + r->column * GROUP * sizeof(double);
    VG_TRY(move_bytes(s->file, values, count * sizeof *values, column + at * sizeof *values, false));
    return move_bytes(s->file, errors, count, start + at, false);
}

static vg_status read_all(const spill_rows *r, double *values, uint8_t *errors) {
    for (size_t done = 0, now; done < r->rows; done += now) {
        now = r->rows - done < GROUP - done % GROUP ? r->rows - done : GROUP - done % GROUP;
        VG_TRY(read_rows(r, done, now, values + done, errors + done));
    }
    return VG_OK;
}

typedef struct walk_work {
    vg_value_spill *spill;
    vg_spill_take take;
    void *context;
} walk_work;

static vg_status walk_rows(walk_work *w, const spill_rows *r, int level);

static vg_status take_all(walk_work *w, const spill_rows *r) {
    vg_value_spill *s = w->spill;
    VG_TRY(read_all(r, s->values, s->errors));
    vg_spill_part part = {.values = s->values, .errors = s->errors, .rows = r->rows};
    for (size_t i = 0; i < r->rows; i++)
        part.wrong += s->errors[i];
    return w->take(w->context, &part);
}

/* Every leading bit is the same: all rows have one value. */
static vg_status take_tied(walk_work *w, const spill_rows *r) {
    double values[PIECE];
    uint8_t errors[PIECE];
    vg_spill_part part = {.rows = r->rows};
    for (size_t done = 0, now; done < r->rows; done += now) {
        now = r->rows - done < PIECE ? r->rows - done : PIECE;
        VG_TRY(read_rows(r, done, now, values, errors));
        for (size_t i = 0; i < now; i++)
            part.wrong += errors[i];
        part.value = values[0];
    }
    return w->take(w->context, &part);
}

/* Parts of neighbouring digits: the rows of each, the start of its region, and the rows not written yet. */
typedef struct spill_part {
    size_t rows, digits, offset, written, waiting;
    double values[PIECE];
    uint8_t errors[PIECE];
} spill_part;

static vg_status flush_part(spill_part *p, int file) {
    size_t marks = p->offset + p->rows * sizeof(double) + p->written;
    VG_TRY(move_bytes(file, p->values, p->waiting * sizeof(double), p->offset + p->written * sizeof(double), true));
    VG_TRY(move_bytes(file, p->errors, p->waiting, marks, true));
    p->written += p->waiting;
    p->waiting = 0;
    return VG_OK;
}

/* Computes part_of[digit] from counts[digit]: neighbouring digits share a part while they fit the memory. Returns
 * the number of parts. */
static size_t plan_parts(uint32_t *part_of, size_t *sizes, size_t *digits, const size_t *counts, size_t most) {
    size_t parts = 0;
    for (size_t d = 0; d < DIGITS; d++) {
        if (parts == 0 || (counts[d] > 0 && sizes[parts - 1] > 0 && sizes[parts - 1] + counts[d] > most)) {
            sizes[parts] = digits[parts] = 0;
            parts++;
        }
        sizes[parts - 1] += counts[d];
        digits[parts - 1] += counts[d] > 0;
        part_of[d] = (uint32_t)(parts - 1);
    }
    return parts;
}

typedef struct division {
    size_t *counts, *sizes, *digits; /* DIGITS each */
    uint32_t *part_of;
    spill_part *parts;
    size_t part_count;
    double *values; /* GROUP */
    uint8_t *errors;
    int file;
} division;

static vg_status make_division(division *d) {
    *d = (division){.file = -1};
    VG_TRY(vg_base__zalloc(&d->counts, DIGITS, sizeof *d->counts, "values"));
    VG_TRY(vg_base__alloc(&d->sizes, DIGITS, sizeof *d->sizes, "values"));
    VG_TRY(vg_base__alloc(&d->digits, DIGITS, sizeof *d->digits, "values"));
    VG_TRY(vg_base__alloc(&d->part_of, DIGITS, sizeof *d->part_of, "values"));
    VG_TRY(vg_base__alloc(&d->values, GROUP, sizeof *d->values, "values"));
    VG_TRY(vg_base__alloc(&d->errors, GROUP, 1, "values"));
    return open_unnamed(&d->file);
}

static void free_division(division *d) {
    vg_base__release(d->counts);
    vg_base__release(d->sizes);
    vg_base__release(d->digits);
    vg_base__release(d->part_of);
    vg_base__release(d->parts);
    vg_base__release(d->values);
    vg_base__release(d->errors);
    if (d->file >= 0)
        close(d->file);
}

/* Counts the digits of all rows, or with parts copies each row to the region of its part. */
static vg_status scan(division *d, const spill_rows *r, int level) {
    for (size_t done = 0, now; done < r->rows; done += now) {
        now = r->rows - done < GROUP - done % GROUP ? r->rows - done : GROUP - done % GROUP;
        VG_TRY(read_rows(r, done, now, d->values, d->errors));
        for (size_t i = 0; i < now; i++) {
            size_t digit = digit_of(d->values[i], level);
            if (!d->parts) {
                d->counts[digit]++;
                continue;
            }
            spill_part *p = &d->parts[d->part_of[digit]];
            p->values[p->waiting] = d->values[i];
            p->errors[p->waiting++] = d->errors[i];
            if (p->waiting == PIECE)
                VG_TRY(flush_part(p, d->file));
        }
    }
    for (size_t i = 0; d->parts && i < d->part_count; i++)
        VG_TRY(flush_part(&d->parts[i], d->file));
    return VG_OK;
}

static vg_status divide(walk_work *w, division *d, const spill_rows *r, int level) {
    size_t offset = 0;
    VG_TRY(make_division(d));
    VG_TRY(scan(d, r, level));
    d->part_count = plan_parts(d->part_of, d->sizes, d->digits, d->counts, w->spill->part_rows);
    VG_TRY(vg_base__zalloc(&d->parts, d->part_count, sizeof *d->parts, "parts of values"));
    for (size_t i = 0; i < d->part_count; i++) {
        d->parts[i].rows = d->sizes[i];
        d->parts[i].digits = d->digits[i];
        d->parts[i].offset = offset;
        offset += d->sizes[i] * (sizeof(double) + 1);
    }
    VG_TRY(scan(d, r, level));
    for (size_t i = 0; i < d->part_count; i++) {
        spill_rows region = {.file = d->file, .offset = d->parts[i].offset, .rows = d->parts[i].rows};
        if (region.rows > 0) /* more rows than fit share a digit: divide them by the next digit */
            VG_TRY(walk_rows(w, &region, level + 1));
    }
    return VG_OK;
}

static vg_status walk_rows(walk_work *w, const spill_rows *r, int level) {
    if (r->rows <= w->spill->part_rows)
        return take_all(w, r);
    if (level == LEVELS)
        return take_tied(w, r);
    division d;
    vg_status status = divide(w, &d, r, level);
    free_division(&d);
    return status;
}

vg_status vg_value_spill__walk(vg_value_spill *s, size_t column, vg_spill_take take, void *context) {
    walk_work work = {s, take, context};
    size_t room = s->rows < s->part_rows ? s->rows : s->part_rows;
    if (!s->values) {
        VG_TRY(vg_base__alloc(&s->values, room ? room : 1, sizeof *s->values, "values"));
        VG_TRY(vg_base__alloc(&s->errors, room ? room : 1, 1, "error marks"));
    }
    spill_rows all = {.spill = s, .column = column, .rows = s->rows};
    return s->rows ? walk_rows(&work, &all, 0) : VG_OK;
}

vg_status vg_value_spill__scan(const vg_value_spill *s, size_t column, vg_spill_take take, void *context) {
    double values[PIECE];
    uint8_t errors[PIECE];
    spill_rows all = {.spill = s, .column = column, .rows = s->rows};
    for (size_t done = 0; done < s->rows; done += PIECE) { /* a group is a whole number of pieces */
        vg_spill_part part = {.values = values, .errors = errors};
        part.rows = s->rows - done < PIECE ? s->rows - done : PIECE;
        VG_TRY(read_rows(&all, done, part.rows, values, errors));
        VG_TRY(take(context, &part));
    }
    return VG_OK;
}
