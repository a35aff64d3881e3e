/* bench_calibrate.c - what calibration costs: 100 heads x 10,000 samples x 100 classes of float32 logits, 400 MB, 1e8
 * exponentials per pass.
 *
 *     bench_calibrate [N M C [threads [bayes]]]        one JSON line per figure
 *
 * Printed beside newton (and bayes, with a fifth argument), from the same run: reading the logits once, the least that
 * a pass can cost; and one pass of the same sums with the C library's exp on one thread, timed on a tenth of the
 * samples. Wall time is the best of three, CPU time that of the same run, which shows a busy machine. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "vargate/calibrate.h"

typedef struct shape {
    size_t n, m, c;
    unsigned threads;
} shape;

static double now(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void cpu_name(char *out, size_t size) {
    snprintf(out, size, "unknown");
    FILE *file = fopen("/proc/cpuinfo", "r");
    char line[256];
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        char *value = strstr(line, ": ");
        if (strncmp(line, "model name", 10) == 0 && value != NULL) {
            value[strcspn(value, "\n\"\\")] = '\0';
            snprintf(out, size, "%s", value + 2);
            break;
        }
    }
    if (file != NULL)
        fclose(file);
}

static void print_figure(const char *figure, const shape *s, double wall, double cpu, const char *more) {
    char name[200];
    cpu_name(name, sizeof name);
    printf("{\"bench\": \"calibrate\", \"figure\": \"%s\", \"n\": %zu, \"m\": %zu, \"c\": %zu, \"threads\": %u, "
           "\"wall_s\": %.4f, "
           "\"cpu_s\": %.4f%s, \"cpu\": \"%s\", \"tier\": \"%s\"}\n",
           figure, s->n, s->m, s->c, s->threads, wall, cpu, more, name, vg_cpu_tier());
    fflush(stdout);
}

static uint64_t mixed(uint64_t *state) {
    uint64_t x = (*state += 0x9e3779b97f4a7c15u);
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* Heads of temperatures between 1 and 3: noise of four uniforms, the label raised. */
static void make_logits(float *z, int64_t *y, const shape *s) {
    uint64_t state = 1;
    for (size_t n = 0; n < s->n; n++) {
        y[n] = (int64_t)(mixed(&state) % s->c);
        float strength = 2.0f + 8.0f * (float)(mixed(&state) >> 40) * 0x1p-24f;
        for (size_t m = 0; m < s->m; m++) {
            float scale = 1.0f + 1.5f * (float)m / (float)s->m, *row = z + (n * s->m + m) * s->c;
            for (size_t c = 0; c < s->c; c++) {
                uint64_t bits = mixed(&state);
                float noise = (float)(bits & 0xffff) + (float)(bits >> 16 & 0xffff) + (float)(bits >> 32 & 0xffff) +
                              (float)(bits >> 48);
                row[c] = scale * (noise * (4.0f / 0x1p16f) - 8.0f + ((int64_t)c == y[n] ? strength : 0.0f));
            }
        }
    }
}

static volatile float sink;

static void bench_read(const float *z, const shape *s) {
    size_t count = s->n * s->m * s->c;
    double best = INFINITY, cpu = 0;
    for (int run = 0; run < 3; run++) {
        double start = now(CLOCK_MONOTONIC), start_cpu = now(CLOCK_PROCESS_CPUTIME_ID);
        float sum[16] = {0};
        for (size_t i = 0; i + 16 <= count; i += 16) {
            for (size_t k = 0; k < 16; k++)
                sum[k] += z[i + k];
        }
        sink = sum[0] + sum[7] + sum[15];
        double wall = now(CLOCK_MONOTONIC) - start;
        if (wall < best) {
            best = wall;
            cpu = now(CLOCK_PROCESS_CPUTIME_ID) - start_cpu;
        }
    }
    shape one = *s;
    one.threads = 1;
    print_figure("read once", &one, best, cpu, "");
}

