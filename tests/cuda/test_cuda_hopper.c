/* test_cuda_hopper.c - the Hopper kernels for 3x3 convolutions against sums computed here, at the sizes of WRN-28-10.
 *
 * Inputs are small whole numbers, so that every sum is exact in float32 in any order: results must be equal, not close.
 * Sampled elements are compared; outputs are surrounded by bytes that must not change. After a difference the program
 * prints which taps, channels, columns and pixels are affected, and what single non-zero inputs give.
 * bench/kernels/bench_hopper.c times the kernels. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#if !defined(VG_TEST_CUDA_RUNTIME) || !defined(VG_WITH_CUDA_HOPPER)
int main(void) {
    puts("skipped: no GPU: built without CUDA or without the Hopper kernels");
    return 77;
}
#else
#include "backend/cuda/hopper/hopper_conv.h"

enum { GUARD = 65536, SHOWN = 6 };

typedef struct layer {
    int n, width, c, o;
} layer;

static vg_backend *backend;
static int failures;

/* --- numbers */

static uint64_t mix(uint64_t z) {
    z = (z + 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 30) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}
static uint16_t to_bf16(float v) { /* to nearest, ties to even */
    uint32_t u;
    memcpy(&u, &v, 4);
    return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}
static float from_bf16(uint16_t v) {
    uint32_t u = (uint32_t)v << 16;
    float f;
    memcpy(&f, &u, 4);
    return f;
}
static uint64_t state = 1;
static size_t below(size_t n) { return (size_t)(mix(state++) % n); }

/* --- arrays on both sides */

typedef struct array {
    int8_t *small; /* inputs: the numbers */
    void *host;
    char *device; /* guarded on both sides */
    size_t count, bytes;
} array;

static void die(const char *what) {
    printf("FAILED %s: %s\n", what, vg_error_message());
    fflush(stdout);
    _exit(1);
}
static void cuda(cudaError_t error, const char *what) {
    if (error == cudaSuccess)
        return;
    printf("FAILED %s: %s\n", what, cudaGetErrorString(error));
    fflush(stdout);
    _exit(1);
}
static void *place(const array *a) { return a->device + GUARD; }

static array fresh(size_t count, size_t element) {
    array a = {.count = count, .bytes = count * element};
    a.host = malloc(a.bytes);
    cuda(cudaMalloc((void **)&a.device, a.bytes + 2 * GUARD), "device memory");
    cuda(cudaMemset(a.device, 0xff, a.bytes + 2 * GUARD), "guard");
    cuda(cudaDeviceSynchronize(), "guard"); /* the kernels' stream does not wait for the default one */
    return a;
}
static void send(const array *a) {
    uint16_t *values = a->host;
    for (size_t i = 0; i < a->count; i++)
        values[i] = to_bf16((float)a->small[i]);
    cuda(cudaMemcpy(place(a), a->host, a->bytes, cudaMemcpyHostToDevice), "sending");
    cuda(cudaDeviceSynchronize(), "sending");
}
static array input(size_t count, uint64_t seed, int range) {
    array a = fresh(count, 2);
    a.small = malloc(count);
    for (size_t i = 0; i < count; i += 8) {
        uint64_t bits = mix(i + seed * 0x100000001u);
        for (size_t j = i; j < i + 8 && j < count; j++, bits >>= 8)
            a.small[j] = (int8_t)((int)((bits & 255) % (unsigned)(2 * range + 1)) - range);
    }
    send(&a);
    return a;
}
static void release(array *a) {
    free(a->small);
    free(a->host);
    cudaFree(a->device);
}
/* Copies it back; false when the bytes around it changed. */
static bool fetch(array *a) {
    static unsigned char guard[GUARD];
    bool good = true;
    cuda(cudaMemcpy(a->host, place(a), a->bytes, cudaMemcpyDeviceToHost), "fetching");
    for (int side = 0; side < 2; side++) {
        cuda(cudaMemcpy(guard, a->device + (side ? GUARD + a->bytes : 0), GUARD, cudaMemcpyDeviceToHost), "fetching");
        for (size_t i = 0; i < GUARD; i++)
            good = good && guard[i] == 0xff;
    }
    return good;
}

/* --- running */

typedef struct job {
    layer l;
    cuda_conv_key key;
    array x, w, y, addend; /* of these one is the result */
    array *out;
} job;

static const char *const names[] = {"forward", "data", "weights"};

