/* draw.c - seeded predictions to measure on. Sample i depends on i alone, whatever the threads and blocks. */
#include "draw.h"

#include <math.h>
#include <stdint.h>

typedef struct draw_job {
    float *p;
    const shape *s;
    size_t first;
    drawing kind;
} draw_job;

/* splitmix64 */
static uint64_t bits_of(uint64_t *state) {
    uint64_t x = (*state += 0x9e3779b97f4a7c15u);
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* Uniform in (0, 1]. */
static float uniform(uint64_t *state) { return (float)((bits_of(state) >> 40) + 1) * 0x1p-24f; }

/* About a standard normal: four uniforms, centred and scaled to variance 1. */
static float noise(uint64_t *state) {
    uint64_t x = bits_of(state);
    float sum = (float)(x & 0xffff) + (float)(x >> 16 & 0xffff) + (float)(x >> 32 & 0xffff) + (float)(x >> 48);
    return (sum * 0x1p-16f - 2.0f) * 1.7320508f;
}

static void divide_by_sum(float *row, size_t c) {
    float sum = 0;
    for (size_t j = 0; j < c; j++)
        sum += row[j];
    for (size_t j = 0; j < c; j++)
        row[j] /= sum;
}

static void draw_dirichlet(float *p, const shape *s, uint64_t *state) {
    for (size_t m = 0; m < s->m; m++, p += s->c) {
        for (size_t c = 0; c < s->c; c++)
            p[c] = -logf(uniform(state)) + 1e-12f;
        divide_by_sum(p, s->c);
    }
}

static void draw_trained(float *p, const shape *s, uint64_t *state) {
    uint64_t label = bits_of(state) % s->c;
    float strength = 14.0f * sqrtf(uniform(state)), spread = 0.05f + 0.5f * uniform(state);
    uint64_t sample = bits_of(state);
    for (size_t m = 0; m < s->m; m++, p += s->c) {
        uint64_t shared = sample;
        for (size_t c = 0; c < s->c; c++)
            p[c] = expf(1.5f * noise(&shared) + spread * noise(state) + (c == label ? strength : 0.0f));
        divide_by_sum(p, s->c);
    }
}

static void draw_part(void *context, unsigned thread, unsigned threads) {
    const draw_job *job = context;
    const shape *s = job->s;
    for (size_t i = s->n * thread / threads; i < s->n * (thread + 1) / threads; i++) {
        uint64_t state = (job->first + i) * 0xd1342543de82ef95u + 1;
        float *p = job->p + i * s->m * s->c;
        if (job->kind == DRAW_DIRICHLET)
            draw_dirichlet(p, s, &state);
        else
            draw_trained(p, s, &state);
    }
}

int draw_predictions(float *p, const shape *s, size_t first, drawing kind) {
    draw_job job = {p, s, first, kind};
    return on_threads(s->threads, draw_part, &job);
}
