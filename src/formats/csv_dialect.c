/* csv_dialect.c - recognises the separator and the decimal mark of a table.
 *
 *     separator   given by the caller; else a tab in .tsv and .tab files; else by the first line: the only one of
 *                 comma, semicolon and tab that occurs in it. Where several occur, the one that splits each of the
 *                 first lines into equally many fields, none of which is digits around another separator ("5;0"). A
 *                 line of numbers with nothing but spaces between them (numpy.savetxt) is split at spaces.
 *     decimal     given by the caller; else a point in tables with commas between fields; else that of the first number
 *                 that has a point or a comma. A table with both is refused, as is one whose commas may all separate
 *                 thousands ("1,234"). */
#include "formats/csv_dialect.h"
#include "base/names.h"

#include <stdio.h>
#include <string.h>

enum { LOOK_LINES = 32, LONGEST_NUMBER = 512 };

static bool is_blank(char c) { return c == ' ' || c == '\t'; }

/* Copies text to lines->field with doubled quotes made single. */
static vg_status halve_quotes(vg_lines *lines, const char **text, size_t *length) {
    if (lines->field_room < *length) {
        vg_base__release(lines->field);
        lines->field = NULL, lines->field_room = 0;
        VG_TRY(vg_base__alloc(&lines->field, lines->length, 1, "a field with quotes"));
        lines->field_room = lines->length;
    }
    size_t count = 0;
    for (size_t i = 0; i < *length; i += 1 + ((*text)[i] == '"'))
        lines->field[count++] = (*text)[i];
    *text = lines->field, *length = count;
    return VG_OK;
}

/* A field that begins with a quote. It ends at the first quote that is not followed by another. */
static vg_status quoted_field(vg_lines *lines, char separator, size_t start, size_t *at, const char **text,
                              size_t *length) {
    const char *first = lines->text + start + 1, *stop = lines->text + lines->length;
    const char *close = memchr(first, '"', (size_t)(stop - first));
    bool doubled = false;
    while (close && close + 1 < stop && close[1] == '"') {
        doubled = true;
        close = memchr(close + 2, '"', (size_t)(stop - close) - 2);
    }
    size_t end = close ? (size_t)(close - lines->text) + 1 : 0;
    while (close && end < lines->length && lines->text[end] != separator && is_blank(lines->text[end]))
        end++;
    if (!close || (end < lines->length && lines->text[end] != separator))
        return vg_base__fail(VG_ERR_FORMAT,
                             "%s: line %zu: a quoted field is not closed, or text follows its closing quote",
                             lines->source->path, lines->number);
    *text = first;
    *length = (size_t)(close - first);
    *at = end + 1;
    return doubled ? halve_quotes(lines, text, length) : VG_OK;
}

/* Fields with any number of blanks between them. */
static void spaced_field(const vg_lines *lines, size_t *at, const char **text, size_t *length) {
    size_t start = *at, end;
    while (start < lines->length && is_blank(lines->text[start]))
        start++;
    for (end = start; end < lines->length && !is_blank(lines->text[end]);)
        end++;
    *text = lines->text + start;
    *length = end - start;
    while (end < lines->length && is_blank(lines->text[end]))
        end++;
    *at = end < lines->length ? end : lines->length + 1;
}

vg_status vg_csv__field(vg_lines *lines, char separator, size_t *at, const char **text, size_t *length) {
    if (separator == ' ') {
        spaced_field(lines, at, text, length);
        return VG_OK;
    }
    size_t start = *at;
    while (start < lines->length && lines->text[start] != separator && is_blank(lines->text[start]))
        start++;
    if (start < lines->length && lines->text[start] == '"')
        return quoted_field(lines, separator, start, at, text, length);
    const char *next = start < lines->length ? memchr(lines->text + start, separator, lines->length - start) : NULL;
    size_t end = next ? (size_t)(next - lines->text) : lines->length;
    *at = end + 1;
    while (end > start && is_blank(lines->text[end - 1]))
        end--;
    *text = lines->text + start;
    *length = end - start;
    return VG_OK;
}

