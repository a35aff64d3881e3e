/* labels.c - the usual forms of labels, converted to class numbers 0 .. C-1.
 *
 *     whole numbers (N)           the classes, counted from 0 (or from 1 where the caller says so)
 *     whole numbers, and classes  that are named by other numbers than 0 .. C-1: the labels are those names
 *     names (N)                   matched with the names of the classes
 *     (N, C) of 0 and 1           one-hot for a multiclass problem, the labels themselves for a multilabel one
 *     (N, H, W), (N, H, W, D)     label maps, one class per site of an image or volume; (H, W) of one image
 *
 * Other labels are refused with the option that would make them fit. */
#include "formats/labels.h"

#include <stdio.h>
#include <string.h>

static const char *const usual_names[] = {"L", "labels", "label", "y", "y_true", "targets", "target", NULL};

bool vg_labels__is_usual(const char *name) {
    for (const char *const *usual = usual_names; *usual; usual++)
        if (strcmp(*usual, name) == 0)
            return true;
    return false;
}

static bool find_array(const vg_source *source, const char *name, size_t except, vg_label_kind *kind, size_t *index) {
    for (size_t i = 0; i < source->count + source->text_count; i++)
        if (i != except && strcmp(source->arrays[i].name, name) == 0) {
            *kind = i < source->count ? VG_LABELS_NUMBERS : VG_LABELS_TEXTS;
            *index = i;
            return true;
        }
    return false;
}

vg_status vg_labels__find(const vg_source *source, const char *key, size_t except, vg_label_kind *kind, size_t *index) {
    *kind = VG_LABELS_NONE;
    *index = 0;
    if (source->labels.codes) {
        *kind = VG_LABELS_NAMES;
        return VG_OK;
    }
    if (key && find_array(source, key, except, kind, index))
        return VG_OK;
    if (key && !(find_array(source, "L", except, kind, index) &&
                 source->arrays[*index].owned)) /* a table's label column is L */
        return vg_source__find(source, key, index) == VG_OK
                   ? vg_base__fail(VG_ERR_ARGUMENT, "%s: '%.60s' cannot hold both the predictions and the labels",
                                   source->path, key)
                   : VG_ERR_ARGUMENT;
    for (const char *const *name = usual_names; *name; name++)
        if (find_array(source, *name, except, kind, index))
            return VG_OK;
    return VG_OK;
}

/* Copies the lengths other than 1 in their order; returns their number. */
static size_t squeeze(size_t *out, const size_t *shape, size_t rank) {
    size_t count = 0;
    for (size_t i = 0; i < rank; i++)
        if (shape[i] != 1)
            out[count++] = shape[i];
    return count;
}

/* "20, 256, 256" */
static void list_lengths(char out[120], const size_t *shape, size_t rank) {
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < rank && used < 90; i++)
        used += (size_t)snprintf(out + used, 120 - used, "%s%zu", i ? ", " : "", shape[i]);
}

/* Label maps have the axes of the sites in the order N, H, W, D; axes of length 1 may be left out. */
vg_status vg_labels__check_maps(const vg_source *source, const vg_stored *array, const size_t *sites) {
    size_t one[VG_MAX_RANK], other[4], count = squeeze(one, array->shape, array->rank);
    char found[120], wanted[120];
    if (count == squeeze(other, sites, 4) && memcmp(one, other, count * sizeof *one) == 0)
        return VG_OK;
    list_lengths(found, array->shape, array->rank);
    list_lengths(wanted, sites, sites[3] > 1 ? 4 : 3);
    return vg_base__fail(
        VG_ERR_DATA, "%s: labels%s%.60s are (%s), but the predictions have sites (%s): images, height, width%s",
        source->path, array->name[0] ? " " : "", array->name, found, wanted, sites[3] > 1 ? ", depth" : "");
}

vg_status vg_labels__numbers(int64_t **out, size_t *n, size_t *columns, vg_source *source, size_t index,
                             const size_t *sites) {
    const vg_stored *array = source->arrays + index;
    if (sites)
        VG_TRY(vg_labels__check_maps(source, array, sites));
    else if (array->rank != 1 && array->rank != 2)
        return vg_base__fail(VG_ERR_FORMAT,
                             "%s: labels %.100s%shave %zu axes, expected 1 (samples) or 2 (samples, labels); maps of "
                             "images need the axes of the predictions: --axes NMCHW",
                             source->path, array->name, array->name[0] ? " " : "", array->rank);
    size_t wide = array->rank == 2 && !sites ? array->shape[1] : 1;
    if (wide == 0)
        return vg_base__fail(VG_ERR_FORMAT, "%s: labels '%.100s' have 0 columns", source->path, array->name);
    int64_t *labels;
    VG_TRY(vg_base__alloc(&labels, array->count, sizeof *labels, "labels"));
    vg_base__populate(labels, array->count * sizeof *labels);
    vg_status status = vg_source__read_i64(source, index, 0, array->shape[0], labels);
    if (status != VG_OK) {
        vg_base__release(labels);
        return status;
    }
    *out = labels, *n = array->count / wide, *columns = wide;
    return VG_OK;
}

