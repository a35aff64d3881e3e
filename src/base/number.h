/* number.h - texts of numbers. Internal. */
#ifndef VG_NUMBER_H
#define VG_NUMBER_H

#include <stdbool.h>
#include <stddef.h>

/* A number's text, independent of the locale: decimal, or nan / inf. False when `text` (length bytes) is anything
 * else, or memory for a text of more than 500 bytes is lacking. */
bool vg_number__parse(double *out, const char *text, size_t length);

#endif
