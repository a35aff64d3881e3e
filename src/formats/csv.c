/* csv.c - predictions and labels in comma-separated text.
 *
 *     long    sample,member,<C columns>[,label]   one row a sample and member, any order; P or Z (N, M, C) and L (N)
 *     wide    [sample,]<C columns>[,label]        one row a sample, one member;           P or Z (N, C) and L (N)
 *     plain   <C columns>, no header line         one row a sample;                          array P (N, C)
 *
 * The first line is a header when one of its fields is no number, or when its fields are 0, 1, 2, ... What each column
 * is: csv_columns.c. Samples and members of the long form are whole numbers without gaps from any start; the wide
 * form's sample column may be any text: the ids. Value columns named z0, z1, ... or logit... make the array Z. Several
 * columns named label0, label1, ... make L (N, columns). A column of labels may hold names: those of the classes. */
#include <stdio.h>
#include <string.h>

#include "formats/csv_columns.h"
#include "formats/lines.h"

typedef struct table {
    vg_source *source;
    vg_lines lines;
    vg_csv_columns columns;
    vg_column value, sample, member, label, line; /* one row after the other */
    bool named;                                   /* labels are names, and `label` holds their codes */
    bool named_known;                             /* whether they are was found out */
    size_t rows;
} table;

static vg_status wrong(const table *t, const char *reason) {
    return vg_base__fail(VG_ERR_FORMAT, "%s: line %zu: %s", t->source->path, t->lines.number, reason);
}

/* The next field of the current line from *at, quotes taken off (no quote may stand inside); *at goes behind its
 * comma, or to length + 1 behind the last field. */
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

/* Takes the fields of the first line as names; *header when one of them is no number, or when they are 0, 1, 2, ... */
static vg_status read_first(table *t, bool *header) {
    const char *text = "";
    size_t length = 0, at = 0;
    bool counted = true;
    *header = false;
    while (at <= t->lines.length) {
        double number;
        if (!next_field(&t->lines, &at, &text, &length))
            return wrong(t, "a quoted field is not closed, or has text behind it");
        bool numeric = vg_number__parse(&number, text, length);
        *header |= !numeric;
        counted &= numeric && number == (double)t->columns.count;
        t->columns.count++;
        VG_TRY(vg_strings__push(&t->columns.names, text, length));
    }
    *header |= counted && t->columns.count > 2; /* pandas' names of unnamed columns; "0,1" may be labels */
    const vg_roles *roles = &t->source->roles;
    bool label = false;
    size_t ignored;
    if (roles->labels_only && roles->known && t->columns.count == 1)
        VG_TRY(vg_strings__find(roles->known, text, length, &ignored, &label));
    *header &= !label;
    if (!*header)
        vg_strings__free(&t->columns.names);
    VG_TRY(vg_csv__assign(&t->columns, t->source, *header));
    if (label) {
        t->columns.roles[0] = VG_ROLE_LABEL;
        t->columns.labels = 1, t->columns.values = 0;
    }
    return VG_OK;
}

static vg_status number_field(const table *t, size_t column, const char *text, size_t length, bool whole, double *out) {
    if (!vg_number__parse(out, text, length))
        return vg_base__fail(VG_ERR_FORMAT, "%s: line %zu, column %zu: '%.*s' is no number", t->source->path,
                             t->lines.number, column + 1, (int)(length > 60 ? 60 : length), text);
    if (whole && !(*out >= -0x1p53 && *out <= 0x1p53 && (double)(int64_t)*out == *out))
        return vg_base__fail(VG_ERR_FORMAT, "%s: line %zu, column %zu: '%.*s', expected a whole number",
                             t->source->path, t->lines.number, column + 1, (int)(length > 60 ? 60 : length), text);
    return VG_OK;
}

/* Whether labels are names: by the first label that is no whole number, or always where the classes are named by
 * numbers (other than 0 .. C-1), which the labels then repeat. */
static bool are_names(table *t, const char *text, size_t length) {
    double number;
    vg_strings *classes = &t->source->classes;
    bool numbers = classes->count > 0, found = false;
    for (size_t i = 0; i < classes->count && numbers; i++) {
        const char *name = vg_strings__at(classes, i);
        numbers = strspn(name, "0123456789") == strlen(name);
    }
    size_t index;
    if (classes->count && vg_strings__find(classes, text, length, &index, &found) != VG_OK)
        found = false;
    return numbers || found || !vg_number__parse(&number, text, length);
}

static vg_status label_field(table *t, size_t column, const char *text, size_t length) {
    double number;
    if (!t->named_known) {
        t->named = t->columns.labels == 1 && are_names(t, text, length);
        t->named_known = true;
    }
    if (!t->named) {
        VG_TRY(number_field(t, column, text, length, true, &number));
        return vg_column__push_i64(&t->label, (int64_t)number);
    }
    size_t code;
    if (length == 0)
        return vg_base__fail(VG_ERR_FORMAT, "%s: line %zu, column %zu: the label is empty", t->source->path,
                             t->lines.number, column + 1);
    const char *point = memchr(text, '.', length);
    size_t whole = point ? (size_t)(point - text) : 0, zeros = whole + 1;
    while (whole && zeros < length && text[zeros] == '0')
        zeros++;
    if (whole && zeros == length && strspn(text, "0123456789") == whole) /* "3.0" is the class "3" */
        length = whole;
    VG_TRY(vg_strings__intern(&t->source->labels.names, text, length, &code));
    return vg_column__push_i64(&t->label, (int64_t)code);
}

