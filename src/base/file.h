/* file.h - bytes of files: mapping them for reading, and writing them so that they appear complete or not at all.
 * Internal. */
#ifndef VG_FILE_H
#define VG_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vargate/status.h"

/* --- reading ------------------------------------------------------------------------------------------------------ */
typedef struct vg_mapping {
    const uint8_t *bytes;
    size_t size;
    bool mapped; /* false: the memory belongs to the caller; there is nothing to unmap */
} vg_mapping;

/* Maps a file for reading. "-" is standard input; what is not a regular file (a pipe) is first spooled to an unnamed
 * temporary one, in $TMPDIR or else /tmp. An empty file gives size 0. */
vg_status vg_file__map(vg_mapping *out, const char *path);
void vg_file__unmap(vg_mapping *mapping);
/* An unnamed temporary file in $TMPDIR or else /tmp, which disappears when its descriptor is closed and its mapping
 * ended; -1 with errno where none can be made. */
int vg_file__temporary(void);
/* Maps everything that was written to such a file. The caller still owns the descriptor. */
vg_status vg_file__map_temporary(vg_mapping *out, int fd, const char *path);

/* Hints that cannot fail. prefetch starts reading a range from the disk where it is not cached; forget releases its
 * pages, which stay in the page cache and return when they are touched. Ranges are clipped to the mapping. */
void vg_file__prefetch(const vg_mapping *mapping, size_t offset, size_t size);
void vg_file__forget(const vg_mapping *mapping, size_t offset, size_t size);

/* The folder two levels above the running program: /usr/local for /usr/local/bin/vargate. False where the system
 * does not report the program's path, or the path does not fit. */
bool vg_file__install_prefix(char *out, size_t room);

/* --- writing ------------------------------------------------------------------------------------------------------ */
/* Makes a folder and the folders above it that are missing. VG_ERR_IO, naming the one that cannot be made; a file of
 * that name is not noticed here. */
vg_status vg_file__make_folders(const char *path);

/* Renames a file that another program wrote, after its bytes are on the disk: a power cut leaves the old file of that
 * name or the whole new one. */
vg_status vg_file__place(const char *from, const char *to);

/* A file being written beside its final path. Until commit nothing appears under the final name; after a failure,
 * or after abandon, nothing is left behind. A symbolic link is followed: its target is replaced. */
typedef struct vg_output vg_output;
vg_status vg_output__open(vg_output **out, const char *path);
vg_status vg_output__write(vg_output *output, const void *bytes, size_t size);
/* Overwrites bytes already written. */
vg_status vg_output__patch(vg_output *output, uint64_t offset, const void *bytes, size_t size);
/* Bytes written so far. */
uint64_t vg_output__position(const vg_output *output);
const char *vg_output__path(const vg_output *output);
/* Flushes, syncs and renames into place. Frees `output` in any case. */
vg_status vg_output__commit(vg_output *output);
void vg_output__abandon(vg_output *output);

/* Opens an unnamed scratch file in the folder of `output`, which disappears when its descriptor is closed. */
vg_status vg_output__scratch(int *fd, const vg_output *output);
/* Write and read the whole range, or fail. The message begins with `path`. */
vg_status vg_file__write_all(int fd, const void *bytes, size_t size, const char *path);
vg_status vg_file__read_at(int fd, uint64_t offset, void *out, size_t size, const char *path);

#endif
