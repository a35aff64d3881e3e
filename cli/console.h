/* console.h - messages and exit codes: one-line errors, checked standard output, signals, the terminal's width and
 * colours, progress.
 *
 * Functions of the command line return an exit code: 0 done, 1 failed, 2 wrong usage. The function that finds a
 * problem prints its line once, through the functions here, and returns the code. */
#ifndef CLI_CONSOLE_H
#define CLI_CONSOLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "vargate/vargate.h"

enum { CLI_OK = 0, CLI_FAILED = 1, CLI_USAGE = 2 };

/* The command named in messages: "vargate score: ...". `name` is kept, not copied. */
void console_set_command(const char *name);
const char *console_command(void);
/* Suppresses informative lines and progress. */
void console_set_quiet(bool quiet);
bool console_quiet(void);

/* One line on standard error. fail returns CLI_FAILED, usage CLI_USAGE; both end with a hint where one is known. */
int console_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
int console_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The library's own message for the call that just failed. */
int console_fail_library(void);
/* The exit code for a call of the library: CLI_OK for VG_OK, CLI_USAGE where its message begins with the option that it
 * refuses ("-k: 0 is ..."), else CLI_FAILED; the last two after its message. */
int console_status(vg_status status);
/* The same where a failure means wrong usage. */
int console_usage_status(vg_status status);
int console_fail_memory(const char *what);
/* The text as a terminal can show it (vg_printable), for printf: one of four buffers in turn. */
const char *console_text(const char *text);
/* An informative line, not an error; silent with --quiet. */
void console_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* A line about something questionable in the input; shown even with --quiet. */
void console_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The plural ending of a word after a count: "" for 1, else "s". */
static inline const char *plural(unsigned long long count) { return count == 1 ? "" : "s"; }

/* Prints a text of any length on standard output; a failure is recorded for console_finish_output. */
void console_print(const char *text);
/* Records that something could not be printed for lack of memory; console_finish_output reports it. */
void console_lose_output(void);
/* Flushes standard output without reporting failures; console_finish_output reports them. */
int console_flush_output(void);
/* Flushes standard output at the end. CLI_OK, or CLI_FAILED after saying why (silently for a reader that went away, and
 * where another error has been reported). */
int console_finish_output(void);

/* Signals: SIGPIPE and SIGXFSZ become write errors. SIGINT, SIGTERM and SIGHUP end the program at once, except while
 * it is guarded (an output file is incomplete): then console_interrupted() turns true and loops end by themselves. */
void console_catch_signals(void);
/* What ends the process (SIGBUS of a file that became shorter, an exception of C++ that nothing catches) does so with
 * one line; called by the above. */
void console_catch_fatal_ends(void);
void console_guard(void);
void console_unguard(void);
/* The status of a call that writes a file, during which the program is guarded. */
#define GUARDED(call) (console_guard(), console_unguarded(call))
vg_status console_unguarded(vg_status status);
bool console_interrupted(void);
/* After cleaning up: ends the program by the signal that was held back, or returns `code` when there was none. */
int console_exit_code(int code);

/* --- the terminal ------------------------------------------------------------------------------------------------- */

/* Columns of the terminal that `stream` is connected to: $COLUMNS where it is a number from 20 to 9999, else the
 * size that the terminal reports, else `otherwise` (a file, a pipe). */
size_t terminal_columns(FILE *stream, size_t otherwise);

/* --color, in the order of its words. AUTO: colours on a terminal that is not "dumb", unless $NO_COLOR is set and not
 * empty. */
typedef enum terminal_colour { TERMINAL_COLOUR_AUTO, TERMINAL_COLOUR_ALWAYS, TERMINAL_COLOUR_NEVER } terminal_colour;
#define TERMINAL_COLOUR_WORDS "auto|always|never"
void terminal_set_colour(terminal_colour wanted);

/* The sequence that begins a style on `stream`, and the one that ends every style; "" without colours. */
typedef enum terminal_style { STYLE_HEADING, STYLE_BEST, STYLE_GOOD, STYLE_FAIR, STYLE_BAD } terminal_style;
const char *terminal_begin(FILE *stream, terminal_style style);
const char *terminal_end(FILE *stream);

/* The text on standard output in lines that fit the terminal, of at most 100 columns (80 where there is none), broken
 * at spaces, with a newline at its end. */
void text_wrap_print(const char *text);
/* "PATH: N samples, M members, C classes" and `values` (" (logits)"), then an empty line. Where that is wider than
 * the terminal (80 columns without one) it is broken after the path, and a path wider than the terminal is shortened
 * in its middle. */
void heading_print(const char *path, size_t n, size_t m, size_t c, bool multilabel, const char *values);
/* Prints words from column `indent` on, where each new line begins too; `columns`: the width without a terminal. */
void text_wrap_words(const char *text, size_t indent, size_t columns);

/* --- progress ----------------------------------------------------------------------------------------------------- */

typedef struct progress {
    const char *what; /* "scoring" */
    const char *unit; /* "samples" */
    double began, shown;
    bool terminal, silent, drawn;
} progress;

void progress_begin(progress *p, const char *what, const char *unit);
/* total = 0: unknown. Cheap: redraws only at intervals. */
void progress_update(progress *p, unsigned long long done, unsigned long long total);
/* Clears the bar. */
void progress_end(progress *p);

typedef struct console_job {
    progress bar;
    char what[96], unit[32]; /* copies: the library's texts are borrowed for one call */
    bool drawing;            /* a part has begun and has not ended */
    bool guards;             /* hold signals back from the first part on, because an output is being written */
    bool guarded;            /* signals are held back */
    uint64_t warned[16];     /* digests of warnings, each of which is shown once: a file may be opened twice */
} console_job;

/* A listener for the library. `state` must outlive it. */
vg_job console_job_listener(console_job *state);
/* The same for a job with an output file: from the first part on, signals are held back (console_guard) and stop the
 * job, which then removes what it has written. Reading the input comes before the first part and ends at once. */
vg_job console_job_guarded(console_job *state);
/* console_job_guarded where there is an output, else console_job_listener. */
vg_job console_job_writing(console_job *state, const char *output);
/* After the call: signals end the program again. */
void console_job_end(console_job *state);

#endif
