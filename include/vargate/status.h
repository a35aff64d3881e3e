/* status.h - how every fallible vargate function reports: a status code, and one line of text.
 *
 * A function that can fail returns vg_status. VG_OK is 0. On failure it has set a message for the calling thread: one
 * line that names the file, offset or index, what was found and what was expected. The library never prints, exits or
 * aborts. */
#ifndef VARGATE_STATUS_H
#define VARGATE_STATUS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__) && !defined(VG_API)
#define VG_API __attribute__((visibility("default")))
#elif !defined(VG_API)
#define VG_API
#endif

typedef enum vg_status {
    VG_OK = 0,
    VG_ERR_ARGUMENT = 1, /* a parameter is out of range or inconsistent */
    VG_ERR_MEMORY = 2,   /* an allocation failed, or a size does not fit size_t */
    VG_ERR_IO = 3,       /* open, read, write, rename failed; the message carries the system's reason */
    VG_ERR_FORMAT = 4,   /* a file is truncated, malformed or of an unsupported kind */
    VG_ERR_DATA = 5,     /* values that cannot be scored: NaN, rows that are not distributions, labels out of range */
    VG_ERR_UNSUPPORTED = 6, /* not built in, or not available on this machine */
    VG_ERR_NUMERIC = 7,     /* an iteration did not converge, a loss became NaN */
    VG_ERR_INTERRUPTED = 8  /* a progress callback asked to stop */
} vg_status;

/* The calling thread's last error message: one line of printable UTF-8 without a newline, "" if there was none.
 * Borrowed; valid until the next failing call on this thread. */
VG_API const char *vg_error_message(void);

/* Copies a text that may hold anything (a name in a file, a path) to out[room], room at least 1, as one line of valid
 * UTF-8 that a terminal can show: control characters, bytes that are not UTF-8 and marks that reverse the direction of
 * text are written \xNN. Cut between characters where room does not suffice. Returns out. Any thread. */
VG_API const char *vg_printable(char *out, size_t room, const char *text);

/* Frees what a function has handed out as one block of memory: a text, an array of numbers, or a result whose comment
 * names this function. NULL is accepted. */
VG_API void vg_free(void *memory);

/* The version of the library that the program runs with, "0.1.0". Constant. version.h has that of the headers. */
VG_API const char *vg_version(void);

/* Progress of a long call. Called from the calling thread, repeatedly; total is 0 when unknown. A non-zero return
 * asks the call to stop: it then fails with VG_ERR_INTERRUPTED. */
typedef int (*vg_progress_fn)(void *context, unsigned long long done, unsigned long long total);

#ifdef __cplusplus
}
#endif
#endif
