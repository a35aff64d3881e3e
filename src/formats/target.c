/* target.c - whether a file may be written: never over an input, over an existing file only if vargate wrote it.
 *
 * Whether vargate wrote an existing file as the wanted product is decided by its content, not by its name:
 *
 *     .npz, .safetensors   metadata "vargate" = the product's name, or the arrays that only this product has;
 *                          predictions by the metadata alone, because any program's have the arrays P or Z and L
 *     .csv                 the header: scores "n,..." or "id,..." to "diversity,k_sensitivity"; decisions
 *                          "id,pred..."; sets "id,..." with columns of size and set
 *     .jsonl               keys of the first line: scores diversity, k_sensitivity, k; decisions id, pred, decision;
 *                          sets id, sets
 *     .json                temperatures: an object with the list "temperatures" and the text "solver"; other
 *                          calibration maps: with the lists "maps" and "fits"; policies and
 *                          thresholds: one whose "command" is "policy" or "thresholds"; figures: "evaluate", or a
 *                          list of such; of OOD: "ood"; fits of k: "fit-k"
 *     .html                report pages: <meta name="generator" content="vargate"> within the first 4096 bytes
 *     comparisons          the page's mark, or how the .csv, .md and .json of vg_compare_result_save begin
 *
 * An empty file holds nothing that could be lost and may be replaced. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memmem */
#endif
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json_text.h"
#include "formats/writer.h"

enum { LONGEST_LINE = 16 << 20, LARGEST_JSON = 64 << 20, HTML_HEAD = 4096 };

static const struct {
    const char *name, *phrase; /* in the metadata, in messages */
    const char *arrays[6];     /* an .npz or .safetensors of the product has them all */
    const char *keys[4];       /* a line of .jsonl has them all */
} products[] = {
    [VG_PRODUCT_SCORES] = {"scores",
                           "a file of scores",
                           {"k", "diversity", "k_sensitivity", NULL},
                           {"k", "diversity", "k_sensitivity", NULL}},
    [VG_PRODUCT_DECISIONS] = {"decisions",
                              "a file of decisions",
                              {"id", "pred", "decision", "gmu", "snr", NULL},
                              {"id", "pred", "decision", NULL}},
    [VG_PRODUCT_PREDICTIONS] = {"predictions", "a file of predictions", {NULL}, {NULL}},
    [VG_PRODUCT_TEMPERATURES] = {"temperatures", "a file of temperatures", {NULL}, {NULL}},
    [VG_PRODUCT_PAGE] = {"page", "a report page", {NULL}, {NULL}},
    [VG_PRODUCT_POLICY] = {"policy", "a policy", {NULL}, {NULL}},
    [VG_PRODUCT_COMPARISON] = {"comparison", "a comparison of runs", {NULL}, {NULL}},
    [VG_PRODUCT_FIGURES] = {"figures", "a file of figures", {NULL}, {NULL}},
    [VG_PRODUCT_OOD] = {"ood", "a file of OOD figures", {NULL}, {NULL}},
    [VG_PRODUCT_SETS] = {"sets",
                         "a file of prediction sets",
                         {"mask", "size", "alpha", "threshold", NULL},
                         {"id", "sets", NULL}},
    [VG_PRODUCT_THRESHOLDS] = {"thresholds", "a file of thresholds", {NULL}, {NULL}},
    [VG_PRODUCT_GATES] = {"gates", "a fit of k", {NULL}, {NULL}},
};
enum { PRODUCTS = sizeof products / sizeof *products };

vg_status vg_writer__mark(vg_writer *writer, vg_product product) {
    if ((unsigned)product >= PRODUCTS)
        return vg_base__fail(VG_ERR_ARGUMENT, "vg_writer__mark: no product has the number %d", (int)product);
    if (!writer)
        return vg_base__fail(VG_ERR_ARGUMENT, "vg_writer__mark: writer must not be NULL");
    if (writer->kind == VG_KIND_NPY) /* an .npy has no metadata */
        return VG_OK;
    return vg_writer__metadata(writer, "vargate", products[product].name);
}