static void finish(const char *what) {
    cudaEvent_t event;
    struct timespec pause = {0, 200000};
    cuda(cudaEventCreate(&event), "event");
    cuda(cudaEventRecord(event, cuda_of(backend)->stream), "event");
    for (int i = 0; i < 25000; i++) {
        cudaError_t error = cudaEventQuery(event);
        if (error == cudaSuccess) {
            cudaEventDestroy(event);
            return;
        }
        if (error != cudaErrorNotReady)
            cuda(error, what);
        nanosleep(&pause, NULL);
    }
    printf("FAILED %s hangs\n", what);
    fflush(stdout);
    _exit(1);
}

static void run(job *j) {
    cuda_conv_places places = {place(&j->x), place(&j->w), place(&j->y), j->key.addend ? place(&j->addend) : NULL};
    if (vg_cuda__hopper_run(backend, &j->key, &places) != VG_OK)
        die(names[j->key.kind]);
}

static job make(layer l, cuda_conv_kind kind, bool addend) {
    size_t pixels = (size_t)l.n * l.width * l.width, x = pixels * l.c, y = pixels * l.o, w = (size_t)l.o * 9 * l.c;
    job j = {.l = l};
    j.key = (cuda_conv_key){.kind = kind, .n = l.n, .c = l.c, .h = l.width, .w = l.width, .o = l.o, .r = 3, .s = 3};
    j.key.oh = j.key.ow = l.width;
    j.key.stride = j.key.pad = 1;
    j.key.addend = addend;
    j.key.wide = kind == CUDA_CONV_WEIGHTS;
    j.x = kind == CUDA_CONV_DATA ? fresh(x, 2) : input(x, 1, 2);
    j.w = kind == CUDA_CONV_WEIGHTS ? fresh(w, 4) : input(w, 2, 2);
    j.y = kind == CUDA_CONV_FORWARD ? fresh(y, 2) : input(y, 3, 2);
    if (addend)
        j.addend = input(kind == CUDA_CONV_DATA ? x : y, 4, 100);
    return j;
}
static void drop(job *j) {
    release(&j->x);
    release(&j->w);
    release(&j->y);
    release(&j->addend);
}

/* --- what it should be. Results are indexed (pixel, channel) or (o, tap, c). */

static double pixel_sum(const job *j, size_t pixel, int channel) {
    const layer *l = &j->l;
    bool data = j->key.kind == CUDA_CONV_DATA;
    int side = l->width, x = (int)(pixel % side), y = (int)(pixel / side % side), inner = data ? l->o : l->c;
    const int8_t *in = data ? j->y.small : j->x.small, *w = j->w.small;
    int64_t sum = 0;
    for (int tap = 0; tap < 9; tap++) {
        int yy = y + tap / 3 - 1, xx = x + tap % 3 - 1;
        if (yy < 0 || yy >= side || xx < 0 || xx >= side)
            continue;
        const int8_t *row = in + (pixel + (size_t)((tap / 3 - 1) * side + tap % 3 - 1)) * inner;
        for (int k = 0; k < inner; k++)
            sum += row[k] *
                   (data ? w[((size_t)k * 9 + 8 - tap) * l->c + channel] : w[((size_t)channel * 9 + tap) * l->c + k]);
    }
    return (double)sum + (j->key.addend ? j->addend.small[pixel * (data ? l->c : l->o) + channel] : 0);
}

static double weight_sum(const job *j, int o, int tap, int c) {
    const layer *l = &j->l;
    int side = l->width, dy = tap / 3 - 1, dx = tap % 3 - 1;
    int64_t sum = 0;
    for (int n = 0; n < l->n; n++)
        for (int y = 0; y < side; y++)
            for (int x = 0; x < side; x++)
                if (y + dy >= 0 && y + dy < side && x + dx >= 0 && x + dx < side) {
                    size_t p = ((size_t)n * side + y) * side + x;
                    sum += j->x.small[(p + (size_t)(dy * side + dx)) * l->c + c] * j->y.small[p * l->o + o];
                }
    return (double)sum;
}

/* --- comparing */

typedef struct tally {
    const char *what;
    int wrong[64], seen[64], used;
} tally;
static void count(tally *t, int which, bool wrong) {
    which = which < 63 ? which : 63;
    t->used = which >= t->used ? which + 1 : t->used;
    t->seen[which]++;
    t->wrong[which] += wrong;
}
static void print_tally(const tally *t) {
    printf("    wrong by %s:", t->what);
    for (int i = 0; i < t->used; i++)
        printf(" %d/%d", t->wrong[i], t->seen[i]);
    printf("\n");
}

