/* train.c - a recipe that ships, made small enough for a few seconds: trained, its test images predicted, the
 * predictions scored. */
#include <stdio.h>
#include <vargate/vargate.h>

int main(int argc, char **argv) {
    const char *run = argc > 1 ? argv[1] : "runs/example", *predictions = argc > 2 ? argv[2] : "example-test.npz";
    static const char *const changes[] = {"network=cnn-16-48", "heads=5",  "epochs=3",
                                          "train_limit=2000",  "batch=32", "rate=5e-3"};
    vg_recipe recipe;
    vg_train_recipe_options train = VG_TRAIN_RECIPE_OPTIONS_INIT;
    vg_train_result trained;
    vg_predict_runs_options predict = VG_PREDICT_RUNS_OPTIONS_INIT;
    vg_score_result *scores;
    train.recipe = &recipe;
    train.folder = run;
    train.resume = 1; /* called again, it continues where it was stopped */
    predict.runs = &run;
    predict.run_count = 1;
    predict.output = predictions;
    if (vg_recipe_find(&recipe, "quickstart", changes, sizeof changes / sizeof *changes) != VG_OK ||
        vg_train_recipe(&trained, &train) != VG_OK || vg_predict_runs(NULL, &predict) != VG_OK ||
        vg_score_file(&scores, predictions, NULL, NULL) != VG_OK)
        return fprintf(stderr, "%s\n", vg_error_message()), 1;
    printf("validation accuracy %.3f after %zu epochs\n", trained.last.val_accuracy, trained.last.epoch);
    printf("%s: %zu images, %zu members, %zu classes, accuracy %.3f\n", predictions, scores->n, scores->m, scores->c,
           scores->accuracy);
    printf("mean %s %.3f, median %.3f\n", scores->measures[0].name, scores->measures[0].stats.mean,
           scores->measures[0].stats.median);
    vg_score_result_free(scores);
    return 0;
}
