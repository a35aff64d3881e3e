/* cpu_winograd_body.h - the loops over maps and filters of cpu_winograd_avx512.c, for one size of filter. Included once
 * per size, with NAME(x) giving the size's own names, SIDE the inputs of a tile along a side and R the filter's. */

/* --- maps */

/* Whether all inputs of the tile at (top, left), which may be negative, are there. */
INLINE bool NAME(inside)(const vg_winograd_map *map, ptrdiff_t top, ptrdiff_t left) {
    return top >= 0 && left >= 0 && top + SIDE <= (ptrdiff_t)map->h && left + SIDE <= (ptrdiff_t)map->w;
}

INLINE bool NAME(there)(const vg_winograd_map *map, ptrdiff_t y, ptrdiff_t x) {
    return y >= 0 && x >= 0 && y < (ptrdiff_t)map->h && x < (ptrdiff_t)map->w;
}

static TARGET void NAME(input)(const vg_winograd_map *map, float *v, size_t step, const float *x) {
    for (size_t t = 0; t < map->tiles_y * map->tiles_x; t++) {
        ptrdiff_t top = (ptrdiff_t)(t / map->tiles_x * M) - (ptrdiff_t)map->pad;
        ptrdiff_t left = (ptrdiff_t)(t % map->tiles_x * M) - (ptrdiff_t)map->pad;
        __m512 d[SIDE * SIDE], e[SIDE], zero = _mm512_setzero_ps();
        bool all = NAME(inside)(map, top, left);
        for (ptrdiff_t j = 0; j < SIDE; j++) {
            for (ptrdiff_t i = 0; i < SIDE; i++)
                e[i] = all || NAME(there)(map, top + i, left + j)
                           ? _mm512_loadu_ps(x + ((top + i) * (ptrdiff_t)map->w + left + j) * 16)
                           : zero;
            NAME(line_bt)(d + j, SIDE, e, 1);
        }
        float *to = v + t * LANE;
        for (size_t i = 0; i < SIDE; i++) {
            NAME(line_bt)(e, 1, d + i * SIDE, 1);
            for (size_t j = 0; j < SIDE; j++)
                _mm512_storeu_ps(to + (i * SIDE + j) * step, e[j]);
        }
    }
}

static TARGET void NAME(scatter)(const vg_winograd_map *map, float *dx, const float *v, size_t step) {
    for (size_t t = 0; t < map->tiles_y * map->tiles_x; t++) {
        ptrdiff_t top = (ptrdiff_t)(t / map->tiles_x * M) - (ptrdiff_t)map->pad;
        ptrdiff_t left = (ptrdiff_t)(t % map->tiles_x * M) - (ptrdiff_t)map->pad;
        __m512 d[SIDE * SIDE], e[SIDE];
        bool all = NAME(inside)(map, top, left);
        const float *from = v + t * LANE;
        for (size_t j = 0; j < SIDE; j++) {
            for (size_t i = 0; i < SIDE; i++)
                e[i] = _mm512_loadu_ps(from + (i * SIDE + j) * step);
            NAME(line_b)(d + j, SIDE, e, 1);
        }
        for (ptrdiff_t i = 0; i < SIDE; i++) {
            NAME(line_b)(e, 1, d + i * SIDE, 1);
            for (ptrdiff_t j = 0; j < SIDE; j++)
                if (all || NAME(there)(map, top + i, left + j)) {
                    float *to = dx + ((top + i) * (ptrdiff_t)map->w + left + j) * 16;
                    _mm512_storeu_ps(to, sum(_mm512_loadu_ps(to), e[j]));
                }
        }
    }
}

