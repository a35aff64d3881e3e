/* split.c - seeded, stratified choices of samples, and per-channel statistics.
 *
 * Stratified: class c of n_c samples gives floor(f n_c) of them, and the samples still missing from the total come from
 * the classes of largest remainder (ties: the lower class), so that shares are in proportion and the total is exact.
 * Within a class the choice is the head of a Philox shuffle, stream = class. A set without labels is one class. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "data/dataset.h"

/* Separates these draws from all others that use the seed of the run. */
static const uint64_t split_domain = 0x73706c6974206f66ULL;

typedef struct quota {
    size_t class, size, take;
    double remainder;
} quota;

static int by_remainder(const void *a, const void *b) {
    const quota *x = a, *y = b;
    if (x->remainder != y->remainder)
        return x->remainder > y->remainder ? -1 : 1;
    return x->class < y->class ? -1 : x->class > y->class;
}

static int by_class(const void *a, const void *b) {
    const quota *x = a, *y = b;
    return x->class < y->class ? -1 : x->class > y->class;
}

/* The number of samples that each class gives so that `total` are taken in all. The sizes in quotas[classes] are
 * set. */
static void share_out(quota *quotas, size_t classes, size_t count, size_t total) {
    size_t given = 0;
    for (size_t c = 0; c < classes; c++) {
        double exact = (double)quotas[c].size * (double)total / (double)count;
        quotas[c].take = (size_t)exact;
        if (quotas[c].take > quotas[c].size)
            quotas[c].take = quotas[c].size;
        quotas[c].remainder = exact - (double)quotas[c].take;
        given += quotas[c].take;
    }
    qsort(quotas, classes, sizeof *quotas, by_remainder);
    while (given < total)
        for (size_t c = 0; c < classes && given < total; c++)
            if (quotas[c].take < quotas[c].size) {
                quotas[c].take++;
                given++;
            }
    qsort(quotas, classes, sizeof *quotas, by_class);
}

static size_t label_of(const vg_dataset *set, size_t index) { return set->labels ? (size_t)set->labels[index] : 0; }

/* chosen[i] = 1 for `total` of the `count` samples, stratified. */
static vg_status choose(unsigned char *chosen, const vg_dataset *set, const size_t *indices, size_t count, size_t total,
                        uint64_t seed) {
    size_t classes = set->labels ? set->classes : 1;
    quota *quotas;
    size_t *members;
    VG_TRY(vg_base__zalloc(&quotas, classes, sizeof *quotas, "classes of a split"));
    vg_status status = vg_base__alloc(&members, count, sizeof *members, "a split");
    if (status != VG_OK) {
        vg_base__release(quotas);
        return status;
    }
    for (size_t c = 0; c < classes; c++)
        quotas[c].class = c;
    for (size_t i = 0; i < count; i++)
        quotas[label_of(set, indices ? indices[i] : i)].size++;
    share_out(quotas, classes, count, total);
    memset(chosen, 0, count);
    for (size_t c = 0; c < classes; c++) {
        if (quotas[c].take == 0)
            continue;
        size_t found = 0;
        for (size_t i = 0; i < count && found < quotas[c].size; i++)
            if (label_of(set, indices ? indices[i] : i) == c)
                members[found++] = i;
        vg_random random = vg_random__start(seed ^ split_domain, c);
        vg_random__shuffle(&random, members, found);
        for (size_t i = 0; i < quotas[c].take; i++)
            chosen[members[i]] = 1;
    }
    vg_base__release(members);
    vg_base__release(quotas);
    return VG_OK;
}

static int by_value(const void *a, const void *b) {
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return x < y ? -1 : x > y;
}

/* The samples with chosen[i] == wanted, increasing. */
static vg_status collect(size_t **out, size_t *out_count, const unsigned char *chosen, unsigned char wanted,
                         const size_t *indices, size_t count) {
    size_t found = 0;
    VG_TRY(vg_base__alloc(out, count, sizeof **out, "indices"));
    for (size_t i = 0; i < count; i++)
        if (chosen[i] == wanted)
            (*out)[found++] = indices ? indices[i] : i;
    qsort(*out, found, sizeof **out, by_value);
    *out_count = found;
    return VG_OK;
}

