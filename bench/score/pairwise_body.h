/* pairwise_body.h - one vector width of pairwise.c. Needs LANES, NAME(x), TARGET, FMA(a, b, c) and SPLIT(mantissa,
 * exponent, x). */
#define vec NAME(vec)
#define ivec NAME(ivec)
typedef float vec __attribute__((vector_size(LANES * 4)));
typedef int32_t ivec __attribute__((vector_size(LANES * 4)));

#define CONSTANT(x) ((vec){0} + (x))

/* sum += x log2 x, x > 0: log2 of the mantissa by a polynomial around 1.5, degree 7, error 4e-7. */
#define ADD_X_LOG2_X(sum, x)                                                                                           \
    do {                                                                                                               \
        vec f_, e_, y_;                                                                                                \
        SPLIT(f_, e_, x);                                                                                              \
        f_ -= 1.5f;                                                                                                    \
        y_ = FMA(f_, CONSTANT(0.0144403525f), CONSTANT(-0.025110141f));                                                \
        y_ = FMA(y_, f_, CONSTANT(0.0376104643f));                                                                     \
        y_ = FMA(y_, f_, CONSTANT(-0.070594554f));                                                                     \
        y_ = FMA(y_, f_, CONSTANT(0.142508024f));                                                                      \
        y_ = FMA(y_, f_, CONSTANT(-0.320631878f));                                                                     \
        y_ = FMA(y_, f_, CONSTANT(0.96179654f));                                                                       \
        y_ = FMA(y_, f_, CONSTANT(0.584962759f)) + e_;                                                                 \
        (sum) = FMA(x, y_, sum);                                                                                       \
    } while (0)

/* Samples first .. first + LANES - 1 (those that are there; the others repeat the last) to t[c][m][lane]. */
TARGET static void NAME(transpose)(float *t, const float *p, const shape *s, size_t first) {
    for (size_t lane = 0; lane < LANES; lane++) {
        size_t i = first + lane < s->n ? first + lane : s->n - 1;
        const float *sample = p + i * s->m * s->c;
        for (size_t m = 0; m < s->m; m++) {
            for (size_t c = 0; c < s->c; c++)
                t[(c * s->m + m) * LANES + lane] = sample[m * s->c + c] + TINY;
        }
    }
}

/* One class of a tile, column[m] a vector: own += sum_m x log2 x of x = p_m, pairs += the same of p_m + p_n over m < n.
 * */
TARGET static void NAME(add_class)(double *own, double *pairs, const vec *column, size_t members) {
    vec own_sum = {0};
    for (size_t m = 0; m < members; m++)
        ADD_X_LOG2_X(own_sum, column[m]);
    for (size_t m = 0; m < members; m += ROWS) {
        size_t rows = members - m < ROWS ? members - m : ROWS;
        vec sum0 = {0}, sum1 = {0}, sum2 = {0}, sum3 = {0};
        for (size_t a = m; a < m + rows; a++) {
            for (size_t b = a + 1; b < m + rows; b++) {
                vec x = column[a] + column[b];
                ADD_X_LOG2_X(sum0, x);
            }
        }
        if (rows == ROWS) {
            vec row0 = column[m], row1 = column[m + 1], row2 = column[m + 2], row3 = column[m + 3];
            for (size_t n = m + ROWS; n < members; n++) {
                vec other = column[n], x0 = row0 + other, x1 = row1 + other, x2 = row2 + other, x3 = row3 + other;
                ADD_X_LOG2_X(sum0, x0);
                ADD_X_LOG2_X(sum1, x1);
                ADD_X_LOG2_X(sum2, x2);
                ADD_X_LOG2_X(sum3, x3);
            }
        }
        vec sum = (sum0 + sum1) + (sum2 + sum3);
        for (size_t lane = 0; lane < LANES; lane++)
            pairs[lane] += (double)sum[lane];
    }
    for (size_t lane = 0; lane < LANES; lane++)
        own[lane] += (double)own_sum[lane];
}

/* This thread's share of the tiles. Of s = p_m + p_n, h(s/2) = s/2 (ln s - ln 2), and every s sums to 2 over the
 * classes. */
TARGET static void NAME(part)(void *context, unsigned thread, unsigned threads) {
    const pairwise_job *job = context;
    const shape *s = job->s;
    float *t = job->tiles + thread * s->m * s->c * LANES;
    size_t tiles = (s->n + LANES - 1) / LANES;
    double m = (double)s->m, ln2 = 0.69314718055994531;
    for (size_t tile = tiles * thread / threads; tile < tiles * (thread + 1) / threads; tile++) {
        double own[LANES] = {0}, pairs[LANES] = {0};
        NAME(transpose)(t, job->p, s, tile * LANES);
        for (size_t c = 0; c < s->c; c++)
            NAME(add_class)(own, pairs, (const vec *)(const void *)(t + c * s->m * LANES), s->m);
        for (size_t lane = 0; lane < LANES && tile * LANES + lane < s->n; lane++) {
            double h_own = own[lane] * ln2, h_pairs = 0.5 * ln2 * (pairs[lane] - m * (m - 1));
            job->epjs[tile * LANES + lane] = h_own / m - (2 * h_pairs + h_own) / (m * m);
        }
    }
}

#undef vec
#undef ivec
#undef CONSTANT
#undef ADD_X_LOG2_X
