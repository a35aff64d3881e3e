/* csv.c - predictions and labels in tables of text.
 *
 *     long    sample,member,<C columns>[,label]   one row per sample and member, any order; P or Z (N, M, C) and L (N)
 *     wide    [sample,]<C columns>[,label]        one row per sample, one member;           P or Z (N, C) and L (N)
 *     plain   <C columns>, no header line         one row per sample;                       array P (N, C)
 *
 * The first line is a header when one of its fields is not a number, or when its fields are 0, 1, 2, ...
 * csv_columns.c finds the role of each column; csv_dialect.c the separator and the decimal mark. Samples and members
 * of the long form are whole numbers without gaps from any start, or names, which count in the order of their first
 * rows. The sample column of the wide form may hold any text: the ids. Value columns named z0, z1, ... or logit...
 * make the array Z. Several columns named label0, label1, ... make L (N, columns). A column of labels may hold names
 * of classes. */
#include <stdio.h>
#include <string.h>

#include "formats/csv_columns.h"
#include "formats/csv_dialect.h"
#include "formats/lines.h"

/* The samples or the members of the long form, one entry per row: numbers while all texts are whole numbers, and
 * always the codes of the texts. */
typedef struct key_column {
    vg_column number, code;
    vg_strings names; /* names.at(code) is the text */
    bool named;       /* one of them is not a whole number, so all are names */
} key_column;

typedef struct table {
    vg_source *source;
    vg_lines lines;
    vg_csv_dialect dialect;
    vg_csv_columns columns;
    key_column sample, member;
    vg_column value, label, line; /* one entry per row */
    bool named;                   /* labels are names, and `label` holds their codes */
    bool named_known;             /* `named` has been decided */
    size_t rows;
} table;

/* Takes the fields of the first line as names. *header is true when one of them is not a number, or when they are 0,
 * 1, 2, ... */
