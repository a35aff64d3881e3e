/* cpu_threads.h - the loops of the CPU backend over threads: OpenMP's, the same that oneDNN uses; serial ones in a
 * build without OpenMP. Wheels are compiled by a compiler that supports OpenMP but has no runtime library for it:
 * cpu_threads.c has the few functions of that library that these loops call (VG_OWN_OPENMP). Internal. */
#ifndef VG_CPU_THREADS_H
#define VG_CPU_THREADS_H

#include <stddef.h>

#ifdef _OPENMP
#define CPU_PARALLEL _Pragma("omp parallel for")
#define CPU_PARALLEL_2 _Pragma("omp parallel for collapse(2)")
#ifdef VG_OWN_OPENMP
int omp_get_thread_num(void);
int omp_get_max_threads(void);
void omp_set_num_threads(int threads);
#else
#include <omp.h>
#endif
#else
#define CPU_PARALLEL
#define CPU_PARALLEL_2
#endif

/* The number of the calling thread within its loop. */
static inline size_t cpu_thread_number(void) {
#ifdef _OPENMP
    return (size_t)omp_get_thread_num();
#else
    return 0;
#endif
}

/* The largest number of threads of the caller's loops; the caller need not be the thread that opened the backend. */
static inline size_t cpu_thread_count(void) {
#ifdef _OPENMP
    return (size_t)omp_get_max_threads();
#else
    return 1;
#endif
}

#endif
