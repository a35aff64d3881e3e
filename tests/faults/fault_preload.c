/* fault_preload.c - a library that the fault tests preload into the program: it counts the calls of every kind and lets
 * the n-th of one kind fail, as the system would under a limit or on a bad disk.
 *
 *   VARGATE_FAULT        the kind. The call fails: alloc, open, read, write, mmap, fsync, rename (and link), thread,
 *                        folder (mkdir, opendir). Or: short (a write accepts half of its bytes), eintr (a read, write
 *                        or open is interrupted), shrink (a file is mapped that is empty by then), term (the signal
 *                        arrives at the call, of any kind but alloc), readonly (what would change a folder fails),
 *                        clock (from the call on the time of day is an hour back), kill (SIGKILL at the call, of any
 *                        kind; a write accepts half of its bytes before)
 *   VARGATE_FAULT_AT     n, from 1; 0 or absent: nothing fails
 *   VARGATE_FAULT_LAST   "yes": every call from the n-th on fails
 *   VARGATE_FAULT_SKIP   names of libraries, ":libdnnl:libgomp:": what they call themselves, not through others, is
 *                        not counted
 *   VARGATE_FAULT_TRACE  "yes": the stack of the call that fails is written to standard error
 *   VARGATE_FAULT_COUNT  a file that receives the kinds and their numbers of calls at the end of the program
 *   VARGATE_FAULT_SITES  a file that receives 8 bytes for each allocation: a hash of the stack that made it
 *
 * Counting begins when the libraries have been initialised, directly before main(). Calls that the C library makes
 * within itself are not seen, but for allocations; streams of stdio fail at fread() and similar functions.
 *
 * A program of a test can set the fault itself, by vg_fault_arm(), which it finds by dlsym().
 *
 * With FAULT_WRAP the same functions are linked into a program whose linker replaces calls of malloc() by calls of
 * __wrap_malloc(), and so on: for builds with a sanitizer, whose own malloc() must stay the program's. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#undef _FORTIFY_SOURCE
#undef _FILE_OFFSET_BITS /* open() and open64() are both defined here */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum kind {
    NONE,
    ALLOC,
    OPEN,
    READ,
    WRITE,
    MMAP,
    FSYNC,
    RENAME,
    THREAD,
    FOLDER,
    SHORT,
    EINTR_ONCE,
    SHRINK,
    TERM,
    READONLY,
    CLOCK,
    KILL,
    KINDS
};
static const char *const kinds[KINDS] = {"",       "alloc",  "open",     "read",   "write", "mmap",
                                         "fsync",  "rename", "thread",   "folder", "short", "eintr",
                                         "shrink", "term",   "readonly", "clock",  "kill"};

static enum kind wanted = NONE;
static unsigned long at;
static bool lasting, traced;
static bool started;
static bool dying; /* SIGKILL follows the write */
static atomic_ulong calls[KINDS];
static atomic_long live; /* blocks allocated and not freed */
static const char *count_file, *skipped, *site_file;
enum { SITES = 1 << 20 };
static uint64_t *sites; /* SITES hashes; NULL: never asked for */
static bool noted;      /* they are asked for */

/* The function that this library hides. */
#define NEXT(type, name) ((type)(uintptr_t)dlsym(RTLD_NEXT, name))

#ifdef FAULT_WRAP
#define NAME(function) __wrap_##function
extern void *__real_malloc(size_t size);
extern void *__real_calloc(size_t count, size_t size);
extern void *__real_realloc(void *memory, size_t size);
extern int __real_posix_memalign(void **out, size_t alignment, size_t size);
extern void __real_free(void *memory);
static void *real_malloc(size_t size) { return __real_malloc(size); }
static void *real_calloc(size_t count, size_t size) { return __real_calloc(count, size); }
static void *real_realloc(void *memory, size_t size) { return __real_realloc(memory, size); }
static void real_free(void *memory) { __real_free(memory); }
static void *real_aligned(size_t alignment, size_t size) {
    void *memory;
    return __real_posix_memalign(&memory, alignment, size) == 0 ? memory : NULL;
}
/* jansson allocates through these; a program without it has no such function. */
extern void json_set_alloc_funcs(void *(*allocate)(size_t), void (*release)(void *)) __attribute__((weak));
#else
#define NAME(function) function
/* The C library's own entry points, because dlsym() allocates. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *memory);
static void *real_malloc(size_t size) { return __libc_malloc(size); }
static void *real_calloc(size_t count, size_t size) { return __libc_calloc(count, size); }
static void *real_realloc(void *memory, size_t size) { return __libc_realloc(memory, size); }
static void *real_aligned(size_t alignment, size_t size) { return __libc_memalign(alignment, size); }
static void real_free(void *memory) { __libc_free(memory); }
#endif

/* --- the fault */
static enum kind kind_of(const char *name) {
    for (int i = 1; name && i < KINDS; i++)
        if (strcmp(name, kinds[i]) == 0)
            return (enum kind)i;
    return NONE;
}

