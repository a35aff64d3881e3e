/* cpu_winograd.h - 5 x 5 convolutions with fewer multiplications (Winograd, Cook and Toom): the loops. Internal.
 *
 * A tile of 2 x 2 outputs needs the 6 x 6 inputs below it. With the points 0, 1, -1, 1/2, -2, infinity there are matrices
 * B (6 x 6), G (6 x 5), A (6 x 2) such that
 *     y = A^T [(G g G^T) . (B^T d B)] A        . element by element: 36 multiplications where there were 100.
 * Summed over channels they are 36 matrix products, one a point. Both gradients are the transpose of the same thing:
 *     D = A dy A^T,   dd = B [(G g G^T) . D] B^T,   dg = G^T [sum (B^T d B) . D] G.
 * The points were chosen by measuring: over 128 channels the result's error is 1e-6 of its size (root mean square), a plain
 * float32 sum's 5e-7. Larger tiles and 3 x 3 filters in tiles of 4 save more and are worse by another factor: not used.
 *
 * Everything transformed lies as [point][channel / 32][row][32]; rows are tiles, or the filter's other channels. `step` is the
 * distance from one point to the next, in floats. */
#ifndef VG_CPU_WINOGRAD_H
#define VG_CPU_WINOGRAD_H

#include <stdbool.h>
#include <stddef.h>

enum {
    VG_WINOGRAD_TILE = 2, /* outputs along a side */
    VG_WINOGRAD_FILTER = 5,
    VG_WINOGRAD_POINTS = 36,
    VG_WINOGRAD_LANE = 32, /* channels that lie together */
    VG_WINOGRAD_ROWS = 8   /* rows of tiles are made in multiples of this */
};

/* One map: inputs h x w, outputs out_h x out_w. */
typedef struct vg_winograd_map {
    size_t h, w, out_h, out_w, tiles_y, tiles_x, pad;
} vg_winograd_map;

/* The four loops over all tiles of 16 channels of one image; maps lie as [position][16]. */
typedef struct vg_winograd_kernels {
    void (*input)(const vg_winograd_map *, float *v, size_t step, const float *x);            /* B^T d B */
    void (*output)(const vg_winograd_map *, float *y, const float *v, size_t step, bool add); /* A^T v A, added to y or not */
    void (*gradient)(const vg_winograd_map *, float *v, size_t step, const float *dy);        /* A dy A^T */
    void (*scatter)(const vg_winograd_map *, float *dx, const float *v, size_t step);         /* B v B^T, added to dx */
    /* 16 x 16 filters, [position][input][output]: G g G^T with rows of inputs, or transposed with rows of outputs; back. */
    void (*filter)(float *u, size_t step, const float *g, bool transposed);
    void (*filter_back)(float *g, const float *u, size_t step);
    /* c[row][32] (+)= sum over block and k of a(block, row, k) b[block * count + k][32]; rows is a multiple of
     * VG_WINOGRAD_ROWS. a lies at a[block * a_block + ...], [row][k] of width 32, or across: [k][row] of width 32. */
    void (*product)(float *c, const float *a, const float *b, size_t rows, size_t blocks, size_t count, size_t a_block,
                    bool across, bool add);
} vg_winograd_kernels;

/* NULL where this processor has none. */
const vg_winograd_kernels *vg_winograd__kernels(void);

#endif
