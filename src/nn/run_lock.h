/* run_lock.h - one training at a time in a run folder. Internal. */
#ifndef VG_RUN_LOCK_H
#define VG_RUN_LOCK_H

#include "vargate/status.h"

typedef struct vg_run_lock vg_run_lock;

/* Takes FOLDER/train.lock. VG_ERR_IO, naming process and host, when another training holds it. The file of a process
 * that died is reused. */
vg_status vg_run_lock__take(vg_run_lock **out, const char *folder);
/* Releases the lock and removes the file. NULL is accepted. */
void vg_run_lock__release(vg_run_lock *lock);

#endif