vg_status vg_dataset__split(size_t **kept, size_t *kept_count, size_t **held, size_t *held_count, const vg_dataset *set,
                            double fraction, uint64_t seed) {
    *kept = *held = NULL;
    if (!(fraction >= 0.0 && fraction < 1.0))
        return vg_base__fail(VG_ERR_ARGUMENT, "validation fraction %g, expected at least 0 and below 1", fraction);
    size_t total = (size_t)floor(fraction * (double)set->n + 0.5);
    if (!set->held && total >= set->n)
        return vg_base__fail(VG_ERR_ARGUMENT, "%s: a fraction of %g of its %zu samples leaves none to train on",
                             set->name, fraction, set->n);
    unsigned char *chosen;
    VG_TRY(vg_base__alloc(&chosen, set->n, 1, "a split"));
    vg_status status = VG_OK;
    if (set->held)
        memcpy(chosen, set->held, set->n);
    else
        status = choose(chosen, set, NULL, set->n, total, seed);
    if (status == VG_OK)
        status = collect(kept, kept_count, chosen, 0, NULL, set->n);
    if (status == VG_OK)
        status = collect(held, held_count, chosen, 1, NULL, set->n);
    if (status != VG_OK) {
        vg_base__release(*kept);
        *kept = NULL;
    }
    vg_base__release(chosen);
    return status;
}

vg_status vg_dataset__limit(size_t **out, size_t *out_count, const vg_dataset *set, const size_t *indices, size_t count,
                            size_t limit, uint64_t seed) {
    *out = NULL;
    if (!indices)
        count = set->n;
    VG_TRY(vg_dataset__check_indices(set, indices, count));
    unsigned char *chosen;
    VG_TRY(vg_base__alloc(&chosen, count, 1, "a choice of samples"));
    vg_status status = VG_OK;
    if (limit < count)
        status = choose(chosen, set, indices, count, limit, seed);
    else
        memset(chosen, 1, count);
    if (status == VG_OK)
        status = collect(out, out_count, chosen, 1, indices, count);
    vg_base__release(chosen);
    return status;
}

void vg_indices__free(size_t *indices) { vg_base__release(indices); }

/* --- the test share --- */

/* Separates the test share from the validation part, which may have the same seed. */
static const uint64_t test_domain = 0x7465737420736861ULL;

/* Moves sample `from` to index `to` <= from. */
static void move_sample(vg_dataset *set, size_t to, size_t from) {
    size_t image = vg_dataset__image(set) * (set->is_float ? sizeof(float) : 1);
    if (set->pixels.any && to != from)
        memcpy(set->pixels.bytes + to * image, set->pixels.bytes + from * image, image);
    if (set->labels)
        set->labels[to] = set->labels[from];
    if (set->held)
        set->held[to] = set->held[from];
    if (set->files)
        set->files[to] = set->files[from];
}

vg_status vg_dataset__cut(vg_dataset *set, bool test, double share, uint64_t seed) {
    size_t *open = NULL, count = 0, left = 0;
    unsigned char *chosen;
    VG_TRY(vg_base__zalloc(&chosen, set->n, 1, "a test part"));
    vg_status status = set->held ? collect(&open, &count, set->held, 0, NULL, set->n)
                                 : collect(&open, &count, chosen, 0, NULL, set->n);
    size_t total = status == VG_OK ? (size_t)floor(share * (double)count + 0.5) : 0;
    if (status == VG_OK && (total == 0 || total >= count))
        status = vg_base__fail(VG_ERR_ARGUMENT, "%s: a test share of %g of its %zu samples leaves none %s", set->name,
                               share, count, total ? "to train on" : "to test on");
    else if (status == VG_OK)
        status = choose(chosen, set, open, count, total, seed ^ test_domain);
    for (size_t i = 0, k = 0; status == VG_OK && i < set->n; i++) {
        bool mine = k < count && open[k] == i ? chosen[k++] : false;
        if (mine == test)
            move_sample(set, left++, i);
        else if (set->files)
            vg_base__release(set->files[i]);
    }
    if (status == VG_OK)
        set->n = left;
    if (status == VG_OK && test) { /* test images have no validation part */
        vg_base__release(set->held);
        set->held = NULL;
    }
    vg_base__release(open);
    vg_base__release(chosen);
    return status;
}

/* --- statistics --- */

/* Bytes: from histograms, exact in any order. Images that are not in memory are decoded by threads, each with its
 * own histograms. */
typedef struct byte_counts {
    const vg_dataset *set;
    const size_t *indices;
    uint64_t (*histograms)[VG_MAX_CHANNELS][256]; /* one per worker */
    vg_image_scratch *scratch;
    uint8_t **images; /* C * H * W per worker, where images are decoded */
} byte_counts;

