/* checkpoint_arrays.h - compares the arrays of two checkpoints byte for byte, for the training tests. */
#ifndef TESTS_CHECKPOINT_ARRAYS_H
#define TESTS_CHECKPOINT_ARRAYS_H

#include <string.h>

#include "formats/arrays.h"
#include "vargate/formats.h"

/* Fails the running test unless both files hold the same arrays. */
static inline void same_arrays(const char *one, const char *two) {
    vg_source *x, *y;
    if (vg_source__open(&x, one) != VG_OK || vg_source__open(&y, two) != VG_OK)
        fail_msg("%s", vg_error_message());
    assert_int_equal(vg_source__count(x), vg_source__count(y));
    for (size_t i = 0; i < vg_source__count(x); i++) {
        vg_array_info info;
        size_t j = 0;
        const void *p = NULL, *q = NULL;
        if (vg_source__info(x, i, &info) != VG_OK || vg_source__find(y, info.name, &j) != VG_OK ||
            vg_source__map(x, i, &p) != VG_OK || vg_source__map(y, j, &q) != VG_OK)
            fail_msg("%s", vg_error_message());
        assert_non_null(p);
        assert_non_null(q);
        if (memcmp(p, q, info.count * vg_element__size(info.element)) != 0)
            fail_msg("%s and %s: array '%s' differs", one, two, info.name);
    }
    vg_source__close(x);
    vg_source__close(y);
}

#endif
