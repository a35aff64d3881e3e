/* calibration_null.c - a test of calibration by the ECE of a finite sample, a debiased ECE, and its interval.
 *
 * With S_b the sum of confidence - correct over the rows of bin b, ECE = sum_b |S_b| / N is above 0 even for a
 * perfectly calibrated model, whose S_b scatter around 0. Given the confidences, labels redrawn from them give, bin by
 * bin and independently,
 *
 *     S_b = sum of p - X_b,   var S_b = sum p (1 - p)
 *
 * X_b is a sum of Bernoulli variables of unequal p. Bins of small variance take it as binomial with the bin's mean
 * confidence, rescaled to that variance; others as normal. The expected ECE is sum_b E|S_b| / N; the p-value is the
 * share of 9,999 draws of all S_b (fixed seed) whose ECE is at least the one observed, counting the observed one. More
 * than MANY_BINS bins that hold rows have a sum of |S_b| that is near enough to normal: no draws. The cost depends on
 * the bins, not on N.
 *
 * Debiased ECE: the mean of |S_b| exceeds |mean of S_b| by that of a folded normal, 2 s (phi(m) - m Phi(-m)) at m
 * standard errors s. This is subtracted at m = max(0, |S_b| / s - 1), one standard error below what was seen, since
 * taking m as seen would remove only two fifths of the excess of a calibrated bin. Bias of binned estimates: Broecker
 * (2012), Kumar et al. (2019), Roelofs et al. (2022).
 *
 * Interval of the ECE in the population, same bins: from the debiased value less z s to the ECE plus z s, s the
 * standard error of ECE at fixed signs of S_b. |S_b| is never too small on average, so the upper end needs no
 * correction.
 *
 * Multilabel: a sample's rows are not independent. Variances are sums over samples of squared sums over the sample's
 * rows, of gaps less their bin's mean, and draws have the covariance between bins too. */
#include <stdlib.h>

#include "base/distributions.h"
#include "base/random.h"
#include "evaluate/evaluate_internal.h"

enum {
    DRAWS = 9999,
    MANY_BINS = 128, /* bins that hold rows */
    SMALL_VARIANCE = 20,
    TABLE = 160, /* counts of a binomial of small variance that have a noticeable probability */
};

/* A bin under perfect calibration, as draws are made of it. */
typedef struct null_bin {
    double variance;   /* of S_b under perfect calibration */
    double mean;       /* of the rarer outcome's count, where there is a table */
    double scale;      /* of deviations */
    double *cumulated; /* TABLE, or NULL: normal */
} null_bin;

/* E|S_b| of a binomial of `n` trials; fills the table of cumulated probabilities. The rarer outcome is counted, so
 * that its probability of 0 is at least e^-56. */
static double binomial_table(null_bin *bin, double n, double rare) {
    double p = pow(1 - rare, n), sum = 0, deviation = 0;
    bin->mean = n * rare;
    for (size_t k = 0; k < TABLE; k++) {
        sum += p;
        deviation += p * fabs((double)k - bin->mean);
        bin->cumulated[k] = sum;
        p *= (n - (double)k) / (double)(k + 1) * rare / (1 - rare);
    }
    return deviation * bin->scale;
}

/* Fills one bin of `count` rows and returns E|S_b|; `binomial`: rows are independent. */
static double set_up(null_bin *bin, double *room, double count, double confidence, double variance, bool binomial) {
    double p = confidence / count, rare = p < 0.5 ? p : 1 - p;
    *bin = (null_bin){.variance = variance};
    double plain = count * rare * (1 - rare);
    if (!binomial || variance >= SMALL_VARIANCE || !(plain > 0))
        return sqrt(2 * variance / 3.14159265358979323846);
    bin->cumulated = room;
    bin->scale = sqrt(variance / plain);
    return binomial_table(bin, count, rare);
}

static double draw(const null_bin *bin, vg_random *random) {
    if (!bin->cumulated)
        return sqrt(bin->variance) * vg_random__normal(random);
    double u = vg_random__unit(random);
    size_t k = 0;
    while (k + 1 < TABLE && bin->cumulated[k] <= u)
        k++;
    return ((double)k - bin->mean) * bin->scale;
}

/* --- standard errors --- */

/* Sums of each bin and of all bins. */
typedef struct gap_sums {
    size_t bins;
    double *gap;        /* S_b */
    double *variance;   /* of S_b */
    double *samples;    /* multilabel: how many have a row in b */
    double *covariance; /* bins x bins, multilabel with at most MANY_BINS bins; or NULL */
    double total;       /* variance of sum |S_b| at fixed signs */
} gap_sums;

