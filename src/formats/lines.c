/* lines.c - lines of text files, and columns of values that grow. */
#include <string.h>

#include "formats/lines.h"

enum { DROP_STEP = 16 << 20 };

bool vg_lines__next(vg_lines *lines) {
    const vg_mapping *map = &lines->source->map;
    if (lines->at == 0 && map->size >= 3 && memcmp(map->bytes, "\xef\xbb\xbf", 3) == 0)
        lines->at = 3;
    if (lines->at - lines->dropped >= DROP_STEP) {
        vg_file__forget(map, lines->dropped, lines->at - lines->dropped);
        lines->dropped = lines->at;
    }
    while (lines->at < map->size) {
        const char *text = (const char *)map->bytes + lines->at, *end = memchr(text, '\n', map->size - lines->at);
        size_t length = end ? (size_t)(end - text) : map->size - lines->at;
        lines->at += length + (end != NULL);
        lines->number++;
        size_t whole = length;
        while (length > 0 && (text[length - 1] == '\r' || text[length - 1] == ' ' || text[length - 1] == '\t'))
            length--;
        if (length > 0) {
            if (lines->keep_tabs)
                for (length = whole; text[length - 1] == '\r' || text[length - 1] == ' ';)
                    length--;
            lines->text = text, lines->length = length;
            return true;
        }
    }
    return false;
}

static vg_status grow(vg_column *column) {
    if (column->count < column->room)
        return VG_OK;
    size_t wider = column->room ? column->room * 2 : 1024;
    void *larger;
    VG_TRY(vg_base__alloc(&larger, wider, 8, "values of a text file"));
    if (column->count)
        memcpy(larger, column->data, column->count * 8);
    vg_base__release(column->data);
    column->data = larger;
    column->room = wider;
    return VG_OK;
}

vg_status vg_column__push_f64(vg_column *column, double value) {
    VG_TRY(grow(column));
    column->f64[column->count++] = value;
    return VG_OK;
}

vg_status vg_column__push_i64(vg_column *column, int64_t value) {
    VG_TRY(grow(column));
    column->i64[column->count++] = value;
    return VG_OK;
}

vg_status vg_column__give(vg_column *column, vg_source *source, const char *name, vg_element element, size_t rank,
                          const size_t *shape) {
    if (!column->data)
        VG_TRY(vg_base__alloc(&column->data, 0, 8, "values of a text file"));
    void *data = column->data;
    *column = (vg_column){.count = 0};
    return vg_source__own(source, name, element, rank, shape, data);
}

void vg_column__free(vg_column *column) {
    vg_base__release(column->data);
    *column = (vg_column){.count = 0};
}
