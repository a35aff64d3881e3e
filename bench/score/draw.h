/* draw.h - seeded predictions to measure on. */
#ifndef BENCH_DRAW_H
#define BENCH_DRAW_H

#include "stopwatch.h"

/* DIRICHLET: every row uniform on the simplex, Dirichlet(1). TRAINED: as classifiers give them, most samples certain,
 * members that agree: softmax of a logit vector of the sample plus noise of the member. */
typedef enum drawing { DRAW_DIRICHLET = 0, DRAW_TRAINED = 1 } drawing;

/* Fills p[s.n][s.m][s.c] with samples first .. first + s.n - 1 of the sequence that `kind` names. */
int draw_predictions(float *p, const shape *s, size_t first, drawing kind);

#endif
