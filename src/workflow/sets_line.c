/* sets_line.c - prediction sets one line at a time. See prediction_set_line.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* asprintf */
#endif
#include "workflow/prediction_set_line.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_text.h"
#include "vargate/temperatures.h"
#include "workflow/json_build.h"
#include "workflow/prediction_set_rows.h"

vg_status vg_set_line__open(vg_set_line *l, vg_sets *sets) {
    size_t C = sets->classes;
    *l = (vg_set_line){.sets = vg_sets__data(sets), .places = VG_SET_PLACES_INIT};
    VG_TRY(vg_sets__settle(l->sets));
    if (l->sets->map)
        VG_TRY(vg_calibration_map_load(&l->map, l->sets->map));
    if (sets->by == VG_SETS_BY_GROUP)
        return vg_base__fail(VG_ERR_ARGUMENT, "--stdin-jsonl: the thresholds are by group, and a line has none");
    VG_TRY(vg_base__alloc(&l->places.mask, sets->alpha_count, vg_sets__mask_bytes(l->sets), "sets"));
    VG_TRY(vg_base__alloc(&l->places.pred, sets->multilabel ? C : 1, sizeof *l->places.pred, "predicted classes"));
    VG_TRY(vg_base__alloc(&l->places.value, C, sizeof *l->places.value, "means"));
    return vg_base__alloc(&l->order, C, sizeof *l->order, "classes of a set");
}

void vg_set_line__free(vg_set_line *l) {
    vg_base__release(l->places.mask);
    vg_base__release(l->places.pred);
    vg_base__release(l->places.value);
    vg_base__release(l->order);
    vg_free(l->map);
    *l = (vg_set_line){0};
}

/* The message for a line that cannot be scored, counted from that line and not from the first of the stream. */
static void explain(vg_stream_line *from, const vg_sets_data *s, const vg_predictions *view, double *mean) {
    char kept[256];
    vg_score_options options = s->scoring;
    vg_scores places = {.mean = mean};
    snprintf(kept, sizeof kept, "%s", vg_error_message());
    bool fits = view->c == s->shown.classes && view->m == s->shown.members;
    bool failed = fits && vg_score(&places, NULL, view, &options) != VG_OK;
    snprintf(from->error, sizeof from->error, "%s", failed ? vg_error_message() : kept);
}

static json_t *set_json(const vg_set_line *l, size_t a, bool *ok) {
    const vg_sets *s = &l->sets->shown;
    size_t count =
        vg_set_rows__classes(l->order, l->places.mask + a * vg_sets__mask_bytes(l->sets), l->places.value, s->classes);
    json_t *classes = json_array(), *names = s->class_names ? json_array() : NULL;
    for (size_t i = 0; i < count; i++) {
        vg_base__json_add(classes, json_integer((json_int_t)l->order[i]), ok);
        if (names)
            vg_base__json_add(names, vg_json__string(s->class_names[l->order[i]]), ok);
    }
    json_t *out = json_pack("{s:f}", "alpha", s->alphas[a]);
    if (!s->multilabel)
        vg_base__json_put(out, "decision", json_integer(count == 1 ? (json_int_t)l->order[0] : -1), ok);
    vg_base__json_put(out, "size", json_integer((json_int_t)count), ok);
    vg_base__json_put(out, "classes", classes, ok);
    if (s->class_names)
        vg_base__json_put(out, "names", names, ok);
    return out;
}

char *vg_set_line__answer(vg_set_line *l, vg_stream_line *from) {
    const vg_sets *s = &l->sets->shown;
    vg_predictions view = vg_predictions_f64(from->values, 1, from->m, from->c);
    if (l->map && !vg_stream_line__map(from, l->map))
        return NULL;
    if (l->sets->temperature && !from->logits) {
        snprintf(from->error, sizeof from->error,
                 "probabilities, expected logits: the thresholds are for logits at a temperature");
        return NULL;
    }
    vg_sets__read_logits(l->sets, from->logits);
    vg_status status = vg_sets__feed(l->sets, &l->places, &view, NULL, NULL);
    if (status != VG_OK) {
        from->no_memory = status == VG_ERR_MEMORY;
        explain(from, l->sets, &view, l->places.value);
        return NULL;
    }
    json_t *sets = json_array(), *root = json_object();
    bool ok = true;
    for (size_t a = 0; a < s->alpha_count; a++)
        vg_base__json_add(sets, set_json(l, a, &ok), &ok);
    if (!s->multilabel)
        vg_base__json_put(root, "pred", json_integer(l->places.pred[0]), &ok);
    vg_base__json_put(root, "sets", sets, &ok);
    char *text = ok ? vg_base__json_text(root, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL, *out = NULL;
    json_decref(root);
    if (text && asprintf(&out, ",%s\n", text + 1) < 0)
        out = NULL;
    free(text);
    from->no_memory = !out;
    if (!out)
        snprintf(from->error, sizeof from->error, "out of memory for the answer");
    return out;
}
