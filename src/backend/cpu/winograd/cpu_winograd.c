/* cpu_winograd.c - convolutions of the CPU backend by cpu_winograd.h: which ones it serves, and how the work is
 * divided.
 *
 * Images are processed in pieces whose transformed maps fit the caches. Forward and data gradient: each thread has
 * its own pieces. Weight gradient: all threads transform one piece, then each takes some of the points, so that sums
 * have one order at any thread count. */
#include "backend/cpu/winograd/cpu_winograd.h"

#include <string.h>

#include "backend/cpu/cpu_backend.h"

enum {
    LANE = VG_WINOGRAD_LANE,
    /* floats of padding between two points, so that their lines fall into different sets of the caches */
    APART = 80,
    FEWEST = 64,         /* least number of rows of a piece, if there are as many: each piece reads all filters once */
    PIECE_OWN = 1 << 18, /* approximate number of floats that a thread transforms at once */
    PIECE_ALL = 5 << 18  /* approximate number of floats that all threads transform at once for weight gradients */
};

typedef struct vg_winograd {
    float *filters, *maps, *sums; /* grown as needed */
    size_t filter_room, map_room, sum_room;
    const float *held; /* source, version and form of what `filters` holds */
    uint64_t held_version;
    bool held_transposed;
} vg_winograd;

static vg_status open_state(void **out) { return vg_base__zalloc(out, 1, sizeof(vg_winograd), "convolution"); }

static void close_state(void *state) {
    vg_winograd *w = state;
    if (!w)
        return;
    vg_base__release(w->filters);
    vg_base__release(w->maps);
    vg_base__release(w->sums);
    vg_base__release(w);
}

static vg_status room(float **memory, size_t *have, size_t count) {
    if (count <= *have)
        return VG_OK;
    vg_base__release(*memory);
    *have = 0;
    VG_TRY(vg_base__zalloc(memory, count, sizeof(float), "transformed maps"));
    *have = count;
    return VG_OK;
}

static bool serves(const vg_backend *backend, const vg_conv *conv, const vg_param *w, const vg_tensor *x) {
    return backend->compute == VG_COMPUTE_F32 && cpu_of(backend)->block == 16 && cpu_tensor_of(x)->b == 16 &&
           w->h == w->w && conv->stride == 1 && conv->pad < w->h && w->i % LANE == 0 && w->o % LANE == 0 &&
           vg_winograd__kernels(w->h);
}

/* The sizes of one call. */
typedef struct call {
    const vg_winograd_kernels *kernels;
    vg_winograd_map map;
    size_t in, out;       /* channels */
    size_t tiles;         /* of an image */
    size_t images, piece; /* in all, in a piece */
    size_t rows;          /* of a piece's transformed maps */
    size_t in_step, out_step, filter_step;
} call;

static call plan(const vg_conv *conv, const vg_param *w, const vg_tensor *x, const vg_tensor *y, bool together) {
    call c = {.kernels = vg_winograd__kernels(w->h), .in = w->i, .out = w->o, .images = x->n};
    size_t m = VG_WINOGRAD_TILE, most;
    c.map = (vg_winograd_map){
        x->shape.h, x->shape.w, y->shape.h, y->shape.w, (y->shape.h + m - 1) / m, (y->shape.w + m - 1) / m, conv->pad};
    c.tiles = c.map.tiles_y * c.map.tiles_x;
    size_t image = c.kernels->points * c.tiles * (c.in + c.out);
    c.piece = (together ? PIECE_ALL : PIECE_OWN) / image;
    if (c.piece * c.tiles < FEWEST)
        c.piece = (FEWEST + c.tiles - 1) / c.tiles;
    most = together ? c.images : (c.images + cpu_thread_count() - 1) / cpu_thread_count();
    c.piece = c.piece > most ? most : c.piece;
    c.rows = (c.piece * c.tiles + VG_WINOGRAD_ROWS - 1) / VG_WINOGRAD_ROWS * VG_WINOGRAD_ROWS;
    c.in_step = c.rows * c.in + APART;
    c.out_step = c.rows * c.out + APART;
    c.filter_step = c.in * c.out + APART;
    return c;
}

/* Where 16 channels cb of transformed maps start, in rows from `row`. */
static float *lane_of(float *maps, size_t rows, size_t row, size_t cb) {
    return maps + (cb / 2 * rows + row) * LANE + cb % 2 * 16;
}

