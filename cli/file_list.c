/* file_list.c - several input files and their outputs. See command_options.h. */
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"

static bool add(file_list *list, const char *name) {
    char **items = realloc(list->items, (list->count + 1) * sizeof *items);
    if (!items)
        return false;
    list->items = items;
    list->items[list->count] = strdup(name);
    return list->items[list->count++] != NULL;
}

static int add_matches(file_list *list, const char *pattern) {
    glob_t found;
    int status = glob(pattern, 0, NULL, &found);
    bool ok = true;
    if (status == GLOB_NOMATCH)
        return console_fail("%s: no file matches", pattern);
    for (size_t i = 0; status == 0 && ok && i < found.gl_pathc; i++)
        ok = add(list, found.gl_pathv[i]);
    globfree(&found);
    return status == 0 && ok ? CLI_OK : console_fail_memory("the names of the files");
}

int file_list_open(file_list *list, const option_files *files) {
    *list = (file_list){.several = files->count > 1};
    int code = CLI_OK;
    for (size_t i = 0; i < files->count && code == CLI_OK; i++) {
        const char *name = files->items[i];
        bool pattern = strpbrk(name, "*?[") && access(name, F_OK) != 0;
        list->several = list->several || pattern;
        if (pattern)
            code = add_matches(list, name);
        else if (!add(list, name))
            code = console_fail_memory("the names of the files");
    }
    return code;
}

void file_list_free(file_list *list) {
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i]);
    free(list->items);
    *list = (file_list){.items = NULL};
}

bool file_list_is_folder(const char *output) {
    struct stat st;
    size_t length = output ? strlen(output) : 0;
    return length > 0 &&
           (output[length - 1] == '/' || strchr(output, '*') || (stat(output, &st) == 0 && S_ISDIR(st.st_mode)));
}

/* The input's name without folder and ending: `length` letters from the returned pointer on. */
static const char *stem_of(const char *input, size_t *length) {
    const char *slash = strrchr(input, '/'), *name = slash ? slash + 1 : input, *dot = strrchr(name, '.');
    *length = dot && dot > name ? (size_t)(dot - name) : strlen(name);
    return name;
}

/* Makes the folder of a path; its parent folders must exist. */
static int make_folder(const char *path) {
    char folder[4096];
    const char *slash = strrchr(path, '/');
    if (!slash || slash == path)
        return CLI_OK;
    snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
    if (mkdir(folder, 0777) == 0 || errno == EEXIST)
        return CLI_OK;
    return console_fail("%s: cannot make the folder: %s", folder, strerror(errno));
}

int file_list_output(char *out, size_t room, const char *output, const char *input, const char *ending) {
    size_t length, head = strcspn(output, "*");
    const char *stem = stem_of(input, &length);
    int used;
    if (output[head] == '*')
        used = snprintf(out, room, "%.*s%.*s%s", (int)head, output, (int)length, stem, output + head + 1);
    else
        used = snprintf(out, room, "%s%s%.*s%s", output, output[head - 1] == '/' ? "" : "/", (int)length, stem, ending);
    if (used < 0 || (size_t)used >= room)
        return console_fail("%s: the name is too long", output);
    return make_folder(out);
}

int file_list_check(const file_list *list, const char *output) {
    if (list->count > 1 && !file_list_is_folder(output))
        return console_usage("-o %s: %zu inputs need a folder (out/) or a name with a star ('out/*.csv')", output,
                             list->count);
    for (size_t i = 0; i < list->count; i++)
        for (size_t j = 0; j < i; j++) {
            size_t a, b;
            const char *one = stem_of(list->items[i], &a), *other = stem_of(list->items[j], &b);
            if (a == b && memcmp(one, other, a) == 0)
                return console_usage("%s and %s would have the same output", list->items[j], list->items[i]);
        }
    return CLI_OK;
}

/* --- outputs ------------------------------------------------------------------------------------------------------ */
int output_path_check(const char *path, vg_product product, bool force, const char *const *inputs, size_t count,
                      const vg_input_options *read) {
    const char *const beside[] = {read->labels, read->temperature};
    if (!path)
        return CLI_OK;
    int code = console_status(vg_target_check(path, product, beside, sizeof beside / sizeof *beside, 1));
    return code == CLI_OK ? console_status(vg_target_check(path, product, inputs, count, force)) : code;
}

int output_ending_check(const char *path, vg_product product) {
    return path ? console_usage_status(vg_target_check(path, product, NULL, 0, 1)) : CLI_OK;
}

bool output_is_standard(const char *path) { return path && strcmp(path, "-") == 0; }

void output_as_json(const char **output, bool *json) {
    if (!output_is_standard(*output))
        return;
    *output = NULL;
    *json = true;
}

int output_written(vg_status status, const char *path) {
    if (status == VG_OK && !output_is_standard(path))
        console_note("wrote %s", path);
    return console_status(status);
}

int output_folder_check(const char *path) {
    if (output_is_standard(path))
        return console_usage("-o -: several files are written; name a folder");
    return CLI_OK;
}
