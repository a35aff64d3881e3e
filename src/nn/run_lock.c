/* run_lock.c - FOLDER/train.lock: "PID HOST\n", locked with flock() while a training writes into the folder.
 *
 * The lock belongs to the open file, so the system releases it when the process ends, also after a crash: a file
 * without a lock is stale and is taken over. The number and the host in it are only used in the message. The holder
 * removes the file before it releases the lock. A process that locks a file which was removed in between notices that
 * the path names another file, and tries again. */
#include "nn/run_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"

struct vg_run_lock {
    int descriptor;
    char path[4096];
};

/* Whether the name still refers to the file that was locked. */
static bool still_named(const vg_run_lock *lock) {
    struct stat held, named;
    return fstat(lock->descriptor, &held) == 0 && stat(lock->path, &named) == 0 && held.st_dev == named.st_dev &&
           held.st_ino == named.st_ino;
}

static vg_status held_by_another(const vg_run_lock *lock, const char *folder) {
    char text[300], host[257] = "";
    long process = 0;
    ssize_t length = pread(lock->descriptor, text, sizeof text - 1, 0);
    text[length > 0 ? length : 0] = 0;
    if (sscanf(text, "%ld %256s", &process, host) != 2)
        return vg_base__fail(VG_ERR_IO, "%s: another process is training into this folder", folder);
    return vg_base__fail(VG_ERR_IO, "%s: process %ld on %s is training into this folder; wait for it or choose another",
                         folder, process, host);
}

static void write_holder(const vg_run_lock *lock) {
    char host[257] = "", text[300];
    if (gethostname(host, sizeof host - 1) != 0 || !host[0])
        strcpy(host, "localhost");
    int length = snprintf(text, sizeof text, "%ld %s\n", (long)getpid(), host);
    /* A failure here loses the name in another process's message, not the lock. */
    if (ftruncate(lock->descriptor, 0) == 0 && pwrite(lock->descriptor, text, (size_t)length, 0) != length)
        errno = 0;
}

/* True once the lock is held; false: the file was removed meanwhile. */
static vg_status attempt(vg_run_lock *lock, const char *folder, bool *taken) {
    lock->descriptor = open(lock->path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (lock->descriptor < 0)
        return vg_base__fail(VG_ERR_IO, "%s: %s", lock->path, strerror(errno));
    /* On a file system without locks (ENOLCK, ENOTSUP, ENOSYS) the training runs without one. */
    bool busy = flock(lock->descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    vg_status status = busy ? held_by_another(lock, folder) : VG_OK;
    *taken = !busy && still_named(lock);
    if (!*taken) {
        close(lock->descriptor);
        lock->descriptor = -1;
    }
    return status;
}

vg_status vg_run_lock__take(vg_run_lock **out, const char *folder) {
    vg_run_lock *lock;
    bool taken = false;
    *out = NULL;
    VG_TRY(vg_base__zalloc(&lock, 1, sizeof *lock, "a lock"));
    int length = snprintf(lock->path, sizeof lock->path, "%s/train.lock", folder);
    vg_status status = length > 0 && (size_t)length < sizeof lock->path
                           ? VG_OK
                           : vg_base__fail(VG_ERR_ARGUMENT, "the run folder's name is too long");
    for (int tries = 0; status == VG_OK && !taken; tries++)
        status = tries < 100 ? attempt(lock, folder, &taken)
                             : vg_base__fail(VG_ERR_IO, "%s: other processes keep replacing it; try again", lock->path);
    if (status != VG_OK) {
        vg_base__release(lock);
        return status;
    }
    write_holder(lock);
    *out = lock;
    return VG_OK;
}

void vg_run_lock__release(vg_run_lock *lock) {
    if (!lock)
        return;
    unlink(lock->path);
    close(lock->descriptor);
    vg_base__release(lock);
}
