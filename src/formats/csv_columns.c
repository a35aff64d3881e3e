/* csv_columns.c - the roles of a table's columns.
 *
 * A role that an option names (--id, --label, --member, --classes) counts first, then the usual names: "sample",
 * "id", "index" or no name at all for the sample, "member" or "head", "label", "y" or "y_true". The remaining
 * columns must be classes, and clearly so:
 *
 *     families   p0 p1, prob_cat prob_dog, logit_0, z1, class_a, or whole numbers: every column left belongs to one
 *     free       cat dog: taken, but the predictions are refused unless each row sums to 1 (predictions.c), because
 *                a column of another meaning among them would change the sum
 *     ambiguous  confidence, prediction, split, ...: never a class unless --classes says so
 *
 * The names of the classes are the columns' without the family's prefix. Numbers 0 .. C-1 are positions, not names. */
#include "formats/csv_columns.h"

#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const sample_names[] = {"sample", "id",   "index", "n",          "idx", "sample_id",
                                           "uid",    "uuid", "",      "unnamed: 0", NULL};
static const char *const index_names[] = {"", "unnamed: 0",
                                          NULL}; /* pandas' index: any other sample column takes precedence */
static const char *const member_names[] = {"member", "head", "m", NULL};
static const char *const label_names[] = {
    "label",        "labels", "y",          "l",          "target",     "targets", "y_true",
    "ground_truth", "gt",     "true_label", "label_true", "true_class", "truth",   NULL};
static const char *const ambiguous_names[] = {"confidence",
                                              "conf",
                                              "max_prob",
                                              "pred",
                                              "preds",
                                              "prediction",
                                              "predicted",
                                              "predicted_label",
                                              "predicted_class",
                                              "y_pred",
                                              "y_hat",
                                              "yhat",
                                              "argmax",
                                              "correct",
                                              "is_correct",
                                              "error",
                                              "loss",
                                              "nll",
                                              "weight",
                                              "fold",
                                              "split",
                                              "group",
                                              "entropy",
                                              "uncertainty",
                                              "variance",
                                              "var",
                                              "std",
                                              "mean",
                                              "margin",
                                              "score",
                                              "time",
                                              "timestamp",
                                              "date",
                                              "epoch",
                                              "seed",
                                              "batch",
                                              "file",
                                              "filename",
                                              "path",
                                              "image",
                                              NULL};
/* Longest first: "prob" must not take the columns of "proba". */
static const char *const families[] = {"probability", "logits", "logit", "proba", "probs", "prob",
                                       "class",       "y_prob", "p",     "z",     "q",     NULL};

static bool is_one_of(const char *name, const char *const *list) {
    for (; *list; list++)
        if (strcasecmp(*list, name) == 0)
            return true;
    return false;
}

static bool is_number(const char *text) {
    return *text && strspn(text, "0123456789") == strlen(text) && strlen(text) < 16;
}

/* What follows `prefix` in a name: an optional separator of "_ .-:" and digits (with a separator any text). NULL for
 * a name of another form. */
static const char *without_prefix(const char *name, const char *prefix) {
    size_t length = strlen(prefix);
    if (strncasecmp(name, prefix, length) != 0 || name[length] == '\0')
        return NULL;
    bool separated = strchr("_ .-:", name[length]) != NULL;
    const char *rest = name + length + separated;
    return is_number(rest) || (separated && *rest) ? rest : NULL;
}

/* The family of a name: an index into families, FAMILY_NUMBER, or FAMILY_NONE. */
enum { FAMILY_NONE = -1, FAMILY_NUMBER = -2 };
static int family_of(const char *name) {
    if (is_number(name))
        return FAMILY_NUMBER;
    for (int i = 0; families[i]; i++)
        if (without_prefix(name, families[i]))
            return i;
    return FAMILY_NONE;
}

static const char *stem_of(const char *name, int family) {
    return family < 0 ? name : without_prefix(name, families[family]);
}

