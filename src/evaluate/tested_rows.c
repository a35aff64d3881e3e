/* tested_rows.c - validation rows for the tests of risk selection: which sample each belongs to, which samples are
 * set aside to place the grid, what each point of the grid keeps, and the loss of each sample there.
 *
 * The unit that is drawn is the sample. Its loss at a threshold is the share of errors among its rows that are kept;
 * a sample that keeps no row is not answered and has no loss. docs/evaluation.md defines the risk that this is the
 * mean of. */
#include "base/random.h"
#include "evaluate/select_internal.h"

/* Numbers of samples may be missing. Whether a sample has several rows decides which bound applies. */
static vg_status count_samples(vg_sample_units *units) {
    uint8_t *seen;
    VG_TRY(vg_base__zalloc(&seen, units->rows, 1, "the samples of the rows"));
    vg_status status = VG_OK;
    for (size_t i = 0; i < units->rows && status == VG_OK; i++) {
        size_t sample = units->of_row[i];
        if (sample >= units->rows) {
            status = vg_base__fail(VG_ERR_DATA, "select: row %zu belongs to sample %zu, expected a number below %zu", i,
                                   sample, units->rows);
            break;
        }
        units->samples = sample >= units->samples ? sample + 1 : units->samples;
        units->several = units->several || seen[sample];
        seen[sample] = 1;
    }
    vg_base__release(seen);
    return status;
}

vg_status vg_evaluate__units_open(vg_sample_units *units, size_t rows, const vg_select_options *o) {
    *units = (vg_sample_units){
        .rows = rows, .each = o->rows_per_sample ? o->rows_per_sample : 1, .of_row = o->sample_of_row};
    if (rows > UINT32_MAX)
        return vg_base__fail(VG_ERR_ARGUMENT, "select: %zu rows, at most %u", rows, UINT32_MAX);
    if (!units->of_row) {
        units->samples = rows / units->each;
        units->several = units->each > 1;
        if (rows % units->each)
            return vg_base__fail(VG_ERR_ARGUMENT, "select: %zu rows are not a multiple of %zu rows per sample", rows,
                                 units->each);
        return VG_OK;
    }
    if (o->rows_per_sample > 1)
        return vg_base__fail(VG_ERR_ARGUMENT,
                             "select: give the number of rows per sample or the sample of each row, not both");
    return count_samples(units);
}

vg_status vg_evaluate__units_shuffle(vg_sample_units *units, size_t aside, uint64_t seed) {
    size_t *order;
    VG_TRY(vg_base__alloc(&order, units->samples, sizeof *order, "an order of the samples"));
    vg_status status = vg_base__alloc(&units->place, units->samples, sizeof *units->place, "an order of the samples");
    if (status == VG_OK) {
        vg_random random = vg_random__start(seed, 0);
        for (size_t i = 0; i < units->samples; i++)
            order[i] = i;
        vg_random__shuffle(&random, order, units->samples);
        for (size_t i = 0; i < units->samples; i++)
            units->place[order[i]] = i;
        units->aside = aside;
    }
    vg_base__release(order);
    return status;
}

/* Puts marked samples first, each part in a random order. */
vg_status vg_evaluate__units_mark(vg_sample_units *units, const uint8_t *marks, uint64_t seed) {
    size_t marked = 0, rest = 0;
    for (size_t i = 0; i < units->samples; i++)
        marked += marks[i] != 0;
    if (marked == units->samples)
        return vg_base__fail(VG_ERR_DATA, "select: all %zu validation samples are set aside: none is left to test",
                             marked);
    VG_TRY(vg_evaluate__units_shuffle(units, marked, seed));
    size_t *order;
    VG_TRY(vg_base__alloc(&order, units->samples, sizeof *order, "an order of the samples"));
    for (size_t i = 0; i < units->samples; i++)
        order[units->place[i]] = i;
    size_t first = 0;
    for (size_t i = 0; i < units->samples; i++)
        units->place[order[i]] = marks[order[i]] ? first++ : marked + rest++;
    vg_base__release(order);
    return VG_OK;
}

void vg_evaluate__units_close(vg_sample_units *units) {
    vg_base__release(units->place);
    units->place = NULL;
}

