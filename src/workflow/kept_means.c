/* kept_means.c - see kept_means.h. */
#include "workflow/kept_means.h"

#include <string.h>

#include "base/base.h"
#include "base/random.h"

vg_status vg_kept_means__new(vg_kept_means *out, size_t count, size_t n, size_t classes) {
    *out = (vg_kept_means){.n = n, .classes = classes, .count = count};
    VG_TRY(vg_base__alloc(&out->mean, count, classes * sizeof *out->mean, "means over members"));
    vg_status status = vg_base__alloc(&out->labels, count, sizeof *out->labels, "labels");
    if (status != VG_OK)
        vg_kept_means__free(out);
    return status;
}

void vg_kept_means__free(vg_kept_means *kept) {
    vg_base__release(kept->mean);
    vg_base__release(kept->labels);
    *kept = (vg_kept_means){0};
}

/* The sample that is drawn from range i. */
static size_t drawn_sample(const vg_kept_means *kept, size_t i) {
    size_t width = kept->n / kept->count, rest = kept->n % kept->count;
    size_t first = i * width + i * rest / kept->count, end = (i + 1) * width + (i + 1) * rest / kept->count;
    vg_random random = vg_random__start(1, i);
    return first + (size_t)vg_random__below(&random, end - first);
}

void vg_kept_means__take(vg_kept_means *kept, size_t first, size_t rows, const double *mean, const int64_t *labels) {
    size_t c = kept->classes;
    for (; kept->done < kept->count; kept->done++) {
        size_t sample = drawn_sample(kept, kept->done);
        if (sample >= first + rows)
            return;
        memcpy(kept->mean + kept->done * c, mean + (sample - first) * c, c * sizeof *mean);
        kept->labels[kept->done] = labels[sample - first];
    }
}
