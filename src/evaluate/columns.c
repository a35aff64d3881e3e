/* columns.c - measures by name: the list of what a vg_scores holds, and whole columns for a streaming scorer to
 * write into. */
#include <stdio.h>
#include <stdlib.h>

#include "evaluate/evaluate_internal.h"

void vg_k_name(char name[VG_NAME_SIZE], double k) {
    int digits = 0;
    for (; digits < 17; digits++) { /* digits after the first that k needs to read back as itself */
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

enum { PLAIN = 8, GATED = 6 };
static const char *const plain_names[PLAIN] = {"tu", "au", "eu", "epce", "epkl", "epjs", "gmu", "snr"};
static const char *const gated_names[GATED] = {"gtu", "gau", "geu", "gepce", "gepkl", "gepjs"};
static const unsigned plain_bits[PLAIN] = {VG_COLUMN_TU,   VG_COLUMN_AU,   VG_COLUMN_EU,  VG_COLUMN_EPCE,
                                           VG_COLUMN_EPKL, VG_COLUMN_EPJS, VG_COLUMN_GMU, VG_COLUMN_SNR};
static const unsigned gated_bits[GATED] = {VG_COLUMN_GTU,   VG_COLUMN_GAU,   VG_COLUMN_GEU,
                                           VG_COLUMN_GEPCE, VG_COLUMN_GEPKL, VG_COLUMN_GEPJS};

/* The places of `scores` in the order of the names above. */
static void places_of(vg_scores *scores, double **plain[PLAIN], double **gated[GATED]) {
    double **p[PLAIN] = {&scores->tu,   &scores->au,   &scores->eu,  &scores->epce,
                         &scores->epkl, &scores->epjs, &scores->gmu, &scores->snr};
    double **g[GATED] = {&scores->gtu, &scores->gau, &scores->geu, &scores->gepce, &scores->gepkl, &scores->gepjs};
    memcpy(plain, p, sizeof p);
    memcpy(gated, g, sizeof g);
}

static void put(vg_measure *out, size_t capacity, size_t *count, const char *name, const double *k,
                const double *values, size_t stride) {
    if (out && *count < capacity) {
        vg_measure *measure = &out[*count];
        if (k) {
            char k_name[VG_NAME_SIZE];
            vg_k_name(k_name, *k);
            snprintf(measure->name, sizeof measure->name, "%.5s@%.25s", name, k_name);
        } else {
            snprintf(measure->name, sizeof measure->name, "%s", name);
        }
        measure->values = values;
        measure->stride = stride;
        measure->certainty = strcmp(name, "snr") == 0;
    }
    ++*count;
}

size_t vg_measures_list(vg_measure *out, size_t capacity, const vg_scores *scores, const double *k, size_t k_count) {
    static const double default_k[] = {1, 2, 3};
    if (!scores)
        return 0;
    if (!k || k_count == 0) {
        k = default_k;
        k_count = 3;
    }
    vg_scores copy = *scores;
    double **plain[PLAIN], **gated[GATED];
    places_of(&copy, plain, gated);
    size_t count = 0;
    for (size_t i = 0; i < PLAIN; i++)
        if (*plain[i])
            put(out, capacity, &count, plain_names[i], NULL, *plain[i], 1);
    for (size_t j = 0; j < k_count; j++)
        for (size_t i = 0; i < GATED; i++)
            if (*gated[i])
                put(out, capacity, &count, gated_names[i], &k[j], *gated[i] + j, k_count);
    return count;
}

struct vg_columns {
    size_t rows, k_count;
    unsigned which;
    bool planes; /* gated columns lie k by k */
    double *k;
    vg_scores places; /* of row 0 */
    double *memory;
    size_t values;
};

/* What can be made of others when it is ranked: AU of TU and EU, EPCE of these and EPKL. */
static const struct made {
    unsigned bit, of;
} made[] = {{VG_COLUMN_AU, VG_COLUMN_TU | VG_COLUMN_EU},
            {VG_COLUMN_EPCE, VG_COLUMN_TU | VG_COLUMN_EU | VG_COLUMN_EPKL},
            {VG_COLUMN_GAU, VG_COLUMN_GTU | VG_COLUMN_GEU},
            {VG_COLUMN_GEPCE, VG_COLUMN_GTU | VG_COLUMN_GEU | VG_COLUMN_GEPKL}};

static unsigned stored(unsigned which) {
    unsigned left = which;
    for (size_t i = 0; i < sizeof made / sizeof *made && which & VG_COLUMNS_LEAN; i++)
        if ((which & made[i].of) == made[i].of)
            left &= ~made[i].bit;
    return left;
}

vg_status vg_columns_new(vg_columns **out, size_t rows, const double *k, size_t k_count, unsigned which) {
    static const double default_k[] = {1, 2, 3};
    if (!out)
        return vg_base__fail(VG_ERR_ARGUMENT, "columns: the place for the result is NULL");
    *out = NULL;
    unsigned unknown = which & ~(unsigned)(VG_COLUMNS_ALL | VG_COLUMNS_PLANES | VG_COLUMNS_LEAN);
    if (unknown)
        return vg_base__fail(VG_ERR_ARGUMENT, "columns: unknown bits %#x in which", unknown);
    if (!k || k_count == 0) {
        k = default_k;
        k_count = 3;
    }
    unsigned listed = which;
    size_t plain_count = 0, gated_count = 0, width, values;
    which = stored(which);
    for (size_t i = 0; i < PLAIN; i++)
        plain_count += (which & plain_bits[i]) != 0;
    for (size_t i = 0; i < GATED; i++)
        gated_count += (which & gated_bits[i]) != 0;
    if (!vg_base__mul(&width, gated_count, k_count) || !vg_base__add(&width, width, plain_count) ||
        !vg_base__mul(&values, width, rows))
        return vg_base__fail(VG_ERR_MEMORY, "columns: %zu rows at %zu gate settings do not fit memory", rows, k_count);
    vg_columns *columns;
    VG_TRY(vg_base__zalloc(&columns, 1, sizeof *columns, "columns"));
    vg_status status = vg_base__alloc(&columns->memory, values, sizeof(double), "columns of measures");
    if (status == VG_OK)
        status = vg_base__alloc(&columns->k, k_count, sizeof(double), "gate settings");
    if (status != VG_OK) {
        vg_columns_free(columns);
        return status;
    }
    memcpy(columns->k, k, k_count * sizeof *k);
    columns->rows = rows;
    columns->values = values;
    columns->k_count = k_count;
    columns->which = listed;
    columns->planes = (which & VG_COLUMNS_PLANES) != 0;
    double *next = columns->memory, **plain[PLAIN], **gated[GATED];
    places_of(&columns->places, plain, gated);
    for (size_t i = 0; i < PLAIN; i++)
        if (which & plain_bits[i]) {
            *plain[i] = next;
            next += rows;
        }
    for (size_t i = 0; i < GATED; i++)
        if (which & gated_bits[i]) {
            *gated[i] = next;
            next += rows * k_count;
        }
    *out = columns;
    return VG_OK;
}

void vg_columns_free(vg_columns *columns) {
    if (!columns)
        return;
    vg_base__release_large(columns->memory, columns->values * sizeof *columns->memory);
    vg_base__release(columns->k);
    vg_base__release(columns);
}

void vg_columns_at(const vg_columns *columns, size_t row, vg_scores *places) {
    *places = columns->places;
    double **plain[PLAIN], **gated[GATED];
    places_of(places, plain, gated);
    for (size_t i = 0; i < PLAIN; i++)
        if (*plain[i])
            *plain[i] += row;
    for (size_t i = 0; i < GATED; i++)
        if (*gated[i])
            *gated[i] += row * (columns->planes ? 1 : columns->k_count);
}

void vg_columns_ahead(const vg_columns *columns, size_t row, size_t rows) {
    if (row >= columns->rows)
        return;
    rows = rows < columns->rows - row ? rows : columns->rows - row;
    vg_scores places;
    double **plain[PLAIN], **gated[GATED];
    vg_columns_at(columns, row, &places);
    places_of(&places, plain, gated);
    for (size_t i = 0; i < PLAIN; i++)
        vg_base__populate(*plain[i], rows * sizeof(double));
    for (size_t i = 0; i < GATED; i++)
        for (size_t j = 0; j < (columns->planes ? columns->k_count : 1); j++)
            if (*gated[i])
                vg_base__populate(*gated[i] + j * columns->rows,
                                  rows * (columns->planes ? 1 : columns->k_count) * sizeof(double));
}

/* Measure `index` of all that there can be: the plain ones, then the gated ones of each k. False where it is not
 * wanted. */
static bool column_at(vg_rank_column *out, const vg_columns *columns, size_t index) {
    enum { TU, EU = 2, EPCE, EPKL }; /* in both lists of names */
    bool gate = index >= PLAIN;
    size_t i = gate ? (index - PLAIN) % GATED : index, j = gate ? (index - PLAIN) / GATED : 0, one = 0;
    size_t offset = j * (columns->planes ? columns->rows : 1), stride = gate && !columns->planes ? columns->k_count : 1;
    vg_scores copy = columns->places;
    double **plain[PLAIN], **gated[GATED], ***places = gate ? gated : plain;
    if (!(columns->which & (gate ? gated_bits : plain_bits)[i]))
        return false;
    places_of(&copy, plain, gated);
    const double *values = *places[i];
    *out = (vg_rank_column){0};
    if (!values) { /* AU or EPCE, of others */
        values = *places[TU];
        out->less = *places[EU] + offset;
        out->plus = i == EPCE ? *places[EPKL] + offset : NULL;
    }
    put(&out->measure, 1, &one, (gate ? gated_names : plain_names)[i], gate ? &columns->k[j] : NULL, values + offset,
        stride);
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

size_t vg_columns_measures(const vg_columns *columns, vg_measure *out, size_t capacity) {
    size_t count = 0;
    for (size_t i = 0; i < PLAIN + columns->k_count * GATED; i++) {
        vg_rank_column column;
        if (!column_at(&column, columns, i) || column.less)
            continue;
        if (out && count < capacity)
            out[count] = column.measure;
        count++;
    }
    return count;
}

vg_status vg_columns_find(const vg_columns *columns, const char *name, vg_measure *out) {
    size_t count = vg_columns_measures(columns, NULL, 0);
    vg_measure *list;
    VG_TRY(vg_base__alloc(&list, count, sizeof *list, "measures"));
    vg_columns_measures(columns, list, count);
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