static const char *name_at(const vg_csv_columns *columns, size_t i) { return vg_strings__at(&columns->names, i); }

/* "a, b, c, ..." of the columns of a role (or all of them), for messages and for --classes (separator ","). */
static void list_columns(char *out, size_t room, const vg_csv_columns *columns, int role, const char *separator) {
    size_t at = 0;
    out[0] = '\0';
    for (size_t i = 0; i < columns->count; i++) {
        if (role >= 0 && columns->roles[i] != (vg_role)role)
            continue;
        const char *name = name_at(columns, i);
        if (at + strlen(name) + 8 > room) {
            snprintf(out + at, room - at, "%s...", at ? separator : "");
            return;
        }
        at += (size_t)snprintf(out + at, room - at, "%s%s", at ? separator : "", name);
    }
}

/* --- roles that options name -------------------------------------------------------------------------------------- */
static vg_status assign_named(vg_csv_columns *columns, const vg_source *source, const char *wanted, vg_role role,
                              const char *option) {
    char all[300];
    if (!wanted)
        return VG_OK;
    for (int exact = 1; exact >= 0; exact--)
        for (size_t i = 0; i < columns->count; i++)
            if ((exact ? strcmp : strcasecmp)(name_at(columns, i), wanted) == 0) {
                if (columns->roles[i] != VG_ROLE_IGNORED)
                    return vg_base__fail(VG_ERR_ARGUMENT, "%s: column '%.60s' is named by two options", source->path,
                                         wanted);
                columns->roles[i] = role;
                return VG_OK;
            }
    list_columns(all, sizeof all, columns, -1, ", ");
    return vg_base__fail(VG_ERR_ARGUMENT, "%s: %s: no column is named '%.60s'; its columns are %s", source->path,
                         option, wanted, all);
}

/* The column of exactly this name; the number of columns where there is none. */
static size_t column_named(const vg_csv_columns *columns, const char *name, size_t length) {
    size_t i = 0;
    while (i < columns->count &&
           (strlen(name_at(columns, i)) != length || memcmp(name_at(columns, i), name, length) != 0))
        i++;
    return i;
}

/* --classes as a list of columns, in the order of the classes; *listed is false when an entry is not the name of a
 * column. */
static vg_status assign_listed(vg_csv_columns *columns, const vg_source *source, const char *text, bool *listed) {
    size_t place = 0;
    *listed = true;
    for (const char *p = text;; p++) {
        size_t length = strcspn(p, ","), i = column_named(columns, p, length);
        if (i == columns->count) {
            *listed = false;
            return VG_OK;
        }
        if (columns->roles[i] != VG_ROLE_IGNORED)
            return vg_base__fail(VG_ERR_ARGUMENT, "%s: --classes: column '%.*s' is named twice", source->path,
                                 (int)length, p);
        columns->roles[i] = VG_ROLE_VALUE;
        columns->places[i] = place++;
        p += length;
        if (*p == '\0')
            return VG_OK;
    }
}

/* Where the first entry that is not a column begins in a list that has columns too; SIZE_MAX: the text is not a
 * list. */
static size_t unknown_in_list(const vg_csv_columns *columns, const char *text, size_t *length) {
    size_t unknown = SIZE_MAX, known = 0;
    for (const char *p = text; *p; p += strcspn(p, ","), p += *p == ',') {
        size_t letters = strcspn(p, ",");
        if (column_named(columns, p, letters) < columns->count) {
            known++;
        } else if (unknown == SIZE_MAX) {
            unknown = (size_t)(p - text);
            *length = letters;
        }
    }
    return known ? unknown : SIZE_MAX;
}

