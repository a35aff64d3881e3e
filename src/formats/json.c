/* json.c - predictions and labels in one JSON document.
 *
 *     [[[.7, .3], [.6, .4]], ...]                        a list of samples, each a list of members or of classes
 *     [{"id": ..., "p": [[...]], "label": 0}, ...]       a list of objects as in .jsonl
 *     {"p": [...], "label": [...], "classes": [...]}     an object of such lists
 *     {"choices": [...], ...}                            one response of a language model (answers.h), a single sample
 *
 * The document is never parsed whole: the ends of lists, objects and texts are found by their brackets, without
 * recursion, and each sample is parsed by itself, at most 64 MiB of it. */
#include <string.h>

#include "base/json_text.h"
#include "formats/answers.h"
#include "formats/json_records.h"

typedef struct span {
    size_t begin, end;
} span;

typedef struct cursor {
    const vg_source *source;
    size_t at;
    bool begun; /* an entry of the current container was read */
} cursor;

static char peek(cursor *c) {
    const vg_mapping *map = &c->source->map;
    while (c->at < map->size && memchr(" \t\r\n", map->bytes[c->at], 4))
        c->at++;
    return c->at < map->size ? (char)map->bytes[c->at] : '\0';
}

static vg_status bad(const cursor *c, const char *expected) {
    const vg_mapping *map = &c->source->map;
    if (c->at >= map->size)
        return vg_base__fail(VG_ERR_FORMAT, "%s: ends after %zu bytes, expected %s", c->source->path, map->size,
                             expected);
    unsigned char found = map->bytes[c->at];
    return vg_base__fail(VG_ERR_FORMAT, "%s: byte %zu: expected %s, found '%c'", c->source->path, c->at, expected,
                         found >= 32 && found < 127 ? found : '?');
}

/* Moves past the closing quote of the text that begins here. */
static vg_status skip_text(cursor *c) {
    const vg_mapping *map = &c->source->map;
    for (c->at++; c->at < map->size && map->bytes[c->at] != '"'; c->at++)
        c->at += map->bytes[c->at] == '\\';
    if (c->at >= map->size) {
        c->at = map->size;
        return bad(c, "a closing quote");
    }
    c->at++;
    return VG_OK;
}

/* Moves past the value that begins here. Brackets are counted, not matched; the parser of the value matches them. */
static vg_status skip_value(cursor *c, span *out) {
    const vg_mapping *map = &c->source->map;
    size_t depth = 0;
    peek(c);
    out->begin = c->at;
    while (c->at < map->size) {
        char here = (char)map->bytes[c->at];
        if (here == '"') {
            VG_TRY(skip_text(c));
        } else if (here == '[' || here == '{') {
            depth++;
            c->at++;
        } else if (depth > 0 && (here == ']' || here == '}')) {
            depth--;
            c->at++;
        } else if (depth == 0 && strchr(",]} \t\r\n", here)) {
            break;
        } else {
            c->at++;
            continue;
        }
        if (depth == 0)
            break;
    }
    out->end = c->at;
    if (depth > 0)
        return bad(c, "a closing bracket");
    return out->end > out->begin ? VG_OK : bad(c, "a value");
}

/* Moves to the next entry of a list or an object whose opening bracket was passed; *more is false after its end. */
static vg_status next_entry(cursor *c, char close, bool *more) {
    char here = peek(c);
    *more = here != close;
    if (here == close) {
        c->at++;
        return VG_OK;
    }
    if (c->begun && here != ',')
        return bad(c, close == ']' ? "',' or ']'" : "',' or '}'");
    if (c->begun)
        c->at++;
    c->begun = true;
    peek(c);
    return VG_OK;
}

static vg_status parse(json_t **out, const vg_source *source, span s) {
    if (s.end - s.begin > VG_JSON_LIMIT)
        return vg_base__fail(VG_ERR_FORMAT, "%s: byte %zu: a value has %zu bytes, at most %d can be read", source->path,
                             s.begin, s.end - s.begin, VG_JSON_LIMIT);
    json_error_t error;
    *out = vg_base__json_load((const char *)source->map.bytes + s.begin, s.end - s.begin,
                              JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | VG_JSON_INFINITY, &error);
    if (!*out)
        return vg_base__fail(vg_base__json_no_memory(&error) ? VG_ERR_MEMORY : VG_ERR_FORMAT, "%s: byte %zu: %s",
                             source->path, s.begin + (size_t)error.position, error.text);
    return VG_OK;
}

