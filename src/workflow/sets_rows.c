/* sets_rows.c - prediction sets in a file. See prediction_set_rows.h. */
#include "workflow/prediction_set_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/arrays.h"

static size_t mask_bytes(const vg_set_rows *r) { return vg_sets__mask_bytes(r->sets); }

size_t vg_set_rows__classes(uint32_t *order, const uint8_t *mask, const double *value, size_t classes) {
    size_t count = 0;
    for (size_t c = 0; c < classes; c++)
        if (mask[c / 8] >> (7 - c % 8) & 1) {
            size_t at = count++;
            for (; at > 0 && value && value[order[at - 1]] < value[c]; at--)
                order[at] = order[at - 1];
            order[at] = (uint32_t)c;
        }
    return count;
}

/* --- opening ------------------------------------------------------------------------------------------------------ */
static vg_status make_places(vg_set_rows *r, size_t rows) {
    size_t C = r->sets->shown.classes, A = r->sets->shown.alpha_count, values, sets;
    if (!vg_base__mul(&values, rows, C) || !vg_base__mul(&sets, rows, A))
        return vg_base__fail(VG_ERR_MEMORY, "sets of %zu samples do not fit in memory", rows);
    r->places = (vg_set_places)VG_SET_PLACES_INIT;
    VG_TRY(vg_base__alloc(&r->places.mask, sets, mask_bytes(r), "sets"));
    VG_TRY(vg_base__alloc(&r->places.size, sets, sizeof *r->places.size, "sizes of sets"));
    if (!r->sets->shown.multilabel)
        VG_TRY(vg_base__alloc(&r->places.pred, rows, sizeof *r->places.pred, "predicted classes"));
    if (r->wants_p)
        VG_TRY(vg_base__alloc(&r->places.p_value, values, sizeof *r->places.p_value, "p-values"));
    if (r->text)
        VG_TRY(vg_base__alloc(&r->places.value, values, sizeof *r->places.value, "means"));
    return vg_base__alloc(&r->order, C, sizeof *r->order, "classes of a set");
}

static void put_heading(const vg_set_rows *r) {
    const vg_sets *s = &r->sets->shown;
    char name[64], at[VG_NAME_SIZE + 1] = "";
    vg_text_rows__put(r->text, s->multilabel ? "id" : "id,pred");
    for (size_t a = 0; a < s->alpha_count; a++) {
        if (s->alpha_count > 1) {
            at[0] = '@';
            vg_k_name(at + 1, s->alphas[a]);
        }
        const char *columns[] = {s->multilabel ? NULL : "decision", "size", "set",
                                 r->file.names.classes ? "set_names" : NULL};
        for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
            snprintf(name, sizeof name, ",%s%s", columns[i] ? columns[i] : "", at);
            vg_text_rows__put(r->text, columns[i] ? name : "");
        }
    }
    for (size_t c = 0; r->wants_p && c < s->classes; c++) {
        snprintf(name, sizeof name, ",p_%zu", c);
        vg_text_rows__put(r->text, name);
    }
    vg_text_rows__put(r->text, "\n");
}

static vg_status open_file(vg_set_rows *r, const char *path) {
    VG_TRY(vg_score_writer__open(&r->file, path, VG_PRODUCT_SETS));
    r->open = true;
    if (r->file.kind == VG_FILE_ARRAYS)
        return VG_OK;
    r->text = malloc(sizeof *r->text);
    if (!r->text)
        return vg_base__fail(VG_ERR_MEMORY, "out of memory for the output");
    r->text->out = r->file.text;
    r->text->status = VG_OK;
    r->text->used = 0;
    return VG_OK;
}

vg_status vg_set_rows__open(vg_set_rows *r, const char *path, const vg_sets_data *sets, size_t n, size_t block) {
    *r = (vg_set_rows){.sets = sets, .n = n, .block = block, .wants_p = path && sets->p_values};
    if (path)
        VG_TRY(open_file(r, path));
    return make_places(r, path && !r->text ? n : block);
}

