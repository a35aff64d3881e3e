/* prediction_arrays.c - finds the predictions among the arrays of a file. See prediction_arrays.h.
 *
 *     P, probs, probabilities, Z, logits, Q         the first of these that is there: Q, which is gated, only where
 *                                                   nothing else is
 *     the only array with 2 or 3 axes               that is not named like labels, classes or ids; where the caller
 *                                                   names the axes, with as many
 *     model_0, model_1, ...                         one array (N, C) per member: names that end in consecutive numbers
 *                                                   from 0 or 1 after a word for a member
 *
 * Other names may mean anything: arr_0 and arr_1 (numpy.savez without names) may be predictions and one-hot labels.
 * They are refused with the --key that names them all. */
#include "formats/prediction_arrays.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "formats/labels.h"

static const char *const probability_keys[] = {"P", "probs", "probabilities", NULL};
static const char *const gated_keys[] = {"Q", NULL};
static const char *const logit_keys[] = {"Z", "logits", NULL};
static const char *const member_words[] = {"model", "member", "head",   "net",   "network", "estimator",
                                           "seed",  "run",    "pass",   "m",     "p",       "q",
                                           "prob",  "probs",  "logits", "logit", "z",       NULL};
const char *const vg_prediction_class_keys[] = {"classes", "class_names", NULL};
const char *const vg_prediction_id_keys[] = {"id", "ids", NULL};

static bool listed(const char *const *list, const char *name, size_t length) {
    for (; *list; list++)
        if (strlen(*list) == length && strncasecmp(*list, name, length) == 0)
            return true;
    return false;
}

static bool find_listed(const vg_source *source, const char *const *list, size_t *index) {
    for (; *list; list++)
        for (size_t i = 0; i < source->count; i++)
            if (strcmp(source->arrays[i].name, *list) == 0) {
                *index = i;
                return true;
            }
    return false;
}

/* The length of the word before a number at the end of a name, and the number; false without a number. */
static bool split_number(const char *name, size_t *word, size_t *number) {
    size_t length = strlen(name), digits = length;
    while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9')
        digits--;
    if (digits == length || length - digits > 9)
        return false;
    *number = (size_t)strtoull(name + digits, NULL, 10);
    *word = digits;
    return true;
}

bool vg_prediction_arrays__are_logits(const char *name) {
    size_t word = strlen(name), number;
    for (const char *const *key = logit_keys; *key; key++)
        if (strcmp(*key, name) == 0)
            return true;
    if (!split_number(name, &word, &number))
        return false;
    while (word > 0 && strchr("_ .-", name[word - 1]))
        word--;
    static const char *const words[] = {"logits", "logit", "z", NULL};
    return listed(words, name, word);
}

/* --- one array per member ----------------------------------------------------------------------------------------- */
/* The number of axes in the array of one member. */
static size_t part_rank(const char *axes) { return axes ? strlen(axes) - (strchr(axes, 'M') != NULL) : 2; }

/* "(20, 19, 256, 256)" */
static const char *shape_text(char out[96], const vg_stored *array) {
    size_t used = (size_t)snprintf(out, 96, "(");
    for (size_t i = 0; i < array->rank && used < 70; i++)
        used += (size_t)snprintf(out + used, 96 - used, "%s%zu", i ? ", " : "", array->shape[i]);
    snprintf(out + used, 96 - used, ")");
    return out;
}