static bool make_sites(void) {
    void *frames[4];
    if (!sites && backtrace(frames, 4) > 0) /* the first call of backtrace() allocates */
        sites = (uint64_t *)syscall(SYS_mmap, NULL, SITES * sizeof *sites, PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return sites != NULL;
}

/* Sets the fault and begins to count anew. n 0: only counts. */
void vg_fault_arm(const char *kind, unsigned long n, bool every);
void vg_fault_arm(const char *kind, unsigned long n, bool every) {
    wanted = kind_of(kind);
    at = n;
    lasting = every;
    for (int i = 0; i < KINDS; i++)
        atomic_store(&calls[i], 0);
}
/* Calls of a kind since then. */
unsigned long vg_fault_calls(const char *kind);
unsigned long vg_fault_calls(const char *kind) { return atomic_load(&calls[kind_of(kind)]); }
/* Whether the stacks of allocations are noted from now on, and that of the n-th, from 1, since vg_fault_arm(), as a
 * number. */
void vg_fault_note(bool on);
void vg_fault_note(bool on) { noted = on && make_sites(); }
uint64_t vg_fault_site(unsigned long n);
uint64_t vg_fault_site(unsigned long n) { return sites && n <= SITES ? sites[n - 1] : 0; }
/* Blocks that are allocated. */
long vg_fault_live(void);
long vg_fault_live(void) { return atomic_load(&live); }

/* No faults and no counting from here on; vg_fault_before_kill, where one is set, is called before this library ends
 * the process (write_counts.c). */
void vg_fault_end(void);
void vg_fault_end(void) { started = false; }
void (*vg_fault_before_kill)(void);
static void before_kill(void) {
    if (!vg_fault_before_kill)
        return;
    vg_fault_end();
    vg_fault_before_kill();
}
static void kill_now(void) {
    before_kill();
    raise(SIGKILL);
}
static void terminate(void) {
    struct sigaction action;
    if (sigaction(SIGTERM, NULL, &action) == 0 && action.sa_handler == SIG_DFL)
        before_kill();
    raise(SIGTERM);
}

static bool says_yes(const char *name) {
    const char *value = getenv(name);
    return value && strcmp(value, "yes") == 0;
}

/* Bytes to a file, past the functions below. */
static void dump(const char *path, const void *bytes, size_t size) {
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (fd >= 0 && syscall(SYS_write, fd, bytes, size) == (long)size)
        syscall(SYS_close, fd);
}

#ifdef FAULT_WRAP
void *__wrap_malloc(size_t size);
void __wrap_free(void *memory);
#endif

__attribute__((constructor)) static void start(void) {
    const char *n = getenv("VARGATE_FAULT_AT");
    traced = says_yes("VARGATE_FAULT_TRACE");
    lasting = says_yes("VARGATE_FAULT_LAST");
    skipped = getenv("VARGATE_FAULT_SKIP");
    count_file = getenv("VARGATE_FAULT_COUNT");
    site_file = getenv("VARGATE_FAULT_SITES");
    at = n ? strtoul(n, NULL, 10) : 0;
    wanted = kind_of(getenv("VARGATE_FAULT"));
    noted = site_file && make_sites();
#ifdef FAULT_WRAP
    if (json_set_alloc_funcs)
        json_set_alloc_funcs(__wrap_malloc, __wrap_free);
#endif
    unsetenv("LD_PRELOAD"); /* programs that this one starts run as they are */
#ifdef FAULT_WRAP
    started = true;
}
#else
}

