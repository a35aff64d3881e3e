/* score_input.h - phases that load a block's probabilities: from the input's type, or from logits by softmax. */
#ifndef VG_MEASURES_SCORE_INPUT_H
#define VG_MEASURES_SCORE_INPUT_H

#include "measures/cuda/score_view.h"
#if defined(__CUDA_ARCH__)
#include <cuda_pipeline_primitives.h>
#endif

/* The first row that cannot be scored; rows are counted over the whole call. */
SCORE_FN void report_row(const score_job *job, long long row) {
#ifdef __CUDA_ARCH__
    atomicMax(&job->report->bad, ~(unsigned long long)row);
#else
    if (~(unsigned long long)row > job->report->bad)
        job->report->bad = ~(unsigned long long)row;
#endif
}

/* Whether p and the input may be read four floats at a time. */
SCORE_FN bool in_fours(const score_view *v, const int wide, const int shared) {
    const score_job *job = v->job;
    return shared && !wide && job->dtype == VG_F32 && job->c % 4 == 0 && job->stride_n % 4 == 0 &&
           job->stride_m % 4 == 0 && ((uintptr_t)job->in & 15) == 0;
}

/* phase_load() for rows that can be read four floats at a time. */
SCORE_FN void load_fours(const score_view *v, int tid) {
    const score_job *job = v->job;
    int C = job->c / 4, T = job->threads, pieces = job->list || !job->packed ? v->samples : 1,
        count = v->samples / pieces * job->m * C;
    for (int piece = 0; piece < pieces; piece++) {
        int row = tid / C, column = tid % C, rows = T / C, columns = T % C;
        const float *from = (const float *)job->in + sample_of(v, piece) * job->stride_n;
        float *own = (float *)v->own + piece * job->m * job->row;
        for (int i = tid; i < count; i += T) {
            float *to = own + row * job->row + 4 * column;
            const float *at = from + (job->packed ? 4 * (long long)i : row * job->stride_m + 4 * column);
#ifdef __CUDA_ARCH__
            __pipeline_memcpy_async(to, at, 16);
#else
            memcpy(to, at, 16);
#endif
            column += columns;
            row += rows;
            if (column >= C) {
                column -= C;
                row++;
            }
        }
    }
}

/* Copies the elements of the block's samples to p[s][m][row]. Floats for shared memory are copied asynchronously,
 * without passing through registers. */
SCORE_FN void phase_load(const score_view *v, int tid, const int wide, const int shared) {
    const score_job *job = v->job;
    int C = job->c, T = job->threads, pieces = job->list || !job->packed ? v->samples : 1,
        count = v->samples / pieces * job->m * C;
    bool plain = !wide && job->dtype == VG_F32;
    for (int i = tid; i < v->samples; i += T)
        v->large[i] = 0;
    if (!v->own)
        return;
    bool fours = in_fours(v, wide, shared);
    if (fours)
        load_fours(v, tid);
    for (int piece = 0; piece < pieces && !fours; piece++) { /* samples that follow each other, or one at a time */
        int row = tid / C + piece * job->m, column = tid % C, rows = T / C, columns = T % C;
        long long from = sample_of(v, piece) * job->stride_n;
        for (int i = tid; i < count; i += T) {
            int to = row * job->row + column;
            long long at = from + (job->packed ? i : (row - piece * job->m) * job->stride_m + column);
#ifdef __CUDA_ARCH__
            if (shared && plain)
                __pipeline_memcpy_async((float *)v->own + to, (const float *)job->in + at, 4);
            else
#endif
                put(v->own, to, plain ? (double)((const float *)job->in)[at] : input_value(job, at), wide);
            column += columns;
            row += rows;
            if (column >= C) {
                column -= C;
                row++;
            }
        }
    }
    (void)shared;
#ifdef __CUDA_ARCH__
    if (shared && plain) {
        __pipeline_commit();
        __pipeline_wait_prior(0);
    }
#endif
    /* padding members that complete a step of the integral */
    for (int i = tid; shared && i < (padded_members(job) - job->m) * job->row; i += T)
        put(v->own, v->samples * job->m * job->row + i, 0.0, wide);
}

/* One thread per row: turns logits into probabilities and keeps the logarithm of their sum. */
SCORE_FN void phase_softmax(const score_view *v, int tid) {
    const score_job *job = v->job;
    int C = job->c;
    for (int i = tid; i < v->samples * job->m; i += job->threads) {
        double *z = (double *)v->own + i * job->row,
               scale = job->inverse_temperature ? job->inverse_temperature[i % job->m] : 1.0;
        double top = z[0] * scale, sum = 0.0;
        bool good = true;
        for (int c = 0; c < C; c++) {
            good = good && fabs(z[c]) < (double)INFINITY;
            top = score_most(z[c] * scale, top);
        }
        for (int c = 0; c < C; c++) {
            z[c] = exp(z[c] * scale - top);
            sum += z[c];
        }
        double over = 1.0 / sum;
        for (int c = 0; c < C; c++)
            z[c] *= over;
        v->offset[i] = top + log(sum);
        if (!good)
            report_row(job, sample_of(v, i / job->m) * job->m + i % job->m);
    }
}

/* log p of a logit; in the block's member m = i % M. */
SCORE_FN double logit_log(const score_view *v, int s, int m, int c) {
    const score_job *job = v->job;
    double z = input_value(job, sample_of(v, s) * job->stride_n + m * job->stride_m + c);
    return z * (job->inverse_temperature ? job->inverse_temperature[m] : 1.0) - v->offset[s * job->m + m];
}

#endif