/* --- names -------------------------------------------------------------------------------------------------------- */
/* "cat, dog, ..." for messages. */
static void list_names(char *out, size_t room, const vg_strings *names) {
    size_t at = 0;
    out[0] = '\0';
    for (size_t i = 0; i < names->count; i++) {
        const char *name = vg_strings__at(names, i);
        if (at + strlen(name) + 8 > room) {
            snprintf(out + at, room - at, "%s...", i ? ", " : "");
            return;
        }
        at += (size_t)snprintf(out + at, room - at, "%s%s", i ? ", " : "", name);
    }
}

/* Turns codes into class numbers: code i stands for names[i]. */
static vg_status match(int64_t *labels, size_t n, const vg_strings *names, const vg_label_frame *frame) {
    char known[300];
    if (frame->classes->count == 0 && names->count > 0)
        return vg_base__fail(
            VG_ERR_DATA,
            "%s: labels are names ('%.60s', ...) but the classes have none; give --classes with the %zu names in "
            "the order of the predictions, or store them beside the predictions as 'classes'",
            frame->path, vg_strings__at(names, 0), frame->c);
    size_t *numbers;
    VG_TRY(vg_base__alloc(&numbers, names->count, sizeof *numbers, "labels"));
    vg_status status = VG_OK;
    for (size_t i = 0; i < names->count && status == VG_OK; i++) {
        const char *name = vg_strings__at(names, i);
        bool found = false;
        status = vg_strings__find(frame->classes, name, strlen(name), numbers + i, &found);
        if (status == VG_OK && !found) {
            size_t sample = 0;
            while (sample < n && labels[sample] != (int64_t)i)
                sample++;
            list_names(known, sizeof known, frame->classes);
            status = vg_base__fail(VG_ERR_DATA, "%s: label '%.60s' of sample %zu is none of the classes %s",
                                   frame->path, name, sample, known);
        }
    }
    for (size_t i = 0; i < n && status == VG_OK; i++)
        labels[i] = (int64_t)numbers[labels[i]];
    vg_base__release(numbers);
    return status;
}

/* Reads an array of texts as codes and names. */
static vg_status read_texts(vg_named_labels *out, vg_source *source, size_t index) {
    vg_strings all = {.bytes = NULL};
    vg_status status = vg_source__texts(source, index, &all);
    if (status == VG_OK)
        status = vg_base__alloc(&out->codes, all.count, sizeof *out->codes, "labels");
    for (size_t i = 0; i < all.count && status == VG_OK; i++) {
        const char *text = vg_strings__at(&all, i);
        size_t code;
        status = vg_strings__intern(&out->names, text, strlen(text), &code);
        out->codes[i] = (int64_t)code;
    }
    out->rows = all.count;
    vg_strings__free(&all);
    return status;
}

static vg_status load_names(int64_t **out, size_t *n, vg_source *source, vg_label_kind kind, size_t index,
                            const vg_label_frame *frame) {
    vg_named_labels read = {.codes = NULL}, *named = kind == VG_LABELS_NAMES ? &source->labels : &read;
    vg_status status = kind == VG_LABELS_TEXTS ? read_texts(&read, source, index) : VG_OK;
    int64_t *labels = NULL;
    if (status == VG_OK)
        status = vg_base__alloc(&labels, named->rows, sizeof *labels, "labels");
    if (status == VG_OK && named->rows)
        memcpy(labels, named->codes, named->rows * sizeof *labels);
    if (status == VG_OK)
        status = match(labels, named->rows, &named->names, frame);
    *n = named->rows;
    vg_base__release(read.codes);
    vg_strings__free(&read.names);
    if (status != VG_OK) {
        vg_base__release(labels);
        return status;
    }
    *out = labels;
    return VG_OK;
}

/* Whether the classes are named by whole numbers other than 0 .. C-1 in order: the labels are then such names. */
static bool numbered_otherwise(const vg_strings *classes) {
    bool places = true;
    for (size_t i = 0; i < classes->count; i++) {
        const char *name = vg_strings__at(classes, i);
        char place[32];
        const char *digits = name + (name[0] == '-');
        snprintf(place, sizeof place, "%zu", i);
        if (*digits == '\0' || strspn(digits, "0123456789") != strlen(digits))
            return false;
        places &= strcmp(name, place) == 0;
    }
    return classes->count > 0 && !places;
}

static vg_status match_numbers(int64_t *labels, size_t n, const vg_label_frame *frame) {
    char known[300], text[32];
    for (size_t i = 0; i < n; i++) {
        size_t place;
        bool found;
        int length = snprintf(text, sizeof text, "%lld", (long long)labels[i]);
        VG_TRY(vg_strings__find(frame->classes, text, (size_t)length, &place, &found));
        if (!found) {
            list_names(known, sizeof known, frame->classes);
            return vg_base__fail(VG_ERR_DATA, "%s: label %s of sample %zu is none of the classes %s", frame->path, text,
                                 i, known);
        }
        labels[i] = (int64_t)place;
    }
    return VG_OK;
}