static int compare_pixels(job *j, int samples) {
    const layer *l = &j->l;
    int columns = j->key.kind == CUDA_CONV_DATA ? l->c : l->o, wrong = 0, side = l->width;
    const uint16_t *out = j->out->host;
    tally t[] = {{.what = "64 pixels of a tile"}, {.what = "8 columns of a tile"}, {.what = "tile of columns"},
                 {.what = "row of the image"},    {.what = "column of the image"}, {.what = "1024 pixels"}};
    for (int i = 0; i < samples; i++) {
        size_t pixel = below(j->out->count / columns);
        int channel = (int)below(columns);
        if (i % 4 == 0)
            pixel = pixel / side * side + (i % 8 ? side - 1 : 0);
        if (i % 16 == 1)
            pixel = j->out->count / columns - 1 - below(64);
        float got = from_bf16(out[pixel * columns + channel]);
        double want = from_bf16(to_bf16((float)pixel_sum(j, pixel, channel)));
        bool bad = !(got == want);
        int keys[] = {(int)(pixel % 256 / 64),    channel % 160 / 8,   channel / 160,
                      (int)(pixel / side % side), (int)(pixel % side), (int)(pixel / 1024)};
        for (int k = 0; k < 6; k++)
            count(&t[k], keys[k], bad);
        if (bad && wrong++ < SHOWN)
            printf("    pixel %zu (image %zu, y %zu, x %zu) channel %d: %g, should be %g\n", pixel, pixel / side / side,
                   pixel / side % side, pixel % side, channel, (double)got, want);
    }
    for (int k = 0; k < 6 && wrong; k++)
        print_tally(&t[k]);
    return wrong;
}

static int compare_weights(job *j, int samples) {
    const layer *l = &j->l;
    const float *out = j->out->host;
    int wrong = 0;
    tally t[] = {{.what = "tap"},
                 {.what = "32 channels c"},
                 {.what = "8 columns o of a tile"},
                 {.what = "tile of columns"},
                 {.what = "c % 32"}};
    for (int i = 0; i < samples; i++) {
        int o = (int)below(l->o), tap = i % 9, c = (int)below(l->c);
        if (i % 8 == 0)
            c = l->c - 1 - (int)below(32);
        float got = out[((size_t)o * 9 + tap) * l->c + c];
        double want = weight_sum(j, o, tap, c);
        bool bad = !(got == want);
        int keys[] = {tap, c / 32, o % 160 / 8, o / 160, c % 32};
        for (int k = 0; k < 5; k++)
            count(&t[k], keys[k], bad);
        if (bad && wrong++ < SHOWN)
            printf("    o %d tap %d c %d: %g, should be %g\n", o, tap, c, (double)got, want);
    }
    for (int k = 0; k < 5 && wrong; k++)
        print_tally(&t[k]);
    return wrong;
}

/* --- what went wrong: one number in each input, and where anything comes out */

static void set_one(array *a, size_t index) {
    memset(a->small, 0, a->count);
    if (index < a->count)
        a->small[index] = 1;
    send(a);
}

static void probe(layer l, cuda_conv_kind kind) {
    job j = make(l, kind, false);
    array *out = kind == CUDA_CONV_FORWARD ? &j.y : kind == CUDA_CONV_DATA ? &j.x : &j.w;
    for (int i = 0; i < 6; i++) {
        int c = i < 2 ? 5 : (int)below(l.c), o = i < 2 ? 9 : (int)below(l.o), tap = i ? (int)below(9) : 4;
        size_t side = l.width, y = 1 + below(side - 2), x = 1 + below(side - 2), from = y * side + x;
        size_t to = (y + 1 - tap / 3) * side + x + 1 - tap % 3; /* from = to + tap */
        size_t weight = ((size_t)o * 9 + tap) * l.c + c;
        if (kind == CUDA_CONV_FORWARD) {
            set_one(&j.x, from * l.c + c);
            set_one(&j.w, weight);
            printf("    probe: x pixel %zu c %d, w o %d tap %d: y pixel %zu channel %d;", from, c, o, tap, to, o);
        } else if (kind == CUDA_CONV_DATA) {
            set_one(&j.y, to * l.o + o);
            set_one(&j.w, weight);
            printf("    probe: dy pixel %zu o %d, w c %d tap %d: dx pixel %zu channel %d;", to, o, c, tap, from, c);
        } else {
            set_one(&j.x, from * l.c + c);
            set_one(&j.y, to * l.o + o);
            printf("    probe: x pixel %zu c %d, dy pixel %zu o %d: o %d tap %d c %d;", from, c, to, o, o, tap, c);
        }
        run(&j);
        finish("a probe");
        fetch(out);
        int found = 0, columns = kind == CUDA_CONV_DATA ? l.c : l.o;
        printf(" got");
        for (size_t k = 0; k < out->count; k++) {
            float v = kind == CUDA_CONV_WEIGHTS ? ((float *)out->host)[k] : from_bf16(((uint16_t *)out->host)[k]);
            if (v == 0 || found++ >= SHOWN)
                continue;
            if (kind == CUDA_CONV_WEIGHTS)
                printf(" (o %zu tap %zu c %zu: %g)", k / l.c / 9, k / l.c % 9, k % l.c, (double)v);
            else
                printf(" (pixel %zu channel %zu: %g)", k / columns, k % columns, (double)v);
        }
        printf(" %d in all\n", found);
    }
    drop(&j);
}

