/* score.c - two samples, three ensemble members, three classes: total uncertainty, GMU, and who decides at k = 1. */
#include <stdio.h>
#include <vargate/vargate.h>

int main(void) {
    static const float p[2][3][3] = {{{.90f, .06f, .04f}, {.85f, .10f, .05f}, {.92f, .05f, .03f}},  /* they agree */
                                     {{.70f, .20f, .10f}, {.15f, .80f, .05f}, {.30f, .30f, .40f}}}; /* they do not */
    const double k = 1;
    double tu[2], gtu[2], gmu[2];
    int32_t decision[2];
    vg_predictions predictions = vg_predictions_f32(&p[0][0][0], 2, 3, 3);
    vg_score_options options = VG_SCORE_OPTIONS_INIT;
    vg_scores out = {.tu = tu, .gtu = gtu, .gmu = gmu, .decision = decision}; /* NULL: not computed */
    options.k = &k;
    options.k_count = 1;
    if (vg_score(&out, NULL, &predictions, &options) != VG_OK)
        return fprintf(stderr, "%s\n", vg_error_message()), 1;
    for (int n = 0; n < 2; n++)
        printf("sample %d: TU %.4f  GTU %.4f  GMU %.4f  class %d\n", n, tu[n], gtu[n], gmu[n], (int)decision[n]);
    return 0;
}
