/* tfevents.h - scalars over steps as a TensorBoard event file. Internal. One caller at a time. */
#ifndef VG_TFEVENTS_H
#define VG_TFEVENTS_H

#include <stddef.h>
#include <stdint.h>

#include "vargate/status.h"

typedef struct vg_events vg_events;

typedef struct vg_event_scalar {
    const char *tag; /* "loss/train", at most 100 bytes */
    float value;
} vg_event_scalar;

enum { VG_EVENT_SCALARS = 24 }; /* the most scalars in one event */

/* Creates the file, or replaces an existing one. Events are appended and flushed one by one, because TensorBoard
 * follows a growing file. */
vg_status vg_events__open(vg_events **out, const char *path);
vg_status vg_events__write(vg_events *events, double wall_time, int64_t step, const vg_event_scalar *scalars,
                           size_t count);
/* NULL is accepted. */
vg_status vg_events__close(vg_events *events);

#endif
