/* fuzz_checkpoint.c - what is read of a checkpoint before its arrays: recipe, state, class names and the gate. The
 * bytes are a .safetensors file. */
#include "fuzz_check.h"
#include "fuzz_file.h"

#include "base/base.h"
#include "nn/checkpoint.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static char path[300];
    static vg_recipe recipe;
    vg_train_state state;
    if (fuzz_make_folder())
        snprintf(path, sizeof path, "%s/f.safetensors", fuzz_folder);
    fuzz_write(path, data, size);
    vg_status status = vg_checkpoint__peek(path, &recipe, &state);
    fuzz_check(status);
    size_t classes = status == VG_OK ? state.classes : 2;
    char **names;
    status = vg_checkpoint__names(&names, path, classes);
    fuzz_check(status);
    if (status == VG_OK)
        vg_checkpoint__free_names(names, classes);
    double *gates;
    status = vg_checkpoint__gates(&gates, path, classes);
    fuzz_check(status);
    if (status == VG_OK)
        vg_base__release(gates);
    return 0;
}
