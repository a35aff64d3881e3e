/* cpu_gemm.c - the products of the CPU backend without oneDNN (cpu_engine.h), in float32.
 *
 * Every product is a sum over blocks of channels, in tiles of some rows and 16 columns (cpu_gemm.h):
 *   forward        rows: positions of y, columns: its channels; sum over channels and positions of the filter
 *   data gradient  rows: positions of x, columns: its channels; sum over channels of y and positions of the filter
 *   weights        rows: 16 input channels, columns: 16 output channels; sum over images and positions
 *   matrices       rows and columns as they are
 * Right operands are copied into panels [sum][16], padded with zeros to 16 columns. Left operands are read through
 * pointers: to the values of a block of channels at one position, or to zeros outside the map. Activations lie as
 * [n][C/16][H*W][16] or, for other numbers of channels, as [n][C][H*W]. Each element is summed by one thread in one
 * order: its bits do not depend on the number of threads, nor on the other rows of a batch. */
#include "backend/cpu/cpu_gemm.h"

#include <string.h>

#include "backend/cpu/cpu_engine.h"
#include "backend/cpu/cpu_threads.h"

enum { COLUMNS = VG_GEMM_COLUMNS };

const char vg_engine__name[] = "own products";

struct vg_engine {
    const vg_gemm_kernels *kernels;
    float *panels; /* the right operand */
    size_t panel_room;
    float *copy; /* a left operand whose rows are not contiguous, or gradients in blocks of 16 channels */
    size_t copy_room;
    const float **pointers; /* of one tile per thread */
    size_t pointer_room;
};

/* Pointers outside a map refer to these. */
static const float zeros[COLUMNS];

vg_status vg_engine__new(vg_engine **out) {
    VG_TRY(vg_base__zalloc(out, 1, sizeof **out, "products"));
    (*out)->kernels = vg_gemm__kernels();
    return VG_OK;
}

void vg_engine__free(vg_engine *engine) {
    if (!engine)
        return;
    vg_base__release(engine->panels);
    vg_base__release(engine->copy);
    vg_base__release(engine->pointers);
    vg_base__release(engine);
}

bool vg_engine__has_bf16(vg_engine *engine) {
    (void)engine;
    return false;
}

vg_status vg_engine__preferred(vg_engine *engine, vg_engine_type type, vg_engine_layout *layout) {
    (void)engine, (void)type;
    *layout = VG_ENGINE_BLOCKED16;
    return VG_OK;
}

/* Makes sure that a kept buffer has room for `count` elements of `size` bytes. */
static vg_status room(void *buffer, size_t *have, size_t count, size_t size) {
    void **memory = buffer;
    if (count <= *have)
        return VG_OK;
    vg_base__release(*memory);
    *memory = NULL;
    *have = 0;
    VG_TRY(vg_base__alloc(memory, count, size, "operands of a product"));
    *have = count;
    return VG_OK;
}

/* The destination of a tile: element (r, c) at r * row + c * column. */
typedef struct place {
    float *data;
    size_t row, column, rows, columns;
} place;

static void put(const place *to, const float *tile, const float *bias, bool add) {
    for (size_t r = 0; r < to->rows; r++)
        for (size_t c = 0; c < to->columns; c++) {
            float *at = to->data + r * to->row + c * to->column, v = tile[r * COLUMNS + c];
            v += bias ? bias[c] : 0.0f;
            *at = add ? *at + v : v;
        }
}

/* --- convolution */

/* A map of activations of one image: channels in blocks of `lanes`. */
typedef struct map {
    float *data;
    size_t channels, height, width, lanes;
} map;

static map map_of(const vg_engine_operand *t) {
    return (map){t->data, (size_t)t->view.dims[1], (size_t)t->view.dims[2], (size_t)t->view.dims[3],
                 t->view.layout == VG_ENGINE_BLOCKED16 ? COLUMNS : 1};
}

static size_t map_size(const map *m) { return m->channels * m->height * m->width; }

/* Position in memory of element [o][i][k] of a filter. */
static size_t filter_place(const vg_engine_view *w, size_t o, size_t i, size_t k) {
    size_t in = (size_t)w->dims[1], area = (size_t)(w->dims[2] * w->dims[3]);
    switch (w->layout) {
    case VG_ENGINE_FILTER16:
        return (((o / COLUMNS * (in / COLUMNS) + i / COLUMNS) * area + k) * COLUMNS + i % COLUMNS) * COLUMNS +
               o % COLUMNS;
    case VG_ENGINE_FILTER_FIRST16: return ((o / COLUMNS * area + k) * in + i) * COLUMNS + o % COLUMNS;
    default: return (o * in + i) * area + k;
    }
}