static vg_status check_parts(const vg_source *source, const vg_prediction_arrays *chosen, const char *axes) {
    const vg_stored *first = source->arrays + chosen->parts[0];
    char one[96], other[96];
    for (size_t i = 0; i < chosen->count; i++) {
        const vg_stored *array = source->arrays + chosen->parts[i];
        if (array->rank != part_rank(axes))
            return vg_base__fail(VG_ERR_FORMAT, "%s: array '%.100s' has %zu %s, expected %s%s of a member",
                                 source->path, array->name, array->rank, array->rank == 1 ? "axis" : "axes",
                                 axes ? "as in --axes " : "(samples, classes)", axes ? axes : "");
        if (memcmp(array->shape, first->shape, array->rank * sizeof *array->shape) != 0)
            return vg_base__fail(VG_ERR_FORMAT,
                                 "%s: array '%.100s' is %s, but '%.100s' is %s: members predict the same samples and "
                                 "classes",
                                 source->path, array->name, shape_text(one, array), first->name,
                                 shape_text(other, first));
        if (array->fortran != first->fortran)
            return vg_base__fail(VG_ERR_FORMAT,
                                 "%s: array '%.100s' is stored in the other order than '%.100s'; save each by "
                                 "np.ascontiguousarray",
                                 source->path, array->name, first->name);
    }
    return VG_OK;
}

static vg_status start_parts(vg_prediction_arrays *out, const vg_source *source) {
    out->count = 0;
    return vg_base__alloc(&out->parts, source->count, sizeof *out->parts, "a list of arrays");
}

/* --key a,b,c */
static vg_status choose_named(vg_prediction_arrays *out, const vg_source *source, const char *key) {
    VG_TRY(start_parts(out, source));
    for (const char *p = key;; p++) {
        char name[256];
        size_t length = strcspn(p, ","), index;
        snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1), p);
        VG_TRY(vg_source__find(source, name, &index));
        for (size_t i = 0; i < out->count; i++)
            if (out->parts[i] == index)
                return vg_base__fail(VG_ERR_ARGUMENT, "--key: '%.100s' is named twice", name);
        out->parts[out->count++] = index; /* names differ, so that there is room */
        p += length;
        if (*p == '\0')
            return VG_OK;
    }
}

/* Orders arrays by the numbers at the end of their names; those without a number stay first. */
static void sort_parts(const vg_source *source, vg_prediction_arrays *chosen) {
    for (size_t i = 1; i < chosen->count; i++)
        for (size_t j = i; j > 0; j--) {
            size_t word, left = 0, right = 0;
            split_number(source->arrays[chosen->parts[j - 1]].name, &word, &left);
            split_number(source->arrays[chosen->parts[j]].name, &word, &right);
            if (left <= right)
                break;
            size_t held = chosen->parts[j];
            chosen->parts[j] = chosen->parts[j - 1];
            chosen->parts[j - 1] = held;
        }
}

/* --key prefix* */
static vg_status choose_prefix(vg_prediction_arrays *out, const vg_source *source, const char *key) {
    size_t length = strlen(key) - 1;
    VG_TRY(start_parts(out, source));
    for (size_t i = 0; i < source->count; i++)
        if (strncmp(source->arrays[i].name, key, length) == 0)
            out->parts[out->count++] = i;
    if (out->count == 0)
        return vg_base__fail(VG_ERR_ARGUMENT, "%s: --key: no array's name begins with '%.*s'", source->path,
                             (int)length, key);
    sort_parts(source, out);
    return VG_OK;
}

/* Whether the candidates are model_0, model_1, ...; if so, sorts them by their numbers. */
static bool are_members(const vg_source *source, vg_prediction_arrays *chosen, const char *axes) {
    const char *first = source->arrays[chosen->parts[0]].name;
    size_t word, number, own, clean;
    if (chosen->count < 2 || !split_number(first, &word, &number))
        return false;
    for (clean = word; clean > 0 && strchr("_ .-", first[clean - 1]);)
        clean--;
    if (!listed(member_words, first, clean))
        return false;
    for (size_t i = 0; i < chosen->count; i++) {
        const char *name = source->arrays[chosen->parts[i]].name;
        if (source->arrays[chosen->parts[i]].rank != part_rank(axes) || !split_number(name, &own, &number) ||
            own != word || memcmp(name, first, word) != 0)
            return false;
    }
    sort_parts(source, chosen);
    size_t start = 0;
    split_number(source->arrays[chosen->parts[0]].name, &own, &start);
    for (size_t i = 0; i < chosen->count; i++)
        if (!split_number(source->arrays[chosen->parts[i]].name, &own, &number) || number != start + i || start > 1)
            return false;
    return true;
}

