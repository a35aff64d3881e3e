/* columns.c - measures by name: those that a vg_scores holds, and whole columns for a streaming scorer to write
 * into. */
#include <stdio.h>
#include <stdlib.h>

#include "evaluate/columns_layout.h"
#include "evaluate/evaluate_internal.h"

void vg_k_name(char name[VG_NAME_SIZE], double k) {
    int digits = 0;
    if (!name)
        return;
    for (; digits < 17; digits++) { /* digits after the first, until the text reads back as k */
        snprintf(name, VG_NAME_SIZE, "%.*e", digits, k);
        if (strtod(name, NULL) == k)
            break;
    }
    const char *e = strchr(name, 'e');
    int exponent = e ? atoi(e + 1) : 0;
    if (e && exponent >= -5 && exponent < 16) /* plain decimals: "100", not "1e+02" */
        snprintf(name, VG_NAME_SIZE, "%.*f", digits > exponent ? digits - exponent : 0, k);
    char *comma = strchr(name, ','); /* a locale's decimal point */
    if (comma)
        *comma = '.';
}

/* The table of measures lists PLAIN ungated measures, then GATED gated ones. */
enum { PLAIN = 14, GATED = 6, MEASURES = PLAIN + GATED };

/* The pointer of `scores` to the values of a measure. */
static double **place_of(vg_scores *scores, const vg_measure_info *info) {
    return (double **)(void *)((char *)scores + info->offset);
}

/* The bit of a measure: VG_COLUMN_* are numbered in the order of the pointers in vg_scores. */
static unsigned bit_of(const vg_measure_info *info) { return 1u << info->offset / sizeof(double *); }
_Static_assert(1u << offsetof(vg_scores, epjs) / sizeof(double *) == VG_COLUMN_EPJS &&
                   1u << offsetof(vg_scores, gtu) / sizeof(double *) == VG_COLUMN_GTU &&
                   1u << offsetof(vg_scores, snr) / sizeof(double *) == VG_COLUMN_SNR &&
                   1u << offsetof(vg_scores, energy) / sizeof(double *) == VG_COLUMN_ENERGY,
               "VG_COLUMN_* are in the order of vg_scores");

/* A measure; k: its gate setting, NULL for an ungated one. */
static vg_measure measure_of(const vg_measure_info *info, const double *k, const double *values, size_t stride) {
    vg_measure measure = {.values = values, .stride = stride, .certainty = info->certainty};
    char k_name[VG_NAME_SIZE] = "";
    if (k)
        vg_k_name(k_name, *k);
    snprintf(measure.name, sizeof measure.name, "%.8s%s%.22s", info->name, k ? "@" : "", k_name);
    return measure;
}

size_t vg_measures__list(vg_measure *out, size_t capacity, const vg_scores *scores, const double *k, size_t k_count) {
    static const double default_k[] = {1, 2, 3};
    if (!scores)
        return 0;
    if (!k || k_count == 0) {
        k = default_k;
        k_count = 3;
    }
    vg_scores copy = *scores;
    size_t count = 0;
    for (size_t i = 0; i < PLAIN + k_count * GATED; i++) {
        bool gated = i >= PLAIN;
        size_t j = gated ? (i - PLAIN) / GATED : 0;
        const vg_measure_info *info = vg_measure_info_at(gated ? PLAIN + (i - PLAIN) % GATED : i);
        const double *values = *place_of(&copy, info);
        if (!values)
            continue;
        if (out && count < capacity)
            out[count] = measure_of(info, gated ? &k[j] : NULL, values + j, gated ? k_count : 1);
        count++;
    }
    return count;
}

struct vg_columns {
    size_t rows, k_count;
    unsigned which;
    bool planes; /* gated columns are stored k by k */
    double *k;
    vg_scores places; /* of row 0 */
    double *memory;
    size_t values;
};

/* Measures that can be computed from others when they are ranked: AU from TU and EU, EPCE from these and EPKL, MAXPROB
 * from the tally's confidences. */
