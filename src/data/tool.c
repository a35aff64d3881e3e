/* tool.c - runs a program and keeps the last line of its standard error for the error message. */
#include "data/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

bool vg_tool__present(const char *program) {
    const char *path = getenv("PATH");
    while (path && *path) {
        size_t length = strcspn(path, ":");
        char candidate[4096];
        int size = snprintf(candidate, sizeof candidate, "%.*s/%s", (int)length, path, program);
        if (length > 0 && size > 0 && (size_t)size < sizeof candidate && access(candidate, X_OK) == 0)
            return true;
        path += length;
        path += *path == ':';
    }
    return false;
}

/* In the child: only calls that are safe after fork. */
static void become(const char *const *argv, const char *folder, int errors) {
    int nothing = open("/dev/null", O_RDWR);
    if (nothing < 0 || dup2(nothing, 0) < 0 || dup2(nothing, 1) < 0 || dup2(errors, 2) < 0)
        _exit(127);
    if (folder && chdir(folder) != 0)
        _exit(127);
    char *copy[32];
    size_t count = 0;
    for (; argv[count] && count < 31; count++)
        memcpy(&copy[count], &argv[count], sizeof copy[count]);
    copy[count] = NULL;
    execvp(copy[0], copy);
    _exit(127);
}

/* Reads to the end, keeping the last line that is not empty. */
static void last_line(int from, char line[400]) {
    char block[1024], current[400];
    size_t used = 0;
    ssize_t got;
    line[0] = '\0';
    while ((got = read(from, block, sizeof block)) > 0 || (got < 0 && errno == EINTR))
        for (ssize_t i = 0; i < got; i++) {
            if (block[i] != '\n' && block[i] != '\r') {
                if (used < sizeof current - 1)
                    current[used++] = (unsigned char)block[i] < 32 ? ' ' : block[i];
            } else if (used > 0) {
                memcpy(line, current, used);
                line[used] = '\0';
                used = 0;
            }
        }
    if (used > 0) {
        memcpy(line, current, used);
        line[used] = '\0';
    }
}

vg_status vg_tool__run(const char *const *argv, const char *folder) {
    int ends[2], state = 0;
    char line[400];
    if (pipe(ends) != 0)
        return vg_base__fail(VG_ERR_IO, "%s: %s", argv[0], strerror(errno));
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    pid_t child = fork();
    if (child == 0)
        become(argv, folder, ends[1]);
    int reason = errno;
    close(ends[1]);
    if (child < 0) {
        close(ends[0]);
        return vg_base__fail(VG_ERR_IO, "%s: %s", argv[0], strerror(reason));
    }
    last_line(ends[0], line);
    close(ends[0]);
    while (waitpid(child, &state, 0) < 0 && errno == EINTR) {
    }
    if (WIFEXITED(state) && WEXITSTATUS(state) == 0)
        return VG_OK;
    if (line[0])
        return vg_base__fail(VG_ERR_IO, "%s%s%s", strncmp(line, argv[0], strlen(argv[0])) == 0 ? "" : argv[0],
                             strncmp(line, argv[0], strlen(argv[0])) == 0 ? "" : ": ", line);
    return vg_base__fail(VG_ERR_IO, "%s: ended with status %d", argv[0], WIFEXITED(state) ? WEXITSTATUS(state) : -1);
}
