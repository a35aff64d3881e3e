/* image_table.c - a CSV or TSV that names image files, their labels and, optionally, their splits.
 *
 *     file,label,split          names of the columns, in any order; further columns are ignored
 *     photos/1.jpg,cat,train    file (or path, image, filename): relative to the folder of the table
 *     "photos/2, b.jpg",dog,val label (or class): any text; split: train, val (valid, validation) or test
 *
 * Fields may be quoted, a quote within them doubled. Fields of a .csv are separated by commas, or by semicolons where
 * the first line has no comma; those of a .tsv by tabs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/file.h"
#include "data/image_list.h"

enum { COLUMNS = 256, FIELD = 8192, PATH = 4096 };

typedef enum split { SPLIT_TRAIN, SPLIT_VAL, SPLIT_TEST } split;

typedef struct table {
    const char *path;
    const uint8_t *at, *end;
    char separator;
    size_t line;            /* of the record last read, from 1 */
    size_t next_line;       /* where the next record begins */
    char *text;             /* FIELD bytes: the fields of a record, each with its NUL */
    size_t starts[COLUMNS]; /* in text */
    size_t fields;
    ptrdiff_t file, label, split; /* columns, or -1 */
    size_t columns;
} table;

bool vg_image_list__is_table(const char *path) {
    size_t length = strlen(path);
    return length > 4 && (strcasecmp(path + length - 4, ".csv") == 0 || strcasecmp(path + length - 4, ".tsv") == 0);
}

/* Reads one field to text[*used] and moves `at` past its separator. *more: another field of the record follows. */
static vg_status take_field(table *t, size_t *used, bool *more) {
    bool quoted = t->at < t->end && *t->at == '"';
    t->at += quoted;
    for (*more = false;;) {
        if (t->at == t->end) {
            if (quoted)
                return vg_base__fail(VG_ERR_FORMAT, "%s: line %zu: a quoted field does not end", t->path, t->line);
            break;
        }
        uint8_t c = *t->at++;
        if (quoted && c == '"') {
            if (t->at < t->end && *t->at == '"') {
                t->at++;
            } else {
                quoted = false;
                continue;
            }
        } else if (!quoted && (c == (uint8_t)t->separator || c == '\n')) {
            *more = c != '\n';
            t->next_line += c == '\n';
            break;
        } else if (!quoted && c == '\r' && t->at < t->end && *t->at == '\n') {
            continue;
        }
        t->next_line += c == '\n';
        if (c == 0 || *used + 2 > FIELD)
            return vg_base__fail(VG_ERR_FORMAT, "%s: line %zu: %s", t->path, t->line,
                                 c == 0 ? "a NUL byte; text expected" : "is too long");
        t->text[(*used)++] = (char)c;
    }
    t->text[(*used)++] = 0;
    return VG_OK;
}

/* The next record that is not an empty line; *got is false at the end. */
static vg_status take_record(table *t, bool *got) {
    *got = false;
    while (t->at < t->end) {
        size_t used = 0;
        bool more = true;
        t->line = t->next_line;
        for (t->fields = 0; more; t->fields++) {
            if (t->fields == COLUMNS)
                return vg_base__fail(VG_ERR_FORMAT, "%s: line %zu: more than %d fields", t->path, t->line, COLUMNS);
            t->starts[t->fields] = used;
            VG_TRY(take_field(t, &used, &more));
        }
        if (t->fields > 1 || t->text[0]) {
            *got = true;
            return VG_OK;
        }
    }
    return VG_OK;
}

static const char *field(const table *t, ptrdiff_t column) { return t->text + t->starts[column]; }

static ptrdiff_t find_column(const table *t, const char *const *words) {
    for (size_t w = 0; words[w]; w++)
        for (size_t i = 0; i < t->fields; i++)
            if (strcasecmp(field(t, (ptrdiff_t)i), words[w]) == 0)
                return (ptrdiff_t)i;
    return -1;
}

static vg_status take_header(table *t) {
    static const char *const files[] = {"file", "path", "image", "filename", "file_name", NULL};
    static const char *const labels[] = {"label", "class", NULL}, *const splits[] = {"split", "part", NULL};
    if (t->end - t->at >= 3 && memcmp(t->at, "\xef\xbb\xbf", 3) == 0) /* a byte order mark */
        t->at += 3;
    const uint8_t *line = memchr(t->at, '\n', (size_t)(t->end - t->at));
    size_t length = (size_t)((line ? line : t->end) - t->at);
    if (t->separator == ',' && !memchr(t->at, ',', length) && memchr(t->at, ';', length))
        t->separator = ';';
    bool got;
    VG_TRY(take_record(t, &got));
    t->file = got ? find_column(t, files) : -1;
    if (t->file < 0)
        return vg_base__fail(VG_ERR_FORMAT,
                             "%s: line 1 names no column 'file' (or path, image, filename); file, label and split are "
                             "read",
                             t->path);
    t->label = find_column(t, labels);
    t->split = find_column(t, splits);
    t->columns = t->fields;
    return VG_OK;
}

static vg_status split_of(split *out, const table *t) {
    static const struct {
        const char *word;
        split split;
    } words[] = {{"train", SPLIT_TRAIN}, {"training", SPLIT_TRAIN}, {"val", SPLIT_VAL},
                 {"valid", SPLIT_VAL},   {"validation", SPLIT_VAL}, {"test", SPLIT_TEST}};
    const char *text = t->split < 0 ? "train" : field(t, t->split);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcasecmp(text, words[i].word) == 0) {
            *out = words[i].split;
            return VG_OK;
        }
    return vg_base__fail(VG_ERR_FORMAT, "%s: line %zu: split '%.60s', expected train, val or test", t->path, t->line,
                         text);
}

