/* decision_stdin.c - vargate decide --stdin-jsonl: reads lines and writes their answers. Lines that have come together
 * are answered together, before more is waited for. Memory is bounded by the longest line that is accepted. */
#include <unistd.h>

#include "cli.h"

enum { LONGEST_LINE = 64 << 20, FIRST_ROOM = 1 << 16 };

/* Standard input. bytes[begin] to bytes[end - 1] have been read and not been answered. */
typedef struct line_reader {
    char *bytes;
    size_t room, begin, end;
    bool ended, skipping; /* skipping: the rest of a line that is too long */
    unsigned long long lines, bad;
} line_reader;

/* Moves what is there to the front, with room for more bytes and a terminating zero, and waits for more. A line that
 * fills all that is allowed is dropped, and `skipping` is set. */
static int read_more(line_reader *in) {
    ssize_t got;
    if (in->begin > 0)
        memmove(in->bytes, in->bytes + in->begin, in->end - in->begin);
    in->end -= in->begin;
    in->begin = 0;
    in->skipping = in->skipping || in->end > LONGEST_LINE;
    in->end = in->skipping ? 0 : in->end;
    if (in->end + 1 >= in->room) {
        char *larger = realloc(in->bytes, in->room ? 2 * in->room : FIRST_ROOM);
        if (!larger)
            return console_fail_memory("a line of standard input");
        in->bytes = larger;
        in->room = in->room ? 2 * in->room : FIRST_ROOM;
    }
    do
        got = read(STDIN_FILENO, in->bytes + in->end, in->room - in->end - 1);
    while (got < 0 && errno == EINTR);
    in->ended = got == 0;
    in->end += got > 0 ? (size_t)got : 0;
    return got < 0 ? console_fail("standard input: %s", strerror(errno)) : CLI_OK;
}

/* The next line, without its line end and with a terminating zero; *text is NULL at the end of the input. */
static int next_line(line_reader *in, char **text, size_t *length) {
    size_t searched = 0; /* bytes of the line that hold no end */
    for (*text = NULL;;) {
        char *start = in->bytes ? in->bytes + in->begin : NULL;
        size_t there = in->end - in->begin;
        char *newline = there > searched ? memchr(start + searched, '\n', there - searched) : NULL;
        if (newline || (in->ended && (there > 0 || in->skipping))) {
            *text = start;
            *length = newline ? (size_t)(newline - start) : there;
            start[*length] = '\0';
            in->begin += *length + (newline != NULL);
            return CLI_OK;
        }
        if (in->ended)
            return CLI_OK;
        int code = console_flush_output();
        if (code == CLI_OK)
            code = read_more(in);
        if (code != CLI_OK)
            return code;
        searched = in->skipping ? 0 : there;
    }
}

static int answer_line(vg_decision_stream *stream, line_reader *in, const char *text, size_t length, bool strict) {
    const char *answer;
    size_t answer_length;
    bool too_long = in->skipping || length > LONGEST_LINE;
    in->skipping = false;
    in->lines++;
    if (too_long && strict)
        return console_fail("line %llu: longer than %d MB", in->lines, LONGEST_LINE >> 20);
    if (too_long)
        printf("{\"id\":null,\"error\":\"longer than %d MB\"}\n", LONGEST_LINE >> 20);
    vg_status status = too_long ? VG_ERR_DATA : vg_decision_stream_line(stream, text, length, &answer, &answer_length);
    in->bad += status == VG_ERR_DATA;
    if (status != VG_OK && (strict || status != VG_ERR_DATA))
        return console_fail_library();
    if (!too_long)
        fwrite(answer, 1, answer_length, stdout);
    return CLI_OK;
}

int decision_stdin_run(vg_decision_stream *stream, bool strict) {
    line_reader in = {.bytes = NULL};
    char *text = NULL;
    size_t length = 0;
    int code = next_line(&in, &text, &length);
    while (code == CLI_OK && text) {
        code = answer_line(stream, &in, text, length, strict);
        if (code == CLI_OK)
            code = next_line(&in, &text, &length);
    }
    if (in.bad > 0 && !strict)
        console_note("%llu of %llu line%s could not be decided", in.bad, in.lines, plural(in.lines));
    free(in.bytes);
    return code;
}
