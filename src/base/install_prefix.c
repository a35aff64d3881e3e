/* install_prefix.c - where the running program is installed, to find the data and recipes that came with it. */
#include <string.h>
#include <unistd.h>

#include "base/file.h"

bool vg_file__install_prefix(char *out, size_t room) {
    ssize_t length = readlink("/proc/self/exe", out, room - 1);
    if (length < 0 || (size_t)length == room - 1)
        return false;
    for (int up = 0; length > 0 && up < 2; up++) {
        out[length] = '\0';
        const char *slash = strrchr(out, '/');
        length = slash ? slash - out : 0;
    }
    out[length] = '\0';
    return length > 0;
}