/* A field of a row by its column's role; `values` is where the row's values go. */
static vg_status take_field(table *t, size_t column, const char *text, size_t length, size_t values) {
    double number;
    switch (t->columns.roles[column]) {
    case VG_ROLE_IGNORED: return VG_OK;
    case VG_ROLE_LABEL: return label_field(t, column, text, length);
    case VG_ROLE_SAMPLE:
        if (!t->columns.members)
            return vg_strings__push(&t->source->ids, text, length);
        VG_TRY(number_field(t, column, text, length, true, &number));
        return vg_column__push_i64(&t->sample, (int64_t)number);
    case VG_ROLE_MEMBER:
        VG_TRY(number_field(t, column, text, length, true, &number));
        return vg_column__push_i64(&t->member, (int64_t)number);
    case VG_ROLE_VALUE:
        VG_TRY(number_field(t, column, text, length, false, &number));
        t->value.f64[values + t->columns.places[column]] = number;
    }
    return VG_OK;
}

static vg_status read_row(table *t) {
    size_t at = 0, column = 0, values = t->value.count;
    for (size_t i = 0; i < t->columns.values; i++)
        VG_TRY(vg_column__push_f64(&t->value, 0));
    for (; at <= t->lines.length; column++) {
        const char *text;
        size_t length;
        if (!next_field(&t->lines, &at, &text, &length))
            return wrong(t, "a quoted field is not closed, or has text behind it");
        if (column < t->columns.count) /* more are counted, then refused below */
            VG_TRY(take_field(t, column, text, length, values));
    }
    if (column != t->columns.count)
        return vg_base__fail(VG_ERR_FORMAT, "%s: line %zu: %s than the %zu fields of the first line", t->source->path,
                             t->lines.number, column < t->columns.count ? "fewer" : "more", t->columns.count);
    t->rows++;
    return t->columns.members ? vg_column__push_i64(&t->line, (int64_t)t->lines.number) : VG_OK;
}

/* --- the long form ------------------------------------------------------------------------------------------------ */
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

/* Moves row `row` to its cell (n, m); `seen` holds the line each cell came from and, behind the cells, each sample's
 * first. */
static vg_status place(table *t, size_t row, extent n, extent m, double *values, int64_t *labels, int64_t *seen) {
    size_t sample = (size_t)(t->sample.i64[row] - n.low),
           cell = sample * m.count + (size_t)(t->member.i64[row] - m.low);
    long long line = (long long)t->line.i64[row];
    if (seen[cell])
        return vg_base__fail(VG_ERR_FORMAT, "%s: line %lld: sample %lld, member %lld stands already in line %lld",
                             t->source->path, line, (long long)t->sample.i64[row], (long long)t->member.i64[row],
                             (long long)seen[cell]);
    int64_t *first_line = seen + n.count * m.count + sample;
    bool first = *first_line == 0;
    *first_line = first ? line : *first_line;
    seen[cell] = line;
    if (t->columns.values)
        memcpy(values + cell * t->columns.values, t->value.f64 + row * t->columns.values,
               t->columns.values * sizeof *values);
    if (t->columns.labels && first)
        memcpy(labels + sample * t->columns.labels, t->label.i64 + row * t->columns.labels,
               t->columns.labels * sizeof *labels);
    else if (t->columns.labels && memcmp(labels + sample * t->columns.labels, t->label.i64 + row * t->columns.labels,
                                         t->columns.labels * sizeof *labels) != 0)
        return vg_base__fail(VG_ERR_FORMAT, "%s: line %lld: sample %lld has another label than in line %lld",
                             t->source->path, line, (long long)t->sample.i64[row], (long long)*first_line);
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
        status = vg_base__alloc(&labels, samples.count * t->columns.labels, sizeof *labels, "labels of a text file");
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

/* Labels that are names leave the table as codes; labels.c matches them with the classes. */
static vg_status give_names(table *t, size_t n) {
    vg_named_labels *labels = &t->source->labels;
    labels->rows = n;
    labels->codes = t->label.i64;
    t->label = (vg_column){.count = 0};
    if (!labels->codes)
        VG_TRY(vg_base__alloc(&labels->codes, 0, sizeof *labels->codes, "labels"));
    vg_base__fail(VG_ERR_UNSUPPORTED, "%s: its labels are names ('%.60s', ...), expected numbers", t->source->path,
                  labels->names.count ? vg_strings__at(&labels->names, 0) : "");
    return vg_source__skip(t->source, "L", 1);
}

/* The long form's samples are numbers; their ids are those. */
static vg_status number_ids(table *t, size_t n, int64_t low) {
    for (size_t i = 0; i < n; i++) {
        char text[32];
        int length = snprintf(text, sizeof text, "%lld", (long long)low + (long long)i);
        VG_TRY(vg_strings__push(&t->source->ids, text, (size_t)length));
    }
    return VG_OK;
}

static vg_status finish(table *t) {
    size_t n = t->rows, m = 1, values = t->columns.values, labels = t->columns.labels;
    if (t->columns.members) {
        int64_t low = t->rows ? extent_of(&t->sample).low : 0;
        VG_TRY(arrange(t, &n, &m));
        VG_TRY(number_ids(t, n, low));
    }
    const char *name = t->columns.logits ? "Z" : "P";
    if (values && t->columns.members)
        VG_TRY(vg_column__give(&t->value, t->source, name, VG_ELEMENT_F64, 3, (size_t[]){n, m, values}));
    else if (values)
        VG_TRY(vg_column__give(&t->value, t->source, name, VG_ELEMENT_F64, 2, (size_t[]){n, values}));
    if (labels && t->named)
        return give_names(t, n);
    if (labels)
        VG_TRY(vg_column__give(&t->label, t->source, "L", VG_ELEMENT_I64, labels == 1 ? 1 : 2, (size_t[]){n, labels}));
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
    vg_csv__free(&t.columns);
    return status;
}
