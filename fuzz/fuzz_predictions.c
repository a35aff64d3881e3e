/* fuzz_predictions.c - prediction files in any format: the first byte picks the format, the axes and the size of
 * blocks. */
#include "formats/prediction_file.h"
#include "fuzz_source.h"

/* Sums what a view shows, so that every element of it is touched. */
static double touch(const vg_predictions *view) {
    double sum = 0;
    for (size_t n = 0; n < view->n; n++)
        for (size_t m = 0; m < view->m; m++)
            for (size_t c = 0; c < view->c; c++) {
                ptrdiff_t i =
                    (ptrdiff_t)n * view->stride_n + (ptrdiff_t)m * view->stride_m + (ptrdiff_t)c * view->stride_c;
                sum += view->dtype == VG_F32 ? (double)((const float *)view->data)[i] : ((const double *)view->data)[i];
            }
    return sum;
}

static void read_blocks(vg_prediction_file *file, size_t rows) {
    size_t n, m, c;
    volatile double sum = 0;
    vg_prediction_file_shape(file, &n, &m, &c, NULL);
    if (m > FUZZ_ELEMENTS / c)
        return;
    for (size_t first = 0; first < n && first * m * c < FUZZ_ELEMENTS; first += rows) {
        vg_predictions view;
        size_t now = n - first < rows ? n - first : rows;
        vg_status status = vg_prediction_file_block(file, first, now, &view);
        fuzz_check(status);
        if (status != VG_OK)
            return;
        sum = sum + touch(&view);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const names[] = {"f.npy", "f.npz", "f.safetensors", "f.csv", "f.jsonl", "f"};
    if (size == 0)
        return 0;
    unsigned choice = data[0];
    vg_prediction_options options = VG_PREDICTION_OPTIONS_INIT;
    options.multilabel = size % 3 == 0 ? -1 : (int)(size % 3) - 1;
    options.axes = choice & 1 ? "MNC" : NULL;
    vg_prediction_file *file;
    vg_status status = vg_prediction_file__open_memory(&file, data + 1, size - 1, names[(choice >> 1) % 6], &options);
    fuzz_check(status);
    if (status != VG_OK)
        return 0;
    const int64_t *labels;
    size_t columns;
    read_blocks(file, 1 + (choice >> 5) * 3u);
    fuzz_check(vg_prediction_file_labels(file, &labels, &columns));
    const char *const *texts;
    fuzz_check(vg_prediction_file_classes(file, &texts));
    fuzz_check(vg_prediction_file_ids(file, &texts));
    read_blocks(file, 2); /* from the start again */
    vg_prediction_file_close(file);
    return 0;
}
