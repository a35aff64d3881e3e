/* emulated_conv_pooling.c - conv_pooling.cu, conv_pooling_wide.cu and conv_wide_data.cu on the host: results, choices
 * and gradients against plain loops, without a GPU. Inputs are small whole numbers, so that every sum is exact and the
 * comparison is for equality. */
#include "backend/cuda/conv_pooling/conv_pooling.h"
#include "backend_util.h"

#include "backend/counter.h"

typedef struct layer {
    uint32_t n, height, width, channels;
    float p;
    bool bias, wide;
} layer;

static const layer layers[] = {{3, 28, 28, 128, 0.25f, true, false}, {2, 28, 28, 64, 0, true, false},
                               {1, 8, 8, 64, 0.5f, true, false},     {9, 6, 10, 64, 0.125f, false, false},
                               {2, 16, 30, 128, 0, true, false},     {17, 6, 6, 64, 0, true, false}};
static const layer wide_layers[] = {{3, 12, 12, 64, 0.25f, true, true}, {1, 12, 12, 128, 0, false, true}};

/* Channels of an image in memory, those that count, values per row of weights. */
static size_t lie(const layer *l) { return l->wide ? CONV_POOLING_WIDE_INPUTS : CUDA_PAD; }
static size_t count(const layer *l) { return l->wide ? CONV_POOLING_WIDE_INPUTS : 1; }
static size_t filter(const layer *l) { return l->wide ? 25 * CONV_POOLING_WIDE_INPUTS : CONV_POOLING_TAPS; }

static uint16_t narrow(float v) {
    uint32_t u;
    memcpy(&u, &v, sizeof u);
    return (uint16_t)((u + 0x7FFFu + (u >> 16 & 1)) >> 16);
}
static float widen(uint16_t bits) {
    uint32_t u = (uint32_t)bits << 16;
    float v;
    memcpy(&v, &u, sizeof v);
    return v;
}

static int whole(int range) { return (int)vg_random__below(&generator, (uint64_t)(2 * range + 1)) - range; }

/* Memory that a kernel has not written is 0xFF; MARGIN elements on each side must stay so. */
enum { MARGIN = 64 };
static void *room(size_t count, size_t size) {
    unsigned char *memory = aligned_alloc(256, (((count + 2 * MARGIN) * size) / 256 + 1) * 256);
    memset(memory, 0xFF, (count + 2 * MARGIN) * size);
    return memory + MARGIN * size;
}
static void drop_room(void *data, size_t count, size_t size) {
    unsigned char *memory = (unsigned char *)data - MARGIN * size;
    for (size_t i = 0; i < MARGIN * size; i++)
        if (memory[i] != 0xFF || memory[(count + MARGIN) * size + i] != 0xFF)
            fail_msg("a kernel wrote outside its tensor");
    free(memory);
}

typedef struct world {
    layer l;
    cuda_conv_pooling_args args;
    cuda_step step;
    uint16_t *images, *weights, *y, *dy;
    uint32_t *choice;
    float *bias, *dw, *dbias, *partials;
    size_t images_count, y_count, w_count;
} world;

static void make(world *w, const layer *l) {
    uint32_t oh = (l->height - 4) / 2, ow = (l->width - 4) / 2;
    *w = (world){.l = *l};
    w->step.step = (vg_step){.seed = 0x123456789abcdefu, .number = 7, .row = 1000};
    w->images_count = (size_t)l->n * l->height * l->width * lie(l);
    w->y_count = (size_t)l->n * oh * ow * l->channels;
    w->w_count = l->channels * filter(l);
    w->images = room(w->images_count, 2);
    w->weights = room(w->w_count, 2);
    w->y = room(w->y_count, 2);
    w->dy = room(w->y_count, 2);
    w->choice = room(w->y_count / 8, 4);
    w->bias = room(l->channels, 4);
    w->dbias = room(l->channels, 4);
    w->dw = room(w->w_count, 4);
    w->partials = room(vg_cuda__conv_pooling_scratch(l->n, l->channels), 4);
    for (size_t i = 0; i < w->images_count; i++)
        w->images[i] = narrow(i % lie(l) >= count(l) ? 0 : (float)whole(l->wide ? 2 : 9));
    for (size_t i = 0; i < w->w_count; i++)
        w->weights[i] = narrow(i % filter(l) < 25 * count(l) ? (float)whole(l->wide ? 1 : 3) : 0);
    for (size_t i = 0; i < w->y_count; i++)
        w->dy[i] = narrow((float)whole(20));
    for (size_t i = 0; i < l->channels; i++)
        w->bias[i] = (float)whole(30);
    uint32_t threshold = vg_counter__threshold(l->p);
    w->args = (cuda_conv_pooling_args){.images = w->images,
                                       .weights = w->weights,
                                       .bias = l->bias ? w->bias : NULL,
                                       .y = w->y,
                                       .choice = (uint8_t *)w->choice,
                                       .dy = w->dy,
                                       .partials = w->partials,
                                       .dw = w->dw,
                                       .dbias = l->bias ? w->dbias : NULL,
                                       .n = l->n,
                                       .height = l->height,
                                       .width = l->width,
                                       .channels = l->channels,
                                       .windows = oh * ow,
                                       .out_width = cuda_divider_of(ow),
                                       .pitch = cuda_divider_of(l->width + 2),
                                       .scale = 1 / (1 - l->p),
                                       .mask = {.step = &w->step,
                                                .mode = l->p > 0 ? CUDA_MASK_ALIGNED : CUDA_MASK_NONE,
                                                .stream = 3,
                                                .threshold = threshold << 16,
                                                .scale = 1 / (1 - l->p),
                                                .channels = l->channels,
                                                .area = cuda_divider_of(oh * ow)}};
}

