/* csv.c - predictions and labels in comma-separated text.
 *
 *     long    sample,member,<C columns>[,label]   one row a sample and member, in any order; arrays P or Z (N, M, C) and L (N)
 *     wide    [sample,]<C columns>[,label]        one row a sample, one member;              arrays P or Z (N, C) and L (N)
 *     plain   <C columns>, no header line         one row a sample;                          array P (N, C)
 *
 * The first line is a header when one of its fields is no number. Column names count without regard to case. Samples and
 * members of the long form are whole numbers without gaps from any start; the wide form's sample column may be any text and is
 * passed over. Value columns named z0, z1, ... or logit... make the array Z. Several columns named label0, label1, ... make L
 * (N, columns). */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "formats/lines.h"

typedef enum role { VALUE, SAMPLE, MEMBER, LABEL } role;

typedef struct table {
    vg_source *source;
    vg_lines lines;
    role *roles; /* one a column */
    size_t columns, values, labels, members;
    bool has_samples, logits;
    vg_column value, sample, member, label, line; /* one row after the other */
    size_t rows;
} table;

static vg_status wrong(const table *t, const char *reason) {
    return vg_base__fail(VG_ERR_FORMAT, "%s: line %zu: %s", t->source->path, t->lines.number, reason);
}

/* The next field of the current line from *at, quotes taken off (no quote may stand inside); *at goes behind its comma, or to
 * length + 1 behind the last field. */
static bool next_field(const vg_lines *lines, size_t *at, const char **text, size_t *length) {
    size_t start = *at, end;
    while (start < lines->length && (lines->text[start] == ' ' || lines->text[start] == '\t'))
        start++;
    if (start < lines->length && lines->text[start] == '"') {
        const char *close = memchr(lines->text + start + 1, '"', lines->length - start - 1);
        if (!close)
            return false;
        *text = lines->text + start + 1;
        *length = (size_t)(close - *text);
        end = (size_t)(close - lines->text) + 1;
        while (end < lines->length && (lines->text[end] == ' ' || lines->text[end] == '\t'))
            end++;
        if (end < lines->length && lines->text[end] != ',')
            return false;
        *at = end + 1;
        return true;
    }
    const char *comma = start < lines->length ? memchr(lines->text + start, ',', lines->length - start) : NULL;
    end = comma ? (size_t)(comma - lines->text) : lines->length;
    *at = end + 1;
    while (end > start && (lines->text[end - 1] == ' ' || lines->text[end - 1] == '\t'))
        end--;
    *text = lines->text + start;
    *length = end - start;
    return true;
}

static bool is_one_of(const char *text, size_t length, const char *const *names) {
    for (; *names; names++)
        if (strlen(*names) == length && strncasecmp(*names, text, length) == 0)
            return true;
    return false;
}

/* prefix, perhaps an underscore, digits. */
static bool is_numbered(const char *text, size_t length, const char *prefix) {
    size_t at = strlen(prefix);
    if (length <= at || strncasecmp(text, prefix, at) != 0)
        return false;
    at += text[at] == '_' || text[at] == ' ';
    for (size_t i = at; i < length; i++)
        if (text[i] < '0' || text[i] > '9')
            return false;
    return at < length;
}

static role role_of(const char *text, size_t length) {
    static const char *const samples[] = {"sample", "id", "index", "n", NULL};
    static const char *const members[] = {"member", "head", "m", NULL};
    static const char *const labels[] = {"label", "labels", "y", "l", "target", NULL};
    if (is_one_of(text, length, samples))
        return SAMPLE;
    if (is_one_of(text, length, members))
        return MEMBER;
    return is_one_of(text, length, labels) || is_numbered(text, length, "label") ? LABEL : VALUE;
}

/* Counts the fields of the first line; *header when one of them is no number. */
static vg_status look_at_first(table *t, bool *header) {
    const char *text;
    size_t length, at = 0;
    *header = false;
    while (at <= t->lines.length) {
        double ignored;
        if (!next_field(&t->lines, &at, &text, &length))
            return wrong(t, "a quoted field is not closed, or has text behind it");
        *header |= !vg_number__parse(&ignored, text, length);
        t->columns++;
    }
    return VG_OK;
}

