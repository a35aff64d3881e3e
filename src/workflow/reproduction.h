/* reproduction.h - the paper's table beside the figures of runs of its recipes. Internal. */
#ifndef VG_WORKFLOW_REPRODUCTION_H
#define VG_WORKFLOW_REPRODUCTION_H

#include "vargate/compare.h"

enum { VG_PAPER_CELLS = 16, VG_PAPER_FOLDER = 4000 };

typedef struct vg_reproduction_owner {
    vg_reproduction result; /* the public part; must be first */
    vg_paper_cell cells[VG_PAPER_CELLS];
    char folder[VG_PAPER_FOLDER];
} vg_reproduction_owner;

#endif