/* --- lists -------------------------------------------------------------------------------------------------------- */
typedef vg_status (*entry_reader)(vg_json_records *r, json_t *value);

/* Reads each entry of the list that begins at `begin`; *end is the offset after it. */
static vg_status each_entry(vg_json_records *r, size_t begin, entry_reader read, size_t *end) {
    cursor c = {.source = r->source, .at = begin + 1};
    size_t forgotten = begin;
    r->count = 0;
    for (bool more = true;;) {
        VG_TRY(next_entry(&c, ']', &more));
        if (!more)
            break;
        span s;
        json_t *value;
        VG_TRY(skip_value(&c, &s));
        VG_TRY(parse(&value, r->source, s));
        r->number = r->count;
        vg_status status = read(r, value);
        json_decref(value);
        VG_TRY(status);
        r->count++;
        if (c.at - forgotten > (size_t)16 << 20) {
            vg_file__forget(&r->source->map, forgotten, c.at - forgotten);
            forgotten = c.at;
        }
    }
    *end = c.at;
    return VG_OK;
}

static vg_status read_values(vg_json_records *r, json_t *value) { return vg_json__add_values(r, value, r->logits); }
static vg_status read_label(vg_json_records *r, json_t *value) { return vg_json__add_label(r, value); }
static vg_status read_id(vg_json_records *r, json_t *value) { return vg_json__add_id(r, value); }

/* An entry of a document that is a list. */
static vg_status read_sample(vg_json_records *r, json_t *value) {
    bool labels = r->source->roles.labels_only && !json_is_object(value);
    if (json_is_object(value)) {
        VG_TRY(vg_json__add_record(r, value));
        r->count--; /* each_entry counts it */
        return VG_OK;
    }
    if (r->count == 0)
        r->has_values = !labels, r->has_labels = labels;
    if (labels)
        return vg_json__add_label(r, value);
    if (!json_is_array(value) || !r->has_values || r->has_labels)
        return vg_base__fail(VG_ERR_FORMAT,
                             "%s: sample %zu is neither a list of members or classes nor an object, as all must be",
                             r->source->path, r->number);
    return vg_json__add_values(r, value, false);
}

/* --- an object of lists ------------------------------------------------------------------------------------------- */
typedef struct column_counts {
    size_t values, labels, ids;
} column_counts;

/* A table of columns, as pandas.DataFrame.to_json writes it: refused with the lines that make a .csv of it. */
static vg_status refuse_table(const vg_source *source, const char *found) {
    const char *slash = strrchr(source->path, '/'), *base = slash ? slash + 1 : source->path;
    size_t length = strlen(base), ending = length > 5 ? length - 5 : length; /* without .json */
    return vg_base__fail(VG_ERR_FORMAT,
                         "%s: holds no predictions: %s; if it is a table that pandas wrote, convert it in Python: "
                         "t = pandas.read_json(\"%.100s\"); t.to_csv(\"%.*s.csv\", index=False)",
                         source->path, found, base, (int)(ending > 100 ? 100 : ending), base);
}

static vg_status read_list(vg_json_records *r, span s, entry_reader read, const char *key, size_t *count) {
    size_t end;
    if (r->source->map.bytes[s.begin] == '{')
        return refuse_table(r->source, "its keys hold objects, not lists");
    if (r->source->map.bytes[s.begin] != '[')
        return vg_base__fail(VG_ERR_FORMAT, "%s: '%.60s' is not a list", r->source->path, key);
    VG_TRY(each_entry(r, s.begin, read, &end));
    *count = r->count;
    return VG_OK;
}

static vg_status read_column(vg_json_records *r, const char *key, span s, column_counts *counts) {
    const vg_roles *roles = &r->source->roles;
    vg_json_role role = vg_json__role(roles, key);
    bool values = role == VG_JSON_PROBABILITIES || role == VG_JSON_LOGITS, labels = role == VG_JSON_LABEL;
    if (role == VG_JSON_OTHER || (values && roles->labels_only))
        return VG_OK;
    if ((values && r->has_values) || (labels && r->has_labels) || (role == VG_JSON_ID && counts->ids))
        return vg_base__fail(VG_ERR_FORMAT, "%s: '%.60s': holds predictions, labels or ids under two keys",
                             r->source->path, key);
    if (values) {
        r->has_values = true;
        r->logits = role == VG_JSON_LOGITS;
        return read_list(r, s, read_values, key, &counts->values);
    }
    if (labels) {
        r->has_labels = true;
        return read_list(r, s, read_label, key, &counts->labels);
    }
    if (role == VG_JSON_ID)
        return read_list(r, s, read_id, key, &counts->ids);
    json_t *names;
    VG_TRY(parse(&names, r->source, s));
    vg_status status = vg_json__add_class_names(r, names);
    json_decref(names);
    return status;
}

