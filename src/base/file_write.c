/* file_write.c - files that appear complete or not at all. The bytes go to an unnamed file in the folder of the target
 * (O_TMPFILE), of which a crash leaves no trace; where the system has no such files, to a hidden named one. commit
 * syncs the file and gives it the name of the target; where a file of that name exists, it gives it a name beside the
 * target and renames it over the target. A crash between these two steps leaves the file beside. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* O_TMPFILE */
#endif
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "base/file.h"

enum { BUFFER = 1 << 16, PATH_ROOM = 4096 };

struct vg_output {
    char *asked;  /* the path as the caller named it, for messages */
    char *target; /* links resolved */
    char *folder;
    char *beside; /* the temporary name */
    int fd;
    bool named;    /* `beside` exists */
    uint64_t size; /* bytes accepted: those in the file and those in the buffer */
    size_t fill;
    uint8_t buffer[BUFFER];
};

/* Follows symbolic links of the last component, also to a file that does not exist yet. */
static vg_status resolve(char target[PATH_ROOM], const char *path) {
    if (snprintf(target, PATH_ROOM, "%s", path) >= PATH_ROOM)
        return vg_base__fail(VG_ERR_IO, "%.100s...: the path is too long", path);
    for (int hops = 0; hops < 40; hops++) {
        struct stat about;
        if (lstat(target, &about) != 0)
            return VG_OK; /* It does not exist yet. A missing folder is reported when the file is created. */
        if (S_ISDIR(about.st_mode))
            return vg_base__fail(VG_ERR_IO, "%s: is a folder, expected a file to write", path);
        if (S_ISREG(about.st_mode))
            return VG_OK;
        if (!S_ISLNK(about.st_mode))
            return vg_base__fail(VG_ERR_IO, "%s: is not a regular file, so it cannot be replaced", path);
        char link[PATH_ROOM];
        ssize_t length = readlink(target, link, sizeof link - 1);
        if (length < 0)
            return vg_base__fail(VG_ERR_IO, "%s: cannot read the link: %s", path, strerror(errno));
        link[length] = '\0';
        char *slash = link[0] == '/' ? NULL : strrchr(target, '/');
        size_t keep = slash ? (size_t)(slash - target) + 1 : 0;
        if (keep + (size_t)length >= PATH_ROOM)
            return vg_base__fail(VG_ERR_IO, "%s: the link's path is too long", path);
        memcpy(target + keep, link, (size_t)length + 1);
    }
    return vg_base__fail(VG_ERR_IO, "%s: too many symbolic links", path);
}

/* The folder that a path names a file in. False where it does not fit. */
static bool folder_of(char folder[PATH_ROOM], const char *path) {
    if (snprintf(folder, PATH_ROOM, "%s", path) >= PATH_ROOM)
        return false;
    char *slash = strrchr(folder, '/');
    if (!slash)
        memcpy(folder, ".", 2);
    else
        slash[slash == folder] = '\0';
    return true;
}

/* A name in the folder that no other process is likely to use: process, time and a count of attempts. */
static void temporary_name(char name[PATH_ROOM], const char *folder, unsigned attempt) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    snprintf(name, PATH_ROOM, "%s/.vargate-%ld-%lx-%u.tmp", folder, (long)getpid(),
             (unsigned long)now.tv_nsec ^ (unsigned long)now.tv_sec << 20, attempt);
}

static int open_unnamed(const char *folder) {
#ifdef O_TMPFILE
    if (access("/proc/self/fd", X_OK) == 0)
        return open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
#endif
    (void)folder;
    errno = EOPNOTSUPP;
    return -1;
}

