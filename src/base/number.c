/* number.c - text to float64, independent of the program's locale.
 *
 * Up to 15 digits with a power of ten up to 22 are exact products or quotients of two float64 (Clinger); other
 * numbers go to strtod under the C locale. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* newlocale and uselocale on every system that has them */
#endif
#include <locale.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/number.h"

static bool slow(double *out, const char *text, size_t length) {
    char room[512], *copy = length < sizeof room ? room : malloc(length + 1), *end;
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    bool whole = copy && c != (locale_t)0;
    if (whole) {
        memcpy(copy, text, length);
        copy[length] = '\0';
        locale_t before = uselocale(c);
        *out = strtod(copy, &end);
        uselocale(before);
        whole = end == copy + length;
    }
    if (c != (locale_t)0)
        freelocale(c);
    if (copy != room)
        free(copy);
    return whole;
}

static bool is_word(const char *text, size_t length, const char *word) {
    return length == strlen(word) && strncasecmp(text, word, length) == 0;
}

static bool digit(char c) { return c >= '0' && c <= '9'; }

bool vg_number__parse(double *out, const char *text, size_t length) {
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    size_t at = 0;
    bool negative = length > 0 && text[0] == '-';
    if (length > 0 && (text[0] == '-' || text[0] == '+'))
        at++;
    if (is_word(text + at, length - at, "nan")) {
        *out = (double)NAN;
        return true;
    }
    if (is_word(text + at, length - at, "inf") || is_word(text + at, length - at, "infinity")) {
        *out = negative ? -(double)INFINITY : (double)INFINITY;
        return true;
    }
    uint64_t mantissa = 0;
    size_t digits = 0, significant = 0;
    long exponent = 0;
    bool point = false;
    for (; at < length && (digit(text[at]) || (text[at] == '.' && !point)); at++) {
        if (text[at] == '.') {
            point = true;
            continue;
        }
        digits++;
        exponent -= point;
        if (significant > 0 || text[at] != '0')
            significant++;
        if (significant <= 15)
            mantissa = mantissa * 10 + (uint64_t)(text[at] - '0');
    }
    if (digits == 0)
        return false;
    if (at < length && (text[at] == 'e' || text[at] == 'E')) {
        at++;
        bool down = at < length && text[at] == '-';
        if (at < length && (text[at] == '-' || text[at] == '+'))
            at++;
        if (at >= length)
            return false;
        long power = 0;
        for (; at < length && digit(text[at]); at++)
            power = power < 100000 ? power * 10 + (text[at] - '0') : power;
        exponent += down ? -power : power;
    }
    if (at != length)
        return false;
    if (significant > 15 || exponent > 22 || exponent < -22)
        return slow(out, text, length);
    double value = exponent < 0 ? (double)mantissa / powers[-exponent] : (double)mantissa * powers[exponent];
    *out = negative ? -value : value;
    return true;
}
