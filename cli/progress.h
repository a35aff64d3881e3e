/* progress.h - how far a long job is: a bar on a terminal, a plain line every few seconds otherwise, nothing with
 * --quiet. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdbool.h>

typedef struct progress {
    const char *what; /* "scoring" */
    const char *unit; /* "samples" */
    double began, shown;
    bool terminal, silent, drawn;
} progress;

void progress_begin(progress *p, const char *what, const char *unit);
/* total = 0: unknown. Cheap: draws only when it is time to. */
void progress_update(progress *p, unsigned long long done, unsigned long long total);
/* Clears the bar. */
void progress_end(progress *p);
/* For vg_progress_fn; context is a progress *. Asks the library to stop once a signal is held back. */
int progress_callback(void *context, unsigned long long done, unsigned long long total);

#endif
