/* stream_line.h - one line of the decision stream: {"id": ..., "p": [[...], ...]} or "z" with logits, or the
 * log-probabilities of answer tokens (formats/answers.h). */
#ifndef VG_WORKFLOW_STREAM_LINE_H
#define VG_WORKFLOW_STREAM_LINE_H

#include <stdbool.h>
#include <stddef.h>

#include "formats/answers.h"
#include "vargate/calibrate.h"

typedef struct vg_stream_line {
    char *id; /* the id as JSON text; "null" when there is none. Owned, reused */
    size_t id_room;
    bool logits;
    size_t m, c;
    double *values; /* m x c. Owned, reused */
    size_t room;
    char error[256]; /* what is wrong with the line */
    bool no_memory;  /* the line may be correct: memory ran out */
    bool answered;   /* it holds an answer of a language model: its classes are `answers.tokens`, and one more */
    vg_answers answers;
} vg_stream_line;

/* Reads a line of `length` bytes, text[length] = 0. False: see error; id is set where the line has a readable one. */
bool vg_stream_line__read(vg_stream_line *line, const char *text, size_t length);
/* Replaces the values by the probabilities that a map makes of them. False: see error. */
bool vg_stream_line__map(vg_stream_line *line, const vg_calibration_map *map);
void vg_stream_line__free(vg_stream_line *line);

#endif
