/* reference_values.h - values that PyTorch computed (tests/data/nn), and the formula that gives both sides the same
 * parameters and inputs. */
#ifndef VG_TEST_REFERENCE_VALUES_H
#define VG_TEST_REFERENCE_VALUES_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <jansson.h>

#include "nn/learner.h"

#define OK(call)                                                                                                       \
    do {                                                                                                               \
        if ((call) != VG_OK)                                                                                           \
            fail_msg("%s: %s", #call, vg_error_message());                                                             \
    } while (0)

/* The generator of make_reference.py. */
static inline float *fill(size_t count, uint64_t salt, double scale, double shift) {
    float *values = malloc(count * sizeof *values);
    for (size_t i = 0; i < count; i++) {
        uint32_t u = (uint32_t)((i + 1) * 2654435761u + salt * 40503u * 65537u);
        for (int k = 0; k < 2; k++) {
            u ^= u >> 16;
            u *= 0x45D9F3Bu;
        }
        u ^= u >> 16;
        values[i] = (float)(shift + ((double)(u >> 8) / 16777216.0 - 0.5) * scale);
    }
    return values;
}

static inline double power_of_two(double x) { return exp2(nearbyint(log2(x))); }

static inline double number(const json_t *object, const char *key) {
    const json_t *v = json_object_get(object, key);
    assert_non_null(v);
    return json_number_value(v);
}

/* values against a summary: its norm, projections, entries; `bound` relative to the norm. Returns false, with one line
 * in `complaint` (COMPLAINT bytes), where they differ. */
enum { COMPLAINT = 256 };
static inline bool agree(char *complaint, const char *what, const float *values, size_t count, const json_t *summary,
                         double bound) {
    assert_non_null(summary);
    double norm = 0, wanted = number(summary, "norm"), step = number(summary, "step");
    for (size_t i = 0; i < count; i++)
        norm += (double)values[i] * values[i];
    bool good = fabs(sqrt(norm) - wanted) <= bound * wanted;
    if (!good)
        snprintf(complaint, COMPLAINT, "%s: norm %.9g, PyTorch %.9g", what, sqrt(norm), wanted);
    for (size_t k = 0; k < 3 && good; k++) {
        float *v = fill(count, 7 + k, 2.0, 0);
        double dot = 0, p = json_number_value(json_array_get(json_object_get(summary, "projections"), k));
        for (size_t i = 0; i < count; i++)
            dot += (double)values[i] * v[i];
        free(v);
        good = fabs(dot - p) <= bound * wanted;
        if (!good)
            snprintf(complaint, COMPLAINT, "%s: projection %zu is %.9g, PyTorch %.9g", what, k, dot, p);
    }
    const json_t *entries = json_object_get(summary, "entries");
    for (size_t k = 0; k < json_array_size(entries) && good; k++) {
        double e = json_number_value(json_array_get(entries, k)), got = values[k * (size_t)step];
        good = fabs(got - e) <= bound * wanted;
        if (!good)
            snprintf(complaint, COMPLAINT, "%s: entry %zu is %.9g, PyTorch %.9g", what, k * (size_t)step, got, e);
    }
    return good;
}

static inline void check(const char *what, const float *values, size_t count, const json_t *summary, double bound) {
    char complaint[COMPLAINT];
    if (!agree(complaint, what, values, count, summary, bound))
        fail_msg("%s", complaint);
}

/* Sets every parameter as make_reference.py does. */
static inline void set_parameters(vg_learner *l) {
    for (int i = 0; i < l->model->net->param_count; i++) {
        const vg_net_param *p = &l->model->net->params[i];
        size_t count = vg_param__count(&p->param), fan_in = count / p->param.o;
        float *v = p->param.kind != VG_PARAM_VECTOR
                       ? fill(count, 100 + (uint64_t)i, power_of_two(sqrt(24.0 / (double)fan_in)), 0)
                   : p->init == VG_INIT_ONE ? fill(count, 100 + (uint64_t)i, 0.5, 1)
                                            : fill(count, 100 + (uint64_t)i, 0.25, 0);
        OK(vg_model__set(l->model, l->model->theta, i, v));
        free(v);
    }
}

#endif