/* --classes as a regular expression (POSIX, extended) that a whole name must match. */
static vg_status assign_matching(vg_csv_columns *columns, const vg_source *source, const char *text) {
    char whole[1024], all[300];
    regex_t expression;
    size_t found = 0;
    if (snprintf(whole, sizeof whole, "^(%s)$", text) >= (int)sizeof whole ||
        regcomp(&expression, whole, REG_EXTENDED | REG_NOSUB) != 0)
        return vg_base__fail(VG_ERR_ARGUMENT,
                             "%s: --classes: '%.100s' is neither a list of columns nor a regular expression",
                             source->path, text);
    for (size_t i = 0; i < columns->count; i++)
        if (columns->roles[i] == VG_ROLE_IGNORED && regexec(&expression, name_at(columns, i), 0, NULL, 0) == 0) {
            columns->roles[i] = VG_ROLE_VALUE;
            columns->places[i] = found++;
        }
    regfree(&expression);
    if (found)
        return VG_OK;
    list_columns(all, sizeof all, columns, -1, ", ");
    size_t length = 0, unknown = unknown_in_list(columns, text, &length);
    if (unknown != SIZE_MAX)
        return vg_base__fail(VG_ERR_ARGUMENT, "%s: --classes: no column is named '%.*s'; its columns are %s",
                             source->path, (int)(length < 100 ? length : 100), text + unknown, all);
    return vg_base__fail(VG_ERR_ARGUMENT,
                         "%s: --classes: '%.100s' names no column and matches none; its columns are %s", source->path,
                         text, all);
}

static vg_status assign_classes(vg_csv_columns *columns, const vg_source *source, const char *text) {
    bool listed;
    vg_role *before;
    VG_TRY(vg_base__alloc(&before, columns->count, sizeof *before, "columns"));
    memcpy(before, columns->roles, columns->count * sizeof *before);
    vg_status status = assign_listed(columns, source, text, &listed);
    if (status == VG_OK && !listed) {
        memcpy(columns->roles, before, columns->count * sizeof *before);
        status = assign_matching(columns, source, text);
    }
    vg_base__release(before);
    return status;
}

/* --- roles by the usual names ------------------------------------------------------------------------------------- */
static bool has_role(const vg_csv_columns *columns, vg_role role) {
    for (size_t i = 0; i < columns->count; i++)
        if (columns->roles[i] == role)
            return true;
    return false;
}

static vg_role usual_role(const char *name) {
    if (is_one_of(name, sample_names))
        return VG_ROLE_SAMPLE;
    if (is_one_of(name, member_names))
        return VG_ROLE_MEMBER;
    const char *rest = without_prefix(name, "label");
    return is_one_of(name, label_names) || (rest && is_number(rest)) ? VG_ROLE_LABEL : VG_ROLE_VALUE;
}

/* Columns without a role get their usual one, unless an option has given that role to another column. The rest
 * become values, or stay ignored where --classes has named the values. */
static void assign_usual(vg_csv_columns *columns, const vg_roles *roles) {
    bool given[] = {[VG_ROLE_VALUE] = roles->classes != NULL,
                    [VG_ROLE_SAMPLE] = roles->id != NULL,
                    [VG_ROLE_MEMBER] = roles->member != NULL,
                    [VG_ROLE_LABEL] = roles->label != NULL};
    for (size_t i = 0; i < columns->count; i++) {
        vg_role role = usual_role(name_at(columns, i));
        bool group = roles->group && strcmp(roles->group, name_at(columns, i)) == 0;
        if (columns->roles[i] == VG_ROLE_IGNORED && !given[role] && !group)
            columns->roles[i] = role;
    }
    size_t samples = 0;
    for (size_t i = 0; i < columns->count; i++)
        samples += columns->roles[i] == VG_ROLE_SAMPLE;
    for (size_t i = 0; i < columns->count && samples > 1; i++)
        if (columns->roles[i] == VG_ROLE_SAMPLE && is_one_of(name_at(columns, i), index_names)) {
            columns->roles[i] = VG_ROLE_IGNORED;
            samples--;
        }
}

