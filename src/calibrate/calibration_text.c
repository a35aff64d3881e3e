/* calibration_text.c - a readable summary of a calibration, and the names of its methods. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/sort.h"
#include "calibrate/map.h"
#include "calibrate/solvers.h"

enum { TEXT_ROOM = 1600 };

/* A text of TEXT_ROOM bytes that grows by lines. */
typedef struct text_lines {
    char *text;
    size_t used;
} text_lines;

__attribute__((format(printf, 2, 3))) static void add_line(text_lines *t, const char *format, ...) {
    va_list list;
    va_start(list, format);
    int length = vsnprintf(t->text + t->used, TEXT_ROOM - t->used, format, list);
    va_end(list);
    if (length > 0)
        t->used = t->used + (size_t)length < TEXT_ROOM - 1 ? t->used + (size_t)length : TEXT_ROOM - 1;
}

static const char *plural(size_t count) { return count == 1 ? "" : "s"; }

static vg_status add_temperatures(text_lines *t, const vg_calibration *r) {
    double *sorted;
    VG_TRY(vg_base__alloc(&sorted, r->count, sizeof *sorted, "the temperatures"));
    for (size_t i = 0; i < r->count; i++)
        sorted[i] = r->temperatures[i];
    vg_base__sort_doubles(sorted, r->count);
    if (r->count == 1)
        add_line(t, "Temperature    %.6g%s\n", sorted[0], r->members > 1 ? ", shared by all members" : "");
    else
        add_line(t, "Temperatures   one per member: median %.6g, from %.6g to %.6g\n", sorted[r->count / 2], sorted[0],
                 sorted[r->count - 1]);
    vg_base__release(sorted);
    if (r->newton)
        add_line(t, "newton         %u sweep%s over the data (%.1f passes of work)\n", r->newton_sweeps,
                 plural(r->newton_sweeps), r->newton_passes);
    if (r->bayes)
        add_line(t, "bayes          %u sweep%s over the data\n", r->bayes_sweeps, plural(r->bayes_sweeps));
    if (r->newton && r->bayes && isnan(r->gap_log_t_max))
        add_line(t, "gap            in the loss: worst %.3g (no minimiser lies inside the range of T)\n",
                 r->gap_loss_max);
    else if (r->newton && r->bayes)
        add_line(t, "gap            in log T: median %.3g, worst %.3g; in the loss: worst %.3g\n", r->gap_log_t_median,
                 r->gap_log_t_max, r->gap_loss_max);
    return VG_OK;
}

static void add_map(text_lines *t, const vg_calibration *r) {
    const char *whose = r->mean           ? "of the mean over members, which are moved to match it"
                        : r->members == 1 ? "of the one member"
                        : r->count == 1   ? "one for all members"
                                          : "one per member";
    unsigned most = 0;
    double gradient = 0;
    add_line(t, "Map            %s, %s", vg_calibration_method__name(r->method), whose);
    if (r->method == VG_CALIBRATE_TEMPERATURE)
        add_line(t, ": T = %.6g", 1 / r->map->linear[0]);
    add_line(t, "\n");
    if (!vg_calibration_method__linear(r->method)) {
        add_line(t, "solver         exact, %zu points\n", r->map->at[r->count * r->classes]);
        return;
    }
    for (size_t i = 0; i < r->count; i++) {
        most = r->map_fits[i].iterations > most ? r->map_fits[i].iterations : most;
        gradient = fmax(gradient, r->map_fits[i].gradient);
    }
    add_line(t, "solver         %u Newton step%s at most, largest derivative %.1e\n", most, plural(most), gradient);
}

vg_status vg_calibrate__write_text(vg_calibration *r) {
    text_lines t = {NULL, 0};
    char images[40] = "";
    VG_TRY(vg_base__zalloc(&r->text, TEXT_ROOM, 1, "the text of a calibration"));
    t.text = r->text;
    if (r->map)
        add_map(&t, r);
    else
        VG_TRY(add_temperatures(&t, r));
    if (r->images)
        snprintf(images, sizeof images, " of %zu images", r->images);
    if (r->folds)
        add_line(&t,
                 "held out       every %s at %s fitted without it, %u folds%s; NLL changes by %+.2g (95 %% interval "
                 "%+.2g to %+.2g), ECE by %+.2g (%+.2g to %+.2g)\n",
                 r->images ? "image" : "sample", r->map ? "a map" : "temperatures", r->folds, images,
                 r->held_out.nll - r->before.nll, r->nll_change[0], r->nll_change[1], r->held_out.ece - r->before.ece,
                 r->ece_change[0], r->ece_change[1]);
    return VG_OK;
}
