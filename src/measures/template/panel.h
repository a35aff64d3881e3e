/* panel.h - a panel: the classes of one sample, or of as many samples as a vector has lanes, in columns.
 *
 * A column is one vector for each member. Where there are many classes the lanes of a column are classes of one sample,
 * read as they lie in memory (`across`); where there are few, they are samples, and column c is class c. All sums over
 * classes are sums over columns, lane by lane; a panel across classes adds its lanes at the end. Everything else is the
 * same for both, so there is one form of the arithmetic for every shape.
 *
 * Two passes over the columns: moments, gates and the members' normalisers; then logarithms, gated sums and pairs. Of
 * a panel across classes only a block of columns is held at a time, so that the block stays in the cache whatever C.
 *
 * x and log are [M][block]; arrays over columns have J entries; gamma is [J][K]; z, omega and over are [K][M]. */

#define PANEL_PAIRS FEW_MEMBERS /* the most members whose pairs are taken one by one */
/* The most members of a panel whose lanes are samples, and the most where a sample has so few elements that the panel
 * fits the first-level cache. Above, tiles take up to 10 % less for everything. */
#define PANEL_FEW 10
#define PANEL_FEW_SMALL 20
#define PANEL_SMALL 320
#define PANEL_ACROSS 192  /* from this many classes on, lanes are classes */
#define PANEL_BYTES 65536 /* of a block's members */
#define PANEL_LEAST 8     /* the fewest columns of a block: rows are read in pieces of this length */
/* Members that are summed as reals before their sum is added to others: equal members are rounded alike, and so are
 * the terms of equal members that are added to the large one of a member far from them. */
#define PANEL_MEMBERS 16
#define PANEL_PART 16     /* columns whose terms are summed as reals, before they are added to sums in double */
/* The classes of a large sample are divided into shares, which threads take (panel_run.h): elements that make a share
 * worth while, and the most shares. */
#define PANEL_SHARE ((size_t)1 << 16)
#define PANEL_SHARES 16

/* Sums over the latest columns of one set of members, the ungated or a gated one. TU is in two parts, exponent log 2
 * and the rest. */
typedef struct P(parts) {
    P(acc) exponent;
    vr rest, eu, reverse, pairs;
    vr excess; /* gated: of the mean's sum over 1, which is rounding */
} P(parts);

typedef struct P(set) {            /* sums over classes */
    P(acc) tu, eu, reverse, pairs; /* reverse: without its floors */
    P(acc) excess;
    P(acc) floors, diagonal;
    P(parts) part; /* not yet in the sums above */
} P(set);

typedef struct P(fine) { /* a gate in panel_refine.h */
    P(acc) zbar, reverse, floors;
} P(fine);

/* Where a column's members are: member m is at + m step. */
typedef struct P(source) {
    const char *at;
    ptrdiff_t step;
} P(source);

typedef struct P(panel) {
    const vg_kernel_job *job;
    size_t M, C, K, J;
    size_t first, count;                 /* units */
    size_t block, from;                  /* columns held, and the first of them */
    size_t begin, end;                   /* the columns of this share, or all of them */
    size_t shares;                       /* into which the columns are divided */
    struct P(panel) * parts;             /* [shares] where there are several: their sums */
    bool across, logs, extremes, spread; /* spread: means and variances are kept */
    bool ungated;                        /* a measure of the members as they are is asked for */
    bool margins;                        /* something is asked for that the leading classes and their spread give */
    conventions by;
    bool alike;              /* every k has the same gates, and the results of one of them */
    bool pairs, many;        /* EPJS is asked for; its members are too many to take their pairs one by one */
    bool each_pair;          /* pairs are taken one by one; the ratios of two members cancel */
    size_t direct;           /* the first columns that are read where they lie in the input; the others are in x */
    P(source) of;            /* the current column */
    const char *prefetch_at; /* lanes are samples: the next panel, or NULL; prefetch_bytes of it per column */
    size_t prefetch_bytes;
    vr *x, *log;
    vr *dev;                               /* [M] of the current column: deviations from the mean, then p log(p/mu) */
    vr *rows;                              /* [M] sums of rows */
    P(acc) * mu;                           /* [J] */
    vr *mu_high, *mu_low, *variance, *low; /* [J] the mean as a real and the rest of it */
    vr *gamma;
    vd *fine_gamma, *fine_z;              /* panel_refine.h: [J][K] and [K][M], a vector of double for each half */
    P(fine) * fine_sums;                  /* [K] */
    vr *zsum, *omega, *over;              /* Z_m's deviation; Zbar/Z_m - 1 and Zbar/Z_m */
    vr *zblock;                           /* [K][M] across: zsum of the block */
    vr *lambda_z;                         /* [K][M] log(Z_m / Zbar) */
    P(acc) * floor_log;                   /* [M] of the current column: panel_terms.h */
    vr *floor_least;                      /* [M] */
    size_t floors_of;                     /* the column whose they are */
    bool floored;                         /* some set has floors or a diagonal */
    double *ztotal;                       /* [K][M] across: zsum of the blocks before */
    double *kept_tu;                      /* [1 + K] TU of a lane's sets, handed to a panel that corrects it */
    const double *given_tu;               /* a correcting panel: TU to use; else NULL */
    double *top, *offset;                 /* [M] logits across: a row's largest logit, and logsumexp minus it over T */
    P(acc) * zbar, *inverse_zbar, *psi_z; /* [K] */
    vr *over_low, *inverse_real;          /* [K] the smallest over; 1/Zbar */
    P(set) * sets;                        /* [1 + K] */
    vd *results;                          /* [SET_RESULTS][1 + k of the job] */
    vr *shift;                            /* [K] U of the current column, where `many` */
    size_t bytes;                         /* of the workspace, from its start */
    tile integral[PANEL_HALVES];          /* of one class, where `many`; across: the first serves both halves */
    PANEL_REAL *row;                      /* [lanes][M][C] samples as reals, where they are not so in memory */
    P(acc) variance_sum, total;
    vr variance_part; /* of the latest columns */
#if VG_PANEL_DOUBLE
    vr total_lse, top_log; /* logits: sum over members of logsumexp, and largest sum over members of log p */
#endif
    vri sign;                                  /* OR of all members */
    vd mu1[PANEL_HALVES], mu2[PANEL_HALVES];   /* the two largest means, and their classes */
    vd var1[PANEL_HALVES], var2[PANEL_HALVES]; /* their variances, where lanes are samples */
    vl first1[PANEL_HALVES], second1[PANEL_HALVES];
} P(panel);

