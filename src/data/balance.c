/* balance.c - balanced samples of an epoch. See balance.h. */
#include "data/balance.h"

#include <string.h>

#include "base/base.h"

static size_t largest_label(const size_t *samples, size_t count, const int32_t *labels) {
    size_t largest = 0;
    for (size_t i = 0; i < count; i++)
        if (labels[samples[i]] > 0 && (size_t)labels[samples[i]] > largest)
            largest = (size_t)labels[samples[i]];
    return largest;
}

/* Sorts the samples by their labels. at: one entry per class and one more, zeroed; afterwards the end of each class. */
static void group(size_t *out, size_t *at, const size_t *samples, size_t count, const int32_t *labels) {
    size_t classes = largest_label(samples, count, labels) + 1;
    for (size_t i = 0; i < count; i++)
        at[labels[samples[i]] + 1]++;
    for (size_t c = 0; c < classes; c++)
        at[c + 1] += at[c];
    for (size_t i = 0; i < count; i++)
        out[at[labels[samples[i]]]++] = samples[i];
}

vg_status vg_balance__new(vg_balance *out, const size_t *samples, size_t count, const int32_t *labels) {
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < count; i++)
        if (!labels || labels[samples[i]] < 0)
            return vg_base__fail(VG_ERR_DATA, "balanced sampling needs a label for every image");
    size_t classes = largest_label(samples, count, labels) + 1;
    VG_TRY(vg_base__alloc(&out->grouped, count, sizeof *out->grouped, "samples by class"));
    vg_status status = vg_base__zalloc(&out->starts, classes + 2, sizeof *out->starts, "samples by class");
    if (status != VG_OK) {
        vg_balance__free(out);
        return status;
    }
    group(out->grouped, out->starts, samples, count, labels);
    /* starts[c] is where class c ends: moved up by one, and classes without samples removed */
    size_t end = 0, groups = 0;
    for (size_t c = 0; c < classes; c++) {
        size_t next = out->starts[c];
        out->starts[groups] = end;
        groups += next > end;
        end = next;
    }
    out->starts[groups] = end;
    out->groups = groups;
    return VG_OK;
}

void vg_balance__free(vg_balance *balance) {
    vg_base__release(balance->grouped);
    vg_base__release(balance->starts);
    memset(balance, 0, sizeof *balance);
}

void vg_balance__draw(size_t *out, size_t count, const vg_balance *b, vg_random *random) {
    for (size_t i = 0; i < count; i++) {
        size_t g = (size_t)vg_random__below(random, b->groups);
        out[i] = b->grouped[b->starts[g] + (size_t)vg_random__below(random, b->starts[g + 1] - b->starts[g])];
    }
}
