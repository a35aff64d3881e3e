/* printable.c - escapes what is not printable. See printable.h and vg_printable in status.h.
 *
 * Escaped as \xNN, byte by byte: control characters (C0, DEL, C1), which move a terminal's cursor or change its state;
 * bytes that are not UTF-8; and the characters that reverse the direction of text (U+202A to U+202E, U+2066 to U+2069),
 * by which a name can pretend to be another. A backslash stays as it is, because paths of other systems have them. */
#include "base/printable.h"

#include <string.h>

#include "vargate/status.h"

size_t vg_printable__sequence(const char *text) {
    const unsigned char *at = (const unsigned char *)text;
    size_t length = at[0] < 0x80                    ? 1
                    : at[0] >= 0xc2 && at[0] < 0xe0 ? 2
                    : (at[0] & 0xf0) == 0xe0        ? 3
                    : at[0] >= 0xf0 && at[0] < 0xf5 ? 4
                                                    : 0;
    for (size_t i = 1; i < length; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    if (length == 3 && ((at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] > 0x9f)))
        return 0; /* overlong, surrogate */
    if (length == 4 && ((at[0] == 0xf0 && at[1] < 0x90) || (at[0] == 0xf4 && at[1] > 0x8f)))
        return 0;
    return length;
}

bool vg_printable__is_utf8(const char *text) {
    size_t length;
    while (*text && (length = vg_printable__sequence(text)) > 0)
        text += length;
    return !*text;
}

/* Whether the sequence is shown as it is. */
static bool shown(const unsigned char *at, size_t length) {
    if (length <= 1)
        return length == 1 && at[0] >= 0x20 && at[0] != 0x7f;
    if (length == 2)
        return at[0] != 0xc2 || at[1] >= 0xa0;
    bool general = at[0] == 0xe2 && at[1] == 0x80 && at[2] >= 0xaa && at[2] <= 0xae;
    bool isolate = at[0] == 0xe2 && at[1] == 0x81 && at[2] >= 0xa6 && at[2] <= 0xa9;
    return length == 4 || !(general || isolate);
}

const char *vg_printable(char *out, size_t room, const char *text) {
    static const char digits[] = "0123456789abcdef";
    size_t used = 0;
    if (!out)
        return NULL;
    for (const char *at = text ? text : ""; *at;) {
        size_t length = vg_printable__sequence(at);
        bool plain = shown((const unsigned char *)at, length);
        size_t bytes = length ? length : 1, needed = plain ? bytes : 4 * bytes;
        if (room - used <= needed) /* cut between characters */
            break;
        for (size_t i = 0; i < bytes; i++) {
            unsigned char byte = (unsigned char)at[i];
            const char escaped[4] = {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
            memcpy(out + used, plain ? at + i : escaped, plain ? 1 : 4);
            used += plain ? 1 : 4;
        }
        at += bytes;
    }
    out[used] = '\0';
    return out;
}