#include "fault_main.h"
#endif

__attribute__((destructor)) static void end(void) {
    char text[512];
    size_t length = 0;
    started = false;
    unsigned long allocations = atomic_load(&calls[ALLOC]);
    if (site_file && sites)
        dump(site_file, sites, sizeof *sites * (allocations < SITES ? allocations : SITES));
    for (int i = 1; count_file && i < KINDS; i++)
        length += (size_t)snprintf(text + length, sizeof text - length, "%s %lu\n", kinds[i], atomic_load(&calls[i]));
    if (count_file)
        dump(count_file, text, length);
}

/* dladdr() allocates nothing, but it searches all symbols of a library. */
static bool is_in_skipped(const void *caller) {
    Dl_info about;
    char name[64];
    if (!dladdr(caller, &about) || !about.dli_fname)
        return false;
    const char *slash = strrchr(about.dli_fname, '/');
    snprintf(name, sizeof name, ":%s", slash ? slash + 1 : about.dli_fname);
    char *dot = strchr(name, '.');
    if (dot)
        memcpy(dot, ":", 2);
    return strstr(skipped, name) != NULL;
}

/* Whether a call from there is not counted. What is known of a caller is kept: its address, the answer in bit 63. */
static bool is_skipped(const void *caller) {
    enum { CALLERS = 8192 };
    static const uintptr_t answer = (uintptr_t)1 << 63;
    static _Atomic uintptr_t callers[CALLERS];
    uintptr_t at = (uintptr_t)caller, known = atomic_load(&callers[at / 2 % CALLERS]);
    if (!skipped)
        return false;
    if ((known & ~answer) != at) {
        known = at | (is_in_skipped(caller) ? answer : 0);
        atomic_store(&callers[at / 2 % CALLERS], known);
    }
    return known & answer;
}

/* The stack of the n-th allocation, as a number. */
static void note_site(unsigned long n) {
    void *frames[24];
    uint64_t hash = 14695981039346656037u;
    int count = backtrace(frames, 24);
    for (int i = 2; i < count; i++)
        hash = (hash ^ (uintptr_t)frames[i]) * 1099511628211u;
    if (n <= SITES)
        sites[n - 1] = hash;
}

/* Whether this call of kind `kind` is the one that fails. */
static bool is_chosen(enum kind kind) {
    unsigned long n = atomic_fetch_add(&calls[kind], 1) + 1;
    bool chosen = wanted == kind && at && (n == at || ((lasting || kind == CLOCK) && n > at));
    if (kind == ALLOC && noted)
        note_site(n);
    if (chosen && traced) {
        void *frames[64];
        traced = false;
        backtrace_symbols_fd(frames, backtrace(frames, 64), STDERR_FILENO);
    }
    return chosen;
}
static bool fails_from(enum kind kind, const void *caller) {
    if (!started || is_skipped(caller))
        return false;
    if (kind != ALLOC && kind <= FOLDER && is_chosen(TERM))
        terminate();
    if (kind <= FOLDER && is_chosen(KILL)) {
        dying = kind == WRITE;
        if (!dying)
            kill_now();
    }
    return is_chosen(kind);
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

/* --- memory */
static void *counted(void *memory) {
    if (memory)
        atomic_fetch_add(&live, 1);
    return memory;
}
void *NAME(malloc)(size_t size);
void *NAME(malloc)(size_t size) { return fails_with(ALLOC, ENOMEM) ? NULL : counted(real_malloc(size)); }
void *NAME(calloc)(size_t count, size_t size);
void *NAME(calloc)(size_t count, size_t size) {
    return fails_with(ALLOC, ENOMEM) ? NULL : counted(real_calloc(count, size));
}
void *NAME(realloc)(void *memory, size_t size);
void *NAME(realloc)(void *memory, size_t size) {
    if (fails_with(ALLOC, ENOMEM))
        return NULL;
    void *moved = real_realloc(memory, size);
    return memory ? moved : counted(moved);
}
void *NAME(aligned_alloc)(size_t alignment, size_t size);
void *NAME(aligned_alloc)(size_t alignment, size_t size) {
    return fails_with(ALLOC, ENOMEM) ? NULL : counted(real_aligned(alignment, size));
}
int NAME(posix_memalign)(void **out, size_t alignment, size_t size);
int NAME(posix_memalign)(void **out, size_t alignment, size_t size) {
    if (fails(ALLOC))
        return ENOMEM;
    *out = counted(real_aligned(alignment, size));
    return *out ? 0 : ENOMEM;
}
void NAME(free)(void *memory);
void NAME(free)(void *memory) {
    if (memory)
        atomic_fetch_sub(&live, 1);
    real_free(memory);
}

/* --- files */
static int open_at(int folder, const char *path, int flags, va_list list, const void *caller) {
    bool makes = flags & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY));
    mode_t mode = makes ? va_arg(list, mode_t) : 0;
    if ((makes || (flags & O_ACCMODE) != O_RDONLY) && fails_with_from(READONLY, EROFS, caller))
        return -1;
    if (fails_with_from(OPEN, EMFILE, caller))
        return -1;
    return (int)syscall(SYS_openat, folder, path, flags, mode);
}
#define OPEN_FUNCTION(name)                                                                                            \
    int NAME(name)(const char *path, int flags, ...);                                                                  \
    int NAME(name)(const char *path, int flags, ...) {                                                                 \
        va_list list;                                                                                                  \
        va_start(list, flags);                                                                                         \
        int fd = open_at(AT_FDCWD, path, flags, list, __builtin_return_address(0));                                    \
        va_end(list);                                                                                                  \
        return fd;                                                                                                     \
    }