/* --- numbers ------------------------------------------------------------------------------------------------------ */
/* A number with a comma for its decimal point: exactly one comma, and no point. */
static bool comma_number(double *out, const char *text, size_t length) {
    char copy[LONGEST_NUMBER];
    const char *comma = length < sizeof copy ? memchr(text, ',', length) : NULL;
    if (!comma || memchr(text, '.', length))
        return false;
    memcpy(copy, text, length);
    copy[comma - text] = '.';
    return vg_number__parse(out, copy, length);
}

/* Whether a number with a comma can also be read with thousands: "1,234" or "-12,500", but not "0,125" or "1,5". */
static bool may_be_thousands(const char *text, size_t length) {
    size_t sign = length > 0 && (text[0] == '-' || text[0] == '+');
    const char *digits = text + sign, *comma = memchr(text, ',', length);
    size_t whole = (size_t)(comma - digits), after = length - sign - whole - 1;
    bool thousands = whole >= 1 && whole <= 3 && digits[0] != '0' && after == 3;
    for (size_t i = 1; i <= 3 && thousands; i++)
        thousands = comma[i] >= '0' && comma[i] <= '9';
    return thousands;
}

bool vg_csv__is_number(const vg_csv_dialect *dialect, const char *text, size_t length, double *out) {
    double ignored;
    out = out ? out : &ignored;
    if (dialect->decimal == ',' && memchr(text, '.', length))
        return false;
    if (vg_number__parse(out, text, length))
        return true;
    bool commas = dialect->decimal == ',' || (dialect->decimal == 0 && dialect->separator != ',');
    return commas && comma_number(out, text, length);
}

static vg_status wrong(const vg_lines *lines, size_t column, const char *text, size_t length, const char *reason) {
    return vg_base__fail(VG_ERR_FORMAT, "%s: line %zu, column %zu: '%.*s' %s", lines->source->path, lines->number,
                         column + 1, (int)(length > 60 ? 60 : length), text, reason);
}

/* Fails: the field's decimal mark differs from the table's. */
static vg_status mixed(const vg_csv_dialect *dialect, const vg_lines *lines, size_t column, const char *text,
                       size_t length) {
    char reason[200];
    bool comma = dialect->decimal == ',';
    snprintf(reason, sizeof reason, "has a decimal %s, but line %zu a %s; say which it is: --decimal %s",
             comma ? "point" : "comma", dialect->line, comma ? "comma" : "point", comma ? "comma" : "point");
    return wrong(lines, column, text, length, reason);
}

vg_status vg_csv__number(vg_csv_dialect *dialect, const vg_lines *lines, size_t column, const char *text, size_t length,
                         double *out) {
    bool pointed = dialect->separator != ',' && !dialect->given && memchr(text, '.', length) != NULL;
    if (dialect->decimal != ',' && vg_number__parse(out, text, length)) {
        if (pointed && dialect->decimal == 0)
            dialect->decimal = '.', dialect->line = lines->number;
        return VG_OK;
    }
    if (dialect->decimal == ',' && !memchr(text, '.', length) && vg_number__parse(out, text, length))
        return VG_OK;
    if (dialect->decimal == ',' && pointed && vg_number__parse(out, text, length))
        return mixed(dialect, lines, column, text, length);
    if (!comma_number(out, text, length))
        return wrong(lines, column, text, length, "is not a number");
    if (dialect->separator == ',' && dialect->decimal == 0)
        return wrong(lines, column, text, length, "has a comma; if that is its decimal mark, give --decimal comma");
    if (dialect->decimal == '.')
        return dialect->given
                   ? wrong(lines, column, text, length, "is not a number: --decimal says that it has a point")
                   : mixed(dialect, lines, column, text, length);
    if (dialect->decimal == 0)
        dialect->decimal = ',', dialect->line = lines->number;
    if (!may_be_thousands(text, length))
        dialect->sure = true;
    else if (dialect->unsure_line == 0)
        dialect->unsure_line = lines->number;
    return VG_OK;
}