static void unmake(world *w) {
    drop_room(w->images, w->images_count, 2);
    drop_room(w->weights, w->w_count, 2);
    drop_room(w->y, w->y_count, 2);
    drop_room(w->dy, w->y_count, 2);
    drop_room(w->choice, w->y_count / 8, 4);
    drop_room(w->bias, w->l.channels, 4);
    drop_room(w->dbias, w->l.channels, 4);
    drop_room(w->dw, w->w_count, 4);
    drop_room(w->partials, vg_cuda__conv_pooling_scratch(w->l.n, w->l.channels), 4);
}

static float pixel(const world *w, uint32_t n, uint32_t y, uint32_t x, size_t c) {
    return widen(w->images[(((size_t)n * w->l.height + y) * w->l.width + x) * lie(&w->l) + c]);
}

static bool kept(const world *w, uint32_t n, uint32_t window, uint32_t channel) {
    uint16_t lanes[8];
    uint32_t position = window * w->l.channels + channel;
    vg_counter__lanes(lanes, w->step.step.seed, 3, w->step.step.number, w->step.step.row + n, position / 8);
    return lanes[position % 8] >= vg_counter__threshold(w->l.p);
}

/* One element by plain loops: its value, and which position of its window gave it (15: none). */
static float value_of(const world *w, uint32_t n, uint32_t window, uint32_t o, uint32_t *which) {
    uint32_t ow = w->args.out_width.divisor, p = window / ow, q = window % ow;
    float best = -INFINITY;
    *which = 0;
    for (uint32_t r = 0; r < 4; r++) {
        float sum = 0;
        for (uint32_t tap = 0; tap < 25; tap++)
            for (size_t c = 0; c < count(&w->l); c++)
                sum += widen(w->weights[o * filter(&w->l) + tap * count(&w->l) + c]) *
                       pixel(w, n, 2 * p + r / 2 + tap / 5, 2 * q + r % 2 + tap % 5, c);
        if (sum > best) {
            best = sum;
            *which = r;
        }
    }
    best += w->args.bias ? w->bias[o] : 0;
    best = best > 0 && kept(w, n, window, o) ? best * w->args.scale : 0;
    if (!(best > 0))
        *which = 15;
    return best;
}

static void forward_is_right(world *w) {
    size_t at = 0;
    for (uint32_t n = 0; n < w->l.n; n++)
        for (uint32_t window = 0; window < w->args.windows; window++)
            for (uint32_t o = 0; o < w->l.channels; o++, at++) {
                uint32_t which, got = w->choice[at / 8] >> (4 * (at % 8)) & 15;
                float want = value_of(w, n, window, o, &which);
                if (w->y[at] != narrow(want) || got != which)
                    fail_msg("%u x %u, %u channels: image %u, window %u, channel %u is %g from %u, wanted %g from %u",
                             w->l.height, w->l.width, w->l.channels, n, window, o, (double)widen(w->y[at]), got,
                             (double)want, which);
            }
}