/* The transformed filters, [point][output / 32][input][32], or transposed. */
static vg_status filters(vg_winograd *own, const call *c, const float *g, uint64_t version, bool transposed) {
    size_t in_blocks = c->in / 16, out_blocks = c->out / 16, area = c->kernels->size * c->kernels->size;
    if (own->held == g && own->held_version == version && own->held_transposed == transposed)
        return VG_OK;
    own->held = NULL;
    VG_TRY(room(&own->filters, &own->filter_room, c->kernels->points * c->filter_step));
    CPU_PARALLEL_2
    for (size_t ob = 0; ob < out_blocks; ob++)
        for (size_t ib = 0; ib < in_blocks; ib++) {
            float *to =
                transposed ? lane_of(own->filters, c->out, ob * 16, ib) : lane_of(own->filters, c->in, ib * 16, ob);
            c->kernels->filter(to, c->filter_step, g + (ob * in_blocks + ib) * area * 256, transposed);
        }
    own->held = g;
    own->held_version = version;
    own->held_transposed = transposed;
    return VG_OK;
}

/* Transformed maps of one piece: `channels` of them, `step` floats from one point to the next. */
typedef struct piece_maps {
    float *data;
    size_t step, channels;
} piece_maps;

/* All points of one piece: to = from times the transformed filters u. */
static void multiply(const call *c, piece_maps to, piece_maps from, const float *u, size_t rows) {
    size_t points = c->kernels->points;
    vg_winograd_product shape = {.rows = (rows + VG_WINOGRAD_ROWS - 1) / VG_WINOGRAD_ROWS * VG_WINOGRAD_ROWS,
                                 .blocks = from.channels / LANE,
                                 .count = LANE,
                                 .a_block = c->rows * LANE};
    for (size_t p = 0; p < points; p++)
        for (size_t block = 0; block < to.channels / LANE; block++)
            c->kernels->product(to.data + p * to.step + block * c->rows * LANE, from.data + p * from.step,
                                u + p * c->filter_step + block * from.channels * LANE, &shape);
}

static vg_status forward(vg_backend *backend, const vg_conv *conv, vg_tensor *y, const vg_tensor *x,
                         const vg_block *theta, const vg_param *w, bool add) {
    vg_winograd *own = cpu_of(backend)->accelerator_state;
    call c = plan(conv, w, x, y, false);
    size_t each = c.kernels->points * (c.in_step + c.out_step), pieces = (c.images + c.piece - 1) / c.piece;
    VG_TRY(filters(own, &c, cpu_param(theta, w), theta->version, false));
    VG_TRY(room(&own->maps, &own->map_room, each * cpu_thread_count()));
    CPU_PARALLEL
    for (size_t k = 0; k < pieces; k++) {
        float *v = own->maps + cpu_thread_number() * each, *z = v + c.kernels->points * c.in_step;
        size_t first = k * c.piece, count = c.images - first < c.piece ? c.images - first : c.piece;
        for (size_t n = 0; n < count; n++)
            for (size_t cb = 0; cb < c.in / 16; cb++)
                c.kernels->input(&c.map, lane_of(v, c.rows, n * c.tiles, cb), c.in_step, cpu_run(x, first + n, cb));
        multiply(&c, (piece_maps){z, c.out_step, c.out}, (piece_maps){v, c.in_step, c.in}, own->filters,
                 count * c.tiles);
        for (size_t n = 0; n < count; n++)
            for (size_t cb = 0; cb < c.out / 16; cb++)
                c.kernels->output(&c.map, cpu_run(y, first + n, cb), lane_of(z, c.rows, n * c.tiles, cb), c.out_step,
                                  add);
    }
    return VG_OK;
}

