/* js_class.h - EPJS over the classes, for the ungated set and every gated one. */

/* A sum over all classes above this share of the marked classes' largest members (js32_small.h) is accurate enough
 * without recomputing them. */
#define JS_ENOUGH 0.005

/* The sets that are asked for. */
INLINE size_t js_first(const tile *t) { return t->job->out.epjs ? 0 : 1; }
INLINE size_t js_last(const tile *t) { return t->job->out.gepjs ? t->K : 0; }

/* Prepares the gates' weights for the float forms. */
static void js_prepare(tile *t) {
    pack_weights32(t);
    if (t->M <= JS32_FEW)
        pack_pairs32(t, js_first(t), js_last(t));
}

static void js_reset(tile *t) {
    for (size_t s = 0; s <= t->K; s++)
        t->js[s] = t->js_marked[s] = t->js_reach[s] = vd_set(0.0);
}

/* Upper bound of a set's members. */
INLINE vd largest(const tile *t, size_t c, size_t s) {
    return s ? t->high[c] * t->gamma[(s - 1) * t->C + c] * t->weight_high[s - 1] : t->high[c];
}

static js_set js_members(const tile *t, size_t c, size_t s) {
    js_set set;
    set.index = s;
    set.weights32 = NULL;
    set.add = floor_add(t) ? t->job->options.floor : 0.0;
    set.gate = vd_set(1.0);
    set.mean = t->mu[c];
    set.low = t->low[c];
    set.high = largest(t, c, s);
    if (s > 0) {
        size_t k = s - 1, at = k * t->C + c;
        set.weights32 = t->weights32 + k * t->vectors;
        set.gate = t->gamma[at];
        set.mean = t->gmean[at];
        set.low = t->low[c] * set.gate * t->weight_low[k];
    }
    return set;
}

/* Few members: the wide form for every set; marked values are summed separately. */
static void js_few_class(tile *t, size_t c) {
    size_t from = js_first(t), to = js_last(t);
    vh *wide = t->few + c * t->few_pitch;
    bool clear = js32_few(t, c, from, to, wide);
    for (size_t s = from; s <= to; s++) {
        vd high = largest(t, c, s), signed_value = vd_from(wide[s]);
        /* Rounded, so that both paths give the same bits. */
        vd value = vd_select(high < 1e-30, vd_set(0.0), vd_abs(signed_value) * high);
        if (clear) {
            t->js[s] += value;
            continue;
        }
        vl marked = (vl)signed_value < 0;
        t->js[s] += vd_select(marked, vd_set(0.0), value);
        t->js_marked[s] += vd_select(marked, value, vd_set(0.0));
        t->js_reach[s] += vd_select(marked, high, vd_set(0.0));
    }
}

/* One class. `single`: its members are in t->columns as floats, and the float forms are used. */
static void js_class(tile *t, size_t c, bool single) {
    if (single && t->M <= JS32_FEW) {
        js_few_class(t, c);
        return;
    }
    size_t from = js_first(t), to = js_last(t);
    if (single && js32_many(t, c, from, to)) {
        for (size_t s = from; s <= to; s++)
            t->js[s] += vd_select(largest(t, c, s) < 1e-30, vd_set(0.0), t->wide[s] * largest(t, c, s));
        return;
    }
    for (size_t s = from; s <= to; s++) {
        js_set set = js_members(t, c, s);
        t->js[s] += single ? js32(t, &set, c, t->wide + s) : js64(t, &set, c);
    }
}

/* Few members, after the last class: in lanes whose sum is large enough, marked values count as they are; in the others
 * these classes are computed again by the form that suits each. */
static void js_finish(tile *t) {
    size_t from = js_first(t), to = js_last(t);
    bool again = false;
    for (size_t s = from; s <= to; s++) {
        vl enough = t->js[s] + t->js_marked[s] >= JS_ENOUGH * t->js_reach[s];
        t->js[s] += vd_select(enough, t->js_marked[s], vd_set(0.0));
        t->js_reach[s] = vd_select(enough, vd_set(0.0), t->js_reach[s]);
        again |= vl_any(~enough);
    }
    for (size_t c = 0; again && c < t->C; c++) {
        bool loaded = false;
        for (size_t s = from; s <= to; s++) {
            vd value = vd_from(t->few[c * t->few_pitch + s]);
            vl taken = ((vl)value < 0) & (t->js_reach[s] > 0.0);
            if (!vl_any(taken))
                continue;
            if (!loaded)
                js32_load(t, c, true);
            loaded = true;
            js_set set = js_members(t, c, s);
            value = vd_abs(value);
            value = js32(t, &set, c, &value);
            t->js[s] += vd_select(taken, value, vd_set(0.0));
        }
    }
}