static void backward_is_right(world *w) {
    uint32_t ow = w->args.out_width.divisor;
    double *dw = calloc(w->w_count, sizeof *dw), *dbias = calloc(w->l.channels, sizeof *dbias);
    size_t at = 0;
    for (uint32_t n = 0; n < w->l.n; n++)
        for (uint32_t window = 0; window < w->args.windows; window++)
            for (uint32_t o = 0; o < w->l.channels; o++, at++) {
                uint32_t which = w->choice[at / 8] >> (4 * (at % 8)) & 15, p = window / ow, q = window % ow;
                if (which == 15)
                    continue;
                double d = (double)widen(w->dy[at]);
                dbias[o] += d;
                for (uint32_t tap = 0; tap < 25; tap++)
                    dw[o * CONV_POOLING_TAPS + tap] +=
                        d * (double)pixel(w, n, 2 * p + which / 2 + tap / 5, 2 * q + which % 2 + tap % 5, 0);
            }
    for (size_t i = 0; i < w->w_count; i++)
        if (w->dw[i] != (float)dw[i] * w->args.scale)
            fail_msg("%u x %u: dw of channel %zu, tap %zu is %g, wanted %g", w->l.height, w->l.width,
                     i / CONV_POOLING_TAPS, i % CONV_POOLING_TAPS, (double)w->dw[i], dw[i] * (double)w->args.scale);
    for (size_t i = 0; i < w->l.channels && w->args.dbias; i++)
        if (w->dbias[i] != (float)dbias[i] * w->args.scale)
            fail_msg("dbias of channel %zu is %g, wanted %g", i, (double)w->dbias[i], dbias[i] * (double)w->args.scale);
    free(dw);
    free(dbias);
}

static void against_loops(void **state) {
    (void)state;
    generator = vg_random__start(11, 11);
    for (size_t i = 0; i < sizeof layers / sizeof layers[0]; i++) {
        world w;
        assert_true(vg_cuda__conv_pooling_fits(layers[i].height, layers[i].width, layers[i].channels));
        make(&w, &layers[i]);
        emulate_seed += 7;
        vg_cuda__conv_pooling_run_forward(&w.args, NULL);
        forward_is_right(&w);
        vg_cuda__conv_pooling_run_backward(&w.args, NULL);
        backward_is_right(&w);
        assert_int_equal(emulate_errors, 0);
        unmake(&w);
    }
}

static void wide_against_loops(void **state) {
    (void)state;
    generator = vg_random__start(12, 12);
    for (size_t i = 0; i < sizeof wide_layers / sizeof wide_layers[0]; i++) {
        world w;
        make(&w, &wide_layers[i]);
        emulate_seed += 7;
        vg_cuda__conv_pooling_run_wide(&w.args, NULL);
        forward_is_right(&w);
        assert_int_equal(emulate_errors, 0);
        unmake(&w);
    }
}

/* One element of dx by plain loops. */
static float dx_of(const uint16_t *dy, const uint16_t *w, uint32_t inputs, uint32_t n, uint32_t y, uint32_t x,
                   uint32_t c) {
    float sum = 0;
    for (uint32_t r = 0; r < 5; r++)
        for (uint32_t s = 0; s < 5; s++)
            for (uint32_t o = 0; y >= r && y - r < 8 && x >= s && x - s < 8 && o < CONV_POOLING_WIDE_OUTPUTS; o++)
                sum += widen(dy[(((size_t)n * 8 + y - r) * 8 + x - s) * CONV_POOLING_WIDE_OUTPUTS + o]) *
                       widen(w[((size_t)o * 25 + r * 5 + s) * inputs + c]);
    return sum;
}

static void data_against_loops(void **state) {
    (void)state;
    static const uint32_t shapes[2][2] = {{3, 64}, {1, 128}}; /* images, input channels */
    generator = vg_random__start(13, 13);
    for (int k = 0; k < 2; k++) {
        uint32_t n = shapes[k][0], inputs = shapes[k][1];
        size_t dys = (size_t)n * 64 * CONV_POOLING_WIDE_OUTPUTS, ws = (size_t)CONV_POOLING_WIDE_OUTPUTS * 25 * inputs,
               dxs = (size_t)n * 144 * inputs;
        uint16_t *dy = room(dys, 2), *w = room(ws, 2), *dx = room(dxs, 2);
        for (size_t i = 0; i < dys; i++)
            dy[i] = narrow((float)whole(2));
        for (size_t i = 0; i < ws; i++)
            w[i] = narrow((float)whole(2));
        cuda_conv_wide_data args = {dy, w, dx, n, inputs};
        emulate_seed += 7;
        vg_cuda__conv_wide_run_data(&args, NULL);
        assert_int_equal(emulate_errors, 0);
        for (size_t i = 0; i < dxs; i++) {
            float want = dx_of(dy, w, inputs, (uint32_t)(i / inputs / 144), (uint32_t)(i / inputs / 12 % 12),
                               (uint32_t)(i / inputs % 12), (uint32_t)(i % inputs));
            if (dx[i] != narrow(want))
                fail_msg("dx of image %zu, pixel %zu, channel %zu is %g, wanted %g", i / inputs / 144, i / inputs % 144,
                         i % inputs, (double)widen(dx[i]), (double)want);
        }
        drop_room(dy, dys, 2);
        drop_room(w, ws, 2);
        drop_room(dx, dxs, 2);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(against_loops), cmocka_unit_test(wide_against_loops),
                                       cmocka_unit_test(data_against_loops)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
