/* cuda_choices.h - which engine was fastest for which convolution, stored in a file between runs. Internal.
 *
 * Timings vary, so without the file two runs could choose engines that round differently. With it a resumed or repeated
 * run uses the same engines. The file is $XDG_CACHE_HOME/vargate/convolutions-VERSION-DEVICE.txt (~/.cache without the
 * variable); lines "NAME COUNT INDEX MILLISECONDS", COUNT the number of candidates. A file that cannot be read or
 * written is not an error: the choices then last as long as the process. */
#ifndef VG_CUDA_CHOICES_H
#define VG_CUDA_CHOICES_H

#include "base/base.h"

typedef struct cuda_choices cuda_choices;
vg_status vg_cuda__choices_open(cuda_choices **out, size_t version, const char *device);
void vg_cuda__choices_close(cuda_choices *choices);
/* The index chosen for `name` among `count` candidates, and its time; -1: none yet. */
int vg_cuda__choice(const cuda_choices *choices, const char *name, int count, float *milliseconds);
/* Stores a choice, in the file at once, so that a run that is killed later has it when it is resumed. Returns the index
 * to use, and its time: where another process has stored a choice since the file was read, that one, so that all runs
 * of a machine use the same engines. */
int vg_cuda__choose(cuda_choices *choices, const char *name, int count, int index, float *milliseconds);

#endif
