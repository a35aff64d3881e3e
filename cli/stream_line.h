/* stream_line.h - one line of the decision stream: {"id": ..., "p": [[...], ...]} or "z" with logits. */
#ifndef CLI_STREAM_LINE_H
#define CLI_STREAM_LINE_H

#include <stdbool.h>
#include <stddef.h>

typedef struct stream_line {
    char *id; /* the id as JSON text; "null" when there is none. Owned, reused */
    size_t id_room;
    bool logits;
    size_t m, c;
    double *values; /* m x c. Owned, reused */
    size_t room;
    char error[256]; /* what is wrong with the line */
} stream_line;

/* Reads a line of `length` bytes, text[length] = 0. False: see error; id is set where it could be told. */
bool stream_line_read(stream_line *line, const char *text, size_t length);
void stream_line_free(stream_line *line);

#endif
