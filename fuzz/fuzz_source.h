/* fuzz_source.h - what the fuzz targets of the readers share: open bytes as a file of some kind and read all there
 * is. */
#ifndef FUZZ_SOURCE_H
#define FUZZ_SOURCE_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "formats/arrays.h"
#include "fuzz_check.h"
#include "vargate/formats.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FUZZ_ELEMENTS = 1 << 22 }; /* arrays larger than this (deflated) are read in their first rows only */

static inline void fuzz_array(vg_source *source, size_t index) {
    vg_array_info info;
    if (vg_source__info(source, index, &info) != VG_OK)
        abort();
    size_t rows = info.rank ? info.shape[0] : 1, row = rows ? info.count / rows : 0;
    size_t some = row && rows > FUZZ_ELEMENTS / row ? FUZZ_ELEMENTS / row : rows, half = some / 2;
    double *values = malloc((some * row + 1) * sizeof *values);
    if (!values)
        return;
    fuzz_check(vg_source__read_f64(source, index, half, some - half, values));
    fuzz_check(vg_source__read_f32(source, index, 0, some, (float *)values));
    fuzz_check(vg_source__read_i64(source, index, 0, some, (int64_t *)values));
    const void *map = NULL;
    fuzz_check(vg_source__map(source, index, &map));
    if (map && info.count) { /* the whole range is there */
        volatile uint8_t sink = ((const uint8_t *)map)[info.count * vg_element__size(info.element) - 1];
        (void)sink;
    }
    vg_source__drop(source, index, some);
    free(values);
}

static inline int fuzz_source(const uint8_t *data, size_t size, const char *name) {
    vg_source *source;
    vg_status status = vg_source__open_memory(&source, data, size, name);
    fuzz_check(status);
    if (status != VG_OK)
        return 0;
    for (size_t i = 0; i < vg_source__count(source) && i < 16; i++)
        fuzz_array(source, i);
    size_t index;
    fuzz_check(vg_source__find(source, "P", &index));
    vg_source__close(source);
    return 0;
}

#endif
