/* version.h - the version of the headers that a program is compiled against.
 *
 * vg_version() of status.h gives the version of the library that runs. A library of the same major version and the
 * same or a later minor version serves the program: functions are not removed, and structs of options only grow at
 * the end. */
#ifndef VARGATE_VERSION_H
#define VARGATE_VERSION_H

#include "vargate/status.h"

#define VARGATE_VERSION_MAJOR 0
#define VARGATE_VERSION_MINOR 1
#define VARGATE_VERSION_PATCH 0
#define VARGATE_VERSION_STRING "0.1.0"
/* One number to compare in #if: 0.1.0 is 100, 1.2.3 is 10203. */
#define VARGATE_VERSION_NUMBER (VARGATE_VERSION_MAJOR * 10000 + VARGATE_VERSION_MINOR * 100 + VARGATE_VERSION_PATCH)

#endif