static const struct made {
    unsigned bit, of;
} made[] = {{VG_COLUMN_AU, VG_COLUMN_TU | VG_COLUMN_EU},
            {VG_COLUMN_EPCE, VG_COLUMN_TU | VG_COLUMN_EU | VG_COLUMN_EPKL},
            {VG_COLUMN_GAU, VG_COLUMN_GTU | VG_COLUMN_GEU},
            {VG_COLUMN_GEPCE, VG_COLUMN_GTU | VG_COLUMN_GEU | VG_COLUMN_GEPKL},
            {VG_COLUMN_MAXPROB, VG_COLUMNS_TALLIED}};

static unsigned stored(unsigned which) {
    unsigned left = which;
    for (size_t i = 0; i < sizeof made / sizeof *made && which & VG_COLUMNS_LEAN; i++)
        if ((which & made[i].of) == made[i].of)
            left &= ~made[i].bit;
    return left;
}

vg_status vg_columns__new(vg_columns **out, size_t rows, const double *k, size_t k_count, unsigned which) {
    static const double default_k[] = {1, 2, 3};
    if (!out)
        return vg_base__fail(VG_ERR_ARGUMENT, "columns: out must not be NULL");
    *out = NULL;
    unsigned layouts = VG_COLUMNS_PLANES | VG_COLUMNS_LEAN | VG_COLUMNS_TALLIED;
    unsigned unknown = which & ~(VG_COLUMNS_ALL | VG_COLUMNS_BASELINES | layouts);
    if (unknown)
        return vg_base__fail(VG_ERR_ARGUMENT, "columns: unknown bits %#x in which", unknown);
    if (!k || k_count == 0) {
        k = default_k;
        k_count = 3;
    }
    unsigned listed = which;
    size_t plain_count = 0, gated_count = 0, width, values;
    which = stored(which);
    for (size_t i = 0; i < MEASURES; i++)
        if (which & bit_of(vg_measure_info_at(i)))
            ++*(i < PLAIN ? &plain_count : &gated_count);
    if (!vg_base__mul(&width, gated_count, k_count) || !vg_base__add(&width, width, plain_count) ||
        !vg_base__mul(&values, width, rows))
        return vg_base__fail(VG_ERR_MEMORY, "columns: %zu rows at %zu gate settings do not fit memory", rows, k_count);
    vg_columns *columns;
    VG_TRY(vg_base__zalloc(&columns, 1, sizeof *columns, "columns"));
    vg_status status = vg_base__alloc(&columns->memory, values, sizeof(double), "columns of measures");
    if (status == VG_OK)
        status = vg_base__alloc(&columns->k, k_count, sizeof(double), "gate settings");
    if (status != VG_OK) {
        vg_columns__free(columns);
        return status;
    }
    memcpy(columns->k, k, k_count * sizeof *k);
    columns->rows = rows;
    columns->values = values;
    columns->k_count = k_count;
    columns->which = listed;
    columns->planes = (which & VG_COLUMNS_PLANES) != 0;
    double *next = columns->memory;
    for (size_t i = 0; i < MEASURES; i++) {
        const vg_measure_info *info = vg_measure_info_at(i);
        if (which & bit_of(info)) {
            *place_of(&columns->places, info) = next;
            next += rows * (info->gated ? k_count : 1);
        }
    }
    *out = columns;
    return VG_OK;
}

void vg_columns__free(vg_columns *columns) {
    if (!columns)
        return;
    vg_base__release_large(columns->memory, columns->values * sizeof *columns->memory);
    vg_base__release(columns->k);
    vg_base__release(columns);
}

void vg_columns__at(const vg_columns *columns, size_t row, vg_scores *places) {
    *places = columns->places;
    for (size_t i = 0; i < MEASURES; i++) {
        const vg_measure_info *info = vg_measure_info_at(i);
        double **place = place_of(places, info);
        if (*place)
            *place += row * (info->gated && !columns->planes ? columns->k_count : 1);
    }
}

