/* command_options.h - options of a command as tables: parsing, defaults, --help.
 *
 * A table names each option once, with its kind, its default as a person would type it, its help line and the place in
 * a struct that takes the value. The parser fills defaults from the same text that --help shows. Several tables, each
 * with its own struct, make up a command, so that commands share groups of options. */
#ifndef CLI_COMMAND_OPTIONS_H
#define CLI_COMMAND_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

typedef enum option_kind {
    OPTION_FLAG,   /* bool */
    OPTION_TEXT,   /* const char *, NULL without a default */
    OPTION_COUNT,  /* size_t in low..high */
    OPTION_REAL,   /* double in low..high */
    OPTION_REALS,  /* option_reals: numbers separated by commas */
    OPTION_CHOICE, /* int: index into the names of `value` ("all|distinct"), -1 without a default */
    OPTION_TEXTS,  /* option_texts: may be given several times */
    OPTION_GATES   /* option_reals: numbers separated by commas, or the name of a .json file, which stands for 1 */
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
    double low, high; /* COUNT and REAL */
} option_entry;

typedef struct option_group {
    const char *title; /* heading in --help */
    const option_entry *entries;
    size_t count;
    void *values; /* the struct that `offset` counts from */
} option_group;

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
} option_files;

enum { OPTIONS_HELP_SHOWN = -1 };
/* Sets defaults, then reads argv[0 .. argc-1] (without the command's name). argv is reordered. Returns CLI_OK,
 * CLI_USAGE after one line on standard error, or OPTIONS_HELP_SHOWN after --help. */
int options_parse(const command *self, const option_group *groups, size_t group_count, int argc, char **argv,
                  option_files *files);

/* The defaults alone. */
int options_defaults(const option_group *groups, size_t group_count);

/* One number, the whole text, finite or not as C reads it. */
bool options_number(const char *text, double *out);

#endif