/* --- what an existing file holds ---------------------------------------------------------------------------------- */
static bool has_arrays(const char *path, vg_product product) {
    vg_source *source;
    if (vg_source__open(&source, path) != VG_OK)
        return false;
    const char *mark = vg_source__metadata(source, "vargate");
    bool ours = mark && strcmp(mark, products[product].name) == 0;
    if (!mark && products[product].arrays[0]) {
        ours = true;
        for (const char *const *name = products[product].arrays; *name && ours; name++) {
            size_t index;
            ours = vg_source__find(source, *name, &index) == VG_OK;
        }
    }
    vg_source__close(source);
    return ours;
}

static bool begins(const char *text, size_t length, const char *with) {
    return length >= strlen(with) && memcmp(text, with, strlen(with)) == 0;
}

static bool ends(const char *text, size_t length, const char *with) {
    size_t tail = strlen(with);
    return length >= tail && memcmp(text + length - tail, with, tail) == 0;
}

/* Whether the header of a table is that of the product. */
static bool is_heading(const char *line, size_t length, vg_product product) {
    if (product == VG_PRODUCT_SCORES)
        return (begins(line, length, "n,") || begins(line, length, "id,")) &&
               ends(line, length, ",diversity,k_sensitivity");
    if (product == VG_PRODUCT_FIGURES)
        return begins(line, length, "file,n,accuracy,") && memmem(line, length, ",measure,", 9);
    if (product == VG_PRODUCT_OOD)
        return begins(line, length, "file,n,measure,auroc");
    if (product == VG_PRODUCT_SETS)
        return begins(line, length, "id,") && memmem(line, length, ",size", 5) && memmem(line, length, ",set", 4);
    return product == VG_PRODUCT_DECISIONS && begins(line, length, "id,pred") && memmem(line, length, ",decision", 9);
}

/* Whether the first line of a file of JSON lines is that of the product. */
static bool is_record(const char *line, size_t length, vg_product product) {
    json_t *object = products[product].keys[0] ? vg_base__json_load(line, length, 0, NULL) : NULL;
    bool ours = json_is_object(object);
    for (const char *const *key = products[product].keys; ours && *key; key++)
        ours = json_object_get(object, *key) != NULL;
    json_decref(object);
    return ours;
}

static bool is_temperatures(const char *text, size_t size) {
    json_t *object = size <= LARGEST_JSON ? vg_base__json_load(text, size, 0, NULL) : NULL;
    bool ours =
        (json_is_array(json_object_get(object, "temperatures")) && json_is_string(json_object_get(object, "solver"))) ||
        (json_is_array(json_object_get(object, "maps")) && json_is_array(json_object_get(object, "fits")));
    json_decref(object);
    return ours;
}

/* Whether a text is a JSON document of the command `wanted`, or a list that begins with one. */
static bool is_document(const char *text, size_t size, const char *wanted) {
    json_t *object = size <= LARGEST_JSON ? vg_base__json_load(text, size, 0, NULL) : NULL;
    const json_t *one = json_is_array(object) ? json_array_get(object, 0) : object;
    const char *command = json_string_value(json_object_get(one, "command"));
    bool ours = command && strcmp(command, wanted) == 0;
    json_decref(object);
    return ours;
}

static bool is_page(const char *text, size_t size) {
    static const char mark[] = "<meta name=\"generator\" content=\"vargate\">";
    return memmem(text, size < HTML_HEAD ? size : HTML_HEAD, mark, sizeof mark - 1) != NULL;
}

static bool is_comparison(const char *text, size_t size) {
    static const char command[] = "\"command\": \"compare\"";
    return is_page(text, size) || begins(text, size, "name,path,n,m,c,measure,accuracy,") ||
           begins(text, size, "| run | accuracy |") ||
           memmem(text, size < HTML_HEAD ? size : HTML_HEAD, command, sizeof command - 1) != NULL;
}