/* Adds the current record. `held` holds the split until the part is chosen. */
static vg_status take_entry(vg_image_list *list, const table *t) {
    char path[PATH];
    split where = SPLIT_TRAIN;
    if (t->fields != t->columns)
        return vg_base__fail(VG_ERR_FORMAT, "%s: line %zu: %zu fields, line 1 has %zu", t->path, t->line, t->fields,
                             t->columns);
    const char *file = field(t, t->file), *slash = strrchr(t->path, '/');
    size_t folder = file[0] == '/' || !slash ? 0 : (size_t)(slash + 1 - t->path);
    if (!file[0])
        return vg_base__fail(VG_ERR_FORMAT, "%s: line %zu: names no file", t->path, t->line);
    if (t->label >= 0 && !field(t, t->label)[0])
        return vg_base__fail(VG_ERR_FORMAT, "%s: line %zu: has no label", t->path, t->line);
    int length = snprintf(path, sizeof path, "%.*s%s", (int)folder, t->path, file);
    if (length <= 0 || length >= PATH)
        return vg_base__fail(VG_ERR_FORMAT, "%s: line %zu: the name of the file is too long", t->path, t->line);
    VG_TRY(split_of(&where, t));
    VG_TRY(vg_image_list__add(list, path, t->label < 0 ? NULL : field(t, t->label), false, t->line));
    list->entries[list->count - 1].held = (unsigned char)where;
    return VG_OK;
}

static int by_path(const void *a, const void *b) {
    const vg_image_entry *x = *(vg_image_entry *const *)a, *y = *(vg_image_entry *const *)b;
    int order = strcmp(x->path, y->path);
    return order ? order : x->line < y->line ? -1 : x->line > y->line;
}

/* A file in two splits, or with two labels, would make the figures meaningless. */
static vg_status check_repeats(const vg_image_list *list, const char *path) {
    const vg_image_entry **order;
    vg_status status = VG_OK;
    VG_TRY(vg_base__alloc(&order, list->count, sizeof *order, "names of images"));
    for (size_t i = 0; i < list->count; i++)
        order[i] = &list->entries[i];
    qsort(order, list->count, sizeof *order, by_path);
    for (size_t i = 1; i < list->count && status == VG_OK; i++) {
        const vg_image_entry *a = order[i - 1], *b = order[i];
        if (strcmp(a->path, b->path) != 0)
            continue;
        if (a->held != b->held || (a->class && strcmp(a->class, b->class) != 0))
            status = vg_base__fail(VG_ERR_DATA, "%s: line %zu: %s is in line %zu already, with another %s", path,
                                   b->line, b->path, a->line, a->held != b->held ? "split" : "label");
    }
    vg_base__release(order);
    return status;
}

/* Keeps the entries of the part in the list. */
static vg_status choose_part(vg_image_list *list, const char *path, vg_part part, bool one_part) {
    size_t count[3] = {0}, kept = 0;
    for (size_t i = 0; i < list->count; i++)
        count[list->entries[i].held]++;
    bool test = !one_part && (part == VG_PART_TEST || (part == VG_PART_ANY && count[SPLIT_TEST] > 0));
    if (test ? count[SPLIT_TEST] == 0 : count[SPLIT_TRAIN] == 0)
        return vg_base__fail(VG_ERR_ARGUMENT, "%s: its column split has no '%s'", path, test ? "test" : "train");
    for (size_t i = 0; i < list->count; i++) {
        vg_image_entry entry = list->entries[i];
        if (test != (entry.held == SPLIT_TEST)) {
            free(entry.path);
            free(entry.class);
            continue;
        }
        entry.held = entry.held == SPLIT_VAL;
        list->fixed_split = list->fixed_split || entry.held;
        list->entries[kept++] = entry;
    }
    list->count = kept;
    return VG_OK;
}

static vg_status read_table(vg_image_list *list, table *t) {
    bool got;
    if (t->at == t->end)
        return vg_base__fail(VG_ERR_FORMAT, "%s: is empty, names of columns expected in its first line", t->path);
    VG_TRY(take_header(t));
    for (;;) {
        VG_TRY(take_record(t, &got));
        if (!got)
            break;
        VG_TRY(take_entry(list, t));
    }
    if (list->count == 0)
        return vg_base__fail(VG_ERR_FORMAT, "%s: names no files below its first line", t->path);
    return check_repeats(list, t->path);
}

vg_status vg_image_list__table(vg_image_list *list, bool *one_part, const char *path, vg_part part) {
    vg_mapping mapping;
    table t = {.path = path, .next_line = 1};
    VG_TRY(vg_file__map(&mapping, path));
    t.at = mapping.bytes, t.end = t.at + mapping.size;
    t.separator = strcasecmp(path + strlen(path) - 4, ".tsv") == 0 ? '\t' : ',';
    vg_status status = vg_base__alloc(&t.text, FIELD, 1, "a line of a table");
    if (status == VG_OK)
        status = read_table(list, &t);
    vg_base__release(t.text);
    vg_file__unmap(&mapping);
    VG_TRY(status);
    *one_part = t.split < 0;
    return choose_part(list, path, part, *one_part);
}