static vg_status read_first(table *t, bool *header) {
    VG_TRY(look_at_first(t, header));
    VG_TRY(vg_base__zalloc(&t->roles, t->columns, sizeof *t->roles, "columns"));
    size_t at = 0, samples = 0, logits = 0;
    for (size_t i = 0; i < t->columns; i++) {
        const char *text;
        size_t length;
        next_field(&t->lines, &at, &text, &length);
        t->roles[i] = *header ? role_of(text, length) : VALUE;
        samples += t->roles[i] == SAMPLE;
        t->members += t->roles[i] == MEMBER;
        t->labels += t->roles[i] == LABEL;
        t->values += t->roles[i] == VALUE;
        if (*header && t->roles[i] == VALUE)
            logits += is_numbered(text, length, "z") || (length >= 5 && strncasecmp(text, "logit", 5) == 0);
    }
    t->has_samples = samples > 0;
    t->logits = t->values > 0 && logits == t->values;
    if (samples > 1 || t->members > 1)
        return wrong(t, "more than one sample or member column");
    if (t->members && !t->has_samples)
        return wrong(t, "a member column needs a sample column");
    if (t->values == 0 && t->labels == 0)
        return wrong(t, "no columns of values or labels");
    return VG_OK;
}

static vg_status number_field(const table *t, size_t column, const char *text, size_t length, bool whole, double *out) {
    if (!vg_number__parse(out, text, length))
        return vg_base__fail(VG_ERR_FORMAT, "%s: line %zu, column %zu: '%.*s' is no number", t->source->path, t->lines.number,
                             column + 1, (int)(length > 60 ? 60 : length), text);
    if (whole && !(*out >= -0x1p53 && *out <= 0x1p53 && (double)(int64_t)*out == *out))
        return vg_base__fail(VG_ERR_FORMAT, "%s: line %zu, column %zu: '%.*s', expected a whole number", t->source->path,
                             t->lines.number, column + 1, (int)(length > 60 ? 60 : length), text);
    return VG_OK;
}

static vg_status read_row(table *t) {
    size_t at = 0, column = 0;
    for (; at <= t->lines.length; column++) {
        const char *text;
        size_t length;
        double number;
        if (!next_field(&t->lines, &at, &text, &length))
            return wrong(t, "a quoted field is not closed, or has text behind it");
        if (column >= t->columns)
            continue; /* counted, then refused below */
        role what = t->roles[column];
        if (what == SAMPLE && !t->members)
            continue;
        VG_TRY(number_field(t, column, text, length, what != VALUE, &number));
        if (what == VALUE)
            VG_TRY(vg_column__push_f64(&t->value, number));
        else
            VG_TRY(vg_column__push_i64(what == SAMPLE ? &t->sample : what == MEMBER ? &t->member : &t->label, (int64_t)number));
    }
    if (column != t->columns)
        return vg_base__fail(VG_ERR_FORMAT, "%s: line %zu: %s than the %zu fields of the first line", t->source->path,
                             t->lines.number, column < t->columns ? "fewer" : "more", t->columns);
    t->rows++;
    return t->members ? vg_column__push_i64(&t->line, (int64_t)t->lines.number) : VG_OK;
}

/* --- the long form ------------------------------------------------------------------------------------------------------ */
typedef struct extent {
    int64_t low;
    size_t count;
} extent;

/* The numbers' lowest, and how many there are from it to the highest; at most 2^54, as numbers are exact float64. */
static extent extent_of(const vg_column *column) {
    int64_t low = column->i64[0], high = low;
    for (size_t i = 1; i < column->count; i++) {
        low = column->i64[i] < low ? column->i64[i] : low;
        high = column->i64[i] > high ? column->i64[i] : high;
    }
    return (extent){low, (size_t)(high - low) + 1};
}

