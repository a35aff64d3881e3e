/* cpu_winograd.h - convolutions with fewer multiplications (Winograd, Cook and Toom): the loops. Internal.
 *
 * A tile of 2 x 2 outputs of an r x r filter needs the s x s inputs below it, s = r + 1. With s points there are
 * matrices B (s x s), G (s x r), A (s x 2) such that
 *     y = A^T [(G g G^T) . (B^T d B)] A        . element by element: s^2 multiplications where there were 4 r^2,
 * 36 for 100 (r = 5), 16 for 36 (r = 3). Summed over channels they are s^2 matrix products, one per point. Both
 * gradients are transposes of the same transformation:
 *     D = A dy A^T,   dd = B [(G g G^T) . D] B^T,   dg = G^T [sum (B^T d B) . D] G.
 * Points: 0, 1, -1, 1/2, -2, infinity for r = 5, chosen by measuring: over 128 channels the result's error is 1e-6 of
 * its size (root mean square), a plain float32 sum's 5e-7; 0, 1, -1, infinity for r = 3: 4e-7. Larger tiles save more
 * and err more.
 *
 * Everything transformed lies as [point][channel / 32][row][32]; rows are tiles, or the filter's other channels. `step`
 * is the distance from one point to the next, in floats. */
#ifndef VG_CPU_WINOGRAD_H
#define VG_CPU_WINOGRAD_H

#include <stdbool.h>
#include <stddef.h>

enum {
    VG_WINOGRAD_TILE = 2,  /* outputs along a side */
    VG_WINOGRAD_LANE = 32, /* channels that are contiguous in memory */
    VG_WINOGRAD_ROWS = 8   /* rows of tiles are made in multiples of this */
};

/* One map: inputs h x w, outputs out_h x out_w. */
typedef struct vg_winograd_map {
    size_t h, w, out_h, out_w, tiles_y, tiles_x, pad;
} vg_winograd_map;

/* A product c[row][32] (+)= sum over block and k of a(block, row, k) b[block * count + k][32]. a lies at a[block *
 * a_block + ...], [row][k] of width 32, or across: [k][row] of width 32. */
typedef struct vg_winograd_product {
    size_t rows; /* a multiple of VG_WINOGRAD_ROWS */
    size_t blocks, count, a_block;
    bool across, add;
} vg_winograd_product;

/* The four loops over all tiles of 16 channels of one image; maps lie as [position][16]. */
typedef struct vg_winograd_kernels {
    size_t points, size;                                                           /* s^2, r */
    void (*input)(const vg_winograd_map *, float *v, size_t step, const float *x); /* B^T d B */
    /* A^T v A, added to y or not */
    void (*output)(const vg_winograd_map *, float *y, const float *v, size_t step, bool add);
    void (*gradient)(const vg_winograd_map *, float *v, size_t step, const float *dy); /* A dy A^T */
    void (*scatter)(const vg_winograd_map *, float *dx, const float *v, size_t step);  /* B v B^T, added to dx */
    /* 16 x 16 filters, [position][input][output]: G g G^T with rows of inputs, or transposed with rows of outputs;
     * back. */
    void (*filter)(float *u, size_t step, const float *g, bool transposed);
    void (*filter_back)(float *g, const float *u, size_t step);
    void (*product)(float *c, const float *a, const float *b, const vg_winograd_product *shape);
} vg_winograd_kernels;

/* For filters of that size; NULL where there are none, or none for this processor. */
const vg_winograd_kernels *vg_winograd__kernels(size_t filter);

#endif
