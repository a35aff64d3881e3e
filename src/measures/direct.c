/* direct.c - the measures of one sample straight from their definitions, with double loops over pairs: O(M^2 C), no
 * allocation. The kernels use it for samples in which some member has a gated probability of zero in every class. */
#include <math.h>

#include "measures/kernel.h"

typedef struct floors {
    double max, add;
} floors;

static double self(double x, floors f) { return x > 0 ? x * log(x + f.add) : 0; }
static double cross(double x, double y, floors f) {
    double inside = y + f.add > f.max ? y + f.add : f.max;
    return x > 0 ? x * log(inside > 0 ? inside : 1e-300) : 0;
}
static double above(double x) { return x > 0 ? x : 0; }

void vg_measures__direct(double results[6], vg_member_value *value, const void *context, const vg_kernel_job *job) {
    const vg_score_options *o = &job->options;
    size_t m = job->m, c = job->c;
    floors f = {!o->logits && o->floor_form == VG_FLOOR_MAX ? o->floor : 0,
                !o->logits && o->floor_form == VG_FLOOR_ADD ? o->floor : 0};
    bool distinct = o->pairs == VG_PAIRS_DISTINCT;
    double tu = 0, au = 0, epce = 0, epjs = 0, pairs = 0;
    for (size_t j = 0; j < c; j++) {
        double mean = 0;
        for (size_t a = 0; a < m; a++)
            mean += value(context, a, j) / (double)m;
        tu -= self(mean, f);
    }
    for (size_t a = 0; a < m; a++)
        for (size_t j = 0; j < c; j++)
            au -= self(value(context, a, j), f) / (double)m;
    for (size_t a = 0; a < m; a++)
        for (size_t b = 0; b < m; b++) {
            if (distinct && a == b)
                continue;
            pairs++;
            for (size_t j = 0; j < c; j++) {
                double x = value(context, a, j), y = value(context, b, j);
                epce -= cross(x, y, f);
                epjs += (self(x, f) + self(y, f)) / 2 - self((x + y) / 2, f);
            }
        }
    epce = pairs > 0 ? epce / pairs : au;
    epjs = pairs > 0 ? above(epjs / pairs) : 0;
    double eu = above(tu - au), epkl = m == 1 ? 0 : f.add > 0 ? above(epce - au) : epce - au;
    if (f.add == 0) { /* The kernels use the same expression, so that both give the same bits. */
        au = above(tu - eu);
        epce = au + epkl;
    }
    double unit = o->log_base == VG_LOG_2 ? 1 / log(2) : 1, share = o->normalise ? 1 / log((double)c) : unit;
    results[0] = tu * share;
    results[1] = au * share;
    results[2] = eu * share;
    results[3] = epce * unit;
    results[4] = epkl * unit;
    results[5] = epjs * unit;
}