OPEN_FUNCTION(open)
OPEN_FUNCTION(open64)

#define OPENAT_FUNCTION(name)                                                                                          \
    int NAME(name)(int folder, const char *path, int flags, ...);                                                      \
    int NAME(name)(int folder, const char *path, int flags, ...) {                                                     \
        va_list list;                                                                                                  \
        va_start(list, flags);                                                                                         \
        int fd = open_at(folder, path, flags, list, __builtin_return_address(0));                                      \
        va_end(list);                                                                                                  \
        return fd;                                                                                                     \
    }
OPENAT_FUNCTION(openat)
OPENAT_FUNCTION(openat64)

/* A system call that moves bytes; `name` and the names that fortified programs call. */
ssize_t NAME(read)(int fd, void *out, size_t size);
ssize_t NAME(read)(int fd, void *out, size_t size) {
    return fails_with(READ, EIO) ? -1 : syscall(SYS_read, fd, out, size);
}
ssize_t NAME(__read_chk)(int fd, void *out, size_t size, size_t room);
ssize_t NAME(__read_chk)(int fd, void *out, size_t size, size_t room) {
    return size > room || fails_with(READ, EIO) ? -1 : syscall(SYS_read, fd, out, size);
}

#define PREAD_FUNCTION(name)                                                                                           \
    ssize_t NAME(name)(int fd, void *out, size_t size, off_t offset);                                                  \
    ssize_t NAME(name)(int fd, void *out, size_t size, off_t offset) {                                                 \
        return fails_with(READ, EIO) ? -1 : syscall(SYS_pread64, fd, out, size, offset);                               \
    }
PREAD_FUNCTION(pread)
PREAD_FUNCTION(pread64)

/* How many of `size` bytes a write accepts. */
static size_t accepted(size_t size, const void *caller) {
    return size > 1 && (dying || fails_from(SHORT, caller)) ? size / 2 : size;
}
static ssize_t after_write(ssize_t result) {
    if (dying) {
        dying = false;
        kill_now();
    }
    return result;
}
ssize_t NAME(write)(int fd, const void *bytes, size_t size);
ssize_t NAME(write)(int fd, const void *bytes, size_t size) {
    if (fails_with(WRITE, ENOSPC))
        return -1;
    return after_write(syscall(SYS_write, fd, bytes, accepted(size, __builtin_return_address(0))));
}
#define PWRITE_FUNCTION(name)                                                                                          \
    ssize_t NAME(name)(int fd, const void *bytes, size_t size, off_t offset);                                          \
    ssize_t NAME(name)(int fd, const void *bytes, size_t size, off_t offset) {                                         \
        if (fails_with(WRITE, ENOSPC))                                                                                 \
            return -1;                                                                                                 \
        size = accepted(size, __builtin_return_address(0));                                                            \
        return after_write(syscall(SYS_pwrite64, fd, bytes, size, offset));                                            \
    }