static TARGET void NAME(output)(const vg_winograd_map *map, float *y, const float *v, size_t step, bool add) {
    for (size_t t = 0; t < map->tiles_y * map->tiles_x; t++) {
        size_t top = t / map->tiles_x * M, left = t % map->tiles_x * M;
        __m512 d[M * SIDE], e[SIDE];
        const float *from = v + t * LANE;
        for (size_t j = 0; j < SIDE; j++) {
            for (size_t i = 0; i < SIDE; i++)
                e[i] = _mm512_loadu_ps(from + (i * SIDE + j) * step);
            NAME(line_at)(d + j, SIDE, e, 1);
        }
        for (size_t i = 0; i < M && top + i < map->out_h; i++) {
            NAME(line_at)(e, 1, d + i * SIDE, 1);
            for (size_t j = 0; j < M && left + j < map->out_w; j++) {
                float *to = y + ((top + i) * map->out_w + left + j) * 16;
                _mm512_storeu_ps(to, add ? sum(_mm512_loadu_ps(to), e[j]) : e[j]);
            }
        }
    }
}

static TARGET void NAME(gradient)(const vg_winograd_map *map, float *v, size_t step, const float *dy) {
    for (size_t t = 0; t < map->tiles_y * map->tiles_x; t++) {
        size_t top = t / map->tiles_x * M, left = t % map->tiles_x * M;
        __m512 d[SIDE * M], e[SIDE];
        float *to = v + t * LANE;
        for (size_t j = 0; j < M; j++) {
            for (size_t i = 0; i < M; i++)
                e[i] = top + i < map->out_h && left + j < map->out_w
                           ? _mm512_loadu_ps(dy + ((top + i) * map->out_w + left + j) * 16)
                           : _mm512_setzero_ps();
            NAME(line_a)(d + j, M, e, 1);
        }
        for (size_t i = 0; i < SIDE; i++) {
            NAME(line_a)(e, 1, d + i * M, 1);
            for (size_t j = 0; j < SIDE; j++)
                _mm512_storeu_ps(to + (i * SIDE + j) * step, e[j]);
        }
    }
}

/* --- filters */

/* One input's filters for 16 outputs. */
INLINE void NAME(filter_one)(float *u, size_t step, const float *g) {
    __m512 d[SIDE * R], e[SIDE];
    for (size_t j = 0; j < R; j++) {
        for (size_t i = 0; i < R; i++)
            e[i] = _mm512_loadu_ps(g + (i * R + j) * 256);
        NAME(line_g)(d + j, R, e, 1);
    }
    for (size_t i = 0; i < SIDE; i++) {
        NAME(line_g)(e, 1, d + i * R, 1);
        for (size_t j = 0; j < SIDE; j++)
            _mm512_storeu_ps(u + (i * SIDE + j) * step, e[j]);
    }
}

static TARGET void NAME(filter)(float *u, size_t step, const float *g, bool transposed) {
    float spare[SIDE * SIDE * 256] __attribute__((aligned(64)));
    for (size_t i = 0; i < 16; i++)
        if (transposed)
            NAME(filter_one)(spare + i * 16, 256, g + i * 16);
        else
            NAME(filter_one)(u + i * LANE, step, g + i * 16);
    for (size_t p = 0; transposed && p < SIDE * SIDE; p++) {
        __m512 a[16];
        for (size_t i = 0; i < 16; i++)
            a[i] = _mm512_load_ps(spare + p * 256 + i * 16);
        transpose(a);
        for (size_t i = 0; i < 16; i++)
            _mm512_storeu_ps(u + p * step + i * LANE, a[i]);
    }
}

static TARGET void NAME(filter_back)(float *g, const float *u, size_t step) {
    for (size_t one = 0; one < 16; one++, g += 16, u += LANE) {
        __m512 d[R * SIDE], e[SIDE];
        for (size_t j = 0; j < SIDE; j++) {
            for (size_t i = 0; i < SIDE; i++)
                e[i] = _mm512_loadu_ps(u + (i * SIDE + j) * step);
            NAME(line_gt)(d + j, SIDE, e, 1);
        }
        for (size_t i = 0; i < R; i++) {
            NAME(line_gt)(e, 1, d + i * SIDE, 1);
            for (size_t j = 0; j < R; j++)
                _mm512_storeu_ps(g + (i * R + j) * 256, e[j]);
        }
    }
}
