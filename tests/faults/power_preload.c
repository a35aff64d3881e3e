/* power_preload.c - a library that is preloaded into the program and records what it does to the files below out/ of
 * the working folder, for power_replay.c. $VARGATE_POWER_JOURNAL receives one record per operation, "OP ID OFFSET SIZE
 * PATH PATH2\n" (- where there is none), followed by the bytes of a write:
 *
 *   C a named file is made   T an unnamed one   W bytes are written   N the length is set   S the file is synced
 *   L the file gets a name   R a name is changed   U a name is removed   M a folder is made   D a folder is synced */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#undef _FORTIFY_SOURCE
#undef _FILE_OFFSET_BITS
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { DESCRIPTORS = 1024, NAME_ROOM = 400 };
static struct {
    int id;               /* of a file; 0: none */
    char path[NAME_ROOM]; /* of a folder */
} open_files[DESCRIPTORS];
static int journal = -1, last_id;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void start(void) {
    const char *path = getenv("VARGATE_POWER_JOURNAL");
    if (path)
        journal = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
    unsetenv("LD_PRELOAD");
}

static bool is_ours(const char *path) {
    return journal >= 0 && (strcmp(path, "out") == 0 || strncmp(path, "out/", 4) == 0);
}

static void record(char op, int id, long long offset, const void *bytes, size_t size, const char *path,
                   const char *second) {
    char line[2 * NAME_ROOM + 100];
    int length = snprintf(line, sizeof line, "%c %d %lld %zu %s %s\n", op, id, offset, size, path ? path : "-",
                          second ? second : "-");
    pthread_mutex_lock(&lock);
    if (syscall(SYS_write, journal, line, length) != length ||
        (bytes && syscall(SYS_write, journal, bytes, size) != (long)size))
        _exit(99);
    pthread_mutex_unlock(&lock);
}

static int opened(int fd, const char *path, int flags, bool existed) {
    if (fd < 0 || fd >= DESCRIPTORS || !is_ours(path))
        return fd;
    open_files[fd].id = 0;
    snprintf(open_files[fd].path, NAME_ROOM, "%s", path);
    bool unnamed = (flags & O_TMPFILE) == O_TMPFILE;
    if (unnamed || (flags & O_CREAT && !existed)) {
        open_files[fd].id = ++last_id;
        record(unnamed ? 'T' : 'C', last_id, 0, NULL, 0, path, NULL);
    }
    return fd;
}
#define OPEN_FUNCTION(name)                                                                                            \
    int name(const char *path, int flags, ...);                                                                        \
    int name(const char *path, int flags, ...) {                                                                       \
        va_list list;                                                                                                  \
        va_start(list, flags);                                                                                         \
        mode_t mode = flags & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY)) ? va_arg(list, mode_t) : 0;                       \
        va_end(list);                                                                                                  \
        bool existed = syscall(SYS_faccessat, AT_FDCWD, path, F_OK) == 0;                                              \
        errno = 0;                                                                                                     \
        return opened((int)syscall(SYS_openat, AT_FDCWD, path, flags, mode), path, flags, existed);                    \
    }
OPEN_FUNCTION(open)
OPEN_FUNCTION(open64)

static int id_of(int fd) { return fd >= 0 && fd < DESCRIPTORS ? open_files[fd].id : 0; }

ssize_t write(int fd, const void *bytes, size_t size) {
    long long offset = id_of(fd) ? syscall(SYS_lseek, fd, 0, SEEK_CUR) : 0;
    ssize_t written = syscall(SYS_write, fd, bytes, size);
    if (id_of(fd) && written > 0)
        record('W', id_of(fd), offset, bytes, (size_t)written, NULL, NULL);
    return written;
}
#define PWRITE_FUNCTION(name)                                                                                          \
    ssize_t name(int fd, const void *bytes, size_t size, off_t offset);                                                \
    ssize_t name(int fd, const void *bytes, size_t size, off_t offset) {                                               \
        ssize_t written = syscall(SYS_pwrite64, fd, bytes, size, offset);                                              \
        if (id_of(fd) && written > 0)                                                                                  \
            record('W', id_of(fd), offset, bytes, (size_t)written, NULL, NULL);                                        \
        return written;                                                                                                \
    }
PWRITE_FUNCTION(pwrite)
PWRITE_FUNCTION(pwrite64)
#define TRUNCATE_FUNCTION(name)                                                                                        \
    int name(int fd, off_t size);                                                                                      \
    int name(int fd, off_t size) {                                                                                     \
        int result = (int)syscall(SYS_ftruncate, fd, size);                                                            \
        if (id_of(fd) && result == 0)                                                                                  \
            record('N', id_of(fd), size, NULL, 0, NULL, NULL);                                                         \
        return result;                                                                                                 \
    }
TRUNCATE_FUNCTION(ftruncate)
TRUNCATE_FUNCTION(ftruncate64)
int fsync(int fd) {
    int result = (int)syscall(SYS_fsync, fd);
    if (result == 0 && id_of(fd))
        record('S', id_of(fd), 0, NULL, 0, NULL, NULL);
    else if (result == 0 && fd >= 0 && fd < DESCRIPTORS && open_files[fd].path[0])
        record('D', 0, 0, NULL, 0, open_files[fd].path, NULL);
    return result;
}
int close(int fd) {
    if (fd >= 0 && fd < DESCRIPTORS)
        memset(&open_files[fd], 0, sizeof open_files[fd]);
    return (int)syscall(SYS_close, fd);
}
int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags) {
    int fd = -1, result = (int)syscall(SYS_linkat, from_folder, from, to_folder, to, flags);
    if (result == 0 && is_ours(to) && sscanf(from, "/proc/self/fd/%d", &fd) == 1)
        record('L', id_of(fd), 0, NULL, 0, to, NULL);
    return result;
}
int rename(const char *from, const char *to) {
    int result = (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
    if (result == 0 && is_ours(to))
        record('R', 0, 0, NULL, 0, from, to);
    return result;
}
int unlink(const char *path) {
    int result = (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
    if (result == 0 && is_ours(path))
        record('U', 0, 0, NULL, 0, path, NULL);
    return result;
}
int rmdir(const char *path) {
    int result = (int)syscall(SYS_unlinkat, AT_FDCWD, path, AT_REMOVEDIR);
    if (result == 0 && is_ours(path))
        record('U', 0, 0, NULL, 0, path, NULL);
    return result;
}
int mkdir(const char *path, mode_t mode) {
    int result = (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
    if (result == 0 && is_ours(path))
        record('M', 0, 0, NULL, 0, path, NULL);
    return result;
}
