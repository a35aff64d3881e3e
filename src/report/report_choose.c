/* report_choose.c - which samples a page holds in full.
 *
 * All of them while their measures fit VG_REPORT_COLUMN_BYTES. Of more: a random sample for the plots, the same for
 * the same N, and beside it the notable cases: the most uncertain samples, the errors with the lowest uncertainty,
 * the correct ones with the highest. Images go to notable cases first, as many as fit VG_REPORT_IMAGE_BYTES. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/random.h"
#include "report/report_parts.h"

const vg_measure *vg_report__measure(const vg_report *report, const char *name) {
    for (size_t i = 0; i < report->measure_count; i++) {
        if (strcmp(report->measures[i].name, name) == 0)
            return &report->measures[i];
    }
    return NULL;
}

double vg_report__uncertainty(const vg_measure *measure, size_t sample) {
    double value = measure->values[sample * measure->stride];
    return measure->certainty ? -value : value;
}

const vg_measure *vg_report__main_measure(const vg_report *report) {
    const vg_measure *gmu = vg_report__measure(report, "gmu");
    return gmu ? gmu : report->measure_count ? report->measures : NULL;
}

typedef struct ranked {
    double value;
    size_t sample;
} ranked;

static int by_falling_value(const void *left, const void *right) {
    const ranked *a = left, *b = right;
    if (a->value != b->value)
        return a->value < b->value ? 1 : -1;
    return (a->sample > b->sample) - (a->sample < b->sample);
}

vg_status vg_report__order(size_t **out, const vg_measure *measure, size_t n) {
    ranked *list;
    VG_TRY(vg_base__alloc(&list, n, sizeof *list, "an order of the samples"));
    vg_status status = vg_base__alloc(out, n, sizeof **out, "an order of the samples");
    if (status == VG_OK) {
        for (size_t i = 0; i < n; i++)
            list[i] = (ranked){vg_report__uncertainty(measure, i), i};
        qsort(list, n, sizeof *list, by_falling_value);
        for (size_t i = 0; i < n; i++)
            (*out)[i] = list[i].sample;
    }
    vg_base__release(list);
    return status;
}

static int is_wrong(const vg_report *report, size_t sample) {
    return report->labels && report->labels[sample] != report->rows->top_class[sample * report->rows->top];
}

/* Lists of notable cases, each in the order of interest. */
enum { NOTABLE_LISTS = 3 };
typedef struct notable_cursor {
    const vg_report *report;
    const size_t *order; /* by falling uncertainty */
    size_t next[NOTABLE_LISTS];
} notable_cursor;

/* The next sample of list `which`, n at its end. Lists: 0 most uncertain; 1 wrong, most certain first; 2 right, most
 * uncertain first. */
static size_t next_notable(notable_cursor *w, int which) {
    size_t n = w->report->n;
    while (w->next[which] < n) {
        size_t rank = w->next[which]++;
        size_t sample = w->order[which == 1 ? n - 1 - rank : rank];
        int wrong = is_wrong(w->report, sample);
        if (which == 0 || (which == 1 && wrong) || (which == 2 && w->report->labels && !wrong))
            return sample;
    }
    return n;
}

/* Marks up to `room` samples, taking one from each list in turn. Where `only` is not NULL, only samples it marks. */
static void mark_in_turn(uint8_t *marks, const uint8_t *only, size_t room, const vg_report *report,
                         const size_t *order) {
    notable_cursor w = {.report = report, .order = order};
    int live = NOTABLE_LISTS;
    while (room > 0 && live > 0) {
        live = 0;
        for (int which = 0; which < NOTABLE_LISTS && room > 0; which++) {
            size_t sample = next_notable(&w, which);
            if (sample == report->n)
                continue;
            live++;
            if (!marks[sample] && (!only || only[sample])) {
                marks[sample] = 1;
                room--;
            }
        }
    }
}

/* Marks exactly `count` of n at random (selection sampling). */
static void mark_sample(uint8_t *marks, size_t n, size_t count) {
    vg_random random = vg_random__start(1, 0);
    for (size_t i = 0; i < n && count > 0; i++) {
        if (vg_random__below(&random, n - i) < count) {
            marks[i] = 1;
            count--;
        }
    }
}

static size_t page_room(const vg_report *report) {
    size_t columns = report->measure_count > 0 ? report->measure_count : 1;
    size_t rows = VG_REPORT_COLUMN_BYTES / (columns * sizeof(float));
    return rows < 1000 ? 1000 : rows;
}

static size_t image_room(const vg_report *report) {
    size_t pixels;
    if (!report->image || !vg_base__mul(&pixels, report->height, report->width) ||
        !vg_base__mul(&pixels, pixels, report->channels) || pixels == 0)
        return 0;
    return VG_REPORT_IMAGE_BYTES / pixels;
}

typedef struct marks {
    uint8_t *held, *plotted, *pictured; /* n each */
    size_t *order;
} marks;

static void mark_all(marks *m, const vg_report *report) {
    size_t n = report->n, room = page_room(report);
    if (n <= room) {
        memset(m->held, 1, n);
        memset(m->plotted, 1, n);
    } else {
        mark_sample(m->plotted, n, room - room / 8);
        memcpy(m->held, m->plotted, n);
        mark_in_turn(m->held, NULL, room / 8, report, m->order);
    }
    mark_in_turn(m->pictured, m->held, image_room(report), report, m->order);
}

static vg_status gather(vg_chosen *out, const marks *m, size_t n) {
    for (size_t i = 0; i < n; i++)
        out->count += m->held[i];
    VG_TRY(vg_base__alloc(&out->samples, out->count, sizeof(size_t), "the samples of the page"));
    VG_TRY(vg_base__alloc(&out->plotted, out->count, 1, "the samples of the page"));
    VG_TRY(vg_base__alloc(&out->image_rows, out->count, sizeof(size_t), "the images of the page"));
    for (size_t i = 0, row = 0; i < n; i++) {
        if (!m->held[i])
            continue;
        out->samples[row] = i;
        out->plotted[row] = m->plotted[i];
        if (m->pictured[i])
            out->image_rows[out->image_count++] = row;
        row++;
    }
    return VG_OK;
}

vg_status vg_report__choose(vg_chosen *out, const vg_report *report) {
    const vg_measure *measure = vg_report__main_measure(report);
    marks m = {0};
    *out = (vg_chosen){0};
    vg_status status = vg_base__zalloc(&m.held, report->n, 1, "the samples of the page");
    if (status == VG_OK)
        status = vg_base__zalloc(&m.plotted, report->n, 1, "the samples of the page");
    if (status == VG_OK)
        status = vg_base__zalloc(&m.pictured, report->n, 1, "the images of the page");
    if (status == VG_OK && measure)
        status = vg_report__order(&m.order, measure, report->n);
    if (status == VG_OK && !measure)
        status = vg_base__fail(VG_ERR_ARGUMENT, "a report needs at least one measure");
    if (status == VG_OK) {
        mark_all(&m, report);
        status = gather(out, &m, report->n);
    }
    vg_base__release(m.held);
    vg_base__release(m.plotted);
    vg_base__release(m.pictured);
    vg_base__release(m.order);
    if (status != VG_OK)
        vg_report__chosen_free(out);
    return status;
}

void vg_report__chosen_free(vg_chosen *chosen) {
    vg_base__release(chosen->samples);
    vg_base__release(chosen->plotted);
    vg_base__release(chosen->image_rows);
    *chosen = (vg_chosen){0};
}