static void bench_plain(const float *z, const int64_t *y, const shape *s) {
    shape part = *s;
    part.n = s->n / 10 ? s->n / 10 : 1;
    part.threads = 1;
    double start = now(CLOCK_MONOTONIC), start_cpu = now(CLOCK_PROCESS_CPUTIME_ID), loss = 0, slope = 0, bend = 0;
    for (size_t i = 0; i < part.n * s->m; i++) {
        const float *row = z + i * s->c;
        double top = row[0], s0 = 0, s1 = 0, s2 = 0;
        for (size_t c = 1; c < s->c; c++)
            top = row[c] > top ? row[c] : top;
        for (size_t c = 0; c < s->c; c++) {
            double x = row[c] - top, e = exp(x);
            s0 += e;
            s1 += e * x;
            s2 += e * x * x;
        }
        double x = row[y[i / s->m]] - top;
        loss += log(s0) - x;
        slope += s1 / s0 - x;
        bend += s2 / s0 - s1 / s0 * (s1 / s0);
    }
    sink = (float)(loss + slope + bend);
    double cpu = now(CLOCK_PROCESS_CPUTIME_ID) - start_cpu, wall = now(CLOCK_MONOTONIC) - start;
    char more[80];
    snprintf(more, sizeof more, ", \"pass_s\": %.4f", wall * (double)s->n / (double)part.n);
    print_figure("one pass with the C library's exp", &part, wall, cpu, more);
}

static int bench_solver(const float *z, const int64_t *y, const shape *s, vg_solver solver, int runs) {
    ptrdiff_t c = (ptrdiff_t)s->c;
    vg_predictions view = {z, VG_F32, s->n, s->m, s->c, (ptrdiff_t)s->m * c, c, 1};
    vg_calibrate_options options = VG_CALIBRATE_OPTIONS_INIT;
    options.solver = solver;
    options.threads = s->threads;
    double best = INFINITY, cpu = 0;
    char more[200] = "";
    for (int run = 0; run < runs; run++) {
        vg_calibration *fit;
        double start = now(CLOCK_MONOTONIC), start_cpu = now(CLOCK_PROCESS_CPUTIME_ID);
        if (vg_calibrate(&fit, &view, y, &options) != VG_OK) {
            fprintf(stderr, "%s\n", vg_error_message());
            return 1;
        }
        double wall = now(CLOCK_MONOTONIC) - start;
        if (wall < best) {
            best = wall;
            cpu = now(CLOCK_PROCESS_CPUTIME_ID) - start_cpu;
        }
        unsigned sweeps = 1 + (solver == VG_SOLVER_NEWTON ? fit->newton_sweeps : 1 + fit->bayes_sweeps);
        snprintf(more, sizeof more, ", \"passes\": %u, \"pass_s\": %.4f, \"nll_before\": %.4f, \"nll_after\": %.4f",
                 sweeps, best / sweeps, fit->before.nll, fit->after.nll);
        vg_calibration_free(fit);
    }
    print_figure(solver == VG_SOLVER_NEWTON ? "newton" : "bayes", s, best, cpu, more);
    return 0;
}

int main(int argc, char **argv) {
    shape s = {10000, 100, 100, 0};
    if (argc >= 4) {
        s.n = strtoull(argv[1], NULL, 10);
        s.m = strtoull(argv[2], NULL, 10);
        s.c = strtoull(argv[3], NULL, 10);
    }
    if (argc >= 5)
        s.threads = (unsigned)strtoul(argv[4], NULL, 10);
    if (s.n == 0 || s.m == 0 || s.c < 2 || s.n > SIZE_MAX / s.m / s.c / sizeof(float)) {
        fprintf(stderr, "bench_calibrate [N M C [threads [bayes]]]\n");
        return 2;
    }
    float *z = malloc(s.n * s.m * s.c * sizeof *z);
    int64_t *y = malloc(s.n * sizeof *y);
    if (z == NULL || y == NULL) {
        fprintf(stderr, "out of memory for %zu x %zu x %zu logits\n", s.n, s.m, s.c);
        return 1;
    }
    make_logits(z, y, &s);
    bench_read(z, &s);
    bench_plain(z, y, &s);
    int status = bench_solver(z, y, &s, VG_SOLVER_NEWTON, 3);
    if (status == 0 && argc >= 6 && strcmp(argv[5], "bayes") == 0)
        status = bench_solver(z, y, &s, VG_SOLVER_BAYES, 1);
    free(z);
    free(y);
    return status;
}
