/* prediction_set_line.h - the prediction sets of one line of a stream. Internal. */
#ifndef VG_WORKFLOW_PREDICTION_SET_LINE_H
#define VG_WORKFLOW_PREDICTION_SET_LINE_H

#include "evaluate/prediction_sets.h"
#include "workflow/stream_line.h"

typedef struct vg_set_line {
    vg_sets_data *sets; /* borrowed */
    vg_set_places places;
    uint32_t *order;         /* C, scratch */
    vg_calibration_map *map; /* NULL: none */
} vg_set_line;

/* VG_ERR_ARGUMENT for thresholds by group, because a line has no group. */
vg_status vg_set_line__open(vg_set_line *line, vg_sets *sets);
void vg_set_line__free(vg_set_line *line);
/* The sets of a line as the text that follows its id: ",\"pred\":...}\n", freed with free. NULL: see from->error. */
char *vg_set_line__answer(vg_set_line *line, vg_stream_line *from);

#endif