/* --- all of it ---------------------------------------------------------------------------------------------------- */
static bool may_be_predictions(const vg_stored *array, const char *labels_key, const char *axes) {
    const char *name = array->name;
    bool fits =
        axes ? array->rank == strlen(axes) || array->rank == part_rank(axes) : array->rank == 2 || array->rank == 3;
    bool named = listed(vg_prediction_class_keys, name, strlen(name)) ||
                 listed(vg_prediction_id_keys, name, strlen(name)) || (labels_key && strcmp(name, labels_key) == 0);
    return fits && !vg_labels__is_usual(name) && !named;
}

static vg_status none_or_many(const vg_source *source, const vg_prediction_arrays *candidates) {
    if (candidates->count == 0 && source->skipped_count == 1 && source->count == 0)
        return vg_base__fail_text(VG_ERR_UNSUPPORTED, source->skipped[0].reason);
    if (candidates->count == 0)
        return vg_base__fail(VG_ERR_FORMAT,
                             "%s: holds no predictions: no array has 2 or 3 axes (or as many as --axes names) and is "
                             "not named like labels",
                             source->path);
    char names[300] = "", all[300] = "";
    size_t used = 0, joined = 0;
    for (size_t i = 0; i < candidates->count; i++) {
        const char *name = source->arrays[candidates->parts[i]].name;
        if (used + 64 < sizeof names)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%.40s", i ? ", " : "", name);
        if (joined + 64 < sizeof all)
            joined += (size_t)snprintf(all + joined, sizeof all - joined, "%s%.40s", i ? "," : "", name);
    }
    return vg_base__fail(VG_ERR_FORMAT,
                         "%s: holds no array named P, Q or Z, and %zu others that could be predictions (%s); name "
                         "one: --key NAME, or, if each is a member's, all of them: --key %s",
                         source->path, candidates->count, names, all);
}

static vg_status choose_usual(vg_prediction_arrays *out, const vg_source *source, const char *labels_key,
                              const char *axes) {
    if (source->count == 1 && source->arrays[0].name[0] == '\0') /* a .npy file: nothing to choose from */
        return VG_OK;
    if (find_listed(source, probability_keys, &out->index) || find_listed(source, logit_keys, &out->index) ||
        find_listed(source, gated_keys, &out->index))
        return VG_OK;
    VG_TRY(start_parts(out, source));
    for (size_t i = 0; i < source->count; i++)
        if (may_be_predictions(source->arrays + i, labels_key, axes))
            out->parts[out->count++] = i;
    if (out->count != 1 && (out->count == 0 || !are_members(source, out, axes)))
        return none_or_many(source, out);
    return VG_OK;
}

static vg_status choose(vg_prediction_arrays *out, const vg_source *source, const char *key, const char *labels_key,
                        const char *axes) {
    if (!key)
        return choose_usual(out, source, labels_key, axes);
    for (size_t i = 0; i < source->count; i++)
        if (strcmp(source->arrays[i].name, key) == 0) {
            out->index = i;
            return VG_OK;
        }
    if (strchr(key, ','))
        return choose_named(out, source, key);
    if (*key && key[strlen(key) - 1] == '*')
        return choose_prefix(out, source, key);
    return vg_source__find(source, key, &out->index);
}

vg_status vg_prediction_arrays__choose(vg_prediction_arrays *out, const vg_source *source, const char *key,
                                       const char *labels_key, const char *axes) {
    *out = (vg_prediction_arrays){.parts = NULL};
    vg_status status = choose(out, source, key, labels_key, axes);
    if (status == VG_OK && out->count > 1)
        status = check_parts(source, out, axes);
    if (status == VG_OK && out->count > 0)
        out->index = out->parts[0];
    if (status != VG_OK || out->count <= 1) {
        vg_base__release(out->parts);
        out->parts = NULL;
        out->count = 0;
    }
    return status;
}
