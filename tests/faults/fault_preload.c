/* fault_preload.c - a library that the fault tests preload into the program: it counts the calls of every kind and lets
 * the n-th of one kind fail, as the system would under a limit or on a bad disk.
 *
 *   VARGATE_FAULT        the kind: alloc, open, read, write, mmap, fsync, rename, thread (the call fails), short (a
 *                        write accepts half of its bytes), eintr (a read, write or open is interrupted)
 *   VARGATE_FAULT_AT     n, from 1; 0 or absent: nothing fails
 *   VARGATE_FAULT_LAST   "yes": every call from the n-th on fails
 *   VARGATE_FAULT_SKIP   names of libraries, ":libdnnl:libgomp:": what they call themselves, not through others, is
 *                        not counted
 *   VARGATE_FAULT_TRACE  "yes": the stack of the call that fails is written to standard error
 *   VARGATE_FAULT_COUNT  a file that receives the kinds and their numbers of calls at the end of the program
 *
 * Counting begins when the libraries have been initialised, directly before main(). Calls that the C library makes
 * within itself, such as the write() of printf(), are not seen; its allocations are. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#undef _FORTIFY_SOURCE
#undef _FILE_OFFSET_BITS /* open() and open64() are both defined here */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum kind { NONE, ALLOC, OPEN, READ, WRITE, MMAP, FSYNC, RENAME, THREAD, SHORT, EINTR_ONCE, KINDS };
static const char *const kinds[KINDS] = {"",      "alloc",  "open",   "read",  "write", "mmap",
                                         "fsync", "rename", "thread", "short", "eintr"};

static enum kind wanted = NONE;
static unsigned long at;
static bool lasting, traced;
static bool started;
static atomic_ulong calls[KINDS];
static const char *count_file, *skipped;

__attribute__((constructor)) static void start(void) {
    const char *kind = getenv("VARGATE_FAULT"), *n = getenv("VARGATE_FAULT_AT"), *last = getenv("VARGATE_FAULT_LAST");
    const char *trace = getenv("VARGATE_FAULT_TRACE");
    traced = trace && strcmp(trace, "yes") == 0;
    skipped = getenv("VARGATE_FAULT_SKIP");
    count_file = getenv("VARGATE_FAULT_COUNT");
    at = n ? strtoul(n, NULL, 10) : 0;
    lasting = last && strcmp(last, "yes") == 0;
    for (int i = 1; kind && i < KINDS; i++)
        if (strcmp(kind, kinds[i]) == 0)
            wanted = (enum kind)i;
    started = true;
    unsetenv("LD_PRELOAD"); /* programs that this one starts run as they are */
}