/* Rows are samples: everything follows from the bins' sums. The variance is that within a bin, or, where it is
 * larger (few rows, all right), the one that the confidences imply. */
static void independent(gap_sums *g, const vg_tally *t) {
    double squares = 0, within = 0, sum = 0;
    for (size_t b = 0; b < g->bins; b++) {
        double n = (double)t->bin_count[b], correct = (double)t->bin_correct[b];
        double square = t->bin_square[b] - 2 * t->bin_hit[b] + correct,
               implied = t->bin_confidence[b] - t->bin_square[b];
        double own = n > 0 ? square - g->gap[b] * g->gap[b] / n : 0;
        g->variance[b] = fmax(fmax(own, implied), 0);
        within += g->variance[b];
        squares += square;
        sum += fabs(g->gap[b]);
    }
    g->total = fmax(within, squares - sum * sum / (double)t->rows);
}

/* Adds the products of one sample's sums over the `count` bins it has rows in, each listed once. Sets own to zeros
 * again. */
static void add_products(gap_sums *g, double *own, const size_t *touched, size_t count) {
    for (size_t a = 0; a < count; a++) {
        double value = own[touched[a]];
        g->samples[touched[a]]++;
        g->variance[touched[a]] += value * value;
        for (size_t b = 0; g->covariance && b < a; b++) {
            g->covariance[touched[a] * g->bins + touched[b]] += value * own[touched[b]];
            g->covariance[touched[b] * g->bins + touched[a]] += value * own[touched[b]];
        }
    }
    for (size_t a = 0; a < count; a++)
        own[touched[a]] = 0;
}

/* Finishes the variances from the sums of squares in `variance`; sum, square: of the samples' gaps along the signs
 * of the bins. */
static void finish_samples(gap_sums *g, const vg_tally *t, double sum, double square) {
    double within = 0;
    for (size_t b = 0; b < g->bins; b++) {
        double correction = g->samples[b] > 1 ? g->samples[b] / (g->samples[b] - 1)
                                              : 1; /* the bin's mean was estimated from the same samples */
        g->variance[b] = fmax(correction * g->variance[b], t->bin_confidence[b] - t->bin_square[b]);
        within += g->variance[b];
        if (g->covariance)
            g->covariance[b * g->bins + b] = g->variance[b];
    }
    g->total = t->n < 2 ? within : fmax(square - sum * sum / (double)t->n, 0);
}

/* Rows of a sample are not independent. own, last: bins, zeros (last: 1 + the last sample with a row in the bin);
 * touched: classes. */
static void by_sample(gap_sums *g, const vg_tally *t, double *own, size_t *touched, size_t *last) {
    double square = 0, sum = 0;
    for (size_t i = 0; i < t->n; i++) {
        size_t count = 0;
        double along = 0; /* with the signs of the bins */
        for (size_t row = i * t->classes; row < (i + 1) * t->classes; row++) {
            size_t b = vg_base__bin(t->edges, t->bins, t->confidence[row]);
            double gap = t->confidence[row] - !t->error[row];
            along += g->gap[b] < 0 ? -gap : gap;
            own[b] += gap - g->gap[b] / (double)t->bin_count[b];
            if (last[b] != i + 1)
                touched[count++] = b;
            last[b] = i + 1;
        }
        sum += along;
        square += along * along;
        add_products(g, own, touched, count);
    }
    finish_samples(g, t, sum, square);
}

/* The same from sums over samples: vg_evaluation.bin_products. A sample's sum less the means of its bins' rows is
 * r - m mean, whose products follow from those of r and m. */
static void by_products(gap_sums *g, const vg_tally *t, const double *products) {
    size_t bins = g->bins;
    const double *rr = products, *rm = rr + bins * bins, *mm = rm + bins * bins;
    double square = 0, sum = 0;
    memcpy(g->samples, mm + bins * bins, bins * sizeof *g->samples);
    for (size_t a = 0; a < bins; a++) {
        double mean = t->bin_count[a] ? g->gap[a] / (double)t->bin_count[a] : 0;
        sum += fabs(g->gap[a]);
        for (size_t b = 0; b < bins; b++) {
            size_t at = a * bins + b;
            double other = t->bin_count[b] ? g->gap[b] / (double)t->bin_count[b] : 0;
            square += (g->gap[a] < 0) == (g->gap[b] < 0) ? rr[at] : -rr[at];
            g->covariance[at] = rr[at] - other * rm[at] - mean * rm[b * bins + a] + mean * other * mm[at];
        }
        g->variance[a] = g->covariance[a * bins + a];
    }
    finish_samples(g, t, sum, square);
}

