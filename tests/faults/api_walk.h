/* api_walk.h - calls of the public functions, for api_walk.c, which lets each of their allocations and system calls
 * fail. */
#ifndef API_WALK_H
#define API_WALK_H

#include <stdbool.h>

#include "vargate/vargate.h"

/* A case calls some functions and frees all that they gave. It returns the first status that is not VG_OK, and adds
 * what it computed to *figure: with VG_OK that is the same in every call. */
typedef struct api_case {
    const char *name;
    vg_status (*call)(double *figure);
    size_t stride; /* every n-th call is failed; more than 1 where a call takes long */
} api_case;

extern const api_case array_cases[], file_cases[], kind_cases[]; /* end with a NULL name */

/* Writes the inputs of kind_cases into the working folder; false: vg_error_message() says why not. */
bool make_kinds(void);

/* Goes to `done`, where the case frees what it has. */
#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        status = (call);                                                                                               \
        if (status != VG_OK)                                                                                           \
            goto done;                                                                                                 \
    } while (0)

#endif
