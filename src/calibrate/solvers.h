/* solvers.h - the problem that both solvers solve: `count` temperatures, and a function that evaluates the losses of
 * some of them. Internal. */
#ifndef VG_CALIBRATE_SOLVERS_H
#define VG_CALIBRATE_SOLVERS_H

#include "calibrate/calibrate_data.h"

typedef struct vg_problem {
    vg_logits *logits;
    bool shared;  /* one temperature for all members: its loss is the mean of theirs */
    size_t count; /* temperatures: 1 or M */
    const vg_calibrate_options *options;
    unsigned sweeps; /* full sweeps done, of `sweeps_most`; reported as progress */
    unsigned sweeps_most;
    double *b; /* M: workspace of evaluate */
    bool *active;
    vg_temperature_loss *losses;
} vg_problem;

vg_status vg_problem__start(vg_problem *out, vg_logits *logits, const vg_calibrate_options *options,
                            unsigned sweeps_most);
void vg_problem__stop(vg_problem *problem);
/* One sweep: out[i] at T = exp(-log_b[i]) for the temperatures with active[i] (NULL: all). */
vg_status vg_problem__evaluate(vg_problem *problem, const double *log_b, const bool *active, vg_temperature_loss *out);
/* The same figures from known losses of the members. */
vg_temperature_loss vg_problem__share(const vg_problem *problem, const vg_temperature_loss *members, size_t i);
/* Counts a sweep and reports progress. */
vg_status vg_problem__swept(vg_problem *problem);
/* A fit at T = exp(-log_b) from the losses there; flags and evaluations 0. */
vg_temperature_fit vg_problem__fit(double log_b, const vg_temperature_loss *loss);

/* What is known before newton starts. */
typedef struct vg_newton_start {
    const vg_temperature_loss *at_one; /* count: losses at T = 1; NULL: not known */
    /* count: every label has its row's largest logit, so that the loss falls without end as T -> 0 */
    const bool *separable;
    /* count: a guess of log b; NaN: none. May be NULL. Without at_one it is the start */
    const double *guess;
} vg_newton_start;

/* Fills fits[count]; *rows: (temperature, sweep) pairs evaluated. */
vg_status vg_newton__solve(vg_problem *problem, const vg_newton_start *start, vg_temperature_fit *fits, double *rows);
vg_status vg_bayes__solve(vg_problem *problem, vg_temperature_fit *fits);

/* Computes held_out of a result whose temperatures are known (held_out.c). samples: filled before; room for held-out
 * ones. */
vg_status vg_calibrate__hold_out(vg_calibration *result, vg_problem *problem, vg_sample_figures samples[2]);
/* One fit, of temperatures or maps (calibrate.c); and which methods the data support (compare_methods.c). */
vg_status vg_calibrate__fit(vg_calibration **out, vg_logits *logits, const vg_calibrate_options *options);
vg_status vg_calibrate__compare(vg_calibration *result, vg_logits *logits, const vg_calibrate_options *options);
/* Writes result->text (calibration_text.c). */
vg_status vg_calibrate__write_text(vg_calibration *result);
/* Counts the flags and writes result->warning. */
void vg_calibrate__warn(vg_calibration *result, const vg_units *units);

#endif