/* A file of labels alone: other columns are ignored, and a single remaining column is the label whatever its name. */
static void keep_labels(vg_csv_columns *columns) {
    size_t values = 0, last = 0;
    bool labels = has_role(columns, VG_ROLE_LABEL);
    for (size_t i = 0; i < columns->count; i++)
        if (columns->roles[i] == VG_ROLE_VALUE) {
            values++;
            last = i;
            columns->places[i] = values - 1;
            columns->roles[i] = labels ? VG_ROLE_IGNORED : VG_ROLE_VALUE;
        }
    if (!labels && values == 1)
        columns->roles[last] = VG_ROLE_LABEL;
}

/* --- which columns are classes ------------------------------------------------------------------------------------ */
static vg_status unclear(const vg_csv_columns *columns, const vg_source *source, const char *name) {
    char all[600];
    list_columns(all, sizeof all, columns, VG_ROLE_VALUE, ",");
    return vg_base__fail(VG_ERR_FORMAT, "%s: column '%.60s' is not clearly a class; name those that are: --classes %s",
                         source->path, name, all);
}

/* Without --classes: columns that are not clearly classes are refused. Sets source->free_columns. */
static vg_status check_values(vg_csv_columns *columns, vg_source *source) {
    int family = FAMILY_NONE;
    const char *ambiguous = NULL;
    for (size_t i = 0; i < columns->count && family == FAMILY_NONE; i++)
        if (columns->roles[i] == VG_ROLE_VALUE)
            family = family_of(name_at(columns, i));
    size_t values = 0;
    for (size_t i = 0; i < columns->count; i++) {
        if (columns->roles[i] != VG_ROLE_VALUE)
            continue;
        const char *name = name_at(columns, i);
        if (is_one_of(name, ambiguous_names) || family_of(name) != family) {
            ambiguous = ambiguous ? ambiguous : name;
            columns->roles[i] = VG_ROLE_IGNORED; /* not in the list that is proposed */
        } else {
            columns->places[i] = values++;
        }
    }
    if (ambiguous)
        return unclear(columns, source, ambiguous);
    if (family != FAMILY_NONE || values == 0)
        return VG_OK;
    char all[600];
    list_columns(all, sizeof all, columns, VG_ROLE_VALUE, ",");
    return vg_base__strdup(&source->free_columns, all);
}

/* The family that all value columns share, or FAMILY_NONE. */
static int common_family(const vg_csv_columns *columns) {
    int family = FAMILY_NONE;
    bool first = true;
    for (size_t i = 0; i < columns->count; i++) {
        if (columns->roles[i] != VG_ROLE_VALUE)
            continue;
        int own = family_of(name_at(columns, i));
        if (!first && own != family)
            return FAMILY_NONE;
        family = own;
        first = false;
    }
    return family;
}

/* Names that are the numbers 0 .. C-1 in any order give the positions of the columns; the classes then have no
 * names. */
static vg_status place_by_number(vg_csv_columns *columns, int family, bool *placed) {
    bool *taken;
    VG_TRY(vg_base__zalloc(&taken, columns->values, sizeof *taken, "columns"));
    *placed = family != FAMILY_NONE;
    for (size_t i = 0; i < columns->count && *placed; i++) {
        if (columns->roles[i] != VG_ROLE_VALUE)
            continue;
        const char *stem = stem_of(name_at(columns, i), family);
        size_t number = is_number(stem) ? (size_t)strtoull(stem, NULL, 10) : columns->values;
        *placed = number < columns->values && !taken[number];
        if (*placed)
            taken[number] = true;
    }
    vg_base__release(taken);
    for (size_t i = 0; i < columns->count && *placed; i++)
        if (columns->roles[i] == VG_ROLE_VALUE)
            columns->places[i] = (size_t)strtoull(stem_of(name_at(columns, i), family), NULL, 10);
    return VG_OK;
}

