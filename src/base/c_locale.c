/* c_locale.c - see c_locale.h. uselocale() changes the locale of one thread, and takes no time worth mentioning. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* newlocale and uselocale on every system that has them */
#endif
#include "base/c_locale.h"

#include <pthread.h>
#include <stdbool.h>

static locale_t c_locale; /* 0 where it could not be made: then the thread keeps its own */
static pthread_once_t made = PTHREAD_ONCE_INIT;
static _Thread_local unsigned depth;
static _Thread_local locale_t outer;

static void make(void) { c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0); }

locale_t vg_locale__enter(void) {
    pthread_once(&made, make);
    locale_t before = uselocale(c_locale);
    if (depth++ == 0)
        outer = before;
    return before;
}

void vg_locale__leave(locale_t *before) {
    depth--;
    uselocale(*before);
}

locale_t vg_locale__outside(void) { return uselocale(depth > 0 ? outer : (locale_t)0); }

void vg_locale__inside(locale_t now) { uselocale(now); }
