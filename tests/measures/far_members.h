/* far_members.h - float32 members that are equal but for one, which gives almost no probability to every class but the
 * last. The terms of the others are equal and small, and are rounded alike where they are added to its large one: TU,
 * AU, EU and EPKL must keep the accuracy of docs/measures.md, whatever computes them. */
#ifndef VG_TEST_FAR_MEMBERS_H
#define VG_TEST_FAR_MEMBERS_H

#include <math.h>
#include <stddef.h>

#include "vargate/measures.h"

typedef vg_status (*far_scoring)(vg_scores *, vg_score_summary *, const vg_predictions *, const vg_score_options *);

enum { FAR_SAMPLES = 32, FAR_MOST = 170, FAR_MOST_CLASSES = 100 };

static inline double far_entropy(const double *p, size_t classes) {
    double h = 0;
    for (size_t c = 0; c < classes; c++)
        h -= p[c] > 0 ? p[c] * log(p[c]) : 0;
    return h;
}

/* The largest error of TU, AU, EU and EPKL in FAR_SAMPLES samples of `members` members, one of them with probability
 * `far` of every class but the last; infinite where scoring fails. */
static inline double far_member_error(far_scoring score, size_t members, size_t classes, float far, size_t shift) {
    static float p[FAR_SAMPLES * FAR_MOST * FAR_MOST_CLASSES];
    double tu[FAR_SAMPLES], au[FAR_SAMPLES], eu[FAR_SAMPLES], epkl[FAR_SAMPLES], worst = 0;
    for (size_t s = 0; s < FAR_SAMPLES; s++)
        for (size_t m = 0; m < members; m++) {
            float *row = p + (s * members + m) * classes, all = (float)(((double)((s + shift) % 97) + .5) / 97);
            for (size_t c = 0; c + 1 < classes; c++)
                row[c] = m == s % members ? far : all / (float)(classes - 1);
            row[classes - 1] = m == s % members ? 1 : 1 - all;
        }
    vg_score_options options = VG_SCORE_OPTIONS_INIT;
    vg_score_summary summary;
    vg_scores out = {.tu = tu, .au = au, .eu = eu, .epkl = epkl};
    vg_predictions view = vg_predictions_f32(p, FAR_SAMPLES, members, classes);
    if (score(&out, &summary, &view, &options))
        return INFINITY;
    for (size_t s = 0; s < FAR_SAMPLES; s++) {
        double mean[FAR_MOST_CLASSES] = {0}, row[FAR_MOST_CLASSES], within = 0, reverse = 0;
        for (size_t m = 0; m < members; m++) {
            for (size_t c = 0; c < classes; c++) {
                row[c] = (double)p[(s * members + m) * classes + c];
                mean[c] += row[c] / (double)members;
            }
            within += far_entropy(row, classes) / (double)members;
        }
        for (size_t m = 0; m < members; m++)
            for (size_t c = 0; c < classes; c++) {
                double own = fmax((double)p[(s * members + m) * classes + c], 1e-12);
                reverse += mean[c] * log(mean[c] / own) / (double)members;
            }
        double total = far_entropy(mean, classes);
        worst = fmax(worst, fabs(tu[s] - total));
        worst = fmax(worst, fabs(au[s] - within));
        worst = fmax(worst, fabs(eu[s] - (total - within)));
        worst = fmax(worst, fabs(epkl[s] - (total - within + reverse)));
    }
    return worst;
}

static const float far_values[] = {0, 1e-34F, 1e-30F, 1e-25F, 1e-20F, 1e-15F, 1e-12F, 1e-9F};
enum { FAR_VALUES = sizeof far_values / sizeof *far_values };

#endif