void vg_columns__prefault(const vg_columns *columns, size_t row, size_t rows) {
    if (row >= columns->rows)
        return;
    rows = rows < columns->rows - row ? rows : columns->rows - row;
    vg_scores places;
    vg_columns__at(columns, row, &places);
    for (size_t i = 0; i < MEASURES; i++) {
        const vg_measure_info *info = vg_measure_info_at(i);
        double *values = *place_of(&places, info);
        size_t planes = info->gated && columns->planes ? columns->k_count : 1;
        size_t width = info->gated && !columns->planes ? columns->k_count : 1;
        for (size_t j = 0; j < planes && values; j++)
            vg_base__populate(values + j * columns->rows, rows * width * sizeof(double));
    }
}

/* Measure `index` of all possible ones: the ungated ones, then the gated ones of each k. False where it was not
 * asked for. AU and EPCE that are not stored are computed from the columns of TU, EU and EPKL, gated or not. */
static bool column_at(vg_rank_column *out, const vg_columns *columns, size_t index) {
    enum { TU = 0, EU = 2, EPCE = 3, EPKL = 4 }; /* offsets from the first ungated and from the first gated measure */
    bool gated = index >= PLAIN;
    size_t family = gated ? PLAIN : 0, j = gated ? (index - PLAIN) / GATED : 0;
    size_t i = gated ? (index - PLAIN) % GATED : index;
    size_t offset = j * (columns->planes ? columns->rows : 1),
           stride = gated && !columns->planes ? columns->k_count : 1;
    const vg_measure_info *info = vg_measure_info_at(family + i);
    if (!(columns->which & bit_of(info)))
        return false;
    vg_scores copy = columns->places;
    const double *values = *place_of(&copy, info);
    *out = (vg_rank_column){0};
    out->complement = !values && bit_of(info) == VG_COLUMN_MAXPROB;
    if (!values && !out->complement) {
        values = *place_of(&copy, vg_measure_info_at(family + TU));
        out->less = *place_of(&copy, vg_measure_info_at(family + EU)) + offset;
        out->plus = i == EPCE ? *place_of(&copy, vg_measure_info_at(family + EPKL)) + offset : NULL;
    }
    out->measure = measure_of(info, gated ? &columns->k[j] : NULL, values ? values + offset : NULL, stride);
    return true;
}

size_t vg_evaluate__columns_list(vg_rank_column *out, const vg_columns *columns) {
    size_t count = 0;
    for (size_t i = 0; i < PLAIN + columns->k_count * GATED; i++) {
        vg_rank_column column;
        if (!column_at(&column, columns, i))
            continue;
        if (out)
            out[count] = column;
        count++;
    }
    return count;
}

size_t vg_columns__measures(const vg_columns *columns, vg_measure *out, size_t capacity) {
    size_t count = 0;
    for (size_t i = 0; i < PLAIN + columns->k_count * GATED; i++) {
        vg_rank_column column;
        if (!column_at(&column, columns, i) || column.less || column.complement)
            continue;
        if (out && count < capacity)
            out[count] = column.measure;
        count++;
    }
    return count;
}

vg_status vg_columns__find(const vg_columns *columns, const char *name, vg_measure *out) {
    size_t count = vg_columns__measures(columns, NULL, 0);
    vg_measure *list;
    VG_TRY(vg_base__alloc(&list, count, sizeof *list, "measures"));
    vg_columns__measures(columns, list, count);
    char there[512] = "";
    for (size_t i = 0, used = 0; i < count; i++) {
        if (strcmp(list[i].name, name) == 0) {
            *out = list[i];
            vg_base__release(list);
            return VG_OK;
        }
        if (used < sizeof there)
            used += (size_t)snprintf(there + used, sizeof there - used, "%s%s", i ? ", " : "", list[i].name);
    }
    vg_base__release(list);
    return vg_base__fail(VG_ERR_ARGUMENT, "no measure '%s'; there are %s", name, there);
}
