/* file_read.c - mapping files. Pipes are spooled to an unnamed file first, so that every reader sees plain memory. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* madvise, O_TMPFILE */
#endif
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "base/file.h"

vg_status vg_file__write_all(int fd, const void *bytes, size_t size, const char *path) {
    const uint8_t *p = bytes;
    while (size > 0) {
        ssize_t written = write(fd, p, size < ((size_t)1 << 30) ? size : (size_t)1 << 30);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return vg_base__fail(VG_ERR_IO, "%s: cannot write: %s", path,
                                 written < 0 ? strerror(errno) : "no progress");
        p += written;
        size -= (size_t)written;
    }
    return VG_OK;
}

vg_status vg_file__read_at(int fd, uint64_t offset, void *out, size_t size, const char *path) {
    uint8_t *p = out;
    while (size > 0) {
        ssize_t got = pread(fd, p, size < ((size_t)1 << 30) ? size : (size_t)1 << 30, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return vg_base__fail(VG_ERR_IO, "%s: cannot read back: %s", path, got < 0 ? strerror(errno) : "ends early");
        p += got;
        offset += (uint64_t)got;
        size -= (size_t)got;
    }
    return VG_OK;
}

int vg_file__temporary(void) {
    const char *folder = getenv("TMPDIR");
    if (!folder || !*folder)
        folder = "/tmp";
#ifdef O_TMPFILE
    int unnamed = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (unnamed >= 0)
        return unnamed;
#endif
    char name[4096];
    if (snprintf(name, sizeof name, "%s/vargate-XXXXXX", folder) >= (int)sizeof name) {
        errno = ENAMETOOLONG;
        return -1;
    }
    int fd = mkstemp(name);
    if (fd >= 0)
        unlink(name);
    return fd;
}

/* Copies everything that can be read from *fd to a temporary file, which takes its place. */
static vg_status spool(int *fd, const char *path) {
    int copy = vg_file__temporary();
    if (copy < 0)
        return vg_base__fail(VG_ERR_IO, "%s: cannot make a temporary file for a pipe: %s", path, strerror(errno));
    uint8_t *buffer;
    size_t room = (size_t)1 << 18;
    vg_status status = vg_base__alloc(&buffer, room, 1, "a copy buffer");
    while (status == VG_OK) {
        ssize_t got = read(*fd, buffer, room);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            status = vg_base__fail(VG_ERR_IO, "%s: cannot read: %s", path, strerror(errno));
        if (got <= 0)
            break;
        status = vg_file__write_all(copy, buffer, (size_t)got, "temporary copy of a pipe");
    }
    vg_base__release(buffer);
    if (status != VG_OK) {
        close(copy);
        return status;
    }
    close(*fd);
    *fd = copy;
    return VG_OK;
}

static vg_status map_size(vg_mapping *out, int fd, off_t size, const char *path) {
    if (size < 0 || (uintmax_t)size > SIZE_MAX / 2)
        return vg_base__fail(VG_ERR_IO, "%s: its size does not fit the address space", path);
    out->size = (size_t)size;
    if (out->size == 0)
        return VG_OK;
    void *bytes = mmap(NULL, out->size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED)
        return vg_base__fail(VG_ERR_IO, "%s: cannot map %zu bytes: %s", path, out->size, strerror(errno));
    out->bytes = bytes;
    out->mapped = true;
    return VG_OK;
}

vg_status vg_file__map_temporary(vg_mapping *out, int fd, const char *path) {
    struct stat about;
    *out = (vg_mapping){(const uint8_t *)"", 0, false};
    if (fstat(fd, &about) != 0)
        return vg_base__fail(VG_ERR_IO, "%s: cannot stat its copy: %s", path, strerror(errno));
    return map_size(out, fd, about.st_size, path);
}

static vg_status map_descriptor(vg_mapping *out, int *fd, const char *path) {
    struct stat about;
    if (fstat(*fd, &about) != 0)
        return vg_base__fail(VG_ERR_IO, "%s: cannot stat: %s", path, strerror(errno));
    if (S_ISDIR(about.st_mode))
        return vg_base__fail(VG_ERR_IO, "%s: is a folder, expected a file", path);
    if (!S_ISREG(about.st_mode) || lseek(*fd, 0, SEEK_CUR) > 0) {
        VG_TRY(spool(fd, path));
        if (fstat(*fd, &about) != 0)
            return vg_base__fail(VG_ERR_IO, "%s: cannot stat its copy: %s", path, strerror(errno));
    }
    return map_size(out, *fd, about.st_size, path);
}

vg_status vg_file__map(vg_mapping *out, const char *path) {
    *out = (vg_mapping){(const uint8_t *)"", 0, false};
    int fd = strcmp(path, "-") == 0 ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return vg_base__fail(VG_ERR_IO, "%s: cannot open: %s", path, strerror(errno));
    vg_status status = map_descriptor(out, &fd, path);
    close(fd);
    return status;
}

void vg_file__unmap(vg_mapping *mapping) {
    if (mapping->mapped)
        munmap((void *)mapping->bytes, mapping->size);
    *mapping = (vg_mapping){(const uint8_t *)"", 0, false};
}

static size_t page_size(void) {
    long size = sysconf(_SC_PAGESIZE);
    return size > 0 ? (size_t)size : 4096;
}

/* madvise over a range, extended to whole pages on both sides. False when the system refuses. */
static bool advise(const vg_mapping *mapping, size_t offset, size_t size, int advice) {
    if (!mapping->mapped || offset >= mapping->size || size == 0)
        return true;
    if (size > mapping->size - offset)
        size = mapping->size - offset;
    size_t page = page_size(), start = offset / page * page;
    return madvise((uint8_t *)mapping->bytes + start, size + (offset - start), advice) == 0;
}

void vg_file__prefetch(const vg_mapping *mapping, size_t offset, size_t size) {
    if (!mapping->mapped || offset >= mapping->size || size == 0)
        return;
    /* Hints for pages that are already resident cost half as much as reading them. Whether the last page is resident
     * is taken as the answer for the whole range. */
    size_t page = page_size(), last = offset + (size < mapping->size - offset ? size : mapping->size - offset) - 1;
    unsigned char resident = 0;
    if (mincore((uint8_t *)mapping->bytes + last / page * page, 1, &resident) == 0 && resident & 1)
        return;
    advise(mapping, offset, size, MADV_WILLNEED);
}

void vg_file__forget(const vg_mapping *mapping, size_t offset, size_t size) {
    size_t page = page_size(), end = offset + size < offset ? mapping->size : offset + size;
    if (end < mapping->size) /* the page that contains `end` is still needed */
        end = end / page * page;
    if (end > offset)
        advise(mapping, offset, end - offset, MADV_DONTNEED);
}
