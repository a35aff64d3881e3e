/* command_options.h - options of a command as tables: parsing, defaults, --help.
 *
 * A table names each option once, with its kind, its default as typed, its help line and the field of a struct that
 * takes the value, which may be an options struct of the library. The parser fills defaults from the same text that
 * --help shows. Several tables, each with its own struct, make up a command, so that commands share groups of
 * options. */
#ifndef CLI_COMMAND_OPTIONS_H
#define CLI_COMMAND_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "vargate/vargate.h"

typedef enum option_kind {
    OPTION_FLAG,     /* bool */
    OPTION_SWITCH,   /* int, 1 where it is given: a flag in options of the library */
    OPTION_TEXT,     /* const char *, NULL without a default */
    OPTION_COUNT,    /* size_t in low..high */
    OPTION_UNSIGNED, /* unsigned in low..high */
    OPTION_REAL,     /* double in low..high */
    OPTION_REALS,    /* option_reals: numbers separated by commas */
    OPTION_CHOICE,   /* int: index into the names of `value` ("all|distinct"), -1 without a default */
    OPTION_TEXTS,    /* option_texts: may be given several times */
    OPTION_GATES     /* option_reals: numbers separated by commas, or the name of a .json file, which means 1 */
} option_kind;

enum { OPTION_MAX_REALS = 1024, OPTION_MAX_TEXTS = 64 };
typedef struct option_reals {
    double values[OPTION_MAX_REALS];
    size_t count;
    const char *file; /* OPTION_GATES; NULL: numbers */
} option_reals;
typedef struct option_texts {
    const char *items[OPTION_MAX_TEXTS];
    size_t count;
} option_texts;

typedef struct option_entry {
    const char *name; /* without the dashes */
    char letter;      /* short form, 0 for none */
    option_kind kind;
    size_t offset;       /* of the value in the struct */
    const char *value;   /* how --help names the value; for choices the choices themselves */
    const char *initial; /* the default, as typed; NULL: none */
    const char *help;
    double low, high; /* COUNT, UNSIGNED and REAL */
} option_entry;
static inline bool option_takes_value(const option_entry *entry) {
    return entry->kind != OPTION_FLAG && entry->kind != OPTION_SWITCH;
}

struct option_files;
typedef struct option_group {
    const char *title; /* heading in --help */
    const option_entry *entries;
    size_t count;
    void *values; /* the struct that `offset` counts from */
    /* Names of entries that the command does not have, ends with NULL; they keep their defaults. NULL: it has all. */
    const char *const *without;
    /* Called when all arguments are read; returns an exit code. NULL: nothing to check. */
    int (*check)(const void *values, const struct option_files *files);
} option_group;

/* Options that several commands have, with the field of their value. */
#define OPTION_BOOTSTRAP(place, resamples, help) {"bootstrap", 0, OPTION_COUNT, place, "R", resamples, help, 0, 1000000}
#define OPTION_SEED(place) {"seed", 0, OPTION_COUNT, place, "S", "1", "seed of the bootstrap", 0, 9007199254740992.0}
#define OPTION_CONFIDENCE(place) {"confidence", 0, OPTION_REAL, place, "P", "0.95", "of the intervals", 0.5, 0.999999}
#define OPTION_MAPS(place)                                                                                             \
    {"maps", 0, OPTION_TEXT, place, "DIR", NULL,                                                                       \
     "of images: write maps (N, H, W) as .npy, and as .png with a colour bar or a legend", 0, 0}
#define OPTION_PICTURES(place)                                                                                         \
    {"pictures", 0, OPTION_COUNT, place, "COUNT", "20", "images that --maps draws, the first ones", 0, 1000000}
#define OPTION_FORCE(place) {"force", 0, OPTION_FLAG, place, NULL, NULL, OUTPUT_FORCE_HELP, 0, 0}
#define OPTION_FORCE_SWITCH(place) {"force", 0, OPTION_SWITCH, place, NULL, NULL, OUTPUT_FORCE_HELP, 0, 0}
#define OPTION_THREADS(place, help) {"threads", 't', OPTION_UNSIGNED, place, "T", "0", help, 0, 4096}
#define OPTION_JOBS(place, help) {"jobs", 'j', OPTION_UNSIGNED, place, "J", "1", help, 1, 64}
#define OPTION_DEVICE(place) {"device", 0, OPTION_TEXT, place, "auto|cpu|cuda", "auto", "where to compute", 0, 0}
#define OPTION_DATA(place) {"data", 'd', OPTION_TEXT, place, "DIR", NULL, "folder searched first for data sets", 0, 0}

