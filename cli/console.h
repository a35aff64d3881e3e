/* console.h - what the program says and how it ends: one-line errors, standard output that is checked, signals.
 *
 * Functions of the command line return an exit code: 0 done, 1 failed, 2 wrong usage. Whoever meets a problem prints
 * its line once, through the functions here, and hands the code up. */
#ifndef CLI_CONSOLE_H
#define CLI_CONSOLE_H

#include <stdbool.h>
#include <stddef.h>

#include "vargate/status.h"

enum { CLI_OK = 0, CLI_FAILED = 1, CLI_USAGE = 2 };

/* The command named in messages: "vargate score: ...". `name` is kept, not copied. */
void console_set_command(const char *name);
const char *console_command(void);
/* Informative lines and progress are left out. */
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
/* A line for the person, not an error; silent with --quiet. */
void console_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* A line about something doubtful in the input; shown even with --quiet. */
void console_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The ending of a word behind a count: "" for 1, else "s". */
static inline const char *plural(unsigned long long count) { return count == 1 ? "" : "s"; }

/* A text of any length on standard output; a failure is kept for console_finish_output. */
void console_print(const char *text);
/* Flushes standard output and stays silent about failures; console_finish_output tells of them. */
int console_flush_output(void);
/* Flushes standard output at the end. CLI_OK, or CLI_FAILED after saying why (silently for a reader that went away). */
int console_finish_output(void);

/* Signals: SIGPIPE and SIGXFSZ become write errors. SIGINT, SIGTERM and SIGHUP end the program at once, except while it
 * is guarded (an output file is half-written): then console_interrupted() turns true and the loops leave by themselves.
 */
void console_catch_signals(void);
void console_guard(void);
void console_unguard(void);
bool console_interrupted(void);
/* After cleaning up: dies of the signal that was held back, or returns `code` when there was none. */
int console_exit_code(int code);

#endif
