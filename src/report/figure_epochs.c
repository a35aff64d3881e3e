/* figure_epochs.c - figures of a training: diversity over epochs, loss and accuracy over epochs. */
#include <math.h>
#include <stdbool.h>

#include "report/report_figures.h"

/* A row of a data block; '?' stands for a figure that is not known. */
static void put_row(vg_emit *e, const double *values, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (isfinite(values[i]))
            vg_report__format(e, "%.8g ", values[i]);
        else
            vg_report__raw(e, "? ");
    }
    vg_report__raw(e, "\n");
}

static void set_epoch_tics(vg_emit *e, const vg_report *report) {
    double span = report->epochs[report->epoch_count - 1].epoch - report->epochs[0].epoch,
           step = pow(10, floor(log10(fmax(span, 1))));
    vg_report__format(e, "set xtics %g\n", span / step < 2.5 ? step / 2 < 1 ? 1 : step / 2 : step);
}

/* --- diversity ---------------------------------------------------------------------------------------------------- */

/* The networks of a deep ensemble have one member each while they train, and no diversity. */
int vg_report__can_diversify(const vg_report *report) {
    bool any = false;
    for (size_t i = 0; i < report->epoch_count; i++)
        any = any || report->epochs[i].diversity > 0;
    return any && report->epoch_count > 1;
}

vg_status vg_report__draw_diversity(vg_emit *e, const vg_report *report) {
    int validation = 0;
    vg_report__raw(e, "$epochs << EOD\n");
    for (size_t i = 0; i < report->epoch_count; i++) {
        const vg_report_epoch *p = &report->epochs[i];
        const double values[] = {p->epoch, p->diversity > 0 ? p->diversity : NAN, p->train_loss, p->val_loss};
        validation |= isfinite(p->val_loss);
        put_row(e, values, 4);
    }
    vg_report__raw(
        e, "EOD\nset datafile missing '?'\nset logscale y\nset format y '1e%T'\nset ytics 10\n"
           "set y2tics nomirror\nset y2range [0:*]\n"
           "set border 11 lc '#444444'\nset xlabel 'epoch' offset 0,0.4\nset ylabel 'diversity D' offset 0.8,0\n"
           "set y2label 'loss' offset -1.2,0\nset key top right\nset bmargin 3\n");
    set_epoch_tics(e, report);
    if (isfinite(report->collapse_epoch))
        vg_report__format(e,
                          "set arrow from first %.8g, graph 0 to first %.8g, graph 1 nohead dt '-' lc '%s'\n"
                          "set label 'collapse' at first %.8g, graph 0.04 rotate left offset -0.7,0 tc '%s'\n",
                          report->collapse_epoch, report->collapse_epoch, vg_report__colour(4), report->collapse_epoch,
                          vg_report__colour(4));
    vg_report__format(e,
                      "plot $epochs using 1:2 with lines lw 1.6 lc '%s' title 'D', $epochs using 1:3 axes x1y2 with "
                      "lines lw 1.2 dt '-' "
                      "lc '%s' title 'training loss'",
                      vg_report__colour(2), vg_report__colour(1));
    if (validation)
        vg_report__format(e, ", $epochs using 1:4 axes x1y2 with lines lw 1.2 dt '.' lc '%s' title 'validation loss'",
                          vg_report__colour(3));
    vg_report__raw(e, "\n");
    return VG_OK;
}

/* --- loss and accuracy -------------------------------------------------------------------------------------------- */

static double train_accuracy(const vg_report *report, size_t i) {
    return report->train_accuracy ? report->train_accuracy[i] : NAN;
}

int vg_report__can_train(const vg_report *report) {
    bool any = false;
    for (size_t i = 0; i < report->epoch_count; i++)
        any = any || isfinite(report->epochs[i].train_loss) || isfinite(report->epochs[i].val_loss);
    return any && report->epoch_count > 1;
}

vg_status vg_report__draw_training(vg_emit *e, const vg_report *report) {
    static const char *const titles[] = {"training loss", "validation loss", "training accuracy",
                                         "validation accuracy"};
    static const size_t colours[] = {1, 3, 1, 3};
    int known[4] = {0}, begun = 0;
    vg_report__raw(e, "$epochs << EOD\n");
    for (size_t i = 0; i < report->epoch_count; i++) {
        const vg_report_epoch *p = &report->epochs[i];
        const double values[] = {p->epoch, p->train_loss, p->val_loss, 100 * train_accuracy(report, i),
                                 100 * p->val_accuracy};
        for (size_t v = 0; v < 4; v++)
            known[v] |= isfinite(values[v + 1]);
        put_row(e, values, 5);
    }
    vg_report__raw(e, "EOD\nset datafile missing '?'\nset yrange [0:*]\nset border 11 lc '#444444'\n"
                      "set xlabel 'epoch' offset 0,0.4\nset ylabel 'loss' offset 0.8,0\nset bmargin 3\n"
                      "set key center right\n");
    if (known[2] || known[3])
        vg_report__raw(e, "set y2tics nomirror\nset y2range [*:100]\nset y2label 'accuracy, %' offset -1.2,0\n");
    set_epoch_tics(e, report);
    for (size_t v = 0; v < 4; v++) {
        if (!known[v])
            continue;
        vg_report__format(e, "%s $epochs using 1:%zu axes %s with lines lw %s %s lc '%s' title '%s'",
                          begun ? "," : "plot", v + 2, v < 2 ? "x1y1" : "x1y2", v % 2 ? "1.6" : "1.2",
                          v < 2 ? "dt 1" : "dt '-'", vg_report__colour(colours[v]), titles[v]);
        begun = 1;
    }
    vg_report__raw(e, "\n");
    return VG_OK;
}