PWRITE_FUNCTION(pwrite)
PWRITE_FUNCTION(pwrite64)

/* A file that is as long as the one of `fd`, is mapped, and then has no bytes. */
static void *map_shrunk(size_t size, int protection, int flags) {
    int fd = (int)syscall(SYS_memfd_create, "shrunk", 0);
    void *memory = MAP_FAILED;
    if (fd >= 0 && syscall(SYS_ftruncate, fd, size) == 0)
        memory = (void *)syscall(SYS_mmap, NULL, size, protection, flags, fd, 0);
    if (memory != MAP_FAILED && syscall(SYS_ftruncate, fd, 0) != 0)
        memory = MAP_FAILED;
    syscall(SYS_close, fd);
    return memory;
}
#define MMAP_FUNCTION(name)                                                                                            \
    void *NAME(name)(void *place, size_t size, int protection, int flags, int fd, off_t offset);                       \
    void *NAME(name)(void *place, size_t size, int protection, int flags, int fd, off_t offset) {                      \
        if (fails_with(MMAP, ENOMEM))                                                                                  \
            return MAP_FAILED;                                                                                         \
        if (fd >= 0 && fails(SHRINK))                                                                                  \
            return map_shrunk(size, protection, flags);                                                                \
        return (void *)syscall(SYS_mmap, place, size, protection, flags, fd, offset);                                  \
    }
MMAP_FUNCTION(mmap)
MMAP_FUNCTION(mmap64)

int NAME(fsync)(int fd);
int NAME(fsync)(int fd) { return fails_with(FSYNC, EIO) ? -1 : (int)syscall(SYS_fsync, fd); }
int NAME(fdatasync)(int fd);
int NAME(fdatasync)(int fd) { return fails_with(FSYNC, EIO) ? -1 : (int)syscall(SYS_fdatasync, fd); }
int NAME(rename)(const char *from, const char *to);
int NAME(rename)(const char *from, const char *to) {
    if (fails_with(READONLY, EROFS) || fails_with(RENAME, EACCES))
        return -1;
    return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}