vg_set_places vg_set_rows__at(const vg_set_rows *r, size_t first) {
    vg_set_places at = r->places;
    size_t A = r->sets->shown.alpha_count, C = r->sets->shown.classes;
    if (!r->open || r->text)
        return at;
    at.mask += first * A * mask_bytes(r);
    at.size += first * A;
    at.pred = at.pred ? at.pred + first : NULL;
    at.p_value = at.p_value ? at.p_value + first * C : NULL;
    return at;
}

/* --- rows of text ------------------------------------------------------------------------------------------------- */
/* The class of a set that holds one. */
static long long decision_of(const vg_set_rows *r, int32_t size) {
    return size == 1 ? (long long)r->order[0] : size < 0 ? VG_DECISION_LEFT_OUT : -1;
}

static void put_json_set(const vg_set_rows *r, size_t a, int32_t size, bool names) {
    size_t count = size > 0 ? (size_t)size : 0;
    vg_text_rows *t = r->text;
    vg_text_rows__put(t, a ? ",{\"alpha\":" : "{\"alpha\":");
    vg_text_rows__real(t, r->sets->alphas[a], true);
    if (!r->sets->shown.multilabel) {
        vg_text_rows__put(t, ",\"decision\":");
        vg_text_rows__int(t, decision_of(r, size));
    }
    vg_text_rows__put(t, ",\"size\":");
    vg_text_rows__int(t, size);
    vg_text_rows__put(t, ",\"classes\":[");
    for (size_t i = 0; i < count; i++) {
        vg_text_rows__put(t, i ? "," : "");
        vg_text_rows__int(t, r->order[i]);
    }
    vg_text_rows__put(t, names ? "],\"names\":[" : "]");
    for (size_t i = 0; names && i < count; i++) {
        vg_text_rows__put(t, i ? "," : "");
        vg_row_names__put_class(t, &r->file.names, (int32_t)r->order[i], true);
    }
    vg_text_rows__put(t, names ? "]}" : "}");
}

static void put_csv_set(const vg_set_rows *r, int32_t size, bool names) {
    size_t count = size > 0 ? (size_t)size : 0;
    vg_text_rows *t = r->text;
    if (!r->sets->shown.multilabel) {
        vg_text_rows__put(t, ",");
        vg_text_rows__int(t, decision_of(r, size));
    }
    vg_text_rows__put(t, ",");
    vg_text_rows__int(t, size);
    vg_text_rows__put(t, ",");
    for (size_t i = 0; i < count; i++) {
        vg_text_rows__put(t, i ? " " : "");
        vg_text_rows__int(t, r->order[i]);
    }
    if (names) {
        vg_text_rows__put(t, ",");
        vg_row_names__put_classes(t, &r->file.names, r->order, count);
    }
}

static void put_row(const vg_set_rows *r, size_t sample, size_t i) {
    const vg_sets *s = &r->sets->shown;
    vg_text_rows *t = r->text;
    bool json = r->file.kind == VG_FILE_JSONL, names = r->file.names.classes != NULL;
    size_t A = s->alpha_count, C = s->classes;
    vg_text_rows__put(t, json ? "{\"id\":" : "");
    vg_row_names__put_id(t, &r->file.names, sample, json);
    if (r->places.pred) {
        vg_text_rows__put(t, json ? ",\"pred\":" : ",");
        vg_text_rows__int(t, r->places.pred[i]);
    }
    vg_text_rows__put(t, json ? ",\"sets\":[" : "");
    for (size_t a = 0; a < A; a++) {
        int32_t size = r->places.size[i * A + a];
        vg_set_rows__classes(r->order, r->places.mask + (i * A + a) * mask_bytes(r), r->places.value + i * C, C);
        json ? put_json_set(r, a, size, names) : put_csv_set(r, size, names);
    }
    vg_text_rows__put(t, json ? "]" : "");
    if (r->wants_p && json)
        vg_text_rows__put(t, ",\"p_values\":[");
    for (size_t c = 0; r->wants_p && c < C; c++) {
        vg_text_rows__put(t, json && c == 0 ? "" : ",");
        vg_text_rows__real(t, r->places.p_value[i * C + c], json);
    }
    vg_text_rows__put(t, json ? (r->wants_p ? "]}\n" : "}\n") : "\n");
}

