/* cpu_accelerators.c - the table of the CPU backend's optional kernels. */
#include "backend/cpu/cpu_accelerators.h"

#ifdef VG_WITH_CPU_WINOGRAD
extern const cpu_conv_accelerator vg_cpu__winograd; /* winograd/cpu_winograd.c */
#endif
#ifdef VG_WITH_CPU_AVX512
void vg_cpu__improve_avx512(vg_cpu_kernels *kernels, const vg_cpu_kernels *general); /* avx512/cpu_kernels_avx512.c */
#endif

const cpu_conv_accelerator *vg_cpu__conv_accelerator(void) {
#ifdef VG_WITH_CPU_WINOGRAD
    return &vg_cpu__winograd;
#else
    return NULL;
#endif
}

void vg_cpu__accelerate_kernels(vg_cpu_kernels *kernels, const vg_cpu_kernels *general) {
#ifdef VG_WITH_CPU_AVX512
    vg_cpu__improve_avx512(kernels, general);
#else
    (void)kernels;
    (void)general;
#endif
}
