/* source.c - opening a file by what it holds and by its extension, and finding arrays in it by name. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "formats/source.h"

bool vg_stored__measure(vg_stored *array) {
    /* Zero-length axes must not hide an overflow of the others, so the product is taken over lengths of at least
     * one. */
    size_t count = 1, bytes;
    bool empty = false;
    for (size_t i = 0; i < array->rank; i++) {
        empty |= array->shape[i] == 0;
        if (!vg_base__mul(&count, count, array->shape[i] ? array->shape[i] : 1))
            return false;
    }
    if (!vg_base__mul(&bytes, count, vg_element__size(array->element)) || bytes > SIZE_MAX / 2)
        return false;
    array->count = empty ? 0 : count;
    array->bytes = empty ? 0 : bytes;
    return true;
}

/* Doubles the room of a list of `size`-byte entries when `count` fills it. */
static vg_status grow(void *list, size_t *room, size_t count, size_t size, const char *what) {
    if (count < *room)
        return VG_OK;
    void *old, *larger;
    memcpy(&old, list, sizeof old);
    size_t wider = *room ? *room * 2 : 8;
    VG_TRY(vg_base__zalloc(&larger, wider, size, what));
    if (count)
        memcpy(larger, old, count * size);
    vg_base__release(old);
    memcpy(list, &larger, sizeof larger);
    *room = wider;
    return VG_OK;
}

static vg_status copy_text(char **out, const char *text, size_t length) {
    VG_TRY(vg_base__alloc(out, length + 1, 1, "a name"));
    if (length)
        memcpy(*out, text, length);
    (*out)[length] = '\0';
    return VG_OK;
}

vg_status vg_source__add(vg_source *source, vg_stored **out, const char *name, size_t length) {
    VG_TRY(grow(&source->arrays, &source->room, source->count, sizeof *source->arrays, "a list of arrays"));
    vg_stored *array = source->arrays + source->count;
    memset(array, 0, sizeof *array);
    VG_TRY(copy_text(&array->name, name, length));
    source->count++;
    *out = array;
    return VG_OK;
}

vg_status vg_source__skip(vg_source *source, const char *name, size_t length) {
    VG_TRY(grow(&source->skipped, &source->skipped_room, source->skipped_count, sizeof *source->skipped,
                "a list of arrays"));
    vg_skipped *skipped = source->skipped + source->skipped_count;
    VG_TRY(vg_base__strdup(&skipped->reason, vg_error_message()));
    vg_status status = copy_text(&skipped->name, name, length);
    if (status != VG_OK) {
        vg_base__release(skipped->reason);
        return status;
    }
    source->skipped_count++;
    return VG_OK;
}

