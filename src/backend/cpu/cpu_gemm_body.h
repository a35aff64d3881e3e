/* cpu_gemm_body.h - the loops of cpu_gemm.h, included once for each tier, therefore without an include guard. The tier
 * defines TIER(name) and TARGET, LANES, the floats of a register, ROWS, those of a tile, and OUTER, the rows of a
 * filter's gradient that are summed at once (it divides 16). ROWS * 16 / LANES sums must fit the registers. */

enum { TIER(VECTORS) = VG_GEMM_COLUMNS / LANES };
typedef float TIER(vector) __attribute__((vector_size(LANES * sizeof(float)), aligned(4)));

static TARGET void TIER(tile)(float *c, const vg_gemm_tile *t) {
    TIER(vector) sums[ROWS][TIER(VECTORS)] = {0};
    const float *const *a = t->a;
    const float *b = t->b;
    for (size_t block = 0; block < t->blocks; block++, a += ROWS) {
        const float *row[ROWS];
        for (int r = 0; r < ROWS; r++)
            row[r] = a[r];
        for (size_t lane = 0; lane < t->lanes; lane++, b += VG_GEMM_COLUMNS) {
            TIER(vector) right[TIER(VECTORS)];
            for (int v = 0; v < TIER(VECTORS); v++)
                right[v] = *(const TIER(vector) *)(b + v * LANES);
            for (int r = 0; r < ROWS; r++)
                for (int v = 0; v < TIER(VECTORS); v++)
                    sums[r][v] += row[r][lane] * right[v];
        }
    }
    for (int r = 0; r < ROWS; r++)
        for (int v = 0; v < TIER(VECTORS); v++)
            *(TIER(vector) *)(c + r * VG_GEMM_COLUMNS + v * LANES) = sums[r][v];
}

/* `rows` is a constant wherever this is inlined. */
static inline __attribute__((always_inline)) TARGET void TIER(outer_rows)(float *c, const vg_gemm_outer *o, size_t at,
                                                                          const int rows) {
    TIER(vector) sums[OUTER][TIER(VECTORS)];
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < TIER(VECTORS); v++)
            sums[r][v] = *(const TIER(vector) *)(c + r * VG_GEMM_COLUMNS + v * LANES);
    for (size_t y = 0; y < o->height; y++) {
        const float *x = o->x + y * o->x_row + at, *d = o->d + y * o->d_row;
        for (size_t i = 0; i < o->width; i++, x += o->x_step, d += o->d_step) {
            TIER(vector) right[TIER(VECTORS)];
            for (int v = 0; v < TIER(VECTORS); v++)
                right[v] = *(const TIER(vector) *)(d + v * LANES);
            for (int r = 0; r < rows; r++)
                for (int v = 0; v < TIER(VECTORS); v++)
                    sums[r][v] += x[r] * right[v];
        }
    }
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < TIER(VECTORS); v++)
            *(TIER(vector) *)(c + r * VG_GEMM_COLUMNS + v * LANES) = sums[r][v];
}

static TARGET void TIER(outer)(float *c, const vg_gemm_outer *o) {
    if (o->rows == 1)
        TIER(outer_rows)(c, o, 0, 1);
    else
        for (size_t at = 0; at < o->rows; at += OUTER)
            TIER(outer_rows)(c + at * VG_GEMM_COLUMNS, o, at, OUTER);
}

static const vg_gemm_kernels TIER(kernels) = {ROWS, TIER(tile), TIER(outer)};

#undef TIER
#undef TARGET
#undef LANES
#undef ROWS
#undef OUTER