/* A pass from the map `from` to the map `to`, through panels [to / 16][from / lanes][filter's position][lanes][16]. */
typedef struct pass {
    const vg_engine_conv *conv;
    map from, to;
    size_t side_h, side_w; /* of the filter */
    const float *panels;
    size_t panel; /* floats of one */
} pass;

static vg_status pack_filters(vg_engine *engine, pass *p, const vg_engine_operand *w, bool backward) {
    size_t area = p->side_h * p->side_w, lanes = p->from.lanes, panels = (p->to.channels + COLUMNS - 1) / COLUMNS;
    p->panel = p->from.channels * area * COLUMNS;
    p->panels = w->data;
    if (w->view.layout == VG_ENGINE_FILTER16 && !backward && lanes == COLUMNS)
        return VG_OK; /* they have the layout of panels already */
    VG_TRY(room(&engine->panels, &engine->panel_room, panels * p->panel, sizeof(float)));
    p->panels = engine->panels;
    const float *values = w->data;
    CPU_PARALLEL_2
    for (size_t b = 0; b < panels; b++)
        for (size_t channel = 0; channel < p->from.channels; channel++)
            for (size_t k = 0; k < area; k++) {
                float *row =
                    engine->panels + b * p->panel + ((channel / lanes * area + k) * lanes + channel % lanes) * COLUMNS;
                for (size_t c = 0; c < COLUMNS; c++) {
                    size_t other = b * COLUMNS + c;
                    row[c] = other >= p->to.channels ? 0.0f
                             : backward              ? values[filter_place(&w->view, channel, other, k)]
                                                     : values[filter_place(&w->view, other, channel, k)];
                }
            }
    return VG_OK;
}

/* The position in `from` that the filter's position k reads for position (y, x) of `to`; false: outside. Forward: y
 * stride + k - pad. Backward: the y' with y' stride + k - pad = y, if there is one. */
static bool source(size_t *out, size_t at, size_t k, size_t limit, const vg_engine_conv *conv) {
    bool backward = conv->pass == VG_ENGINE_BACKWARD_DATA;
    size_t up = backward ? at + conv->pad : at * conv->stride + k, down = backward ? k : conv->pad;
    if (up < down || (backward && (up - down) % conv->stride))
        return false;
    *out = backward ? (up - down) / conv->stride : up - down;
    return *out < limit;
}

/* The pointers of the tile of `rows` positions from `first` on: [channel block][filter's position][rows]. */
static void point(const float **to, const pass *p, const float *image, size_t first, size_t rows) {
    size_t area = p->side_h * p->side_w, blocks = p->from.channels / p->from.lanes;
    size_t positions = p->to.height * p->to.width, step = p->from.height * p->from.width * p->from.lanes;
    for (size_t r = 0; r < rows; r++) {
        size_t y = (first + r) / p->to.width, x = (first + r) % p->to.width;
        for (size_t k = 0; k < area; k++) {
            size_t v = 0, u = 0;
            bool inside = first + r < positions && source(&v, y, k / p->side_w, p->from.height, p->conv) &&
                          source(&u, x, k % p->side_w, p->from.width, p->conv);
            const float *at = inside ? image + (v * p->from.width + u) * p->from.lanes : zeros;
            for (size_t b = 0; b < blocks; b++)
                to[(b * area + k) * rows + r] = inside ? at + b * step : zeros;
        }
    }
}

static void pass_tile(const vg_engine *engine, const pass *p, size_t image, size_t tile, const float **pointers) {
    const vg_gemm_kernels *kernels = engine->kernels;
    size_t first = tile * kernels->rows, positions = p->to.height * p->to.width, channels = p->to.channels;
    size_t rows = positions - first < kernels->rows ? positions - first : kernels->rows;
    bool blocked = p->to.lanes == COLUMNS;
    float sums[VG_GEMM_MOST_ROWS * COLUMNS], *out = p->to.data + image * map_size(&p->to);
    point(pointers, p, p->from.data + image * map_size(&p->from), first, kernels->rows);
    for (size_t c = 0; c < channels; c += COLUMNS) {
        vg_gemm_tile t = {pointers, p->panels + c / COLUMNS * p->panel,
                          p->from.channels / p->from.lanes * p->side_h * p->side_w, p->from.lanes};
        place to = {out + c * positions + first * p->to.lanes, p->to.lanes, blocked ? 1 : positions, rows,
                    channels - c < COLUMNS ? channels - c : COLUMNS};
        kernels->tile(sums, &t);
        put(&to, sums, NULL, p->conv->accumulate);
    }
}

