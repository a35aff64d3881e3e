/* test_calibrate_faults.c - calibration with the n-th allocation failing, for every n: every method and solver, the fit
 * of k, maps that are written, read and applied. Each ends with one line of message and frees its memory. */
#include "base/base.h"
#include "calibrate/calibration.h"
#include "calibrate_util.h"
#include "fault_loop.h"
#include "vargate/temperatures.h"

typedef struct fit_case {
    const problem *p;
    vg_calibrate_options options;
} fit_case;

static double mapped[64 * 2 * 2], figure;

/* The text of a map, the map from its text, and the predictions by it. */
static vg_status use_map(const vg_calibration *c, const vg_predictions *view) {
    char *text;
    vg_calibration_map *map;
    VG_TRY(vg_temperatures_text(&text, c));
    vg_status status = vg_calibration_map_load(&map, text);
    vg_free(text);
    VG_TRY(status);
    status = vg_calibration_map_apply(mapped, NULL, NULL, map, view, 1, 1);
    vg_free(map);
    figure = 0;
    for (size_t i = 0; i < view->n * view->m * view->c; i++)
        figure += (double)(i + 1) * mapped[i];
    return status;
}

static vg_status calibrate(void *context) {
    const fit_case *f = context;
    vg_predictions view = view_f64(f->p);
    vg_calibration *c;
    VG_TRY(vg_calibrate(&c, &view, f->p->y, &f->options));
    vg_status status = use_map(c, &view);
    vg_calibration_free(c);
    return status;
}

/* A calibration with every allocation failing. */
static void walk_fit(fit_case *f, const char *what) {
    walk_faults((fault_walk){
        .what = what,
        .body = calibrate,
        .context = f,
        .figure = &figure,
        .kind = "alloc",
        .status = VG_ERR_MEMORY,
    });
}

static void every_method(void **state) {
    (void)state;
    problem p = make_problem(64, 2, 2, 5, 1, 1);
    for (int method = VG_CALIBRATE_TEMPERATURE; method <= VG_CALIBRATE_VENN_ABERS; method++) {
        fit_case f = {&p, VG_CALIBRATE_OPTIONS_INIT};
        f.options.method = (vg_calibration_method)method;
        f.options.threads = 1;
        f.options.mean = method % 2;
        walk_fit(&f, vg_calibration_method__name((vg_calibration_method)method));
    }
    free_problem(&p);
}

static void solvers_and_comparison(void **state) {
    (void)state;
    problem p = make_problem(60, 2, 2, 9, 1, 1);
    fit_case f = {&p, VG_CALIBRATE_OPTIONS_INIT};
    f.options.threads = 1;
    f.options.evaluations = 5;
    f.options.initial = 3;
    f.options.solver = VG_SOLVER_BOTH;
    walk_fit(&f, "both solvers");
    f.options.solver = VG_SOLVER_NEWTON;
    f.options.compare = 1;
    walk_fit(&f, "a comparison");
    f.options.image_ends = (const size_t[]){20, 20, 60};
    f.options.image_count = 3;
    walk_fit(&f, "a comparison on images");
    free_problem(&p);
}

static vg_status fit_k(void *context) {
    const fit_case *f = context;
    vg_predictions view = view_f64(f->p);
    vg_fit_k_options options = VG_FIT_K_OPTIONS_INIT;
    vg_k_fit *fit;
    char *text;
    options.logits = 1;
    options.threads = 1;
    options.folds = 2;
    options.max_iterations = 5;
    options.image_ends = f->options.image_ends;
    options.image_count = f->options.image_count;
    VG_TRY(vg_fit_k(&fit, &view, f->p->y, &options));
    vg_status status = vg_k_fit_json(&text, fit, 0);
    figure = fit->by_class.after.nll + fit->k_one;
    vg_free(fit);
    if (status == VG_OK)
        vg_free(text);
    return status;
}

static void fits_of_k(void **state) {
    (void)state;
    problem p = make_problem(40, 3, 3, 4, 1, 1);
    fit_case f = {&p, VG_CALIBRATE_OPTIONS_INIT};
    fault_walk memory = {.what = "k",
                         .body = fit_k,
                         .context = &f,
                         .figure = &figure,
                         .kind = "alloc",
                         .status = VG_ERR_MEMORY,
                         .tolerated = 1};
    walk_faults(memory);
    walk_faults((fault_walk){.what = "k", .body = fit_k, .context = &f, .figure = &figure, .kind = "thread"});
    f.options.image_ends = (const size_t[]){20, 40};
    f.options.image_count = 2;
    memory.what = "k of images";
    walk_faults(memory);
    free_problem(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_method),
        cmocka_unit_test(solvers_and_comparison),
        cmocka_unit_test(fits_of_k),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
