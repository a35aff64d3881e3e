/* name_list.c - texts in a file of arrays. See name_list.h. */
#include "workflow/name_list.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/json_text.h"
#include "formats/arrays.h"
#include "workflow/json_build.h"

static int is_safetensors(const char *path) {
    static const char ending[] = ".safetensors";
    size_t length = strlen(path), tail = sizeof ending - 1;
    return length > tail && strcmp(path + length - tail, ending) == 0;
}

vg_status vg_name_list__write(vg_writer *writer, const char *path, const char *key, const char *const *texts,
                              size_t count) {
    if (!is_safetensors(path))
        return vg_writer__texts(writer, key, texts, count);
    json_t *list = json_array();
    bool ok = true;
    for (size_t i = 0; i < count; i++)
        vg_base__json_add(list, vg_json__string(texts[i]), &ok);
    char *text = ok ? vg_base__json_text(list, 0) : NULL;
    json_decref(list);
    if (!text)
        return vg_base__fail(VG_ERR_MEMORY, "out of memory for the list of %s", key);
    vg_status status = vg_writer__metadata(writer, key, text);
    free(text);
    return status;
}
