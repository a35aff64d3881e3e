/* console.c - messages, checked standard output, signals. See console.h. */
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <unistd.h>

#include "cli.h"

static const char *command_name;
static bool quiet_mode;
static bool error_said;
static int output_error; /* errno of the first failed write to standard output */

void console_set_command(const char *name) { command_name = name; }
const char *console_command(void) { return command_name; }
void console_set_quiet(bool quiet) { quiet_mode = quiet; }
bool console_quiet(void) { return quiet_mode; }

const char *console_text(const char *text) {
    static char buffers[4][4200];
    static unsigned next;
    next = (next + 1) % 4;
    return vg_printable(buffers[next], sizeof buffers[next], text);
}

/* The number of bytes of a note to show. Figures after two spaces, as those of an epoch, are dropped from the end
 * where the terminal is too narrow. */
static int fitting(const char *line, size_t prefix) {
    size_t length = strlen(line), room = terminal_columns(stderr, 80), kept = length;
    while (isatty(STDERR_FILENO) && prefix + kept > room) {
        while (kept > 2 && strncmp(line + kept - 2, "  ", 2) != 0)
            kept--;
        if (kept <= 2)
            return (int)length; /* a sentence */
        kept -= 2;
    }
    return (int)kept;
}

/* Prints one line of a kind: "error" (not shown), "warning: " or "". File names and data in it may hold any bytes. */
static void say(const char *kind, const char *format, va_list arguments) {
    char text[2048], line[2048];
    vsnprintf(text, sizeof text, format, arguments);
    vg_printable(line, sizeof line, text);
    fflush(stdout);
    if (isatty(STDERR_FILENO))
        fputs("\r\033[K", stderr); /* overwrites a progress bar */
    bool warning = strcmp(kind, "warning: ") == 0, error = strcmp(kind, "error") == 0;
    const char *begin = error ? terminal_begin(stderr, STYLE_BAD) : warning ? terminal_begin(stderr, STYLE_FAIR) : "";
    const char *name = command_name ? command_name : "";
    error_said = error_said || error;
    int shown = *kind ? (int)strlen(line) : fitting(line, strlen("vargate : ") + strlen(name));
    fprintf(stderr, "%svargate%s%s:%s %s%.*s\n", begin, *name ? " " : "", name, *begin ? terminal_end(stderr) : "",
            error ? "" : kind, shown, line);
}

int console_fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say("error", format, arguments);
    va_end(arguments);
    return CLI_FAILED;
}

int console_usage(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say("error", format, arguments);
    va_end(arguments);
    return CLI_USAGE;
}

int console_fail_library(void) {
    if (console_interrupted())
        return CLI_FAILED;
    const char *message = vg_error_message();
    return console_fail("%s", message[0] ? message : "failed for an unknown reason");
}

/* Whether writing failed because the reader of standard output closed it; then nothing is reported. */
static bool reader_left(void) {
    static const char start[] = "standard output: ";
    const char *message = vg_error_message();
    return strncmp(message, start, sizeof start - 1) == 0 && strcmp(message + sizeof start - 1, strerror(EPIPE)) == 0;
}

int console_status(vg_status status) {
    bool option = status == VG_ERR_ARGUMENT && vg_error_message()[0] == '-';
    if (status == VG_ERR_IO && reader_left())
        return CLI_FAILED;
    return option ? console_usage("%s", vg_error_message()) : status == VG_OK ? CLI_OK : console_fail_library();
}

int console_usage_status(vg_status status) {
    return status == VG_OK ? CLI_OK : console_usage("%s", vg_error_message());
}

int console_fail_memory(const char *what) { return console_fail("out of memory for %s", what); }

void console_note(const char *format, ...) {
    if (quiet_mode)
        return;
    va_list arguments;
    va_start(arguments, format);
    say("", format, arguments);
    va_end(arguments);
}

void console_warn(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say("warning: ", format, arguments);
    va_end(arguments);
}

void console_print(const char *text) {
    errno = 0;
    if (fputs(text, stdout) < 0 &&
        output_error == 0) /* a long text is not buffered, so this call may be the one that fails */
        output_error = errno;
}

void console_lose_output(void) { output_error = ENOMEM; }

int console_flush_output(void) {
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return CLI_OK;
    if (output_error == 0)
        output_error = errno;
    return CLI_FAILED;
}

/* Whether standard output is a pipe whose reader closed it; the error may have occurred in an earlier printf. */
static bool reader_gone(void) {
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return output_error == EPIPE || (output_error == 0 && poll(&out, 1, 0) == 1 && (out.revents & POLLERR));
}

int console_finish_output(void) {
    if (console_flush_output() == CLI_OK && output_error == 0)
        return CLI_OK;
    if (error_said || reader_gone()) /* one line says what failed first */
        return CLI_FAILED;
    return console_fail("standard output: %s", output_error ? strerror(output_error) : "write failed");
}

/* --- signals ---------------------------------------------------------------------------------------------------------
 */
static volatile sig_atomic_t guard_depth;
static volatile sig_atomic_t held_signal;

static void die_of(int number) {
    struct sigaction action = {.sa_handler = SIG_DFL};
    sigset_t only;
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, NULL);
    sigemptyset(&only);
    sigaddset(&only, number);
    raise(number);
    sigprocmask(SIG_UNBLOCK, &only, NULL);
}

static void on_signal(int number) {
    if (guard_depth > 0)
        held_signal = number;
    else
        die_of(number);
}

void console_catch_signals(void) {
    static const int stops[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction ignore = {.sa_handler = SIG_IGN}, stop = {.sa_handler = on_signal};
    sigemptyset(&ignore.sa_mask);
    sigemptyset(&stop.sa_mask);
    stop.sa_flags = SA_RESTART;
    sigaction(SIGPIPE, &ignore, NULL);
    sigaction(SIGXFSZ, &ignore, NULL);
    console_catch_fatal_ends();
    for (size_t i = 0; i < sizeof stops / sizeof *stops; i++) {
        struct sigaction before;
        if (sigaction(stops[i], NULL, &before) == 0 &&
            before.sa_handler != SIG_IGN) /* a signal ignored from the start (nohup) stays ignored */
            sigaction(stops[i], &stop, NULL);
    }
}

void console_guard(void) { guard_depth = guard_depth + 1; }

void console_unguard(void) { guard_depth = guard_depth - 1; }

vg_status console_unguarded(vg_status status) {
    console_unguard();
    return status;
}

bool console_interrupted(void) { return held_signal != 0; }

int console_exit_code(int code) {
    if (held_signal)
        die_of(held_signal);
    return code;
}