int NAME(linkat)(int from_folder, const char *from, int to_folder, const char *to, int flags);
int NAME(linkat)(int from_folder, const char *from, int to_folder, const char *to, int flags) {
    if (fails_with(READONLY, EROFS) || fails_with(RENAME, EACCES))
        return -1;
    return (int)syscall(SYS_linkat, from_folder, from, to_folder, to, flags);
}
int NAME(mkdir)(const char *path, mode_t mode);
int NAME(mkdir)(const char *path, mode_t mode) {
    if (fails_with(READONLY, EROFS) || fails_with(FOLDER, EACCES))
        return -1;
    return (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
}
DIR *NAME(opendir)(const char *path);
DIR *NAME(opendir)(const char *path) {
    return fails_with(FOLDER, EMFILE) ? NULL : NEXT(DIR * (*)(const char *), "opendir")(path);
}

/* --- streams */
enum { STREAM_FAILED = 0x20 }; /* what ferror() looks at in the flags of glibc's FILE */
static bool stream_fails(enum kind kind, FILE *file, int error, const void *caller) {
    bool failed = file != stderr && fileno(file) >= 0 && fails_with_from(kind, error, caller); /* < 0: in memory */
    after_write(0);
    if (!failed)
        return false;
    file->_flags |= STREAM_FAILED;
    return true;
}
#define FOPEN_FUNCTION(name)                                                                                           \
    FILE *NAME(name)(const char *path, const char *mode);                                                              \
    FILE *NAME(name)(const char *path, const char *mode) {                                                             \
        return fails_with(OPEN, EMFILE) ? NULL : NEXT(FILE * (*)(const char *, const char *), #name)(path, mode);      \
    }
FOPEN_FUNCTION(fopen)
FOPEN_FUNCTION(fopen64)

size_t NAME(fread)(void *out, size_t size, size_t count, FILE *file);
size_t NAME(fread)(void *out, size_t size, size_t count, FILE *file) {
    if (stream_fails(READ, file, EIO, __builtin_return_address(0)))
        return 0;
    return NEXT(size_t(*)(void *, size_t, size_t, FILE *), "fread")(out, size, count, file);
}
char *NAME(fgets)(char *out, int room, FILE *file);
char *NAME(fgets)(char *out, int room, FILE *file) {
    if (stream_fails(READ, file, EIO, __builtin_return_address(0)))
        return NULL;
    return NEXT(char *(*)(char *, int, FILE *), "fgets")(out, room, file);
}
#define GETDELIM_FUNCTION(name)                                                                                        \
    ssize_t NAME(name)(char **line, size_t *room, int mark, FILE *file);                                               \
    ssize_t NAME(name)(char **line, size_t *room, int mark, FILE *file) {                                              \
        if (stream_fails(READ, file, EIO, __builtin_return_address(0)))                                                \
            return -1;                                                                                                 \
        return NEXT(ssize_t(*)(char **, size_t *, int, FILE *), "getdelim")(line, room, mark, file);                   \
    }
GETDELIM_FUNCTION(getdelim)
GETDELIM_FUNCTION(__getdelim) /* what an inline getline() calls */
#if defined(__clang__) /* the C library's header declares it inline, and clang warns that it calls static functions */
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wstatic-in-inline"
#endif
ssize_t NAME(getline)(char **line, size_t *room, FILE *file);
ssize_t NAME(getline)(char **line, size_t *room, FILE *file) {
    if (stream_fails(READ, file, EIO, __builtin_return_address(0)))
        return -1;
    return NEXT(ssize_t(*)(char **, size_t *, int, FILE *), "getdelim")(line, room, '\n', file);
}
#if defined(__clang__)
#pragma clang diagnostic pop
#endif
size_t NAME(fwrite)(const void *bytes, size_t size, size_t count, FILE *file);
size_t NAME(fwrite)(const void *bytes, size_t size, size_t count, FILE *file) {
    if (stream_fails(WRITE, file, ENOSPC, __builtin_return_address(0)))
        return 0;
    return NEXT(size_t(*)(const void *, size_t, size_t, FILE *), "fwrite")(bytes, size, count, file);
}
int NAME(fflush)(FILE *file);
int NAME(fflush)(FILE *file) {
    if (file && stream_fails(WRITE, file, ENOSPC, __builtin_return_address(0)))
        return EOF;
    return NEXT(int (*)(FILE *), "fflush")(file);
}
int NAME(fclose)(FILE *file);
int NAME(fclose)(FILE *file) {
    bool lost = __fwritable(file) && stream_fails(WRITE, file, ENOSPC, __builtin_return_address(0));
    int result = NEXT(int (*)(FILE *), "fclose")(file);
    return lost ? EOF : result;
}

/* --- threads, time */
#ifndef FAULT_WRAP
void _exit(int status) {
    before_kill();
    syscall(SYS_exit_group, status);
    __builtin_unreachable();
}
#endif
int NAME(pthread_create)(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument);
int NAME(pthread_create)(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument) {
    if (fails(THREAD))
        return EAGAIN;
    return NEXT(int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *),
                "pthread_create")(thread, attributes, body, argument);
}
int NAME(clock_gettime)(clockid_t clock, struct timespec *out);
int NAME(clock_gettime)(clockid_t clock, struct timespec *out) {
    bool back = clock == CLOCK_REALTIME && fails(CLOCK);
    int result = (int)syscall(SYS_clock_gettime, clock, out);
    out->tv_sec -= back ? 3600 : 0;
    return result;
}
time_t NAME(time)(time_t *out);
time_t NAME(time)(time_t *out) {
    struct timespec now;
    bool back = fails(CLOCK);
    syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
    now.tv_sec -= back ? 3600 : 0;
    if (out)
        *out = now.tv_sec;
    return now.tv_sec;
}