/* The lower triangle L of L L' = matrix, in place; columns without variance left are 0. */
static void factor(double *matrix, size_t n) {
    for (size_t j = 0; j < n; j++) {
        double pivot = matrix[j * n + j];
        for (size_t k = 0; k < j; k++)
            pivot -= matrix[j * n + k] * matrix[j * n + k];
        double root = pivot > 1e-12 * matrix[j * n + j] ? sqrt(pivot) : 0;
        for (size_t i = j; i < n; i++) {
            double sum = matrix[i * n + j];
            for (size_t k = 0; k < j; k++)
                sum -= matrix[i * n + k] * matrix[j * n + k];
            matrix[i * n + j] = i == j ? root : root > 0 ? sum / root : 0;
        }
    }
}

/* --- the test --- */

static const uint64_t null_seed = 0x5eedca11;

/* The number of draws that reach `limit`, of bins that are independent. */
static size_t count_draws(const null_bin *bins, size_t count, double limit) {
    size_t reached = 0;
    vg_random random = vg_random__start(null_seed, 0);
    for (size_t r = 0; r < DRAWS; r++) {
        double sum = 0;
        for (size_t b = 0; b < count; b++)
            sum += fabs(draw(&bins[b], &random));
        reached += sum >= limit;
    }
    return reached;
}

/* The same with covariances; lower: the factor, count x count; z: room for count. */
static size_t count_joint_draws(const double *lower, double *z, size_t count, double limit) {
    size_t reached = 0;
    vg_random random = vg_random__start(null_seed, 1);
    for (size_t r = 0; r < DRAWS; r++) {
        double sum = 0;
        for (size_t i = 0; i < count; i++) {
            double value = 0;
            z[i] = vg_random__normal(&random);
            for (size_t j = 0; j <= i; j++)
                value += lower[i * count + j] * z[j];
            sum += fabs(value);
        }
        reached += sum >= limit;
    }
    return reached;
}

typedef struct null_room {
    null_bin *bins;
    double *table, *own, *variance, *gap, *samples, *covariance;
    size_t *touched, *last;
} null_room;

static vg_status room_new(null_room *room, const vg_tally *t) {
    size_t bins = t->bins, tables = bins < MANY_BINS ? bins : (size_t)MANY_BINS;
    VG_TRY(vg_base__alloc(&room->bins, bins, sizeof *room->bins, "bins"));
    VG_TRY(vg_base__alloc(&room->table, tables * TABLE, sizeof(double), "bins"));
    VG_TRY(vg_base__zalloc(&room->own, bins, sizeof(double), "bins"));
    VG_TRY(vg_base__zalloc(&room->variance, bins, sizeof(double), "bins"));
    VG_TRY(vg_base__alloc(&room->gap, bins, sizeof(double), "bins"));
    if (!t->multilabel)
        return VG_OK;
    VG_TRY(vg_base__alloc(&room->touched, t->classes, sizeof(size_t), "bins"));
    VG_TRY(vg_base__zalloc(&room->samples, bins, sizeof(double), "bins"));
    VG_TRY(vg_base__zalloc(&room->last, bins, sizeof(size_t), "bins"));
    return bins <= MANY_BINS ? vg_base__zalloc(&room->covariance, bins * bins, sizeof(double), "bins") : VG_OK;
}

static void room_free(null_room *room) {
    void *parts[] = {room->bins,       room->table,   room->own,  room->variance, room->gap,
                     room->covariance, room->touched, room->last, room->samples};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        vg_base__release(parts[i]);
}

/* Expected sum of |S_b| under perfect calibration, and its p-value. */
static void test_calibration(vg_calibration_check *out, null_room *room, const gap_sums *g, const vg_tally *t,
                             double sum) {
    size_t count = 0;
    double expected = 0, variance = 0, table[TABLE]; /* table: of bins after those that are drawn */
    for (size_t b = 0; b < t->bins; b++) {
        if (!t->bin_count[b])
            continue;
        double *place = count < MANY_BINS ? room->table + count * TABLE : table;
        double null = t->multilabel ? g->variance[b] : fmax(t->bin_confidence[b] - t->bin_square[b], 0);
        double mean =
            set_up(&room->bins[count++], place, (double)t->bin_count[b], t->bin_confidence[b], null, !t->multilabel);
        expected += mean;
        variance += null - mean * mean;
    }
    double rounding = sum * (1 - 1e-12), rows = (double)t->rows;
    out->expected = expected / rows;
    if (t->multilabel && g->covariance) {
        factor(room->covariance, t->bins);
        out->p_value =
            (1 + (double)count_joint_draws(room->covariance, room->own, t->bins, rounding)) / (1 + (double)DRAWS);
    } else if (t->multilabel) {
        out->p_value = NAN; /* the covariance of so many bins is not kept */
    } else if (count <= MANY_BINS) {
        out->p_value = (1 + (double)count_draws(room->bins, count, rounding)) / (1 + (double)DRAWS);
    } else {
        out->p_value = 0.5 * erfc((sum - expected) / sqrt(2 * variance)); /* confidences differ: variance > 0 */
    }
}