#ifndef VG_PANEL_ONCE
#define VG_PANEL_ONCE
/* Whether lanes are classes. It must depend on nothing but the shape, because the two layouts may round differently. */
INLINE bool panel_across(size_t c) { return c >= PANEL_ACROSS; }

/* Shares of a sample in a panel across classes with this many columns. It must depend on nothing but the shape, because
 * sums are rounded at the end of each. A share has a multiple of PANEL_PART columns. */
INLINE size_t panel_shares(size_t m, size_t c, size_t columns) {
    size_t most = (columns + PANEL_PART - 1) / PANEL_PART, elements = m > SIZE_MAX / c ? SIZE_MAX : m * c;
    size_t shares = elements / PANEL_SHARE < PANEL_SHARES ? elements / PANEL_SHARE : PANEL_SHARES;
    shares = shares < most ? shares : most;
    return shares > 1 ? shares : 1;
}
/* The first column of a share. */
INLINE size_t panel_share_start(size_t columns, size_t shares, size_t share) {
    size_t groups = (columns + PANEL_PART - 1) / PANEL_PART, start = groups * share / shares * PANEL_PART;
    return start < columns ? start : columns;
}

/* Reserves a x b objects of `size` bytes and sets the pointer at `out` to them. */
INLINE bool carve_bytes(char *base, size_t *used, void *out, size_t a, size_t b, size_t size) {
    size_t count, bytes, end;
    if (!vg_base__mul(&count, a, b) || !vg_base__mul(&bytes, count, size) || !vg_base__add(&bytes, bytes, 63) ||
        !vg_base__add(&end, *used, bytes / 64 * 64))
        return false;
    void *place = base ? base + *used : NULL;
    memcpy(out, &place, sizeof place);
    *used = end;
    return true;
}
#endif

static void P(measure_panel)(P(panel) * t, const vg_kernel_job *job, bool across) {
    memset(t, 0, sizeof *t);
    t->job = job;
    t->M = job->m;
    t->C = job->c;
    t->by = conventions_of(job);
    /* The spread of one member is 0, so that k has no effect where eps is added to k sigma. */
    t->alike = t->M == 1 && job->options.gate_eps_form == VG_GATE_EPS_OUTSIDE;
    t->K = !job->need_gated ? 0 : t->alike ? 1 : job->k;
    t->across = across;
    t->J = across ? (t->C + PANEL_LANES - 1) / PANEL_LANES : t->C;
    t->end = t->J;
    t->shares = across ? panel_shares(t->M, t->C, t->J) : 1;
    size_t fit = PANEL_BYTES / sizeof(vr) / t->M;
    if (fit < PANEL_LEAST)
        fit = PANEL_LEAST;
    t->block = !across || fit >= t->J ? t->J : fit;
    /* Of one member every epistemic term is 0 (finish_set). */
    t->pairs = t->M > 1 && (job->out.epjs || job->out.gepjs);
    t->many = t->pairs && t->M > PANEL_PAIRS;
    t->each_pair = t->pairs && !t->many && t->M > 2;
    t->logs = t->M > 1 && (job->need_logs || (t->pairs && !t->many));
    t->ungated = job->need_logs || job->out.epjs || job->out.gepjs || job->out.tu;
    t->margins = job->figures || wants_margin(&job->out);
    t->spread = t->margins || t->K || t->many || job->out.std || job->out.mean;
    t->extremes = t->M > 1 && (job->need_reverse || job->need_gated_reverse);
}

