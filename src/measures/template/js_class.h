/* js_class.h - one class's part of EPJS for the ungated set and every gated one. */

static void js_reset(tile *t) {
    for (size_t s = 0; s <= t->K; s++)
        t->js[s] = vd_set(0.0);
}

/* `single`: the class's members stand in t->columns as floats, and the float form serves. */
static void js_class(tile *t, size_t c, bool single) {
    size_t from = t->job->out.epjs ? 0 : 1, to = t->job->out.gepjs ? t->K : 0;
    for (size_t s = from; s <= to; s++) {
        js_set set = {.add = floor_add(t) ? t->job->options.floor : 0.0,
                      .mean = t->mu[c],
                      .gate = vd_set(1.0),
                      .low = t->low[c],
                      .high = t->high[c]};
        if (s > 0) {
            size_t k = s - 1, at = k * t->C + c;
            set.index = s;
            set.weights32 = t->weights32 + k * t->pairs;
            set.gate = t->gamma[at];
            set.mean = t->gmean[at];
            set.low = t->low[c] * set.gate * t->weight_low[k];
            set.high = t->high[c] * set.gate * t->weight_high[k];
        }
        t->js[s] += single ? js32(t, &set, c) : js64(t, &set, c);
    }
}
