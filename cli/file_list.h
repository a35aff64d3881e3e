/* file_list.h - several prediction files: patterns that the shell left alone, and an output for each. */
#ifndef CLI_FILE_LIST_H
#define CLI_FILE_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "command_options.h"

typedef struct file_list {
    char **items;
    size_t count;
} file_list;

/* Names as they are given; one with * ? or [ that is no file is replaced by those it matches, in their order. Returns
 * an exit code; freed with file_list_free in any case. */
int file_list_open(file_list *list, const option_files *files);
void file_list_free(file_list *list);

/* Whether an output names one file for each input: a folder (that exists, or a name that ends in a slash), or a name
 * with a star, in whose place the input's name stands: "scores/[star].csv". */
bool file_list_is_folder(const char *output);
/* The output for one input, `ending` (".npz") for a folder: into out[0 .. room - 1]. The folder is made. Returns an
 * exit code. */
int file_list_output(char *out, size_t room, const char *output, const char *input, const char *ending);
/* Refuses one output for several inputs, and inputs that would have the same. Returns an exit code. */
int file_list_check(const file_list *list, const char *output);

#endif