static vg_status check_counts(vg_json_records *r, const column_counts *counts) {
    const char *path = r->source->path;
    if (!r->has_values && !r->has_labels)
        return vg_base__fail(VG_ERR_FORMAT,
                             "%s: holds no predictions: none of its keys is p, probs, z, logits or label; name "
                             "another: --key NAME",
                             path);
    r->count = r->has_values ? counts->values : counts->labels;
    if (r->has_labels && counts->labels != r->count)
        return vg_base__fail(VG_ERR_FORMAT, "%s: %zu labels for %zu samples", path, counts->labels, r->count);
    if (r->has_ids && counts->ids != r->count)
        return vg_base__fail(VG_ERR_FORMAT, "%s: %zu ids for %zu samples", path, counts->ids, r->count);
    return VG_OK;
}

/* Finds the next key of an object and its value; *key is NULL after the last one, else the caller's. */
static vg_status next_key(cursor *c, json_t **key, span *value) {
    span name;
    bool more;
    *key = NULL;
    VG_TRY(next_entry(c, '}', &more));
    if (!more)
        return VG_OK;
    if (peek(c) != '"')
        return bad(c, "a key in quotes");
    VG_TRY(skip_value(c, &name));
    if (peek(c) != ':')
        return bad(c, "':'");
    c->at++;
    VG_TRY(skip_value(c, value));
    return parse(key, c->source, name);
}

/* Whether the object that begins at `begin` is one answer, not columns. */
static vg_status find_answer(const vg_source *source, size_t begin, bool *answer) {
    cursor c = {.source = source, .at = begin + 1};
    bool values = false;
    *answer = false;
    json_t *key;
    span value;
    VG_TRY(next_key(&c, &key, &value));
    while (key) {
        vg_json_role role = vg_json__role(&source->roles, json_string_value(key));
        values = values || role == VG_JSON_PROBABILITIES || role == VG_JSON_LOGITS;
        *answer = *answer || vg_answers__is_key(json_string_value(key));
        json_decref(key);
        VG_TRY(next_key(&c, &key, &value));
    }
    *answer = *answer && !values && !source->roles.labels_only;
    return VG_OK;
}

static vg_status read_answer(vg_json_records *r, size_t *end) {
    cursor c = {.source = r->source, .at = *end};
    span whole;
    json_t *object;
    VG_TRY(skip_value(&c, &whole));
    VG_TRY(parse(&object, r->source, whole));
    vg_status status = vg_json__add_record(r, object);
    json_decref(object);
    *end = c.at;
    return status;
}

static vg_status read_object(vg_json_records *r, size_t *end) {
    cursor c = {.source = r->source, .at = *end + 1};
    column_counts counts = {0};
    bool answer;
    VG_TRY(find_answer(r->source, *end, &answer));
    if (answer)
        return read_answer(r, end);
    json_t *key;
    span value;
    VG_TRY(next_key(&c, &key, &value));
    while (key) {
        vg_status status = read_column(r, json_string_value(key), value, &counts);
        json_decref(key);
        VG_TRY(status);
        VG_TRY(next_key(&c, &key, &value));
    }
    *end = c.at;
    return check_counts(r, &counts);
}

static vg_status read_document(vg_json_records *r) {
    const vg_mapping *map = &r->source->map;
    cursor c = {.source = r->source};
    if (map->size >= 3 && memcmp(map->bytes, "\xef\xbb\xbf", 3) == 0)
        c.at = 3;
    char first = peek(&c);
    if (first == '[')
        VG_TRY(each_entry(r, c.at, read_sample, &c.at));
    else if (first == '{')
        VG_TRY(read_object(r, &c.at));
    else
        return bad(&c, "'[' or '{'");
    if (peek(&c) != '\0' || c.at < map->size)
        return bad(&c, "nothing after the document; if it has one object per line, name it .jsonl");
    if (r->count == 0)
        return vg_base__fail(VG_ERR_FORMAT, "%s: holds no samples", r->source->path);
    if (!r->has_values && !r->source->roles.labels_only)
        return refuse_table(r->source, "its samples have no key p or z (--key names another)");
    return vg_json__finish(r);
}

vg_status vg_json__read(vg_source *source) {
    vg_json_records r = {.source = source, .unit = "sample"};
    vg_status status = read_document(&r);
    vg_json__free(&r);
    return status;
}