static bool try(layer l, cuda_conv_kind kind, bool addend, int samples) {
    job j = make(l, kind, addend);
    char what[128];
    snprintf(what, sizeof what, "%s%s n %d, %dx%d, %d to %d", names[kind], addend ? " + addend" : "", l.n, l.width,
             l.width, l.c, l.o);
    printf("%s: ", what);
    fflush(stdout);
    if (!vg_cuda__hopper_serves(backend, &j.key)) {
        printf("FAILED not served\n");
        failures++;
        drop(&j);
        return false;
    }
    j.out = kind == CUDA_CONV_FORWARD ? &j.y : kind == CUDA_CONV_DATA ? &j.x : &j.w;
    run(&j);
    finish(what);
    bool guards = fetch(j.out);
    void *first = malloc(j.out->bytes);
    memcpy(first, j.out->host, j.out->bytes);
    int wrong = kind == CUDA_CONV_WEIGHTS ? compare_weights(&j, samples) : compare_pixels(&j, samples);
    run(&j);
    finish(what);
    guards = fetch(j.out) && guards;
    bool same = memcmp(first, j.out->host, j.out->bytes) == 0;
    free(first);
    if (wrong || !guards || !same) {
        failures++;
        printf("  FAILED %d of %d wrong%s%s\n", wrong, samples, guards ? "" : ", bytes around it changed",
               same ? "" : ", other bits the second time");
        if (wrong)
            probe((layer){2, l.width, l.c, l.o}, kind);
    } else {
        printf("right (%d elements), same bits twice", samples);
    }
    printf("\n");
    fflush(stdout);
    drop(&j);
    return wrong == 0;
}

int main(void) {
    vg_backend_options options = {.threads = 2, .compute = VG_COMPUTE_BF16};
    static const layer layers[] = {{128, 32, 160, 160}, {128, 16, 320, 320}, {128, 8, 640, 640}};
    cuda_conv_key any = {.kind = CUDA_CONV_FORWARD,
                         .n = 1,
                         .c = 160,
                         .h = 32,
                         .w = 32,
                         .o = 160,
                         .r = 3,
                         .s = 3,
                         .oh = 32,
                         .ow = 32,
                         .stride = 1,
                         .pad = 1};
    if (vg_backend__open(&backend, "cuda", &options) != VG_OK) {
        printf("skipped: no GPU: %s\n", vg_error_message());
        return 77;
    }
    if (!vg_cuda__hopper_serves(backend, &any)) {
        printf("skipped: not a Hopper GPU: %s\n", backend->device);
        vg_backend__close(backend);
        return 77;
    }
    for (int i = 0; i < 3; i++)
        for (int kind = 0; kind < 3; kind++) {
            layer few = layers[i];
            few.n = 3;
            try(few, (cuda_conv_kind)kind, false, 4000);
            if (kind < 2)
                try(few, (cuda_conv_kind)kind, true, 4000);
        }
    try((layer){5, 16, 96, 320}, CUDA_CONV_WEIGHTS, false, 2000);
    try((layer){1, 8, 32, 160}, CUDA_CONV_WEIGHTS, false, 2000);
    try((layer){5, 8, 96, 320}, CUDA_CONV_FORWARD, true, 2000);
    try((layer){5, 32, 160, 96}, CUDA_CONV_DATA, false, 2000);
    for (int i = 0; i < 3; i++)
        for (int kind = 0; kind < 3; kind++) {
            try(layers[i], (cuda_conv_kind)kind, false,
                kind == 2 ? 60000 / layers[i].width / layers[i].width * 2 : 2000);
            if (kind == 0)
                try(layers[i], CUDA_CONV_FORWARD, true, 2000);
        }
    vg_backend__close(backend);
    printf(failures ? "FAILED %d\n" : "all right\n", failures);
    return failures != 0;
}
#endif
