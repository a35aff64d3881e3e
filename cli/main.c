/* main.c - vargate <command> [options] [files]: finds the command, runs it, ends with its exit code. */
#include "cli.h"
#include "vargate/doctor.h"

static const command *const commands[] = {&command_score,   &command_calibrate, &command_fit_k,     &command_evaluate,
                                          &command_decide,  &command_sets,      &command_ood,       &command_data,
                                          &command_train,   &command_predict,   &command_run,       &command_report,
                                          &command_compare, &command_sweep,     &command_reproduce, &command_doctor};
enum { COMMAND_COUNT = sizeof commands / sizeof *commands };

static void print_overview(void) {
    printf("vargate %s - uncertainty of ensemble classifiers, gated by variance\n\n", vg_version());
    printf("Usage: vargate COMMAND [options] [files]\n\nCommands:\n");
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        printf("  %-10s %s\n", commands[i]->name, commands[i]->summary);
    printf("  %-10s %s\n", "help", "show this, or the options of a command");
    printf("\n'vargate help COMMAND' shows its options, their defaults and an example.\n");
    printf("Exit code: 0 done, 1 failed, 2 wrong usage.\n");
}

static const command *find_command(const char *name) {
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    }
    return NULL;
}

static int unknown_command(const char *name) {
    const char *names[COMMAND_COUNT + 3] = {"help", "--help", "--version"};
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        names[i + 3] = commands[i]->name;
    const char *near = vg_nearest_name(name, names, COMMAND_COUNT + 3), *kind = *name == '-' ? "option" : "command";
    if (near)
        return console_usage("unknown %s '%s'; did you mean '%s'?", kind, name, near);
    return console_usage("unknown %s '%s'; 'vargate --help' lists them", kind, name);
}

static int run_command(const char *name, int argc, char **argv) {
    const command *found = find_command(name);
    if (!found)
        return unknown_command(name);
    console_set_command(found->name);
    int code = found->run(found, argc, argv);
    return code == OPTIONS_HELP_SHOWN ? CLI_OK : code;
}

static int run_help(int argc, char **argv) {
    static char help_option[] = "--help";
    char *help_arguments[] = {help_option, NULL};
    if (argc == 0) {
        print_overview();
        return CLI_OK;
    }
    return run_command(argv[0], 1, help_arguments);
}

static int dispatch(int argc, char **argv) {
    if (argc < 2) {
        print_overview();
        return CLI_USAGE;
    }
    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        return run_help(0, NULL);
    if (strcmp(name, "help") == 0)
        return run_help(argc - 2, argv + 2);
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
        printf("vargate %s (%s)\n%s\n", vg_version(), vg_cpu_tier(), vg_build_facts());
        return CLI_OK;
    }
    return run_command(name, argc - 2, argv + 2);
}

int main(int argc, char **argv) {
    console_catch_signals();
    int code = dispatch(argc, argv);
    int output = console_finish_output();
    return console_exit_code(code == CLI_OK ? output : code);
}
