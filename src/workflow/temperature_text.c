/* temperature_text.c - temperatures given as text: numbers, or the name of a file. See prediction_input.h. */
#include <math.h>
#include <stdlib.h>

#include "vargate/temperatures.h"
#include "workflow/prediction_input.h"

static vg_status check_temperatures(const double *values, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(values[i]) || values[i] <= 0)
            return vg_base__fail(VG_ERR_ARGUMENT, "--temperature: %g is not a positive number", values[i]);
    }
    return VG_OK;
}

/* "1.3" or "1.3,1.2,...": false when the text is not numbers (it is then a file name). */
static bool parse_temperatures(const char *text, double **out, size_t *count) {
    size_t items = 1;
    for (const char *p = text; *p; p++)
        items += *p == ',';
    double *values = malloc(items * sizeof *values);
    if (!values)
        return false;
    const char *p = text;
    for (size_t i = 0; i < items; i++) {
        char *end;
        values[i] = strtod(p, &end);
        if (end == p || *end != (i + 1 < items ? ',' : '\0')) {
            free(values);
            return false;
        }
        p = end + 1;
    }
    *out = values;
    *count = items;
    return true;
}

vg_status vg_temperature__read(double **out, size_t *count, bool *loaded, const char *text) {
    *out = NULL;
    *count = 0;
    *loaded = false;
    if (!text)
        return VG_OK;
    if (!parse_temperatures(text, out, count)) {
        VG_TRY(vg_temperatures_load(out, count, text));
        *loaded = true;
    }
    vg_status status = check_temperatures(*out, *count);
    if (status != VG_OK) {
        vg_temperature__free(*out, *loaded);
        *out = NULL;
    }
    return status;
}

void vg_temperature__free(double *temperature, bool loaded) {
    if (loaded)
        vg_free(temperature);
    else
        free(temperature);
}