static vg_status pass_run(vg_engine *engine, pass *p, size_t images, const vg_engine_operand *w) {
    size_t rows = engine->kernels->rows, positions = p->to.height * p->to.width;
    size_t tiles = (positions + rows - 1) / rows;
    size_t each = p->from.channels / p->from.lanes * p->side_h * p->side_w * rows;
    VG_TRY(pack_filters(engine, p, w, p->conv->pass == VG_ENGINE_BACKWARD_DATA));
    VG_TRY(room(&engine->pointers, &engine->pointer_room, each * cpu_thread_count(), sizeof *engine->pointers));
    CPU_PARALLEL_2
    for (size_t n = 0; n < images; n++)
        for (size_t tile = 0; tile < tiles; tile++)
            pass_tile(engine, p, n, tile, engine->pointers + cpu_thread_number() * each);
    return VG_OK;
}

/* --- gradient of the filters */

/* One block of input channels, one of output channels, one row ky of the filter: sums[kx][lanes][16] over all images.
 */
static void gradient_sums(const vg_engine *engine, const pass *p, size_t images, const size_t block[3], float *sums) {
    const map *x = &p->from, *d = &p->to;
    size_t stride = p->conv->stride, pad = p->conv->pad, ky = block[2], lanes = x->lanes;
    size_t y0 = pad > ky ? (pad - ky + stride - 1) / stride : 0;
    size_t y1 = x->height + pad > ky ? (x->height + pad - ky - 1) / stride + 1 : 0;
    y1 = y1 < d->height ? y1 : d->height;
    memset(sums, 0, p->side_w * lanes * COLUMNS * sizeof(float));
    for (size_t n = 0; n < images; n++) {
        const float *from = x->data + n * map_size(x) + block[0] * x->height * x->width * lanes;
        const float *to =
            d->data + (n * ((d->channels + COLUMNS - 1) / COLUMNS) + block[1]) * d->height * d->width * COLUMNS;
        for (size_t kx = 0; kx < p->side_w; kx++) {
            size_t x0 = pad > kx ? (pad - kx + stride - 1) / stride : 0;
            size_t x1 = x->width + pad > kx ? (x->width + pad - kx - 1) / stride + 1 : 0;
            x1 = x1 < d->width ? x1 : d->width;
            if (y0 >= y1 || x0 >= x1)
                continue;
            vg_gemm_outer o = {from + ((y0 * stride + ky - pad) * x->width + x0 * stride + kx - pad) * lanes,
                               to + (y0 * d->width + x0) * COLUMNS,
                               stride * lanes,
                               stride * x->width * lanes,
                               COLUMNS,
                               d->width * COLUMNS,
                               x1 - x0,
                               y1 - y0,
                               lanes};
            engine->kernels->outer(sums + kx * lanes * COLUMNS, &o);
        }
    }
}

/* Gradients whose channels do not lie in blocks of 16, in such blocks, padded with zeros. */
static vg_status block_gradients(vg_engine *engine, map *d, size_t images) {
    size_t blocks = (d->channels + COLUMNS - 1) / COLUMNS, area = d->height * d->width;
    VG_TRY(room(&engine->copy, &engine->copy_room, images * blocks * COLUMNS * area, sizeof(float)));
    const float *from = d->data;
    CPU_PARALLEL_2
    for (size_t n = 0; n < images; n++)
        for (size_t b = 0; b < blocks; b++)
            for (size_t i = 0; i < area * COLUMNS; i++) {
                size_t c = b * COLUMNS + i % COLUMNS;
                engine->copy[(n * blocks + b) * area * COLUMNS + i] =
                    c < d->channels ? from[(n * d->channels + c) * area + i / COLUMNS] : 0.0f;
            }
    d->data = engine->copy;
    return VG_OK;
}

static vg_status gradient_run(vg_engine *engine, pass *p, size_t images, const vg_engine_operand *w) {
    size_t lanes = p->from.lanes, in = p->from.channels / lanes, out = (p->to.channels + COLUMNS - 1) / COLUMNS;
    size_t each = p->side_w * lanes * COLUMNS, tasks = in * out * p->side_h;
    float *values = w->data;
    if (p->to.lanes != COLUMNS)
        VG_TRY(block_gradients(engine, &p->to, images));
    VG_TRY(room(&engine->panels, &engine->panel_room, each * tasks, sizeof(float)));
    CPU_PARALLEL
    for (size_t task = 0; task < tasks; task++) {
        size_t block[3] = {task / p->side_h % in, task / p->side_h / in, task % p->side_h};
        float *sums = engine->panels + task * each;
        gradient_sums(engine, p, images, block, sums);
        for (size_t j = 0; j < each; j++) {
            size_t o = block[1] * COLUMNS + j % COLUMNS, i = block[0] * lanes + j / COLUMNS % lanes;
            if (o < p->to.channels)
                values[filter_place(&w->view, o, i, block[2] * p->side_w + j / COLUMNS / lanes)] = sums[j];
        }
    }
    return VG_OK;
}

