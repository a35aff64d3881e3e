/* c_locale.h - numbers with a decimal point, whatever locale the program that calls the library has set. Internal.
 *
 * Texts of numbers are written and read by printf() and strtod(), which obey the locale. So public functions that make
 * or read texts begin with VG_IN_C_LOCALE: until they return, the calling thread, and no other, has the C locale.
 * Threads of the library have it always. Listeners of jobs and of trainings (workflow.h) are called in the caller's
 * locale: between vg_locale__outside() and vg_locale__inside(). */
#ifndef VG_C_LOCALE_H
#define VG_C_LOCALE_H

#include <locale.h>

/* Gives the calling thread the C locale, and returns the locale it had. */
locale_t vg_locale__enter(void);
/* Gives it *before again. */
void vg_locale__leave(locale_t *before);
#define VG_IN_C_LOCALE locale_t locale_before __attribute__((cleanup(vg_locale__leave), unused)) = vg_locale__enter()

/* Gives the thread the locale that it had before the outermost VG_IN_C_LOCALE, and returns the one it has now. */
locale_t vg_locale__outside(void);
void vg_locale__inside(locale_t now);

#endif
