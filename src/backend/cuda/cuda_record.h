/* cuda_record.h - recording operations as a CUDA graph. Internal. */
#ifndef VG_CUDA_RECORD_H
#define VG_CUDA_RECORD_H

#include "backend/cuda/cuda_backend.h"

vg_status vg_cuda__record_begin(vg_backend *);
vg_status vg_cuda__record_end(vg_backend *, vg_recording **out);
vg_status vg_cuda__replay(vg_backend *, const vg_recording *recording);
void vg_cuda__recording_free(vg_backend *, vg_recording *recording);

#endif