vg_status vg_engine__conv(vg_engine *engine, const vg_engine_conv *conv, const vg_engine_operand *x,
                          const vg_engine_operand *w, const vg_engine_operand *y) {
    bool backward = conv->pass == VG_ENGINE_BACKWARD_DATA;
    size_t images = (size_t)x->view.dims[0];
    pass p = {.conv = conv,
              .from = map_of(backward ? y : x),
              .to = map_of(backward ? x : y),
              .side_h = (size_t)w->view.dims[2],
              .side_w = (size_t)w->view.dims[3]};
    return conv->pass == VG_ENGINE_BACKWARD_WEIGHTS ? gradient_run(engine, &p, images, w)
                                                    : pass_run(engine, &p, images, w);
}

/* --- matrices */

static const float *element(const vg_engine_operand *m, size_t r, size_t c) {
    return (const float *)m->data + (int64_t)r * m->view.strides[0] + (int64_t)c * m->view.strides[1];
}

/* b as panels [column / 16][k][16]. */
static vg_status pack_matrix(vg_engine *engine, const vg_engine_operand *b, size_t depth, size_t columns) {
    size_t panels = (columns + COLUMNS - 1) / COLUMNS;
    VG_TRY(room(&engine->panels, &engine->panel_room, panels * depth * COLUMNS, sizeof(float)));
    CPU_PARALLEL
    for (size_t panel = 0; panel < panels; panel++) {
        float *to = engine->panels + panel * depth * COLUMNS;
        size_t first = panel * COLUMNS, count = columns - first < COLUMNS ? columns - first : COLUMNS;
        for (size_t k = 0; k < depth; k++)
            for (size_t c = 0; c < COLUMNS; c++)
                to[k * COLUMNS + c] = c < count ? *element(b, k, first + c) : 0.0f;
    }
    return VG_OK;
}

/* The first element of the rows of a, contiguous; copied if they are not. */
static vg_status rows_of(vg_engine *engine, const vg_engine_operand *a, const float **out, size_t *step) {
    size_t rows = (size_t)a->view.dims[0], depth = (size_t)a->view.dims[1];
    *out = a->data;
    *step = (size_t)a->view.strides[0];
    if (a->view.strides[1] == 1)
        return VG_OK;
    VG_TRY(room(&engine->copy, &engine->copy_room, rows * depth, sizeof(float)));
    CPU_PARALLEL
    for (size_t r = 0; r < rows; r++)
        for (size_t k = 0; k < depth; k++)
            engine->copy[r * depth + k] = *element(a, r, k);
    *out = engine->copy;
    *step = depth;
    return VG_OK;
}

vg_status vg_engine__matmul(vg_engine *engine, vg_engine_type type, const vg_engine_operand *c,
                            const vg_engine_operand *a, const vg_engine_operand *b, const float *bias) {
    const vg_gemm_kernels *kernels = engine->kernels;
    size_t rows = (size_t)c->view.dims[0], columns = (size_t)c->view.dims[1], depth = (size_t)a->view.dims[1];
    size_t tiles = (rows + kernels->rows - 1) / kernels->rows, panels = (columns + COLUMNS - 1) / COLUMNS, step;
    const float *left;
    (void)type;
    VG_TRY(pack_matrix(engine, b, depth, columns));
    VG_TRY(rows_of(engine, a, &left, &step));
    CPU_PARALLEL_2
    for (size_t panel = 0; panel < panels; panel++)
        for (size_t tile = 0; tile < tiles; tile++) {
            const float *pointers[VG_GEMM_MOST_ROWS];
            float sums[VG_GEMM_MOST_ROWS * COLUMNS];
            size_t first = tile * kernels->rows, column = panel * COLUMNS;
            for (size_t r = 0; r < kernels->rows; r++) /* rows beyond the last are computed and not stored */
                pointers[r] = left + (first + r < rows ? first + r : first) * step;
            vg_gemm_tile t = {pointers, engine->panels + panel * depth * COLUMNS, 1, depth};
            place to = {(float *)c->data + (int64_t)first * c->view.strides[0] + (int64_t)column * c->view.strides[1],
                        (size_t)c->view.strides[0], (size_t)c->view.strides[1],
                        rows - first < kernels->rows ? rows - first : kernels->rows,
                        columns - column < COLUMNS ? columns - column : COLUMNS};
            kernels->tile(sums, &t);
            put(&to, sums, bias ? bias + column : NULL, false);
        }
    return VG_OK;
}