static vg_status read_first(table *t, bool *header) {
    const char *text = "";
    size_t length = 0, at = 0;
    bool counted = true;
    *header = false;
    while (at <= t->lines.length) {
        double number;
        VG_TRY(vg_csv__field(&t->lines, t->dialect.separator, &at, &text, &length));
        bool numeric = vg_csv__is_number(&t->dialect, text, length, &number);
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

static bool is_whole(double number) {
    return number >= -0x1p53 && number <= 0x1p53 && (double)(int64_t)number == number;
}

static vg_status number_field(table *t, size_t column, const char *text, size_t length, bool whole, double *out) {
    VG_TRY(vg_csv__number(&t->dialect, &t->lines, column, text, length, out));
    if (whole && !is_whole(*out))
        return vg_base__fail(VG_ERR_FORMAT, "%s: line %zu, column %zu: '%.*s', expected a whole number",
                             t->source->path, t->lines.number, column + 1, (int)(length > 60 ? 60 : length), text);
    return VG_OK;
}

/* Whether labels are names. The first label that is not a whole number decides it; where the classes are named by
 * numbers other than 0 .. C-1, labels are those names. */
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
    return numbers || found || !vg_csv__is_number(&t->dialect, text, length, &number);
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
    const char *point = memchr(text, t->dialect.decimal == ',' ? ',' : '.', length);
    size_t whole = point ? (size_t)(point - text) : 0, zeros = whole + 1;
    while (whole && zeros < length && text[zeros] == '0')
        zeros++;
    if (whole && zeros == length && strspn(text, "0123456789") == whole) /* "3.0" is the class "3" */
        length = whole;
    VG_TRY(vg_strings__intern(&t->source->labels.names, text, length, &code));
    return vg_column__push_i64(&t->label, (int64_t)code);
}

/* A sample or a member of the long form. */
static vg_status key_field(table *t, key_column *key, size_t column, const char *text, size_t length) {
    double number;
    size_t code;
    if (length == 0)
        return vg_base__fail(VG_ERR_FORMAT, "%s: line %zu, column %zu: the %s is empty", t->source->path,
                             t->lines.number, column + 1, key == &t->sample ? "sample" : "member");
    VG_TRY(vg_strings__intern(&key->names, text, length, &code));
    VG_TRY(vg_column__push_i64(&key->code, (int64_t)code));
    if (key->named)
        return VG_OK;
    if (vg_number__parse(&number, text, length) && is_whole(number))
        return vg_column__push_i64(&key->number, (int64_t)number);
    key->named = true;
    vg_column__free(&key->number);
    return VG_OK;
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
        return key_field(t, &t->sample, column, text, length);
    case VG_ROLE_MEMBER: return key_field(t, &t->member, column, text, length);
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
        VG_TRY(vg_csv__field(&t->lines, t->dialect.separator, &at, &text, &length));
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

/* The key of a row: its number, or the code of its name. */
static int64_t key_at(const key_column *key, size_t row) {
    return key->named ? key->code.i64[row] : key->number.i64[row];
}

static const char *key_text(const key_column *key, size_t row) {
    return vg_strings__at(&key->names, (size_t)key->code.i64[row]);
}

/* The lowest key, and the number of keys from it to the highest: at most 2^54, because numbers are exact float64. */
static extent extent_of(const key_column *key) {
    if (key->named)
        return (extent){0, key->names.count};
    int64_t low = key->number.i64[0], high = low;
    for (size_t i = 1; i < key->number.count; i++) {
        low = key->number.i64[i] < low ? key->number.i64[i] : low;
        high = key->number.i64[i] > high ? key->number.i64[i] : high;
    }
    return (extent){low, (size_t)(high - low) + 1};
}

/* Moves row `row` to its cell (n, m). seen[n * m] holds the line of each cell and, after the cells, the first line
 * of each sample. */
static vg_status place(table *t, size_t row, extent n, extent m, double *values, int64_t *labels, int64_t *seen) {
    size_t sample = (size_t)(key_at(&t->sample, row) - n.low),
           cell = sample * m.count + (size_t)(key_at(&t->member, row) - m.low);
    long long line = (long long)t->line.i64[row];
    if (seen[cell])
        return vg_base__fail(VG_ERR_FORMAT, "%s: line %lld: sample %.60s, member %.60s is already in line %lld",
                             t->source->path, line, key_text(&t->sample, row), key_text(&t->member, row),
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
        return vg_base__fail(VG_ERR_FORMAT, "%s: line %lld: sample %.60s has another label than in line %lld",
                             t->source->path, line, key_text(&t->sample, row), (long long)*first_line);
    return VG_OK;
}

/* "samples 3 .. 7", or "5 samples" of names. */
static void describe(char *out, size_t room, const key_column *key, extent keys, const char *what) {
    if (key->named)
        snprintf(out, room, "%zu %s", keys.count, what);
    else
        snprintf(out, room, "%s %lld .. %lld", what, (long long)keys.low,
                 (long long)keys.low + (long long)keys.count - 1);
}

/* Sorts the rows by (sample, member). */
static vg_status arrange(table *t, size_t *n, size_t *m) {
    *n = *m = 0;
    if (t->rows == 0)
        return VG_OK;
    extent samples = extent_of(&t->sample), members = extent_of(&t->member);
    size_t cells;
    if (!vg_base__mul(&cells, samples.count, members.count) || cells != t->rows) {
        char left[80], right[80];
        describe(left, sizeof left, &t->sample, samples, "samples");
        describe(right, sizeof right, &t->member, members, "members");
        return vg_base__fail(VG_ERR_FORMAT, "%s: %zu rows, expected one for each of %s and %s", t->source->path,
                             t->rows, left, right);
    }
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

/* Labels that are names are handed over as codes; labels.c matches them with the classes. */
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

/* The ids of the long form's samples: their names, or the numbers from `low` on. */
static vg_status give_ids(table *t, size_t n, int64_t low) {
    if (t->sample.named) {
        t->source->ids = t->sample.names;
        t->sample.names = (vg_strings){.bytes = NULL};
        return VG_OK;
    }
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
        VG_TRY(give_ids(t, n, low));
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

/* Other programs take a carriage return inside a line for its end. */
static vg_status check_line(const table *t) {
    if (t->lines.length > VG_LINE_LIMIT)
        return vg_base__fail(VG_ERR_FORMAT, "%s: line %zu has %zu bytes, expected at most %d", t->source->path,
                             t->lines.number, t->lines.length, VG_LINE_LIMIT);
    if (!memchr(t->lines.text, '\r', t->lines.length))
        return VG_OK;
    return vg_base__fail(VG_ERR_FORMAT, "%s: line %zu: a carriage return inside the line; lines end in LF or CR LF",
                         t->source->path, t->lines.number);
}

static vg_status read_table(table *t) {
    table first = *t; /* before the dialect is guessed from it */
    if (vg_lines__next(&first.lines))
        VG_TRY(check_line(&first));
    VG_TRY(vg_csv__detect(&t->dialect, t->source));
    t->lines.keep_tabs = t->dialect.separator == '\t';
    if (!vg_lines__next(&t->lines))
        return vg_base__fail(VG_ERR_FORMAT, "%s: holds only blank lines", t->source->path);
    bool header;
    VG_TRY(check_line(t));
    VG_TRY(read_first(t, &header));
    if (!header)
        VG_TRY(read_row(t));
    while (vg_lines__next(&t->lines)) {
        VG_TRY(check_line(t));
        VG_TRY(read_row(t));
    }
    VG_TRY(vg_csv__check_decimals(&t->dialect, t->source));
    return finish(t);
}

static void free_key(key_column *key) {
    vg_column__free(&key->number);
    vg_column__free(&key->code);
    vg_strings__free(&key->names);
}

vg_status vg_csv__read(vg_source *source) {
    table t = {.source = source, .lines = {.source = source}};
    vg_status status = read_table(&t);
    vg_column__free(&t.value);
    free_key(&t.sample);
    free_key(&t.member);
    vg_column__free(&t.label);
    vg_column__free(&t.line);
    vg_base__release(t.lines.field);
    vg_csv__free(&t.columns);
    return status;
}
