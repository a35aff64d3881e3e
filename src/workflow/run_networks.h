/* run_networks.h - the networks behind a run folder. Internal. */
#ifndef VG_WORKFLOW_RUN_NETWORKS_H
#define VG_WORKFLOW_RUN_NETWORKS_H

#include "base/base.h"
#include "vargate/workflow.h"

enum { VG_NETWORK_PATH = 4200 };

/* Run folders or checkpoints, each of one network. */
typedef struct vg_run_list {
    char (*paths)[VG_NETWORK_PATH];
    const char *items[VG_MAX_RUNS]; /* `count` of them, each one of paths */
    size_t count;
} vg_run_list;

/* The networks of the given run folders and checkpoints, in their order: the folder of a deep ensemble is replaced
 * by its networks, and a run with snapshots by these unless `checkpoint` names another one (0 last, 1 best, -1 the
 * recipe's). VG_ERR_ARGUMENT for more than VG_MAX_RUNS. Freed with vg_run_list__free, also on failure. */
vg_status vg_run_list__expand(vg_run_list *list, const char *const *runs, size_t count, int checkpoint);
void vg_run_list__free(vg_run_list *list);

#endif
