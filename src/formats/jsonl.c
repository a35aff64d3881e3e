/* jsonl.c - predictions and labels as one JSON object per line.
 *
 *     {"id": ..., "p": [[.7, .2, .1], [.6, .3, .1]], "label": 0}
 *
 * json_records.c describes the keys. "classes" in the first line names the classes. Every line must have the same
 * keys and shapes. */
#include "base/json_text.h"
#include "formats/json_records.h"

static vg_status read_line(vg_json_records *r, const vg_lines *lines) {
    if (lines->length > VG_JSON_LIMIT)
        return vg_base__fail(VG_ERR_FORMAT, "%s: line %zu has %zu bytes, at most %d can be read", r->source->path,
                             r->number, lines->length, VG_JSON_LIMIT);
    json_error_t error;
    json_t *object = vg_base__json_load(lines->text, lines->length, JSON_REJECT_DUPLICATES | VG_JSON_INFINITY, &error);
    if (!object)
        return vg_base__fail(vg_base__json_no_memory(&error) ? VG_ERR_MEMORY : VG_ERR_FORMAT,
                             "%s: line %zu, column %d: %s", r->source->path, r->number, error.position, error.text);
    vg_status status = json_is_object(object) ? vg_json__add_record(r, object)
                                              : vg_base__fail(VG_ERR_FORMAT, "%s: line %zu: is not a JSON object",
                                                              r->source->path, r->number);
    json_decref(object);
    return status;
}

static vg_status read_lines(vg_json_records *r) {
    vg_lines lines = {.source = r->source};
    while (vg_lines__next(&lines)) {
        r->number = lines.number;
        VG_TRY(read_line(r, &lines));
    }
    if (r->count == 0)
        return vg_base__fail(VG_ERR_FORMAT, "%s: holds only blank lines", r->source->path);
    return vg_json__finish(r);
}

vg_status vg_jsonl__read(vg_source *source) {
    vg_json_records r = {.source = source, .unit = "line"};
    vg_status status = read_lines(&r);
    vg_json__free(&r);
    return status;
}
