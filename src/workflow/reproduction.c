/* reproduction.c - the paper's table of accuracy, F1 and ECE, filled from finished runs of its recipes. */
#include "workflow/reproduction.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/base.h"
#include "base/c_locale.h"
#include "base/json_text.h"

/* As published, except one accuracy: SVHN's last-layer ensemble is printed with .992, while the calibrated one,
 * whose predictions are the same up to ties, has .921; .922 must have been meant. */
static const vg_paper_cell published[VG_PAPER_CELLS] = {
    {"mnist", "mcd", "mnist-mcd", {.992, .992, .002}, {NAN, NAN, NAN}, 0, 0},
    {"mnist", "mcd-lle", "mnist-lle", {.994, .994, .003}, {NAN, NAN, NAN}, 0, 0},
    {"mnist", "lle", "mnist-lle", {.994, .994, .002}, {NAN, NAN, NAN}, 0, 0},
    {"mnist", "lle-calibrated", "mnist-lle", {.994, .994, .002}, {NAN, NAN, NAN}, 0, 0},
    {"svhn", "mcd", "svhn-mcd", {.920, .913, .030}, {NAN, NAN, NAN}, 0, 0},
    {"svhn", "mcd-lle", "svhn-lle", {.924, .916, .051}, {NAN, NAN, NAN}, 0, 0},
    {"svhn", "lle", "svhn-lle", {.922, .911, .019}, {NAN, NAN, NAN}, 0, 0},
    {"svhn", "lle-calibrated", "svhn-lle", {.921, .911, .007}, {NAN, NAN, NAN}, 0, 0},
    {"cifar10", "mcd", "cifar10-mcd", {.956, .956, .017}, {NAN, NAN, NAN}, 0, 0},
    {"cifar10", "mcd-lle", "cifar10-lle", {.957, .957, .014}, {NAN, NAN, NAN}, 0, 0},
    {"cifar10", "lle", "cifar10-lle", {.957, .957, .025}, {NAN, NAN, NAN}, 0, 0},
    {"cifar10", "lle-calibrated", "cifar10-lle", {.957, .957, .006}, {NAN, NAN, NAN}, 0, 0},
    {"cifar100", "mcd", "cifar100-mcd", {.771, .771, .075}, {NAN, NAN, NAN}, 0, 0},
    {"cifar100", "mcd-lle", "cifar100-lle", {.775, .775, .049}, {NAN, NAN, NAN}, 0, 0},
    {"cifar100", "lle", "cifar100-lle", {.772, .770, .105}, {NAN, NAN, NAN}, 0, 0},
    {"cifar100", "lle-calibrated", "cifar100-lle", {.772, .770, .025}, {NAN, NAN, NAN}, 0, 0},
};

/* How far a repetition may be from the paper: two or three standard errors of 10,000 test samples and the spread
 * between seeds. A calibrated ECE has a bound of its own. */
typedef struct tolerance {
    const char *dataset;
    double accuracy, ece;
} tolerance;
static const tolerance tolerances[] = {
    {"mnist", .002, .015}, {"svhn", .006, .015}, {"cifar10", .006, .015}, {"cifar100", .012, .03}};
static const double calibrated_ece = .03;

static int within(const vg_paper_cell *cell) {
    const tolerance *t = tolerances;
    double slack = 1e-9; /* decimals are not exact in binary */
    while (strcmp(t->dataset, cell->dataset) != 0)
        t++;
    double ece = strcmp(cell->ensemble, "lle-calibrated") == 0 ? cell->ours[2] - calibrated_ece
                                                               : fabs(cell->ours[2] - cell->paper[2]) - t->ece;
    return fabs(cell->ours[0] - cell->paper[0]) <= t->accuracy + slack && ece <= slack;
}

static void take(vg_paper_cell *cell, const json_t *evaluation) {
    static const char *const keys[] = {"accuracy", "f1_macro", "ece"};
    bool whole = true;
    for (size_t i = 0; i < 3; i++) {
        const json_t *value = json_object_get(evaluation, keys[i]);
        cell->ours[i] = json_is_number(value) ? json_number_value(value) : NAN;
        whole = whole && !isnan(cell->ours[i]);
    }
    cell->there = whole;
    cell->within = whole && within(cell);
}

/* A document of a run; *out is NULL when the file does not exist. */
static vg_status load(json_t **out, const char *folder, const char *recipe, const char *name) {
    char path[VG_PAPER_FOLDER + 200];
    struct stat info;
    *out = NULL;
    snprintf(path, sizeof path, "%s/%s/%s", folder, recipe, name);
    if (stat(path, &info) != 0)
        return VG_OK;
    return vg_base__json_load_file(out, path, 0);
}

static vg_status fill_cell(vg_paper_cell *cell, const char *folder) {
    bool dropout = strcmp(cell->ensemble, "mcd-lle") == 0, calibrated = strcmp(cell->ensemble, "lle-calibrated") == 0;
    json_t *document;
    VG_TRY(load(&document, folder, cell->recipe, dropout ? "mcd-lle.json" : "results.json"));
    if (document)
        take(cell, dropout ? document : json_object_get(document, calibrated ? "test_calibrated" : "test"));
    json_decref(document);
    return VG_OK;
}

vg_status vg_reproduction_read(vg_reproduction **out, const char *folder) {
    VG_TRY(vg_base__given(out != NULL, "vg_reproduction_read: out"));
    VG_IN_C_LOCALE;
    vg_reproduction_owner *owner;
    *out = NULL;
    if (folder && strlen(folder) >= sizeof owner->folder)
        return vg_base__fail(VG_ERR_ARGUMENT, "reproduce: the folder's name is too long");
    VG_TRY(vg_base__zalloc(&owner, 1, sizeof *owner, "the paper's table"));
    memcpy(owner->cells, published, sizeof published);
    snprintf(owner->folder, sizeof owner->folder, "%s", folder ? folder : "");
    owner->result = (vg_reproduction){sizeof owner->result, VG_PAPER_CELLS, owner->cells};
    vg_status status = VG_OK;
    for (size_t i = 0; folder && status == VG_OK && i < VG_PAPER_CELLS; i++)
        status = fill_cell(&owner->cells[i], folder);
    if (status == VG_OK)
        *out = &owner->result;
    else
        vg_reproduction_free(&owner->result);
    return status;
}

void vg_reproduction_free(vg_reproduction *reproduction) { vg_base__release(reproduction); }