vg_status vg_set_rows__take(vg_set_rows *r, size_t first, size_t count) {
    if (!r->text)
        return VG_OK;
    if (first == 0 && r->file.kind == VG_FILE_CSV)
        put_heading(r);
    for (size_t i = 0; i < count; i++)
        put_row(r, first + i, i);
    return r->text->status;
}

/* --- arrays ------------------------------------------------------------------------------------------------------- */
/* The classes of all sets in sequence. */
static vg_status write_lists(const vg_set_rows *r) {
    size_t sets = r->n * r->sets->shown.alpha_count, all = 0, C = r->sets->shown.classes, starts = sets + 1;
    int64_t start = 0;
    for (size_t i = 0; i < sets; i++)
        all += r->places.size[i] > 0 ? (size_t)r->places.size[i] : 0;
    VG_TRY(vg_writer__begin(r->file.arrays, "set_class", VG_ELEMENT_I32, 1, &all));
    for (size_t i = 0; i < sets; i++) {
        size_t count = vg_set_rows__classes(r->order, r->places.mask + i * mask_bytes(r), NULL, C);
        VG_TRY(vg_writer__append(r->file.arrays, r->order, count * sizeof *r->order));
    }
    VG_TRY(vg_writer__begin(r->file.arrays, "set_start", VG_ELEMENT_I64, 1, &starts));
    for (size_t i = 0; i <= sets; i++) {
        VG_TRY(vg_writer__append(r->file.arrays, &start, sizeof start));
        start += i < sets && r->places.size[i] > 0 ? r->places.size[i] : 0;
    }
    return VG_OK;
}

static vg_status write_arrays(vg_set_rows *r) {
    const vg_sets *s = &r->sets->shown;
    vg_writer *out = r->file.arrays;
    size_t sizes[2] = {r->n, s->alpha_count}, masks[3] = {r->n, s->alpha_count, mask_bytes(r)};
    size_t values[2] = {r->n, s->classes}, thresholds[2] = {s->alpha_count, s->cell_count};
    VG_TRY(vg_row_names__write_ids(out, r->file.path, &r->file.names, r->n, true));
    if (r->places.pred)
        VG_TRY(vg_writer_array(out, "pred", VG_ELEMENT_I32, 1, &r->n, r->places.pred));
    VG_TRY(vg_writer_array(out, "size", VG_ELEMENT_I32, 2, sizes, r->places.size));
    VG_TRY(vg_writer_array(out, "mask", VG_ELEMENT_U8, 3, masks, r->places.mask));
    VG_TRY(write_lists(r));
    if (r->wants_p)
        VG_TRY(vg_writer_array(out, "p_value", VG_ELEMENT_F64, 2, values, r->places.p_value));
    VG_TRY(vg_writer_array(out, "alpha", VG_ELEMENT_F64, 1, &s->alpha_count, s->alphas));
    VG_TRY(vg_writer_array(out, "threshold", VG_ELEMENT_F64, 2, thresholds, s->thresholds));
    return vg_row_names__write_classes(out, r->file.path, &r->file.names, s->classes);
}

vg_status vg_set_rows__close(vg_set_rows *r, vg_status status) {
    if (r->open && status == VG_OK && r->text) {
        vg_text_rows__flush(r->text);
        status = r->text->status;
    } else if (r->open && status == VG_OK) {
        status = write_arrays(r);
    }
    if (r->open)
        status = vg_score_writer__close(&r->file, status);
    free(r->text);
    vg_base__release(r->places.mask);
    vg_base__release(r->places.size);
    vg_base__release(r->places.pred);
    vg_base__release(r->places.p_value);
    vg_base__release(r->places.value);
    vg_base__release(r->order);
    *r = (vg_set_rows){0};
    return status;
}
