/* js_class.h - one class's part of EPJS for the ungated set and every gated one. */

static void js_reset(tile *t) {
    for (size_t s = 0; s <= t->K; s++)
        t->js[s] = vd_set(0.0);
}

/* Bound of a set's members. */
INLINE vd largest(const tile *t, size_t c, size_t s) {
    return s ? t->high[c] * t->gamma[(s - 1) * t->C + c] * t->weight_high[s - 1] : t->high[c];
}

/* `single`: the class's members stand in t->columns as floats, and the float form serves. */
static void js_class(tile *t, size_t c, bool single) {
    size_t from = t->job->out.epjs ? 0 : 1, to = t->job->out.gepjs ? t->K : 0;
    double add = floor_add(t) ? t->job->options.floor : 0.0;
    if (single && (js32_rooted(t) ? js32_many(t, c, from, to) : js32_few(t, c, from, to))) {
        for (size_t s = from; s <= to; s++)
            t->js[s] += vd_select(largest(t, c, s) < 1e-30, vd_set(0.0), t->wide[s] * largest(t, c, s));
        return;
    }
    for (size_t s = from; s <= to; s++) {
        js_set set;
        set.index = 0;
        set.weights32 = NULL;
        set.add = add;
        set.gate = vd_set(1.0);
        set.mean = t->mu[c];
        set.low = t->low[c];
        set.high = t->high[c];
        if (s > 0) {
            size_t k = s - 1, at = k * t->C + c;
            set.index = s;
            set.weights32 = t->weights32 + k * t->vectors;
            set.gate = t->gamma[at];
            set.mean = t->gmean[at];
            set.low = t->low[c] * set.gate * t->weight_low[k];
            set.high = largest(t, c, s);
        }
        t->js[s] += single ? js32(t, &set, c, t->wide + s) : js64(t, &set, c);
    }
}