static bool is_ours(const char *path, vg_product product) {
    vg_mapping map;
    if (vg_file__map(&map, path) != VG_OK)
        return false;
    const char *text = (const char *)map.bytes;
    bool ours = map.size == 0, zip = begins(text, map.size, "PK\3\4"), tensors = map.size >= 10 && text[8] == '{';
    if (zip || tensors) {
        ours = has_arrays(path, product);
    } else if (map.size > 0 && product == VG_PRODUCT_TEMPERATURES) {
        ours = is_temperatures(text, map.size);
    } else if (map.size > 0 && product == VG_PRODUCT_POLICY) {
        ours = is_document(text, map.size, "policy");
    } else if (map.size > 0 && product == VG_PRODUCT_THRESHOLDS) {
        ours = is_document(text, map.size, "thresholds");
    } else if (map.size > 0 && product == VG_PRODUCT_GATES) {
        ours = is_document(text, map.size, "fit-k");
    } else if (map.size > 0 && product == VG_PRODUCT_FIGURES && (text[0] == '{' || text[0] == '[')) {
        ours = is_document(text, map.size, "evaluate");
    } else if (map.size > 0 && product == VG_PRODUCT_OOD && text[0] == '{') {
        ours = is_document(text, map.size, "ood");
    } else if (map.size > 0 && product == VG_PRODUCT_PAGE) {
        ours = is_page(text, map.size);
    } else if (map.size > 0 && product == VG_PRODUCT_COMPARISON) {
        ours = is_comparison(text, map.size);
    } else if (map.size > 0) {
        const char *end = memchr(text, '\n', map.size < LONGEST_LINE ? map.size : LONGEST_LINE);
        size_t length = end ? (size_t)(end - text) : 0;
        length -= length > 0 && text[length - 1] == '\r';
        ours = is_heading(text, length, product) || is_record(text, length, product);
    }
    vg_file__unmap(&map);
    return ours;
}

/* --- the check ---------------------------------------------------------------------------------------------------- */
/* Whether two names of files that do not exist yet refer to one file: the same last part in the same folder. */
static bool same_place(const char *a, const char *b) {
    const char *end_a = strrchr(a, '/'), *end_b = strrchr(b, '/');
    struct stat left, right;
    char folder_a[4096], folder_b[4096];
    if (strcmp(end_a ? end_a + 1 : a, end_b ? end_b + 1 : b) != 0)
        return false;
    snprintf(folder_a, sizeof folder_a, "%.*s", end_a ? (int)(end_a + 1 - a) : 1, end_a ? a : ".");
    snprintf(folder_b, sizeof folder_b, "%.*s", end_b ? (int)(end_b + 1 - b) : 1, end_b ? b : ".");
    return stat(folder_a, &left) == 0 && stat(folder_b, &right) == 0 && left.st_dev == right.st_dev &&
           left.st_ino == right.st_ino;
}

int vg_target__same_file(const char *a, const char *b) {
    struct stat left, right;
    if (!a || !b)
        return 0;
    if (strcmp(a, "-") != 0 && strcmp(b, "-") != 0 && access(a, F_OK) != 0 && access(b, F_OK) != 0)
        return same_place(a, b);
    bool found = (strcmp(a, "-") == 0 ? fstat(STDIN_FILENO, &left) : stat(a, &left)) == 0 &&
                 (strcmp(b, "-") == 0 ? fstat(STDIN_FILENO, &right) : stat(b, &right)) == 0;
    return found && left.st_dev == right.st_dev && left.st_ino == right.st_ino;
}

vg_status vg_target__check(const char *path, vg_product product, const char *const *inputs, size_t input_count,
                           int force) {
    if (!path || (input_count && !inputs) || (unsigned)product >= PRODUCTS)
        return vg_base__fail(VG_ERR_ARGUMENT,
                             "vg_target_check: path and inputs must not be NULL, and the product must be one");
    if (strcmp(path, "-") == 0) /* standard output */
        return VG_OK;
    for (size_t i = 0; i < input_count; i++)
        if (vg_target__same_file(path, inputs[i]))
            return vg_base__fail(VG_ERR_ARGUMENT,
                                 "%s: the output is the input %s itself; choose another name for the output", path,
                                 strcmp(inputs[i], "-") == 0 ? "on standard input" : inputs[i]);
    struct stat st;
    if (force || stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return VG_OK; /* a path that cannot be written is reported when it is opened */
    if (is_ours(path, product))
        return VG_OK;
    return vg_base__fail(VG_ERR_ARGUMENT,
                         "%s: exists and is not %s that vargate wrote; choose another name, or replace it with --force",
                         path, products[product].phrase);
}
