/* decision_stdin.c - vargate decide --stdin-jsonl: reads lines, writes each one's answer at once. */
#include "cli.h"

enum { LONGEST_LINE = 256 << 20 };

typedef struct line_counts {
    unsigned long long lines, bad;
} line_counts;

static int answer_line(vg_decision_stream *stream, line_counts *counts, const char *text, size_t length, bool strict) {
    const char *answer;
    size_t answer_length;
    vg_status status = vg_decision_stream_line(stream, text, length, &answer, &answer_length);
    counts->lines++;
    counts->bad += status == VG_ERR_DATA;
    if (status != VG_OK && (strict || status != VG_ERR_DATA))
        return console_fail_library();
    fwrite(answer, 1, answer_length, stdout);
    return answer_length > 0 ? console_flush_output() : CLI_OK;
}

int decision_stdin_run(vg_decision_stream *stream, bool strict) {
    line_counts counts = {0, 0};
    char *line = NULL;
    size_t room = 0;
    ssize_t length = 0;
    int code = CLI_OK;
    while (code == CLI_OK && (length = getline(&line, &room, stdin)) > 0) {
        length -= line[length - 1] == '\n';
        line[length] = '\0';
        code = length > LONGEST_LINE ? console_fail("standard input: a line is longer than %d MB", LONGEST_LINE >> 20)
                                     : answer_line(stream, &counts, line, (size_t)length, strict);
    }
    if (code == CLI_OK && !feof(stdin))
        code = console_fail("standard input: %s", strerror(errno));
    if (counts.bad > 0 && !strict)
        console_note("%llu of %llu line%s could not be decided", counts.bad, counts.lines, plural(counts.lines));
    free(line);
    return code;
}
