/* output_check.c - whether an output may be written: the ending of its name, then the file that it would replace. */
#include <string.h>

#include "base/names.h"
#include "formats/arrays.h"
#include "workflow/score_writer.h"
#include "workflow/workflow_options.h"

static vg_status check_ending(const char *path, vg_product product) {
    vg_file_kind kind;
    if (product == VG_PRODUCT_SCORES || product == VG_PRODUCT_DECISIONS || product == VG_PRODUCT_SETS)
        return vg_score_writer__kind(path, &kind);
    bool figures = product == VG_PRODUCT_FIGURES || product == VG_PRODUCT_OOD;
    if (figures && !vg_names__ends_with(path, ".json") && !vg_names__ends_with(path, ".csv"))
        return vg_base__fail(VG_ERR_ARGUMENT, "-o %s: the name must end in .json or .csv, or be -", path);
    return VG_OK;
}

vg_status vg_target_check(const char *path, vg_product product, const char *const *inputs, size_t input_count,
                          int force) {
    if (path && strcmp(path, "-") != 0)
        VG_TRY(check_ending(path, product));
    return vg_target__check(path, product, inputs, input_count, force);
}
