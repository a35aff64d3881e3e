/* verdict_output.c - the verdict's keys. */
#include "verdict_output.h"

#include "json_output.h"

void verdict_json(json_t *object, const vg_verdict *verdict) {
    json_t *figures = json_object();
    json_put_text(object, "verdict", verdict->name);
    json_put_text(object, "verdict_text", verdict->text);
    json_put_number(figures, "share", verdict->share);
    json_put_number(figures, "disagreement", verdict->disagreement);
    json_put_number(figures, "abstained", verdict->abstained);
    json_put_number(figures, "diversity", verdict->diversity);
    json_put_number(figures, "class_variance", verdict->class_variance);
    json_put_number(figures, "accuracy", verdict->accuracy);
    json_put_number(figures, "chance", verdict->chance);
    json_put(object, "verdict_figures", figures);
}
