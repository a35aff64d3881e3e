/* top.h - the index of the largest of some floats, the first one of equals. */

static uint32_t first_top(const float *x, size_t count) {
    const size_t lanes = 2 * VG_LANES;
    vf best = vf_set(-INFINITY), v;
    size_t c = 0;
    for (; c + lanes <= count; c += lanes) {
        memcpy(&v, x + c, sizeof v);
        best = vf_max(v, best);
    }
    float most = vf_top(best);
    for (; c < count; c++)
        most = x[c] > most ? x[c] : most;
    for (c = 0; c + lanes <= count; c += lanes) {
        memcpy(&v, x + c, sizeof v);
        size_t lane = vf_place(v, most);
        if (lane < lanes)
            return (uint32_t)(c + lane);
    }
    while (c + 1 < count && x[c] != most)
        c++;
    return (uint32_t)c;
}
