/* cpu_dnnl_guard.h - the boundary to oneDNN, which does not handle every failed allocation: its C functions let C++
 * exceptions through, which end the process where nothing catches them, and some failures are not noticed and end in
 * a crash. So calls are guarded, and memory is tested for before a primitive is made. Internal; also included by
 * C++. */
#ifndef VG_CPU_DNNL_GUARD_H
#define VG_CPU_DNNL_GUARD_H

#include <stddef.h>

#include "vargate/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Calls work(argument). VG_ERR_MEMORY or VG_ERR_UNSUPPORTED when it threw. */
vg_status vg_dnnl__guarded(void (*work)(void *argument), void *argument);

typedef enum vg_dnnl_thrown { VG_DNNL_NOTHING = 0, VG_DNNL_NO_MEMORY, VG_DNNL_OTHER } vg_dnnl_thrown;
/* The same in C++: returns the kind of exception. */
vg_dnnl_thrown vg_dnnl__catch(void (*work)(void *argument), void *argument);

/* VG_ERR_MEMORY when oneDNN could not allocate the memory for making a primitive. The memory is released at once.
 * Another thread may take it, so success afterwards is likely, not certain. */
vg_status vg_dnnl__has_room(void);

#ifdef __cplusplus
}
#endif
#endif