static int open_named(char name[PATH_ROOM], const char *folder) {
    for (unsigned attempt = 0; attempt < 100; attempt++) {
        temporary_name(name, folder, attempt);
        int fd = open(name, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

static vg_status open_beside(vg_output *output) {
    char name[PATH_ROOM];
    output->fd = open_unnamed(output->folder);
    if (output->fd >= 0)
        return VG_OK;
    output->fd = open_named(name, output->folder);
    if (output->fd < 0)
        return vg_base__fail(VG_ERR_IO, "%s: cannot create a file in %s: %s", output->asked, output->folder,
                             strerror(errno));
    output->named = true;
    vg_status status = vg_base__strdup(&output->beside, name);
    if (status != VG_OK)
        unlink(name);
    return status;
}

vg_status vg_output__open(vg_output **out, const char *path) {
    char target[PATH_ROOM], folder[PATH_ROOM];
    *out = NULL;
    if (!path || !*path)
        return vg_base__fail(VG_ERR_ARGUMENT, "an output file needs a name");
    VG_TRY(resolve(target, path));
    if (strlen(target) + 64 > PATH_ROOM)
        return vg_base__fail(VG_ERR_IO, "%.100s...: the path is too long", path);
    folder_of(folder, target);
    vg_output *output;
    VG_TRY(vg_base__zalloc(&output, 1, sizeof *output, "an output file"));
    output->fd = -1;
    vg_status status = vg_base__strdup(&output->asked, path);
    if (status == VG_OK)
        status = vg_base__strdup(&output->target, target);
    if (status == VG_OK)
        status = vg_base__strdup(&output->folder, folder);
    if (status == VG_OK)
        status = open_beside(output);
    if (status != VG_OK) {
        vg_output__abandon(output);
        return status;
    }
    *out = output;
    return VG_OK;
}

static vg_status flush(vg_output *output) {
    size_t fill = output->fill;
    output->fill = 0;
    return vg_file__write_all(output->fd, output->buffer, fill, output->asked);
}

vg_status vg_output__write(vg_output *output, const void *bytes, size_t size) {
    if (size > BUFFER - output->fill)
        VG_TRY(flush(output));
    if (size >= BUFFER) {
        VG_TRY(vg_file__write_all(output->fd, bytes, size, output->asked));
    } else if (size > 0) {
        memcpy(output->buffer + output->fill, bytes, size);
        output->fill += size;
    }
    output->size += size;
    return VG_OK;
}

vg_status vg_output__patch(vg_output *output, uint64_t offset, const void *bytes, size_t size) {
    VG_TRY(flush(output));
    const uint8_t *p = bytes;
    while (size > 0) {
        ssize_t written = pwrite(output->fd, p, size, (off_t)offset);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return vg_base__fail(VG_ERR_IO, "%s: cannot write: %s", output->asked, strerror(errno));
        p += written;
        offset += (uint64_t)written;
        size -= (size_t)written;
    }
    return VG_OK;
}

uint64_t vg_output__position(const vg_output *output) { return output->size; }
const char *vg_output__path(const vg_output *output) { return output->asked; }

/* Gives the unnamed file its final name, if that is free, else a temporary one. */
static vg_status name_it(vg_output *output, bool *placed) {
    char from[64], name[PATH_ROOM];
    snprintf(from, sizeof from, "/proc/self/fd/%d", output->fd);
    int result = linkat(AT_FDCWD, from, AT_FDCWD, output->target, AT_SYMLINK_FOLLOW);
    *placed = result == 0;
    for (unsigned attempt = 0; attempt < 100 && result != 0 && errno == EEXIST; attempt++) {
        temporary_name(name, output->folder, attempt);
        result = linkat(AT_FDCWD, from, AT_FDCWD, name, AT_SYMLINK_FOLLOW);
    }
    if (result != 0)
        return vg_base__fail(VG_ERR_IO, "%s: cannot name the file: %s", output->asked, strerror(errno));
    if (*placed)
        return VG_OK;
    output->named = true;
    vg_status status = vg_base__strdup(&output->beside, name);
    if (status != VG_OK)
        unlink(name);
    return status;
}

/* Syncs the names in a folder. A failure is ignored, because the files themselves are complete. */
static void sync_folder(const char *path) {
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return;
    (void)fsync(folder);
    close(folder);
}

static vg_status settle(vg_output *output) {
    bool placed = false;
    VG_TRY(flush(output));
    if (fsync(output->fd) != 0 && errno != EINVAL)
        return vg_base__fail(VG_ERR_IO, "%s: cannot write to disk: %s", output->asked, strerror(errno));
    if (!output->named)
        VG_TRY(name_it(output, &placed));
    int fd = output->fd;
    output->fd = -1;
    if (close(fd) != 0 && errno != EINTR && !placed)
        return vg_base__fail(VG_ERR_IO, "%s: cannot close: %s", output->asked, strerror(errno));
    if (!placed && rename(output->beside, output->target) != 0)
        return vg_base__fail(VG_ERR_IO, "%s: cannot rename into place: %s", output->asked, strerror(errno));
    output->named = false;
    sync_folder(output->folder);
    return VG_OK;
}

vg_status vg_output__commit(vg_output *output) {
    vg_status status = settle(output);
    vg_output__abandon(output);
    return status;
}

void vg_output__abandon(vg_output *output) {
    if (!output)
        return;
    if (output->fd >= 0)
        close(output->fd);
    if (output->named && output->beside)
        unlink(output->beside);
    vg_base__release(output->beside);
    vg_base__release(output->folder);
    vg_base__release(output->target);
    vg_base__release(output->asked);
    vg_base__release(output);
}

vg_status vg_output__scratch(int *fd, const vg_output *output) {
    char name[PATH_ROOM];
    *fd = open_unnamed(output->folder);
    if (*fd >= 0)
        return VG_OK;
    *fd = open_named(name, output->folder);
    if (*fd < 0)
        return vg_base__fail(VG_ERR_IO, "%s: cannot create a file in %s: %s", output->asked, output->folder,
                             strerror(errno));
    unlink(name);
    return VG_OK;
}

/* Syncs the folder that holds `path`, so that a power cut does not take a new name in it. */
static void sync_parent(const char *path) {
    char folder[PATH_ROOM];
    if (folder_of(folder, path))
        sync_folder(folder);
}

vg_status vg_file__place(const char *from, const char *to) {
    int fd = open(from, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || (fsync(fd) != 0 && errno != EINVAL)) {
        int error = errno;
        if (fd >= 0)
            close(fd);
        return vg_base__fail(VG_ERR_IO, "%s: cannot write to disk: %s", from, strerror(error));
    }
    close(fd);
    if (rename(from, to) != 0)
        return vg_base__fail(VG_ERR_IO, "%s: %s", to, strerror(errno));
    sync_parent(to);
    return VG_OK;
}

vg_status vg_file__make_folders(const char *path) {
    char *part;
    size_t length = strlen(path);
    VG_TRY(vg_base__strdup(&part, path));
    vg_status status = VG_OK;
    for (size_t i = 1; i <= length && status == VG_OK; i++) {
        if (path[i] != '/' && path[i] != '\0')
            continue;
        part[i] = '\0';
        bool made = mkdir(part, 0777) == 0;
        if (!made && errno != EEXIST)
            status = vg_base__fail(VG_ERR_IO, "%s: %s", part, strerror(errno));
        if (made)
            sync_parent(part);
        part[i] = path[i];
    }
    vg_base__release(part);
    return status;
}