/* --- numbers ------------------------------------------------------------------------------------------------------ */
static vg_status check_count(size_t n, const vg_label_frame *frame) {
    if (n == frame->n)
        return VG_OK;
    if (frame->may_be_mnc && n == frame->m)
        return vg_base__fail(
            VG_ERR_DATA,
            "%s: %zu labels for %zu samples, but the second axis of (%zu, %zu, %zu) has as many: if the axes "
            "are (members, samples, classes), give --axes MNC",
            frame->path, n, frame->n, frame->n, frame->m, frame->c);
    return vg_base__fail(VG_ERR_DATA, "%s: %zu labels for %zu samples", frame->path, n, frame->n);
}

/* (N, C) of a multiclass problem: each row must have one 1 and zeros. Becomes (N), in place. */
static vg_status take_one_hot(int64_t *labels, size_t n, size_t columns, const vg_label_frame *frame) {
    for (size_t i = 0; i < n; i++) {
        size_t ones = 0, others = 0, place = 0;
        for (size_t j = 0; j < columns; j++) {
            int64_t value = labels[i * columns + j];
            ones += value == 1;
            others += value != 0 && value != 1;
            place = value == 1 ? j : place;
        }
        if (ones != 1 || others)
            return vg_base__fail(
                VG_ERR_DATA, "%s: labels have %zu columns, expected 1, or one-hot rows; row %zu has %zu ones%s",
                frame->path, columns, i, ones, others ? " and other numbers" : " (is this a --multilabel problem?)");
        labels[i] = (int64_t)place;
    }
    return VG_OK;
}

static vg_status check_range(int64_t *labels, size_t count, size_t columns, const vg_label_frame *frame) {
    int64_t top = frame->multilabel ? 1 : (int64_t)frame->c - 1, from = frame->multilabel ? 0 : frame->from,
            low = INT64_MAX, high = INT64_MIN;
    for (size_t i = 0; i < count; i++) {
        low = labels[i] < low ? labels[i] : low;
        high = labels[i] > high ? labels[i] : high;
    }
    if (count && !frame->multilabel && from == 0 && low == 1 && high == top + 1)
        return vg_base__fail(
            VG_ERR_DATA,
            "%s: labels go from 1 to %zu and none is 0: they seem to count the %zu classes from 1; give "
            "--labels-from 1",
            frame->path, frame->c, frame->c);
    for (size_t i = 0; i < count; i++) {
        if (labels[i] < from || labels[i] - from > top)
            return vg_base__fail(VG_ERR_DATA, "%s: label %lld of sample %zu is outside %lld..%lld", frame->path,
                                 (long long)labels[i], i / columns, (long long)from, (long long)(top + from));
        labels[i] -= from;
    }
    return VG_OK;
}

static vg_status settle(int64_t *labels, size_t n, size_t *columns, const vg_label_frame *frame) {
    VG_TRY(check_count(n, frame));
    size_t wide = *columns;
    if (wide != 1 && wide != frame->c)
        return vg_base__fail(VG_ERR_DATA, "%s: labels have %zu columns, expected %s%zu", frame->path, wide,
                             frame->multilabel == 1 ? "" : "1 or ", frame->c);
    if (frame->multilabel == 1 && wide != frame->c)
        return vg_base__fail(VG_ERR_DATA, "%s: labels have one column; --multilabel needs %zu", frame->path, frame->c);
    if (frame->multilabel < 0)
        return VG_OK;
    if (frame->multilabel == 0 && wide > 1) {
        *columns = 1;
        return take_one_hot(labels, n, wide, frame);
    }
    if (frame->multilabel == 0 && numbered_otherwise(frame->classes))
        return match_numbers(labels, n, frame);
    return check_range(labels, n * wide, wide, frame);
}

vg_status vg_labels__load(int64_t **out, size_t *columns, vg_source *source, vg_label_kind kind, size_t index,
                          const vg_label_frame *frame) {
    int64_t *labels = NULL;
    size_t n = 0, wide = 1;
    vg_status status = VG_OK;
    if (kind == VG_LABELS_NUMBERS) {
        VG_TRY(vg_labels__numbers(&labels, &n, &wide, source, index, frame->sites));
        status = settle(labels, n, &wide, frame);
    } else {
        VG_TRY(load_names(&labels, &n, source, kind, index, frame));
        status = check_count(n, frame);
        if (status == VG_OK && frame->multilabel == 1)
            status = vg_base__fail(VG_ERR_DATA, "%s: labels are names; --multilabel needs %zu columns of 0 and 1",
                                   frame->path, frame->c);
    }
    if (status != VG_OK) {
        vg_base__release(labels);
        return status;
    }
    *out = labels, *columns = wide;
    return VG_OK;
}
