/* decision_stdin.h - decisions for the lines of standard input. */
#ifndef CLI_DECISION_STDIN_H
#define CLI_DECISION_STDIN_H

#include <stdbool.h>

#include "vargate/workflow.h"

/* JSON lines from standard input to standard output, each answered at once. A bad line is answered by an error and the
 * stream goes on; strict: it stops. Returns an exit code. */
int decision_stdin_run(vg_decision_stream *stream, bool strict);

#endif
