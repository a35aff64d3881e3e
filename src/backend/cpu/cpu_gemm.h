/* cpu_gemm.h - the two inner loops of cpu_gemm.c, built for each instruction tier. Internal.
 *
 * tile:     c[r][0..15] = sum over blocks and lanes of a[block][r][lane] b[block * lanes + lane][0..15]. The rows of a
 *           are found through pointers, so that a convolution reads its input in place and nothing is copied.
 * outer:    c[r][0..15] += sum over positions of x[position][r] d[position][0..15]: a filter's gradient. */
#ifndef VG_CPU_GEMM_H
#define VG_CPU_GEMM_H

#include <stdbool.h>
#include <stddef.h>

enum {
    VG_GEMM_COLUMNS = 16, /* of a panel of b and of a tile of c */
    VG_GEMM_MOST_ROWS = 12
};

typedef struct vg_gemm_tile {
    const float *const *a; /* [block][rows of the tier]: pointers to `lanes` consecutive values */
    const float *b;        /* [blocks * lanes][16] */
    size_t blocks, lanes;
} vg_gemm_tile;

/* Positions in `height` rows of `width`; steps are distances in floats. */
typedef struct vg_gemm_outer {
    const float *x, *d;
    size_t x_step, x_row, d_step, d_row, width, height;
    size_t rows; /* values at a position of x: 1 or 16 */
} vg_gemm_outer;

typedef struct vg_gemm_kernels {
    size_t rows;                                    /* of a tile */
    void (*tile)(float *c, const vg_gemm_tile *);   /* c: [rows][16] */
    void (*outer)(float *c, const vg_gemm_outer *); /* c: [outer rows][16] */
} vg_gemm_kernels;

/* The kernels of the tier in use (VARGATE_CPU forces a lower one). */
const vg_gemm_kernels *vg_gemm__kernels(void);

#endif