/* The mean of |x| minus |mean|, for a normal x of standard deviation 1 and that mean. */
static double folded_excess(double mean) {
    return 2 * (exp(-mean * mean / 2) / sqrt(2 * 3.14159265358979323846) - mean * 0.5 * erfc(mean / sqrt(2)));
}

static double debiased(const gap_sums *g) {
    double sum = 0;
    for (size_t b = 0; b < g->bins; b++) {
        double s = sqrt(g->variance[b]), gap = fabs(g->gap[b]);
        sum += s > 0 ? gap - s * folded_excess(fmax(gap / s - 1, 0)) : gap;
    }
    return sum > 0 ? sum : 0;
}

/* Fills `out`, and the interval of ece where confidence > 0. Of the tally only the bins' sums are read; in
 * multilabel mode also the rows, or `products` instead. */
static vg_status check(vg_calibration_check *out, vg_estimate *ece, const vg_tally *t, const double *products,
                       double confidence) {
    null_room room = {0};
    vg_status status = room_new(&room, t);
    if (status == VG_OK) {
        gap_sums g = {t->bins, room.gap, room.variance, room.samples, room.covariance, 0};
        double sum = 0, rows = (double)t->rows, worst = -1;
        for (size_t b = 0; b < t->bins; b++) {
            double n = (double)t->bin_count[b];
            g.gap[b] = t->bin_confidence[b] - (double)t->bin_correct[b];
            sum += fabs(g.gap[b]);
            if (n > 0 && fabs(g.gap[b]) / n > worst) {
                worst = fabs(g.gap[b]) / n;
                out->mce_rows = t->bin_count[b];
            }
        }
        if (products)
            by_products(&g, t, products);
        else if (t->multilabel)
            by_sample(&g, t, room.own, room.touched, room.last);
        else
            independent(&g, t);
        out->debiased = debiased(&g) / rows;
        if (confidence > 0) {
            double z = vg_base__normal_quantile(1 - (1 - confidence) / 2), half = z * sqrt(g.total) / rows;
            ece->low = fmax(out->debiased - half, 0);
            ece->high = fmin(ece->value + half, 1);
        }
        test_calibration(out, &room, &g, t, sum);
    }
    room_free(&room);
    return status;
}

vg_status vg_evaluate__calibration(vg_evaluation *e, const vg_tally *t, double confidence) {
    return check(&e->calibration, &e->ece, t, NULL, confidence);
}

vg_status vg_evaluate__calibration_of_bins(vg_evaluation *e, const double *products, double confidence) {
    const vg_reliability_bin *bins = e->reliability;
    double *sums;
    size_t *counts, count = e->bins;
    VG_TRY(vg_base__zalloc(&sums, count, 3 * sizeof *sums, "bins"));
    vg_status status = vg_base__zalloc(&counts, count, 2 * sizeof *counts, "bins");
    if (status == VG_OK) {
        vg_tally t = {.bins = count, .bin_count = counts, .bin_correct = counts + count, .n = e->n};
        t.multilabel = products != NULL;
        t.classes = e->classes;
        t.bin_confidence = sums;
        t.bin_square = sums + count;
        t.bin_hit = sums + 2 * count;
        for (size_t b = 0; b < count; b++) {
            double n = (double)bins[b].count;
            if (bins[b].count == 0)
                continue;
            counts[b] = bins[b].count;
            counts[count + b] = (size_t)nearbyint(n * bins[b].accuracy);
            t.bin_confidence[b] = n * bins[b].confidence;
            t.bin_square[b] = n * bins[b].square;
            t.bin_hit[b] = n * bins[b].hit;
            t.rows += bins[b].count;
        }
        if (t.rows == 0)
            status = vg_base__fail(VG_ERR_DATA, "calibration: no samples in any bin");
        else if (products && count > MANY_BINS)
            status = vg_base__fail(VG_ERR_ARGUMENT, "calibration: products of %zu bins, at most %d", count, MANY_BINS);
        else
            status = check(&e->calibration, &e->ece, &t, products, confidence);
    }
    vg_base__release(sums);
    vg_base__release(counts);
    return status;
}
