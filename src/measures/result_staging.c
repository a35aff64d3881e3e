/* result_staging.c - the arrays of results, and the staging buffer.
 *
 * Many samples with few inputs each are bound by the writing of results: 224 bytes per sample in 16 arrays for
 * everything at three k. A store to memory that is not cached reads the line first, and so many streams at once are
 * more than the caches handle well. So the results of some units are collected in a buffer that fits the first-level
 * cache, and are then copied array by array, by stores that write whole lines without reading them. */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/base.h"
#include "measures/result_staging.h"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

typedef struct array {
    size_t offset, size; /* of the pointer in vg_scores; of an element */
    bool gated;          /* one value for each k */
    bool planes;         /* which lie in planes where vg_kernel_job.plane is set */
} array;

#define SINGLE(name)                                                                                                   \
    { offsetof(vg_scores, name), sizeof *((vg_scores *)0)->name, false, false }
#define GATED(name, planes)                                                                                            \
    { offsetof(vg_scores, name), sizeof *((vg_scores *)0)->name, true, planes }
static const array arrays[] = {SINGLE(tu),         SINGLE(au),         SINGLE(eu),         SINGLE(epce),
                               SINGLE(epkl),       SINGLE(epjs),       SINGLE(gmu),        SINGLE(snr),
                               SINGLE(pred),       SINGLE(second),     SINGLE(flags),      SINGLE(maxprob),
                               SINGLE(gap),        SINGLE(topstd),     SINGLE(votes),      SINGLE(maxlogit),
                               SINGLE(energy),     GATED(gtu, true),   GATED(gau, true),   GATED(geu, true),
                               GATED(gepce, true), GATED(gepkl, true), GATED(gepjs, true), GATED(decision, false)};
enum { ARRAYS = sizeof arrays / sizeof *arrays };
_Static_assert(sizeof arrays / sizeof *arrays == VG_STAGING_ARRAYS, "every array of one value per unit or per k");

static char *get(const vg_scores *of, const array *a) {
    char *at;
    memcpy(&at, (const char *)of + a->offset, sizeof at);
    return at;
}
static void set(vg_scores *of, const array *a, char *at) { memcpy((char *)of + a->offset, &at, sizeof at); }

/* Before each array of the buffer: a line for the bytes that wait for their line to be complete. The units' results
 * begin on a line, because stores that cross lines take twice as long. */
enum { STAGING_FRONT = 64 };

static size_t width(const array *a, size_t k) { return a->size * (a->gated ? k : 1); }

vg_scores vg_measures__places_at(const vg_scores *out, size_t n, size_t k, size_t plane) {
    vg_scores at = *out;
    for (size_t i = 0; i < ARRAYS; i++) {
        const array *a = &arrays[i];
        char *from = get(out, a);
        if (from)
            set(&at, a, from + n * (a->planes && plane ? a->size : width(a, k)));
    }
    return at;
}

size_t vg_measures__result_bytes(const vg_scores *out, size_t k) {
    size_t bytes = 0;
    for (size_t i = 0; i < ARRAYS; i++)
        bytes += get(out, &arrays[i]) ? width(&arrays[i], k) : 0;
    return bytes;
}

bool vg_measures__staging_bytes(size_t *bytes, const vg_scores *out, size_t k) {
    return vg_base__mul(bytes, vg_measures__result_bytes(out, k), VG_STAGING_UNITS) &&
           vg_base__add(bytes, *bytes, ARRAYS * STAGING_FRONT);
}

void vg_staging__begin(vg_staging *staging, char *memory, const vg_scores *out, size_t k) {
    staging->places = *out;
    staging->count = 0;
    for (size_t i = 0; i < ARRAYS; i++) {
        char *to = get(out, &arrays[i]);
        if (!to)
            continue;
        memory += STAGING_FRONT;
        staging->at[staging->count++] = (struct vg_staged){to, memory, width(&arrays[i], k), 0};
        set(&staging->places, &arrays[i], memory);
        memory += VG_STAGING_UNITS * width(&arrays[i], k);
    }
}

/* Copies whole lines by stores that pass the caches; `to` is aligned. */
static void copy_lines(char *to, const char *from, size_t bytes) {
#if defined(__x86_64__)
    for (; bytes >= 64; to += 64, from += 64, bytes -= 64)
        for (int i = 0; i < 64; i += 16)
            _mm_stream_si128((__m128i *)(void *)(to + i), _mm_loadu_si128((const __m128i *)(const void *)(from + i)));
#else
    memcpy(to, from, bytes);
#endif
}

/* A line that is written in two parts would cost more than the rest of the copy, so the bytes of an incomplete line
 * move to the front of the array in the buffer and wait for the next units. */
static void advance_array(struct vg_staged *s, size_t bytes) {
    const char *from = s->from - s->held;
    size_t total = s->held + bytes, before = (size_t)(-(uintptr_t)s->to & 63), lines;
    if (before) { /* only at the first units */
        before = before < total ? before : total;
        memcpy(s->to, from, before);
    }
    lines = (total - before) / 64 * 64;
    copy_lines(s->to + before, from + before, lines);
    s->to += before + lines;
    s->held = total - before - lines;
    if (s->held) /* a whole line, of which the last bytes count */
        memmove(s->from - 64, from + total - 64, 64);
}

void vg_staging__advance(vg_staging *staging, size_t count) {
    for (size_t i = 0; i < staging->count; i++)
        advance_array(&staging->at[i], count * staging->at[i].width);
}

void vg_staging__end(vg_staging *staging) {
    for (size_t i = 0; i < staging->count; i++)
        memcpy(staging->at[i].to, staging->at[i].from - staging->at[i].held, staging->at[i].held);
#if defined(__x86_64__)
    _mm_sfence(); /* before another thread reads them */
#endif
}
