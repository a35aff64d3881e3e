/* printable.h - texts from outside (names in files, paths, arguments) made fit for a terminal, a log or a JSON text.
 * Internal. */
#ifndef VG_PRINTABLE_H
#define VG_PRINTABLE_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of the UTF-8 sequence at `text`, which ends with a NUL; 0 where there is none: a byte that is not UTF-8, an
 * overlong form, a surrogate. */
size_t vg_printable__sequence(const char *text);
/* Whether all of a text is UTF-8. jansson makes no value of another text, nor where memory runs out: whoever has to
 * tell the two apart asks here first. */
bool vg_printable__is_utf8(const char *text);

#endif