#define OPTION_GROUP(title, entries, values) {title, entries, sizeof(entries) / sizeof *(entries), values, NULL, NULL}

typedef struct command {
    const char *name;
    const char *summary; /* one line for `vargate --help` */
    const char *usage;   /* what follows "vargate NAME " */
    const char *details; /* paragraphs for --help, or NULL */
    const char *example;
    int (*run)(const struct command *self, int argc, char **argv);
} command;

/* Positional arguments: `items` point into argv. */
typedef struct option_files {
    char **items;
    size_t count;
    bool standard; /* one of them, or the value of an option that names an input, is "-": standard input */
} option_files;

enum { OPTIONS_HELP_SHOWN = -1 };
/* Sets defaults, then reads argv[0 .. argc-1] (without the command's name). argv is reordered. Returns CLI_OK,
 * CLI_USAGE after one line on standard error, or OPTIONS_HELP_SHOWN after --help. */
int options_parse(const command *self, const option_group *groups, size_t group_count, int argc, char **argv,
                  option_files *files);

/* The next entry of a group that the command has, from number `*next` on, which is advanced; NULL at the end. */
const option_entry *option_group_next(const option_group *group, size_t *next);

/* The whole text as one number, finite or not as C reads it. */
bool options_number(const char *text, double *out);

void command_help_print(const command *self, const option_group *groups, size_t group_count);

/* --- files -------------------------------------------------------------------------------------------------------- */

#define OUTPUT_FORCE_HELP "replace an existing output file even if vargate did not write it"

/* Exit code, with a line, when `path` has another ending than the product's, is one of the inputs or a file of
 * labels or temperatures that `read` names, or would replace a file that vargate did not write as that product,
 * unless forced. */
int output_path_check(const char *path, vg_product product, bool force, const char *const *inputs, size_t count,
                      const vg_input_options *read);
/* CLI_USAGE, with a line, when the ending does not belong to the product; CLI_OK for NULL. */
int output_ending_check(const char *path, vg_product product);
/* CLI_USAGE, with a line, for a folder named "-"; CLI_OK for any other and for NULL. */
int output_folder_check(const char *path);
/* Whether `path` is "-", standard output. False for NULL. */
bool output_is_standard(const char *path);
/* For commands whose file is JSON: "-o -" is the same as --json. */
void output_as_json(const char **output, bool *json);
/* The exit code for a call of the library that wrote `path`, with a note where it did. */
int output_written(vg_status status, const char *path);

typedef struct file_list {
    char **items;
    size_t count;
    bool several; /* several names or a pattern were given: JSON is a list, whatever a pattern matches */
} file_list;

/* Names as they are given; one with * ? or [ that is not a file is replaced by its matches, in their order. Returns
 * an exit code; freed with file_list_free in any case. */
int file_list_open(file_list *list, const option_files *files);
void file_list_free(file_list *list);

/* Whether an output names one file for each input: a folder (that exists, or a name that ends in a slash), or a name
 * with a star, which the input's name replaces: "scores/[star].csv". */
bool file_list_is_folder(const char *output);
/* The output for one input, `ending` (".npz") for a folder: into out[0 .. room - 1]. The folder is made. Returns an
 * exit code. */
int file_list_output(char *out, size_t room, const char *output, const char *input, const char *ending);
/* Refuses one output for several inputs, and inputs that would have the same. Returns an exit code. */
int file_list_check(const file_list *list, const char *output);

/* --- the subcommands, one cmd_*.c each ---------------------------------------------------------------------------- */

extern const command command_score;
extern const command command_calibrate;
extern const command command_fit_k;
extern const command command_evaluate;
extern const command command_decide;
extern const command command_sets;
extern const command command_ood;
extern const command command_data;
extern const command command_train;
extern const command command_predict;
extern const command command_run;
extern const command command_report;
extern const command command_compare;
extern const command command_sweep;
extern const command command_reproduce;
extern const command command_doctor;

#endif
