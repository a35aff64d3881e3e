/* stored_names.c - names of classes and ids of samples stored beside predictions: arrays of texts or whole numbers,
 * or a JSON list in the metadata. */
#include <stdio.h>
#include <string.h>

#include "base/json_text.h"
#include "formats/labels.h"

vg_status vg_names__read(vg_strings *out, vg_source *source, const char *key, const char *const *usual, size_t wanted) {
    const char *const named[] = {key, NULL};
    for (const char *const *name = key ? named : usual; *name; name++)
        for (size_t i = 0; i < source->count + source->text_count; i++) {
            const vg_stored *array = source->arrays + i;
            size_t rank = array->rank - (array->text ? 1 : 0);
            if (strcmp(array->name, *name) != 0 || rank != 1 || (!key && array->shape[0] != wanted))
                continue;
            if (array->shape[0] != wanted)
                return vg_base__fail(VG_ERR_DATA, "%s: '%.60s' has %zu entries, expected %zu", source->path,
                                     array->name, array->shape[0], wanted);
            if (array->text)
                return vg_source__texts(source, i, out);
            for (size_t row = 0; row < wanted; row++) {
                int64_t number;
                char text[32];
                VG_TRY(vg_source__read_i64(source, i, row, 1, &number));
                int length = snprintf(text, sizeof text, "%lld", (long long)number);
                VG_TRY(vg_strings__push(out, text, (size_t)length));
            }
            return VG_OK;
        }
    if (!key)
        return VG_OK;
    size_t ignored;
    vg_status status = vg_source__find(source, key, &ignored);
    return status == VG_OK
               ? vg_base__fail(VG_ERR_DATA, "%s: '%.60s' is not a list of texts or whole numbers", source->path, key)
               : status;
}

/* The metadata "classes", a JSON list of texts: .safetensors has no arrays of texts. */
vg_status vg_names__metadata(vg_strings *out, const vg_source *source) {
    const char *text = vg_source__metadata(source, "classes");
    json_error_t error = {.line = 0};
    json_t *list = text ? vg_base__json_load(text, strlen(text), 0, &error) : NULL, *name;
    size_t i;
    vg_status status = VG_OK;
    if (vg_base__json_no_memory(&error))
        return vg_base__fail(VG_ERR_MEMORY, "%s: out of memory for the names of its classes", source->path);
    json_array_foreach(list, i, name) {
        if (status == VG_OK && json_is_string(name))
            status = vg_strings__push(out, json_string_value(name), json_string_length(name));
    }
    json_decref(list);
    return status;
}
