/* fuzz_options.c - the option parser of the command line on any arguments: the bytes, cut at every NUL or newline. The
 * table has an option of every kind. Messages go nowhere. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct values {
    bool flag;
    int on, choice;
    const char *text;
    size_t count;
    unsigned threads;
    double real;
    option_reals reals, gates;
    option_texts texts;
} values;

#define AT(field) offsetof(values, field)
static const option_entry entries[] = {
    {"flag", 'f', OPTION_FLAG, AT(flag), NULL, NULL, "a flag", 0, 0},
    {"switch", 's', OPTION_SWITCH, AT(on), NULL, NULL, "a switch", 0, 0},
    {"output", 'o', OPTION_TEXT, AT(text), "FILE", "out.npz", "a text", 0, 0},
    OPTION_BOOTSTRAP(AT(count), "100", "a count"),
    OPTION_THREADS(AT(threads), "an unsigned"),
    OPTION_CONFIDENCE(AT(real)),
    {"temperature", 0, OPTION_REALS, AT(reals), "T", NULL, "numbers", 0, 0},
    {"gate", 'k', OPTION_GATES, AT(gates), "K", "1,2,3", "numbers or a file", 0, 0},
    {"by", 0, OPTION_CHOICE, AT(choice), "all|distinct|none", "all", "a choice", 0, 0},
    {"set", 0, OPTION_TEXTS, AT(texts), "KEY=VALUE", NULL, "texts", 0, 0},
};

static int run(const command *self, int argc, char **argv) {
    (void)self, (void)argc, (void)argv;
    return CLI_OK;
}

static void check(const values *v, const option_files *files, int argc) {
    if (files->count > (size_t)argc || v->count > 1000000 || v->threads > 4096 || v->choice < 0 || v->choice > 2 ||
        !(v->real >= 0.5 && v->real <= 0.999999) || v->texts.count > OPTION_MAX_TEXTS)
        abort();
    for (size_t i = 0; i < v->gates.count; i++)
        if (isnan(v->gates.values[i]))
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const command self = {"fuzz", "summary", "[options]", NULL, "vargate fuzz", run};
    static values v;
    static FILE *nowhere;
    char text[1024], *argv[64];
    int argc = 0;
    if (size >= sizeof text)
        return 0;
    if (!nowhere && !(nowhere = fopen("/dev/null", "w")))
        return 0;
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    for (size_t at = 0; at < size && argc < 64; at += strlen(text + at) + 1) {
        char *end = strchr(text + at, '\n');
        if (end)
            *end = '\0';
        argv[argc++] = text + at;
    }
    option_group group = OPTION_GROUP("Options", entries, &v);
    option_files files;
    console_set_command("fuzz");
    FILE *output = stdout, *errors = stderr;
    stdout = stderr = nowhere;
    int code = options_parse(&self, &group, 1, argc, argv, &files);
    stdout = output, stderr = errors;
    if (code == CLI_OK)
        check(&v, &files, argc);
    else if (code != CLI_USAGE && code != OPTIONS_HELP_SHOWN)
        abort();
    return 0;
}