__attribute__((destructor)) static void end(void) {
    char text[512];
    size_t length = 0;
    started = false;
    if (!count_file)
        return;
    for (int i = 1; i < KINDS; i++)
        length += (size_t)snprintf(text + length, sizeof text - length, "%s %lu\n", kinds[i], atomic_load(&calls[i]));
    int fd = (int)syscall(SYS_openat, AT_FDCWD, count_file, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (fd >= 0 && syscall(SYS_write, fd, text, length) == (long)length)
        syscall(SYS_close, fd);
}

/* Whether a call from there is not counted. dladdr() allocates nothing. */
static bool is_skipped(const void *caller) {
    Dl_info about;
    char name[64];
    if (!skipped || !dladdr(caller, &about) || !about.dli_fname)
        return false;
    const char *slash = strrchr(about.dli_fname, '/');
    snprintf(name, sizeof name, ":%s", slash ? slash + 1 : about.dli_fname);
    char *dot = strchr(name, '.');
    if (dot)
        memcpy(dot, ":", 2);
    return strstr(skipped, name) != NULL;
}

/* Whether this call of kind `kind` is the one that fails. */
static bool fails_from(enum kind kind, const void *caller) {
    if (!started || is_skipped(caller))
        return false;
    unsigned long n = atomic_fetch_add(&calls[kind], 1) + 1;
    bool chosen = wanted == kind && at && (n == at || (lasting && n > at));
    if (chosen && traced) {
        void *frames[64];
        traced = false;
        backtrace_symbols_fd(frames, backtrace(frames, 64), STDERR_FILENO);
    }
    return chosen;
}

/* Whether a call fails, with errno set: `error` for its own kind, EINTR for a call that a signal may interrupt. */
static bool fails_with_from(enum kind kind, int error, const void *caller) {
    bool may_be_interrupted = kind == OPEN || kind == READ || kind == WRITE;
    if (may_be_interrupted && fails_from(EINTR_ONCE, caller)) {
        errno = EINTR;
        return true;
    }
    if (!fails_from(kind, caller))
        return false;
    errno = error;
    return true;
}
/* Within a function that hides another: its caller. */
#define fails(kind) fails_from(kind, __builtin_return_address(0))
#define fails_with(kind, error) fails_with_from(kind, error, __builtin_return_address(0))

/* The function that this library hides. */
#define NEXT(type, name) ((type)(uintptr_t)dlsym(RTLD_NEXT, name))

/* --- memory: the C library's own entry points, because dlsym() allocates */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

void *malloc(size_t size) { return fails_with(ALLOC, ENOMEM) ? NULL : __libc_malloc(size); }
void *calloc(size_t count, size_t size) { return fails_with(ALLOC, ENOMEM) ? NULL : __libc_calloc(count, size); }
void *realloc(void *memory, size_t size) { return fails_with(ALLOC, ENOMEM) ? NULL : __libc_realloc(memory, size); }
void *aligned_alloc(size_t alignment, size_t size) {
    return fails_with(ALLOC, ENOMEM) ? NULL : __libc_memalign(alignment, size);
}
int posix_memalign(void **out, size_t alignment, size_t size) {
    if (fails(ALLOC))
        return ENOMEM;
    *out = __libc_memalign(alignment, size);
    return *out ? 0 : ENOMEM;
}

/* --- files */
static int open_with(const char *name, const char *path, int flags, va_list list) {
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(list, mode_t) : 0;
    if (fails_with(OPEN, EMFILE))
        return -1;
    return NEXT(int (*)(const char *, int, ...), name)(path, flags, mode);
}
#define OPEN_FUNCTION(name)                                                                                            \
    int name(const char *path, int flags, ...);                                                                        \
    int name(const char *path, int flags, ...) {                                                                       \
        va_list list;                                                                                                  \
        va_start(list, flags);                                                                                         \
        int fd = open_with(#name, path, flags, list);                                                                  \
        va_end(list);                                                                                                  \
        return fd;                                                                                                     \
    }
OPEN_FUNCTION(open)
OPEN_FUNCTION(open64)

#define OPENAT_FUNCTION(name)                                                                                          \
    int name(int folder, const char *path, int flags, ...);                                                            \
    int name(int folder, const char *path, int flags, ...) {                                                           \
        va_list list;                                                                                                  \
        va_start(list, flags);                                                                                         \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(list, mode_t) : 0;                                        \
        va_end(list);                                                                                                  \
        if (fails_with(OPEN, EMFILE))                                                                                  \
            return -1;                                                                                                 \
        return NEXT(int (*)(int, const char *, int, ...), #name)(folder, path, flags, mode);                           \
    }
OPENAT_FUNCTION(openat)
OPENAT_FUNCTION(openat64)

#define FOPEN_FUNCTION(name)                                                                                           \
    FILE *name(const char *path, const char *mode);                                                                    \
    FILE *name(const char *path, const char *mode) {                                                                   \
        return fails_with(OPEN, EMFILE) ? NULL : NEXT(FILE * (*)(const char *, const char *), #name)(path, mode);      \
    }
FOPEN_FUNCTION(fopen)
FOPEN_FUNCTION(fopen64)

/* A system call that moves bytes; `name` and the names that fortified programs call. */
ssize_t read(int fd, void *out, size_t size) { return fails_with(READ, EIO) ? -1 : syscall(SYS_read, fd, out, size); }
ssize_t __read_chk(int fd, void *out, size_t size, size_t room);
ssize_t __read_chk(int fd, void *out, size_t size, size_t room) { return size > room ? -1 : read(fd, out, size); }

#define PREAD_FUNCTION(name)                                                                                           \
    ssize_t name(int fd, void *out, size_t size, off_t offset);                                                        \
    ssize_t name(int fd, void *out, size_t size, off_t offset) {                                                       \
        return fails_with(READ, EIO) ? -1 : syscall(SYS_pread64, fd, out, size, offset);                               \
    }
PREAD_FUNCTION(pread)
PREAD_FUNCTION(pread64)

ssize_t write(int fd, const void *bytes, size_t size) {
    if (fails_with(WRITE, ENOSPC))
        return -1;
    return syscall(SYS_write, fd, bytes, size > 1 && fails(SHORT) ? size / 2 : size);
}
#define PWRITE_FUNCTION(name)                                                                                          \
    ssize_t name(int fd, const void *bytes, size_t size, off_t offset);                                                \
    ssize_t name(int fd, const void *bytes, size_t size, off_t offset) {                                               \
        if (fails_with(WRITE, ENOSPC))                                                                                 \
            return -1;                                                                                                 \
        return syscall(SYS_pwrite64, fd, bytes, size > 1 && fails(SHORT) ? size / 2 : size, offset);                   \
    }
PWRITE_FUNCTION(pwrite)
PWRITE_FUNCTION(pwrite64)

#define MMAP_FUNCTION(name)                                                                                            \
    void *name(void *place, size_t size, int protection, int flags, int fd, off_t offset);                             \
    void *name(void *place, size_t size, int protection, int flags, int fd, off_t offset) {                            \
        if (fails_with(MMAP, ENOMEM))                                                                                  \
            return MAP_FAILED;                                                                                         \
        return (void *)syscall(SYS_mmap, place, size, protection, flags, fd, offset);                                  \
    }
MMAP_FUNCTION(mmap)
MMAP_FUNCTION(mmap64)

int fsync(int fd) { return fails_with(FSYNC, EIO) ? -1 : (int)syscall(SYS_fsync, fd); }
int fdatasync(int fd) { return fails_with(FSYNC, EIO) ? -1 : (int)syscall(SYS_fdatasync, fd); }
int rename(const char *from, const char *to) {
    return fails_with(RENAME, EACCES) ? -1 : (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}
int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags) {
    return fails_with(RENAME, EACCES) ? -1 : (int)syscall(SYS_linkat, from_folder, from, to_folder, to, flags);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument) {
    if (fails(THREAD))
        return EAGAIN;
    return NEXT(int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *),
                "pthread_create")(thread, attributes, body, argument);
}
