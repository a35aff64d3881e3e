/* cmd_doctor.c - vargate doctor: what this build and this machine have, and how to get what is missing. */
#include "cli.h"
#include "vargate/doctor.h"

static const option_entry entries[] = {
    {"json", 0, OPTION_FLAG, 0, NULL, NULL, "print the findings as JSON", 0, 0},
};

static int run(const command *self, int argc, char **argv) {
    bool json;
    const option_group group = OPTION_GROUP("Options", entries, &json);
    option_files files;
    vg_doctor_line *lines;
    size_t count;
    char *text = NULL;
    int code = options_parse(self, &group, 1, argc, argv, &files);
    if (code != CLI_OK)
        return code;
    if (files.count)
        return console_usage("'%s': there is nothing to read", files.items[0]);
    if (vg_doctor(&lines, &count) != VG_OK)
        return console_fail_library();
    if (json)
        code = json_print_result(vg_doctor_json(&text, lines, count), &text);
    for (size_t i = 0; !json && i < count; i++) {
        printf("%-12s %s\n", lines[i].topic, lines[i].found);
        if (*lines[i].advice)
            printf("%-12s -> %s\n", "", lines[i].advice);
    }
    vg_doctor_free(lines);
    return code;
}

const command command_doctor = {
    "doctor",         "show what this build and this machine have, and what is missing",
    "[options]",      "A line that begins with '->' says how to get what is missing. Nothing is changed.",
    "vargate doctor", run,
};