static bool P(carve_integral)(P(panel) * t, void *base, size_t *used);

/* Lays the arrays out from `base`, or only counts the bytes when it is NULL; without the shares. */
static bool P(carve_arrays)(P(panel) * t, const vg_kernel_job *job, bool across, void *base, size_t *used) {
    P(measure_panel)(t, job, across);
    size_t M = t->M, J = t->J, K = t->K, lanes = across ? 0 : PANEL_LANES, logits = job->options.logits ? 1 : 0, row;
    if (!vg_base__mul(&row, M, t->C))
        return false;
    const struct {
        void *at;
        size_t a, b, size;
    } parts[] = {{&t->x, M, t->block, sizeof(vr)},
                 {&t->log, M * logits, t->block, sizeof(vr)},
                 {&t->dev, M, 1, sizeof(vr)},
                 {&t->rows, M, 1, sizeof(vr)},
                 {&t->mu, J, 1, sizeof *t->mu},
                 {&t->mu_high, J, 1, sizeof(vr)},
                 {&t->mu_low, J, 1, sizeof(vr)},
                 {&t->variance, J, 1, sizeof(vr)},
                 {&t->low, J, 1, sizeof(vr)},
                 {&t->gamma, J, K, sizeof(vr)},
                 {&t->fine_gamma, VG_PANEL_DOUBLE ? 0 : J, K, 2 * sizeof(vd)},
                 {&t->fine_z, VG_PANEL_DOUBLE ? 0 : K, M, 2 * sizeof(vd)},
                 {&t->fine_sums, VG_PANEL_DOUBLE ? 0 : K, 1, sizeof *t->fine_sums},
                 {&t->zsum, K, M, sizeof(vr)},
                 {&t->zblock, across ? K : 0, M, sizeof(vr)},
                 {&t->omega, K, M, sizeof(vr)},
                 {&t->over, K, M, sizeof(vr)},
                 {&t->lambda_z, K, M, sizeof(vr)},
                 {&t->floor_log, M, 1, sizeof *t->floor_log},
                 {&t->floor_least, M, 1, sizeof(vr)},
                 {&t->ztotal, K, M, sizeof(double)},
                 {&t->kept_tu, 1 + K, 1, sizeof(double)},
                 {&t->top, M, 1, sizeof(double)},
                 {&t->offset, M, 1, sizeof(double)},
                 {&t->zbar, K, 1, sizeof *t->zbar},
                 {&t->inverse_zbar, K, 1, sizeof *t->zbar},
                 {&t->psi_z, K, 1, sizeof *t->psi_z},
                 {&t->over_low, K, 1, sizeof(vr)},
                 {&t->inverse_real, K, 1, sizeof(vr)},
                 {&t->shift, K, 1, sizeof(vr)},
                 {&t->sets, 1 + K, 1, sizeof *t->sets},
                 {&t->results, 1 + job->k, SET_RESULTS, sizeof(vd)},
                 {&t->row, lanes, row, sizeof(PANEL_REAL)}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!carve_bytes(base, used, parts[i].at, parts[i].a, parts[i].b, parts[i].size))
            return false;
    /* The workspace is measured before the results that are asked for are known. */
    return M <= PANEL_PAIRS || P(carve_integral)(t, base, used);
}

/* The sums of every share. */
static bool P(carve_shares)(P(panel) * t, void *base, size_t *used) {
    P(panel) counted;
    if (t->shares == 1)
        return true;
    if (!carve_bytes(base, used, &t->parts, t->shares, 1, sizeof *t->parts))
        return false;
    for (size_t s = 0; s < t->shares; s++) {
        P(panel) *own = base ? &t->parts[s] : &counted;
        if (!carve_bytes(base, used, &own->rows, t->M, 1, sizeof(vr)) ||
            !carve_bytes(base, used, &own->ztotal, t->K, t->M, sizeof(double)) ||
            !carve_bytes(base, used, &own->zbar, t->K, 1, sizeof *t->zbar) ||
            !carve_bytes(base, used, &own->sets, 1 + t->K, 1, sizeof *t->sets))
            return false;
        if (base) /* later: clear_sets */
            memset(own->sets, 0, (1 + t->K) * sizeof *t->sets);
    }
    return true;
}

static bool P(carve_panel)(P(panel) * t, const vg_kernel_job *job, bool across, void *base, size_t *used) {
    if (!P(carve_arrays)(t, job, across, base, used) || !P(carve_shares)(t, base, used))
        return false;
    if (base) /* later: clear_sets */
        memset(t->sets, 0, (1 + t->K) * sizeof *t->sets);
    return true;
}

/* The panel at the start of a workspace; its arrays follow. */
#define PANEL_START ((sizeof(P(panel)) + 63) / 64 * 64)
static P(panel) * P(panel_in)(void *workspace, const vg_kernel_job *job, bool across) {
    P(panel) *t = workspace;
    size_t used = PANEL_START;
    if (!job->laid_out) {
        P(carve_panel)(t, job, across, workspace, &used);
        t->bytes = used;
    }
    t->job = job;
    return t;
}