vg_status vg_source__own(vg_source *source, const char *name, vg_element element, size_t rank, const size_t *shape,
                         void *data) {
    vg_stored *array;
    vg_status status = vg_source__add(source, &array, name, strlen(name));
    if (status != VG_OK) {
        vg_base__release(data);
        return status;
    }
    array->owned = data;
    array->data = data;
    array->element = element;
    array->rank = rank;
    memcpy(array->shape, shape, rank * sizeof *shape);
    if (!vg_stored__measure(array))
        return vg_base__fail(VG_ERR_MEMORY, "%s: its values do not fit in memory", source->path);
    return VG_OK;
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

vg_status vg_source__check_names(const vg_source *source) {
    size_t all = source->count + source->skipped_count;
    const char **names;
    VG_TRY(vg_base__alloc(&names, all, sizeof *names, "a list of names"));
    for (size_t i = 0; i < all; i++)
        names[i] = i < source->count ? source->arrays[i].name : source->skipped[i - source->count].name;
    if (all > 1)
        qsort(names, all, sizeof *names, by_name);
    vg_status status = VG_OK;
    for (size_t i = 1; i < all && status == VG_OK; i++)
        if (strcmp(names[i - 1], names[i]) == 0)
            status = vg_base__fail(VG_ERR_FORMAT, "%s: holds two arrays named '%.200s'", source->path, names[i]);
    vg_base__release(names);
    return status;
}

/* Moves arrays of texts after the others, so that indices below `count` are numbers. Asking for one by name says
 * that it holds texts. */
static vg_status separate_texts(vg_source *source) {
    size_t all = source->count, numbers = 0;
    vg_stored *parted;
    VG_TRY(vg_base__alloc(&parted, source->room, sizeof *parted, "a list of arrays"));
    for (int texts = 0; texts < 2; texts++)
        for (size_t i = 0; i < all; i++)
            if (source->arrays[i].text == (texts == 1))
                parted[numbers++] = source->arrays[i];
    if (all)
        memcpy(source->arrays, parted, all * sizeof *parted);
    vg_base__release(parted);
    source->count = 0;
    while (source->count < all && !source->arrays[source->count].text)
        source->count++;
    source->text_count = all - source->count;
    for (size_t i = source->count; i < all; i++) {
        const char *name = source->arrays[i].name;
        const vg_stored *array = source->arrays + i;
        vg_base__fail(VG_ERR_UNSUPPORTED, "%s: %s%.100s%sholds texts (%c%zu), expected numbers", source->path,
                      *name ? "array '" : "", name, *name ? "' " : "", array->element == VG_ELEMENT_U8 ? 'S' : 'U',
                      array->width);
        VG_TRY(vg_source__skip(source, name, strlen(name)));
    }
    return VG_OK;
}

/* Writes one code point as UTF-8; an invalid one becomes '?'. */
static size_t put_utf8(char *out, int64_t point) {
    if (point < 0 || point > 0x10ffff || (point >= 0xd800 && point < 0xe000))
        point = '?';
    if (point < 0x80) {
        out[0] = (char)point;
        return 1;
    }
    size_t more = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
    static const int64_t lead[] = {0, 0xc0, 0xe0, 0xf0};
    out[0] = (char)(lead[more] | point >> (6 * more));
    for (size_t i = 1; i <= more; i++)
        out[i] = (char)(0x80 | (point >> (6 * (more - i)) & 0x3f));
    return more + 1;
}

vg_status vg_source__texts(vg_source *source, size_t index, vg_strings *out) {
    const vg_stored *array = source->arrays + index;
    size_t width = array->width, rows = array->rank == 2 ? array->shape[0] : 1;
    int64_t *points;
    char *text;
    VG_TRY(vg_base__alloc(&points, width, sizeof *points, "a text"));
    vg_status status = vg_base__alloc(&text, 4 * width, 1, "a text");
    if (status != VG_OK)
        text = NULL;
    for (size_t row = 0; row < rows && status == VG_OK; row++) {
        size_t used = 0, length = width;
        status = width ? vg_source__read(source, index, row * width, width, VG_ELEMENT_I64, points) : VG_OK;
        while (status == VG_OK && length > 0 && points[length - 1] == 0)
            length--;
        for (size_t i = 0; i < length && status == VG_OK; i++) {
            if (array->element == VG_ELEMENT_U8)
                text[used++] = (char)points[i];
            else
                used += put_utf8(text + used, points[i]);
        }
        if (status == VG_OK)
            status = vg_strings__push(out, text, used);
    }
    vg_base__release(points);
    vg_base__release(text);
    return status;
}

/* --- kinds of files --------------------------------------------------------------------------------------------- */
static vg_status read_by_kind(vg_source *source) {
    const char *path = source->name;
    const uint8_t *bytes = source->map.bytes;
    size_t size = source->map.size;
    if (size == 0)
        return vg_base__fail(VG_ERR_FORMAT, "%s: is empty", source->path);
    VG_TRY(vg_foreign__refuse(source));
    bool npy = size >= 6 && memcmp(bytes, "\x93NUMPY", 6) == 0;
    bool zip = size >= 4 && (memcmp(bytes, "PK\3\4", 4) == 0 || memcmp(bytes, "PK\5\6", 4) == 0);
    if (npy || vg_names__ends_with(path, ".npy"))
        return vg_npy__read(source);
    if (zip || vg_names__ends_with(path, ".npz"))
        return vg_npz__read(source);
    if (vg_names__ends_with(path, ".safetensors") || (size >= 10 && vg_le64(bytes) <= size - 8 && bytes[8] == '{'))
        return vg_safetensors__read(source);
    if (vg_names__ends_with(path, ".jsonl") || vg_names__ends_with(path, ".ndjson"))
        return vg_jsonl__read(source);
    if (vg_names__ends_with(path, ".json"))
        return vg_json__read(source);
    if (vg_names__ends_with(path, ".csv") || vg_names__ends_with(path, ".tsv") || vg_names__ends_with(path, ".tab") ||
        vg_names__ends_with(path, ".txt"))
        return vg_csv__read(source);
    if (strcmp(source->path, "standard input") == 0)
        return vg_base__fail(VG_ERR_FORMAT, "standard input: neither .npy, .npz nor .safetensors; of a text say which: "
                                            "--format csv (or tsv, jsonl, json)");
    return vg_base__fail(VG_ERR_FORMAT,
                         "%s: unknown kind of file; expected .npy, .npz, .safetensors, .csv, .tsv, .jsonl or .json, "
                         "or one of them compressed by gzip",
                         source->path);
}

/* Replaces the mapping of a gzip file by one of its content, and sets the name without .gz. */
static vg_status expand(vg_source *source) {
    const char *path = source->path;
    bool gzip = source->map.size >= 2 && source->map.bytes[0] == 0x1f && source->map.bytes[1] == 0x8b;
    VG_TRY(copy_text(&source->name, path, strlen(path) - (vg_names__ends_with(path, ".gz") ? 3 : 0)));
    return gzip ? vg_gzip__expand(&source->map, path) : VG_OK;
}

static vg_status open_mapping(vg_source **out, vg_mapping map, const char *path, const vg_roles *roles) {
    vg_source *source;
    vg_status status = vg_base__zalloc(&source, 1, sizeof *source, "a source");
    if (status != VG_OK) {
        vg_file__unmap(&map);
        return status;
    }
    source->map = map;
    source->roles = *roles;
    status = vg_base__strdup(&source->path, path);
    if (status == VG_OK)
        status = expand(source);
    if (status == VG_OK)
        status = read_by_kind(source);
    if (status == VG_OK)
        status = separate_texts(source);
    if (status == VG_OK)
        status = vg_source__check_names(source);
    source->roles = (vg_roles){.id = NULL};
    if (status != VG_OK) {
        vg_source__close(source);
        return status;
    }
    *out = source;
    return VG_OK;
}

vg_status vg_source__open_as(vg_source **out, const char *path, const vg_roles *roles) {
    *out = NULL;
    vg_mapping map;
    VG_TRY(vg_file__map(&map, path));
    return open_mapping(out, map, strcmp(path, "-") == 0 ? "standard input" : path, roles);
}

vg_status vg_source__open_memory_as(vg_source **out, const void *bytes, size_t size, const char *name,
                                    const vg_roles *roles) {
    if (!out || !name || (!bytes && size))
        return vg_base__fail(VG_ERR_ARGUMENT, "vg_source__open_memory: out, bytes and name must not be NULL");
    *out = NULL;
    return open_mapping(out, (vg_mapping){bytes, size, false}, name, roles);
}

vg_status vg_source__open(vg_source **out, const char *path) {
    if (!out || !path)
        return vg_base__fail(VG_ERR_ARGUMENT, "vg_source__open: out and path must not be NULL");
    return vg_source__open_as(out, path, &(vg_roles){.id = NULL});
}

vg_status vg_source__open_memory(vg_source **out, const void *bytes, size_t size, const char *name) {
    return vg_source__open_memory_as(out, bytes, size, name, &(vg_roles){.id = NULL});
}

void vg_source__close(vg_source *source) {
    if (!source)
        return;
    for (size_t i = 0; i < source->count + source->text_count; i++) {
        vg_stored *array = source->arrays + i;
        vg_inflate__free(array->stream);
        vg_base__release(array->held);
        vg_base__release(array->owned);
        vg_base__release(array->name);
    }
    for (size_t i = 0; i < source->skipped_count; i++) {
        vg_base__release(source->skipped[i].name);
        vg_base__release(source->skipped[i].reason);
    }
    for (size_t i = 0; i < source->metadata_count; i++) {
        vg_base__release(source->metadata[i].key);
        vg_base__release(source->metadata[i].value);
    }
    vg_strings__free(&source->ids);
    vg_strings__free(&source->classes);
    vg_strings__free(&source->labels.names);
    vg_base__release(source->labels.codes);
    vg_base__release(source->free_columns);
    vg_base__release(source->metadata);
    vg_base__release(source->skipped);
    vg_base__release(source->arrays);
    vg_base__release(source->path);
    vg_base__release(source->name);
    vg_file__unmap(&source->map);
    vg_base__release(source);
}

/* --- queries ---------------------------------------------------------------------------------------------------- */
size_t vg_source__count(const vg_source *source) { return source->count; }

vg_status vg_source__info(const vg_source *source, size_t index, vg_array_info *info) {
    if (index >= source->count)
        return vg_base__fail(VG_ERR_ARGUMENT, "%s: array %zu wanted, but it holds %zu", source->path, index,
                             source->count);
    const vg_stored *array = source->arrays + index;
    *info = (vg_array_info){.name = array->name,
                            .element = array->element,
                            .rank = array->rank,
                            .count = array->count,
                            .fortran_order = array->fortran};
    memcpy(info->shape, array->shape, sizeof info->shape);
    return VG_OK;
}

vg_status vg_source__find(const vg_source *source, const char *name, size_t *index) {
    for (size_t i = 0; i < source->count; i++)
        if (strcmp(source->arrays[i].name, name) == 0) {
            *index = i;
            return VG_OK;
        }
    for (size_t i = 0; i < source->skipped_count; i++)
        if (strcmp(source->skipped[i].name, name) == 0)
            return vg_base__fail_text(VG_ERR_UNSUPPORTED, source->skipped[i].reason);
    char names[400] = "";
    size_t at = 0;
    for (size_t i = 0; i < source->count && at < sizeof names - 64; i++)
        at += (size_t)snprintf(names + at, sizeof names - at, "%s'%.40s'%s", i ? ", " : "", source->arrays[i].name,
                               at >= sizeof names - 128 && i + 1 < source->count ? ", ..." : "");
    return vg_base__fail(VG_ERR_ARGUMENT, "%s: no array named '%.100s'; it holds %s", source->path, name,
                         source->count ? names : "no arrays that can be read");
}

const char *vg_source__metadata(const vg_source *source, const char *key) {
    for (size_t i = 0; i < source->metadata_count; i++)
        if (strcmp(source->metadata[i].key, key) == 0)
            return source->metadata[i].value;
    return NULL;
}