vg_status vg_csv__check_decimals(const vg_csv_dialect *dialect, const vg_source *source) {
    if (dialect->given || dialect->sure || dialect->unsure_line == 0)
        return VG_OK;
    return vg_base__fail(VG_ERR_FORMAT,
                         "%s: line %zu: its comma may be a decimal mark or separate thousands; say which it is: "
                         "--decimal comma, or write the numbers without thousands",
                         source->path, dialect->unsure_line);
}

/* --- the separator ------------------------------------------------------------------------------------------------ */
/* Whether a field holds digits, signs, points and separators only, at least one separator, and is not a number with
 * a decimal comma: two fields that a wrong separator left together. */
static bool is_unsplit(const char *text, size_t length) {
    double number;
    size_t marks = 0;
    for (size_t i = 0; i < length; i++) {
        if (!strchr("0123456789+-.eE,;\t ", text[i]) || text[i] == '\0')
            return false;
        marks += text[i] == ',' || text[i] == ';' || text[i] == '\t';
    }
    return marks > 0 && !comma_number(&number, text, length);
}

/* Whether the separator splits the first lines into equally many fields, at least two. */
static bool are_even(vg_lines *lines, char separator) {
    size_t first = 0;
    for (size_t row = 0; row < LOOK_LINES && vg_lines__next(lines); row++) {
        size_t at = 0, count = 0;
        for (; at <= lines->length; count++) {
            const char *text;
            size_t length;
            if (vg_csv__field(lines, separator, &at, &text, &length) != VG_OK || is_unsplit(text, length))
                return false;
        }
        first = row == 0 ? count : first;
        if (count != first || count < 2)
            return false;
    }
    return true;
}

static bool splits_evenly(const vg_source *source, char separator) {
    vg_lines lines = {.source = source, .keep_tabs = separator == '\t'};
    bool even = are_even(&lines, separator);
    vg_base__release(lines.field);
    return even;
}

/* Whether the character is in the line outside quotes. */
static bool occurs(const vg_lines *line, char wanted) {
    bool quoted = false;
    for (size_t i = 0; i < line->length; i++) {
        quoted ^= line->text[i] == '"';
        if (!quoted && line->text[i] == wanted)
            return true;
    }
    return false;
}

/* Two numbers or more with blanks between them and nothing else. */
static bool is_spaced(const vg_lines *line) {
    size_t at = 0, count = 0;
    for (; at <= line->length; count++) {
        const char *text;
        size_t length;
        double number;
        spaced_field(line, &at, &text, &length);
        if (!vg_number__parse(&number, text, length))
            return false;
    }
    return count > 1;
}

static const char *name_of(char separator) { return separator == '\t' ? "tab" : separator == ';' ? "';'" : "','"; }

static vg_status detect_separator(char *out, const vg_source *source) {
    static const char candidates[] = {',', ';', '\t'};
    vg_lines line = {.source = source};
    char found[3] = "", even[3] = "";
    size_t found_count = 0, even_count = 0;
    *out = ',';
    if (!vg_lines__next(&line))
        return VG_OK;
    for (size_t i = 0; i < sizeof candidates; i++)
        if (occurs(&line, candidates[i]))
            found[found_count++] = candidates[i];
    if (found_count < 2) {
        *out = found_count ? found[0] : is_spaced(&line) ? ' ' : ',';
        return VG_OK;
    }
    for (size_t i = 0; i < found_count; i++)
        if (splits_evenly(source, found[i]))
            even[even_count++] = found[i];
    if (even_count > 1)
        return vg_base__fail(VG_ERR_FORMAT,
                             "%s: its fields may be separated by %s or by %s; say which it is: --separator %s",
                             source->path, name_of(even[0]), name_of(even[1]), name_of(even[1]));
    *out = even_count == 1 ? even[0] : found[0];
    return VG_OK;
}

vg_status vg_csv__detect(vg_csv_dialect *out, const vg_source *source) {
    const vg_roles *roles = &source->roles;
    *out = (vg_csv_dialect){.separator = roles->separator, .decimal = roles->decimal, .given = roles->decimal != 0};
    if (out->separator == 0 && (vg_names__ends_with(source->name, ".tsv") || vg_names__ends_with(source->name, ".tab")))
        out->separator = '\t';
    return out->separator ? VG_OK : detect_separator(&out->separator, source);
}