static vg_status backward_data(vg_backend *backend, const vg_conv *conv, vg_tensor *dx, const vg_tensor *dy,
                               const vg_block *theta, const vg_param *w, bool add) {
    vg_winograd *own = cpu_of(backend)->accelerator_state;
    call c = plan(conv, w, dx, dy, false);
    size_t each = c.kernels->points * (c.in_step + c.out_step), pieces = (c.images + c.piece - 1) / c.piece;
    VG_TRY(filters(own, &c, cpu_param(theta, w), theta->version, true));
    VG_TRY(room(&own->maps, &own->map_room, each * cpu_thread_count()));
    CPU_PARALLEL
    for (size_t k = 0; k < pieces; k++) {
        float *v = own->maps + cpu_thread_number() * each, *z = v + c.kernels->points * c.out_step;
        size_t first = k * c.piece, count = c.images - first < c.piece ? c.images - first : c.piece;
        for (size_t n = 0; n < count; n++)
            for (size_t cb = 0; cb < c.out / 16; cb++)
                c.kernels->gradient(&c.map, lane_of(v, c.rows, n * c.tiles, cb), c.out_step,
                                    cpu_run(dy, first + n, cb));
        multiply(&c, (piece_maps){z, c.in_step, c.in}, (piece_maps){v, c.out_step, c.out}, own->filters,
                 count * c.tiles);
        for (size_t n = 0; n < count; n++)
            for (size_t cb = 0; cb < c.in / 16; cb++) {
                float *to = cpu_run(dx, first + n, cb);
                if (!add)
                    memset(to, 0, c.map.h * c.map.w * 16 * sizeof(float));
                c.kernels->scatter(&c.map, to, lane_of(z, c.rows, n * c.tiles, cb), c.in_step);
            }
    }
    return VG_OK;
}

/* One piece's share of the filters' sums. */
static void gather(const call *c, float *sums, const float *v, const float *d, size_t rows, bool add) {
    size_t points = c->kernels->points, in_lanes = c->in / LANE, out_lanes = c->out / LANE;
    vg_winograd_product shape = {.rows = LANE, .blocks = 1, .count = rows, .across = true, .add = add};
    CPU_PARALLEL_2
    for (size_t p = 0; p < points; p++)
        for (size_t i = 0; i < in_lanes; i++)
            for (size_t o = 0; o < out_lanes; o++)
                c->kernels->product(sums + p * c->filter_step + (o * c->in + i * LANE) * LANE,
                                    v + p * c->in_step + i * c->rows * LANE, d + p * c->out_step + o * c->rows * LANE,
                                    &shape);
}

static vg_status backward_weights(vg_backend *backend, const vg_conv *conv, vg_block *grad, const vg_param *w,
                                  const vg_tensor *x, const vg_tensor *dy) {
    vg_winograd *own = cpu_of(backend)->accelerator_state;
    call c = plan(conv, w, x, dy, true);
    size_t in_blocks = c.in / 16, out_blocks = c.out / 16, blocks = in_blocks + out_blocks;
    size_t area = c.kernels->size * c.kernels->size;
    VG_TRY(room(&own->maps, &own->map_room, c.kernels->points * (c.in_step + c.out_step)));
    VG_TRY(room(&own->sums, &own->sum_room, c.kernels->points * c.filter_step));
    float *v = own->maps, *d = v + c.kernels->points * c.in_step, *g = cpu_param(grad, w);
    for (size_t first = 0; first < c.images; first += c.piece) {
        size_t count = c.images - first < c.piece ? c.images - first : c.piece;
        CPU_PARALLEL_2
        for (size_t n = 0; n < count; n++)
            for (size_t cb = 0; cb < blocks; cb++) {
                size_t ob = cb - in_blocks;
                if (cb < in_blocks)
                    c.kernels->input(&c.map, lane_of(v, c.rows, n * c.tiles, cb), c.in_step, cpu_run(x, first + n, cb));
                else
                    c.kernels->gradient(&c.map, lane_of(d, c.rows, n * c.tiles, ob), c.out_step,
                                        cpu_run(dy, first + n, ob));
            }
        gather(&c, own->sums, v, d, count * c.tiles, first > 0);
    }
    CPU_PARALLEL_2
    for (size_t ob = 0; ob < out_blocks; ob++)
        for (size_t ib = 0; ib < in_blocks; ib++)
            c.kernels->filter_back(g + (ob * in_blocks + ib) * area * 256, lane_of(own->sums, c.in, ib * 16, ob),
                                   c.filter_step);
    grad->version++;
    return VG_OK;
}

extern const cpu_conv_accelerator vg_cpu__winograd;
const cpu_conv_accelerator vg_cpu__winograd = {open_state, close_state,   serves,
                                               forward,    backward_data, backward_weights};