/* The index of the first grid point that keeps u; grid->count when none does. */
static size_t first_keeper(const vg_threshold_grid *grid, double u) {
    size_t low = 0, high = grid->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (u < grid->threshold[middle])
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static void count_rows(vg_tested_rows *out, const vg_sample_units *units, const double *values, const uint8_t *errors,
                       const vg_threshold_grid *grid) {
    for (size_t i = 0; i < units->rows; i++) {
        if (vg_evaluate__place(units, i) < units->aside)
            continue;
        size_t j = first_keeper(grid, values[i]);
        out->rows++;
        if (j < grid->count) {
            out->kept[j]++;
            out->errors[j] += errors[i] != 0;
        }
    }
    for (size_t j = 1; j < grid->count; j++) {
        out->kept[j] += out->kept[j - 1];
        out->errors[j] += out->errors[j - 1];
    }
}

static vg_status sort_rows(vg_tested_rows *out, const vg_sample_units *units, const double *values,
                           const uint8_t *errors, const vg_threshold_grid *grid) {
    size_t *next;
    VG_TRY(
        vg_base__alloc(&out->entries, grid->count ? out->kept[grid->count - 1] : 0, sizeof *out->entries, "kept rows"));
    VG_TRY(vg_base__zalloc(&out->sample_kept, out->samples, sizeof *out->sample_kept, "counts by sample"));
    VG_TRY(vg_base__zalloc(&out->sample_errors, out->samples, sizeof *out->sample_errors, "counts by sample"));
    VG_TRY(vg_base__alloc(&out->losses, out->samples, sizeof *out->losses, "losses of samples"));
    VG_TRY(vg_base__alloc(&next, grid->count, sizeof *next, "places of rows"));
    for (size_t j = 0; j < grid->count; j++)
        next[j] = j ? out->kept[j - 1] : 0;
    for (size_t i = 0; i < units->rows; i++) {
        size_t place = vg_evaluate__place(units, i), j = first_keeper(grid, values[i]);
        if (place >= units->aside && j < grid->count)
            out->entries[next[j]++] = (vg_tested_entry){(uint32_t)(place - units->aside), errors[i] != 0};
    }
    vg_base__release(next);
    return VG_OK;
}

vg_status vg_evaluate__tested_new(vg_tested_rows *out, const vg_sample_units *units, const double *values,
                                  const uint8_t *errors, const vg_threshold_grid *grid) {
    *out = (vg_tested_rows){.points = grid->count, .samples = units->samples - units->aside};
    VG_TRY(vg_base__zalloc(&out->kept, grid->count, sizeof *out->kept, "counts of kept rows"));
    VG_TRY(vg_base__zalloc(&out->errors, grid->count, sizeof *out->errors, "counts of errors"));
    count_rows(out, units, values, errors, grid);
    return units->several ? sort_rows(out, units, values, errors, grid) : VG_OK;
}

void vg_evaluate__tested_free(vg_tested_rows *tested) {
    vg_base__release(tested->kept);
    vg_base__release(tested->errors);
    vg_base__release(tested->entries);
    vg_base__release(tested->sample_kept);
    vg_base__release(tested->sample_errors);
    vg_base__release(tested->losses);
    *tested = (vg_tested_rows){0};
}

size_t vg_evaluate__losses_at(vg_tested_rows *tested, size_t j) {
    if (j == 0 || tested->walked > tested->kept[j]) {
        memset(tested->sample_kept, 0, tested->samples * sizeof *tested->sample_kept);
        memset(tested->sample_errors, 0, tested->samples * sizeof *tested->sample_errors);
        tested->walked = 0;
    }
    for (; tested->walked < tested->kept[j]; tested->walked++) {
        vg_tested_entry entry = tested->entries[tested->walked];
        tested->sample_kept[entry.place]++;
        tested->sample_errors[entry.place] += entry.error;
    }
    size_t answered = 0;
    for (size_t i = 0; i < tested->samples; i++)
        if (tested->sample_kept[i])
            tested->losses[answered++] = (double)tested->sample_errors[i] / tested->sample_kept[i];
    return answered;
}
