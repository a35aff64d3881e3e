/* decision_stdin.c - vargate decide --stdin-jsonl: reads lines, writes each one's answer at once. */
#include <unistd.h>

#include "cli.h"

enum { FIRST_BUFFER = 1 << 16, LONGEST_LINE = 256 << 20 };

typedef struct line_buffer {
    char *bytes;
    size_t room, begin, end; /* unread bytes lie in begin .. end - 1; room counts one more for a NUL */
    bool over;               /* nothing more to read */
} line_buffer;

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

/* Reads more. Returns an exit code. */
static int fill(line_buffer *in) {
    if (in->begin > 0) {
        memmove(in->bytes, in->bytes + in->begin, in->end - in->begin);
        in->end -= in->begin;
        in->begin = 0;
    }
    if (in->end == in->room) {
        if (in->room >= LONGEST_LINE)
            return console_fail("standard input: a line is longer than %d MB", LONGEST_LINE >> 20);
        char *bytes = realloc(in->bytes, 2 * in->room + 1);
        if (!bytes)
            return console_fail_memory("a line of input");
        in->bytes = bytes;
        in->room *= 2;
    }
    ssize_t got;
    do
        got = read(STDIN_FILENO, in->bytes + in->end, in->room - in->end);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return console_fail("standard input: %s", strerror(errno));
    in->over = got == 0;
    in->end += (size_t)got;
    return CLI_OK;
}

static int run_lines(vg_decision_stream *stream, line_counts *counts, line_buffer *in, bool strict) {
    size_t searched = 0; /* bytes after begin known to hold no newline */
    for (;;) {
        char *begin = in->bytes + in->begin, *newline = memchr(begin + searched, '\n', in->end - in->begin - searched);
        size_t length = newline ? (size_t)(newline - begin) : in->end - in->begin;
        int code;
        if (newline || (in->over && length > 0)) {
            begin[length] = '\0';
            code = answer_line(stream, counts, begin, length, strict);
            in->begin += length + (newline != NULL);
            searched = 0;
        } else if (in->over) {
            return CLI_OK;
        } else {
            searched = length;
            code = fill(in);
        }
        if (code != CLI_OK)
            return code;
    }
}

int decision_stdin_run(vg_decision_stream *stream, bool strict) {
    line_buffer in = {.bytes = malloc(FIRST_BUFFER + 1), .room = FIRST_BUFFER};
    line_counts counts = {0, 0};
    if (!in.bytes)
        return console_fail_memory("the stream");
    int code = run_lines(stream, &counts, &in, strict);
    if (counts.bad > 0 && !strict)
        console_note("%llu of %llu line%s could not be decided", counts.bad, counts.lines, plural(counts.lines));
    free(in.bytes);
    return code;
}