/* Moves row `row` to its cell (n, m); `seen` holds the line each cell came from and, behind the cells, each sample's first. */
static vg_status place(table *t, size_t row, extent n, extent m, double *values, int64_t *labels, int64_t *seen) {
    size_t sample = (size_t)(t->sample.i64[row] - n.low), cell = sample * m.count + (size_t)(t->member.i64[row] - m.low);
    long long line = (long long)t->line.i64[row];
    if (seen[cell])
        return vg_base__fail(VG_ERR_FORMAT, "%s: line %lld: sample %lld, member %lld stands already in line %lld",
                             t->source->path, line, (long long)t->sample.i64[row], (long long)t->member.i64[row],
                             (long long)seen[cell]);
    int64_t *first_line = seen + n.count * m.count + sample;
    bool first = *first_line == 0;
    *first_line = first ? line : *first_line;
    seen[cell] = line;
    if (t->values)
        memcpy(values + cell * t->values, t->value.f64 + row * t->values, t->values * sizeof *values);
    if (t->labels && first)
        memcpy(labels + sample * t->labels, t->label.i64 + row * t->labels, t->labels * sizeof *labels);
    else if (t->labels && memcmp(labels + sample * t->labels, t->label.i64 + row * t->labels, t->labels * sizeof *labels) != 0)
        return vg_base__fail(VG_ERR_FORMAT, "%s: line %lld: sample %lld has another label than in line %lld", t->source->path,
                             line, (long long)t->sample.i64[row], (long long)*first_line);
    return VG_OK;
}

/* Brings the rows into the order (sample, member). */
static vg_status arrange(table *t, size_t *n, size_t *m) {
    *n = *m = 0;
    if (t->rows == 0)
        return VG_OK;
    extent samples = extent_of(&t->sample), members = extent_of(&t->member);
    size_t cells;
    if (!vg_base__mul(&cells, samples.count, members.count) || cells != t->rows)
        return vg_base__fail(
            VG_ERR_FORMAT, "%s: %zu rows, expected one for each of samples %lld .. %lld and members %lld .. %lld",
            t->source->path, t->rows, (long long)samples.low, (long long)samples.low + (long long)samples.count - 1,
            (long long)members.low, (long long)members.low + (long long)members.count - 1);
    double *values = NULL;
    int64_t *labels = NULL, *seen = NULL;
    vg_status status = vg_base__alloc(&values, t->value.count, sizeof *values, "values of a text file");
    if (status == VG_OK)
        status = vg_base__alloc(&labels, samples.count * t->labels, sizeof *labels, "labels of a text file");
    if (status == VG_OK)
        status = vg_base__zalloc(&seen, cells + samples.count, sizeof *seen, "rows of a text file");
    for (size_t row = 0; row < t->rows && status == VG_OK; row++)
        status = place(t, row, samples, members, values, labels, seen);
    vg_base__release(seen);
    if (status != VG_OK) {
        vg_base__release(values);
        vg_base__release(labels);
        return status;
    }
    vg_column__free(&t->value);
    vg_column__free(&t->label);
    t->value.data = values, t->label.data = labels;
    *n = samples.count, *m = members.count;
    return VG_OK;
}

static vg_status finish(table *t) {
    size_t n = t->rows, m = 1;
    if (t->members)
        VG_TRY(arrange(t, &n, &m));
    const char *name = t->logits ? "Z" : "P";
    if (t->values && t->members)
        VG_TRY(vg_column__give(&t->value, t->source, name, VG_ELEMENT_F64, 3, (size_t[]){n, m, t->values}));
    else if (t->values)
        VG_TRY(vg_column__give(&t->value, t->source, name, VG_ELEMENT_F64, 2, (size_t[]){n, t->values}));
    if (t->labels)
        VG_TRY(vg_column__give(&t->label, t->source, "L", VG_ELEMENT_I64, t->labels == 1 ? 1 : 2, (size_t[]){n, t->labels}));
    return VG_OK;
}

static vg_status read_table(table *t) {
    if (!vg_lines__next(&t->lines))
        return vg_base__fail(VG_ERR_FORMAT, "%s: holds only blank lines", t->source->path);
    bool header;
    VG_TRY(read_first(t, &header));
    if (!header)
        VG_TRY(read_row(t));
    while (vg_lines__next(&t->lines))
        VG_TRY(read_row(t));
    return finish(t);
}

vg_status vg_csv__read(vg_source *source) {
    table t = {.source = source, .lines = {.source = source}};
    vg_status status = read_table(&t);
    vg_column__free(&t.value);
    vg_column__free(&t.sample);
    vg_column__free(&t.member);
    vg_column__free(&t.label);
    vg_column__free(&t.line);
    vg_base__release(t.roles);
    return status;
}