static vg_status count_image(void *context, size_t i, unsigned worker) {
    byte_counts *counts = context;
    const vg_dataset *set = counts->set;
    size_t plane = set->height * set->width;
    const uint8_t *from;
    if (!set->pixels.any && !counts->images[worker])
        VG_TRY(vg_base__alloc(&counts->images[worker], vg_dataset__image(set), 1, "an image"));
    VG_TRY(vg_dataset__bytes(&from, set, counts->indices ? counts->indices[i] : i, counts->images[worker],
                             &counts->scratch[worker]));
    for (size_t c = 0; c < set->channels; c++)
        for (size_t p = 0; p < plane; p++)
            counts->histograms[worker][c][from[c * plane + p]]++;
    return VG_OK;
}

static vg_status count_bytes(byte_counts *counts, vg_pool *pool, size_t count) {
    unsigned workers = vg_pool__threads(pool);
    VG_TRY(vg_base__zalloc(&counts->histograms, workers, sizeof *counts->histograms, "histograms"));
    VG_TRY(vg_base__zalloc(&counts->scratch, workers, sizeof *counts->scratch, "decoding"));
    VG_TRY(vg_base__zalloc(&counts->images, workers, sizeof *counts->images, "decoding"));
    VG_TRY(vg_pool__run(pool, count, count_image, counts));
    for (unsigned w = 1; w < workers; w++)
        for (size_t c = 0; c < VG_MAX_CHANNELS; c++)
            for (unsigned b = 0; b < 256; b++)
                counts->histograms[0][c][b] += counts->histograms[w][c][b];
    return VG_OK;
}

static void of_histogram(double *mean, double *std, const uint64_t *histogram, double total) {
    double sum = 0.0, squares = 0.0;
    for (unsigned b = 0; b < 256; b++)
        sum += b / 255.0 * (double)histogram[b];
    *mean = sum / total;
    for (unsigned b = 0; b < 256; b++)
        squares += (b / 255.0 - *mean) * (b / 255.0 - *mean) * (double)histogram[b];
    *std = sqrt(squares / total);
}

static vg_status byte_statistics(vg_statistics *out, const vg_dataset *set, const size_t *indices, size_t count) {
    byte_counts counts = {.set = set, .indices = indices};
    vg_pool *pool;
    VG_TRY(vg_pool__new(&pool, set->pixels.any ? 1 : 0));
    vg_status status = count_bytes(&counts, pool, count);
    for (size_t c = 0; status == VG_OK && c < set->channels; c++)
        of_histogram(&out->mean[c], &out->std[c], counts.histograms[0][c],
                     (double)count * (double)(set->height * set->width));
    for (unsigned w = 0; counts.images && w < vg_pool__threads(pool); w++) {
        vg_image__release(&counts.scratch[w]);
        vg_base__release(counts.images[w]);
    }
    vg_base__release(counts.histograms);
    vg_base__release(counts.scratch);
    vg_base__release(counts.images);
    vg_pool__free(pool);
    return status;
}

static void float_statistics(double *mean, double *std, const vg_dataset *set, const size_t *indices, size_t count,
                             size_t c) {
    size_t plane = set->height * set->width;
    double total = (double)count * (double)plane, sum = 0.0, squares = 0.0;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < count; i++) {
            const float *from = set->pixels.floats + ((indices ? indices[i] : i) * set->channels + c) * plane;
            double part = 0.0;
            for (size_t p = 0; p < plane; p++)
                part += pass == 0 ? (double)from[p] : ((double)from[p] - *mean) * ((double)from[p] - *mean);
            *(pass == 0 ? &sum : &squares) += part;
        }
        if (pass == 0)
            *mean = sum / total;
    }
    *std = sqrt(squares / total);
}

vg_status vg_dataset_statistics(vg_statistics *out, const vg_dataset *set, const size_t *indices, size_t count) {
    VG_TRY(vg_base__given(out && set, "vg_dataset_statistics: out and set"));
    if (!indices)
        count = set->n;
    VG_TRY(vg_dataset__check_indices(set, indices, count));
    if (count == 0)
        return vg_base__fail(VG_ERR_ARGUMENT, "%s: statistics of no samples", set->name);
    memset(out, 0, sizeof *out);
    out->channels = set->channels;
    if (!set->is_float)
        VG_TRY(byte_statistics(out, set, indices, count));
    for (size_t c = 0; c < set->channels; c++) {
        if (set->is_float)
            float_statistics(&out->mean[c], &out->std[c], set, indices, count, c);
        if (out->std[c] < 1e-12)
            out->std[c] = 1.0;
    }
    return VG_OK;
}