static vg_status name_classes(vg_csv_columns *columns, vg_source *source) {
    int family = common_family(columns);
    bool placed = false;
    columns->logits = family >= 0 && (strncmp(families[family], "logit", 5) == 0 || strcmp(families[family], "z") == 0);
    if (!source->roles.classes)
        VG_TRY(place_by_number(columns, family, &placed));
    for (size_t place = 0; place < columns->values && !placed; place++)
        for (size_t i = 0; i < columns->count; i++) {
            if (columns->roles[i] != VG_ROLE_VALUE || columns->places[i] != place)
                continue;
            const char *stem = stem_of(name_at(columns, i), family);
            size_t index;
            VG_TRY(vg_strings__intern(&source->classes, stem, strlen(stem), &index));
            if (index != place)
                return vg_base__fail(VG_ERR_FORMAT, "%s: two columns are named '%.60s'", source->path, stem);
        }
    return VG_OK;
}

/* --- all of it ---------------------------------------------------------------------------------------------------- */
static vg_status check_counts(vg_csv_columns *columns, const vg_source *source) {
    size_t numbered = 0;
    for (size_t i = 0; i < columns->count; i++) {
        vg_role role = columns->roles[i];
        columns->samples += role == VG_ROLE_SAMPLE;
        columns->members += role == VG_ROLE_MEMBER;
        columns->values += role == VG_ROLE_VALUE;
        if (role == VG_ROLE_LABEL) {
            columns->places[i] = columns->labels++;
            numbered += columns->names.count && !is_one_of(name_at(columns, i), label_names);
        }
    }
    if (columns->samples > 1)
        return vg_base__fail(VG_ERR_FORMAT, "%s: line 1: more than one sample column; name the one to take: --id NAME",
                             source->path);
    if (columns->members > 1)
        return vg_base__fail(VG_ERR_FORMAT,
                             "%s: line 1: more than one member column; name the one to take: --member NAME",
                             source->path);
    if (columns->labels > 1 && numbered != columns->labels)
        return vg_base__fail(VG_ERR_FORMAT,
                             "%s: line 1: more than one column of labels; name the one to take: --label NAME",
                             source->path);
    if (columns->members && !columns->samples)
        return vg_base__fail(VG_ERR_FORMAT, "%s: line 1: a member column needs a sample column (--id NAME)",
                             source->path);
    if (columns->values == 0 && columns->labels == 0)
        return vg_base__fail(VG_ERR_FORMAT, "%s: line 1: no columns of values or labels", source->path);
    return VG_OK;
}

vg_status vg_csv__assign(vg_csv_columns *columns, vg_source *source, bool header) {
    const vg_roles *roles = &source->roles;
    VG_TRY(vg_base__zalloc(&columns->roles, columns->count, sizeof *columns->roles, "columns"));
    VG_TRY(vg_base__zalloc(&columns->places, columns->count, sizeof *columns->places, "columns"));
    if (!header) {
        if (roles->id || roles->label || roles->member)
            return vg_base__fail(VG_ERR_ARGUMENT, "%s: has no line of column names, so %s cannot name one",
                                 source->path,
                                 roles->id      ? "--id"
                                 : roles->label ? "--label"
                                                : "--member");
        for (size_t i = 0; i < columns->count; i++)
            columns->roles[i] = VG_ROLE_VALUE, columns->places[i] = i;
        columns->values = columns->count;
        return VG_OK;
    }
    VG_TRY(assign_named(columns, source, roles->id, VG_ROLE_SAMPLE, "--id"));
    VG_TRY(assign_named(columns, source, roles->label, VG_ROLE_LABEL, "--label"));
    VG_TRY(assign_named(columns, source, roles->member, VG_ROLE_MEMBER, "--member"));
    if (roles->classes && !roles->labels_only)
        VG_TRY(assign_classes(columns, source, roles->classes));
    assign_usual(columns, roles);
    if (roles->labels_only)
        keep_labels(columns);
    else if (!roles->classes)
        VG_TRY(check_values(columns, source));
    VG_TRY(check_counts(columns, source));
    return roles->labels_only ? VG_OK : name_classes(columns, source);
}

void vg_csv__free(vg_csv_columns *columns) {
    vg_strings__free(&columns->names);
    vg_base__release(columns->roles);
    vg_base__release(columns->places);
}
