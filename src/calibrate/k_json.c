/* k_json.c - a fit of k as the text of k.json. Keys: docs/schema/fit-k.schema.json. Numbers have 17 digits. */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/c_locale.h"
#include "base/json_text.h"
#include "calibrate/json_values.h"
#include "vargate/calibrate.h"

static json_t *figures(const vg_k_figures *f, bool *ok) {
    json_t *out = json_object();
    vg_base__json_put(out, "nll", real(f->nll), ok);
    vg_base__json_put(out, "ece", real(f->ece), ok);
    vg_base__json_put(out, "accuracy", real(f->accuracy), ok);
    return out;
}

static json_t *solution(const vg_k_solution *s, bool held_out, bool *ok) {
    json_t *out = json_object();
    vg_base__json_put(out, "after", figures(&s->after, ok), ok);
    if (held_out) {
        vg_base__json_put(out, "held_out", figures(&s->held_out, ok), ok);
        vg_base__json_put(out, "nll_change", real(s->nll_change), ok);
        vg_base__json_put(out, "nll_change_interval", json_pack("[o, o]", real(s->nll_low), real(s->nll_high)), ok);
    }
    vg_base__json_put(out, "converged", json_boolean(s->converged), ok);
    vg_base__json_put(out, "gradient", real(s->gradient), ok);
    vg_base__json_put(out, "iterations", json_integer(s->iterations), ok);
    vg_base__json_put(out, "at_min", json_integer((json_int_t)s->at_min), ok);
    vg_base__json_put(out, "at_max", json_integer((json_int_t)s->at_max), ok);
    return out;
}

static json_t *document(const vg_k_fit *f, bool one, bool *ok) {
    json_t *root = json_object(), *k = json_array();
    for (size_t c = 0; c < (one ? 1 : f->classes); c++)
        *ok &= json_array_append_new(k, real(one ? f->k_one : f->k[c])) == 0;
    bool held_out = !isnan(f->one.nll_change);
    vg_base__json_put(root, "schema", json_string("vargate/1"), ok);
    vg_base__json_put(root, "command", json_string("fit-k"), ok);
    vg_base__json_put(root, "k", k, ok);
    vg_base__json_put(root, "k_one", real(f->k_one), ok);
    vg_base__json_put(root, "samples", json_integer((json_int_t)f->samples), ok);
    if (f->images > 0)
        vg_base__json_put(root, "images", json_integer((json_int_t)f->images), ok);
    vg_base__json_put(root, "members", json_integer((json_int_t)f->members), ok);
    vg_base__json_put(root, "classes", json_integer((json_int_t)f->classes), ok);
    vg_base__json_put(root, "k_min", real(f->k_min), ok);
    vg_base__json_put(root, "k_max", real(f->k_max), ok);
    vg_base__json_put(root, "bins", json_integer(f->bins), ok);
    vg_base__json_put(root, "folds", json_integer(held_out ? f->folds : 0), ok);
    vg_base__json_put(root, "before", figures(&f->before, ok), ok);
    vg_base__json_put(root, "by_class", solution(&f->by_class, held_out, ok), ok);
    vg_base__json_put(root, "one", solution(&f->one, held_out, ok), ok);
    vg_base__json_put(root, "supported", json_string(f->supported), ok);
    vg_base__json_put(root, "text", json_string(f->text), ok);
    if (f->warning[0] != '\0')
        vg_base__json_put(root, "warning", json_string(f->warning), ok);
    return root;
}

vg_status vg_k_fit_json(char **out, const vg_k_fit *fit, int one) {
    VG_TRY(vg_base__given(out && fit, "vg_k_fit_json: out and fit"));
    VG_IN_C_LOCALE;
    bool ok = true;
    json_t *root = document(fit, one != 0, &ok);
    char *text = ok ? vg_base__json_text(root, JSON_INDENT(1) | JSON_REAL_PRECISION(17)) : NULL;
    json_decref(root);
    if (!text)
        return vg_base__fail(VG_ERR_MEMORY, "out of memory for the text of %zu ks", fit->classes);
    size_t size = strlen(text);
    vg_status status = vg_base__alloc(out, size + 2, 1, "text of a fit");
    if (status == VG_OK) {
        memcpy(*out, text, size);
        memcpy(*out + size, "\n", 2);
    }
    free(text);
    return status;
}
