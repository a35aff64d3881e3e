/* test_evaluate_set_parts.c - the parts of prediction sets one by one: figures from counts written down by hand,
 * quantiles and p-values, thresholds of multilabel sets and tuning against plain searches, names of groups, and the
 * bounds of every option. */
#include "base/distributions.h"
#include "evaluate/prediction_sets.h"
#include "evaluate/select_internal.h"
#include "sets_util.h"

static void near(double found, double expected) {
    if (!(fabs(found - expected) <= 1e-12 * (1 + fabs(expected))) && !(isnan(found) && isnan(expected)))
        fail_msg("%.17g, expected %.17g", found, expected);
}

static void is(vg_estimate found, double value, double low, double high) {
    near(found.value, value);
    near(found.low, low);
    near(found.high, high);
}

static double cp_low(double part, double n, double confidence) {
    return part > 0 ? vg_base__beta_quantile((1 - confidence) / 2, part, n - part + 1) : 0;
}
static double cp_high(double part, double n, double confidence) {
    return part < n ? vg_base__beta_quantile(1 - (1 - confidence) / 2, part + 1, n - part) : 1;
}
static void is_share(vg_estimate found, double part, double n, double confidence) {
    is(found, part / n, cp_low(part, n, confidence), cp_high(part, n, confidence));
}

/* Twelve classes; sizes of sets 0 1 1 1 2 3 4 10 11 12, the label of each, and whether it is held. */
static void figures_by_hand(void **state) {
    (void)state;
    static const size_t size[] = {0, 1, 1, 1, 2, 3, 4, 10, 11, 12};
    static const int64_t label[] = {0, 0, 1, 1, 1, 2, 2, 2, 2, 5};
    static const bool held[] = {0, 1, 1, 0, 1, 1, 0, 1, 1, 1};
    const double c = 0.9, z = 1.6448536269514722;
    vg_set_tally t;
    vg_set_figures f;
    ok(vg_set_tally__new(&t, 12));
    for (size_t i = 0; i < 10; i++)
        vg_set_tally__add(&t, size[i], label[i], held[i]);
    vg_set_tally__figures(&f, &t, false, c);
    assert_true(f.samples == 10 && f.labelled == 10);
    is_share(f.coverage, 7, 10, c);
    is_share(f.singletons, 3, 10, c);
    is_share(f.empty, 1, 10, c);
    is_share(f.singleton_accuracy, 2, 3, c);
    double squares = 0;
    for (size_t i = 0; i < 10; i++)
        squares += ((double)size[i] - 4.5) * ((double)size[i] - 4.5);
    is(f.mean_size, 4.5, 4.5 - z * sqrt(squares / 9 / 10), 4.5 + z * sqrt(squares / 9 / 10));
    is(f.median_size, 2.5, 1, 11); /* places 5 -+ 2.6: 2 and 8 of 0 .. 9 */
    assert_int_equal(f.worst_class, 0);
    is_share(f.worst_class_coverage, 1, 2, 1 - (1 - c) / 4); /* four classes have labels */
    static const size_t low[] = {0, 1, 2, 4, 11}, high[] = {0, 1, 3, 10, 12}, count[] = {1, 3, 2, 2, 2},
                        good[] = {0, 2, 2, 1, 2};
    assert_int_equal(f.stratum_count, 5);
    for (size_t i = 0; i < 5; i++) {
        const vg_set_stratum *s = &f.strata[i];
        assert_true(s->low == low[i] && s->high == high[i] && s->samples == count[i] && s->covered == good[i]);
        is_share(s->coverage, (double)good[i], (double)count[i], c);
    }
    assert_true(isnan(f.risk.value) && isnan(f.expected_low) && isnan(f.expected_high));
    vg_set_tally__free(&t);
}

static void figures_of_few(void **state) {
    (void)state;
    vg_set_tally t;
    vg_set_figures f;
    ok(vg_set_tally__new(&t, 200));
    vg_set_tally__add(&t, 150, 199, false);
    vg_set_tally__figures(&f, &t, false, 0.5);
    assert_true(f.stratum_count == 1 && f.strata[0].low == 101 && f.strata[0].high == 200);
    assert_true(f.mean_size.value == 150 && isnan(f.mean_size.low) && isnan(f.mean_size.high));
    is(f.median_size, 150, 150, 150);
    assert_true(f.worst_class == 199 && f.worst_class_coverage.value == 0 && f.worst_class_coverage.low == 0);
    assert_true(isnan(f.singleton_accuracy.value));
    vg_set_tally__add(&t, 100, -1, false); /* no label: counts for sizes alone */
    vg_set_tally__add(&t, 101, -1, true);
    vg_set_tally__figures(&f, &t, false, 0.5);
    assert_true(f.samples == 3 && f.labelled == 1 && f.mean_size.value == 117);
    assert_true(f.stratum_count == 2 && f.strata[0].samples == 1 && f.strata[1].samples == 2);
    vg_set_tally__free(&t);
    ok(vg_set_tally__new(&t, 3));
    vg_set_tally__add(&t, 1, -1, false);
    vg_set_tally__add(&t, 2, -1, false);
    vg_set_tally__figures(&f, &t, false, 0.5);
    assert_true(isnan(f.coverage.value) && f.worst_class == SIZE_MAX && f.stratum_count == 0 && f.labelled == 0);
    assert_true(f.median_size.value == 1.5 && f.mean_size.value == 1.5);
    vg_set_tally__free(&t);
}

static void risk_of_labels(void **state) {
    (void)state;
    vg_set_tally t;
    vg_set_figures f;
    const double z = 0.67448975019608171; /* of 0.75 */
    ok(vg_set_tally__new(&t, 4));
    t.samples = t.labelled = 4;
    t.size[2] = 4;
    t.loss = 0 + .5 + .5 + 1;
    t.squares = 0 + .25 + .25 + 1;
    double error = z * sqrt((1.5 - 4 * .25) / 3 / 4);
    vg_set_tally__figures(&f, &t, true, 0.5);
    is(f.risk, .5, .5 - error, .5 + error);
    is(f.coverage, .5, .5 - error, .5 + error);
    assert_true(f.stratum_count == 0 && f.worst_class == SIZE_MAX);
    t.loss = t.squares = 4; /* all missed: no variance, the ends stay in 0 .. 1 */
    vg_set_tally__figures(&f, &t, true, 0.5);
    is(f.risk, 1, 1, 1);
    t.loss = .1;
    t.squares = .01;
    vg_set_tally__figures(&f, &t, true, 0.999);
    assert_true(f.risk.low == 0 && f.risk.high > .025 && f.coverage.high == 1);
    t.samples = t.labelled = 1;
    t.size[2] = 1;
    vg_set_tally__figures(&f, &t, true, 0.5);
    assert_true(f.risk.value == .1 && isnan(f.mean_size.low));
    vg_set_tally__free(&t);
}

static void quantiles(void **state) {
    (void)state;
    const double s[] = {1, 2, 2, 3, 5, 8, 9, 10, 11};
    assert_int_equal(vg_set__quantile_place(9, 0.1), 9); /* 10 x 0.9 without rounding up */
    assert_int_equal(vg_set__quantile_place(9, 0.3), 7);
    assert_int_equal(vg_set__quantile_place(9, 0.25), 8);
    assert_int_equal(vg_set__quantile_place(9, 0.05), 10);
    assert_int_equal(vg_set__quantile_place(0, 0.5), 1);
    assert_true(vg_set__quantile(s, 9, 0.1) == 11 && vg_set__quantile(s, 9, 0.3) == 9);
    assert_true(isinf(vg_set__quantile(s, 9, 0.05)) && vg_set__quantile(s, 9, 0.95) == 1);
    assert_true(vg_set__quantile(s, 9, 0.89) == 2 && vg_set__quantile(s, 9, 1 - 1e-14) == 1); /* places 2 and 0 */
    near(vg_set__p_value(s, 9, 2), .9);
    near(vg_set__p_value(s, 9, 2.5), .7);
    near(vg_set__p_value(s, 9, 0), 1);
    near(vg_set__p_value(s, 9, 11), .2);
    near(vg_set__p_value(s, 9, 12), .1);
    near(vg_set__p_value(s, 0, 1), 1);
    double low, high;
    vg_set__beta_law(&low, &high, 9, 0.1, 0.5); /* Beta(9, 1): x^9 */
    near(low, pow(.25, 1 / 9.));
    near(high, pow(.75, 1 / 9.));
    vg_set__beta_law(&low, &high, 9, 0.05, 0.5);
    assert_true(low == 1 && high == 1);
    vg_set__beta_law(&low, &high, 9, 1 - 1e-14, 0.5); /* place 0 */
    assert_true(low == 0 && high == 0);
}

/* Thresholds of cells against sorted copies. */
static void cells_of_scores(void **state) {
    (void)state;
    enum { CELLS = 3, MANY = 5000 };
    static double by_cell[CELLS][MANY];
    static const double alphas[] = {0.5, 0.1, 0.01};
    for (int way = 0; way < 4; way++) {
        vg_set_pool pool = {.cells = way & 1 ? CELLS : 1};
        vg_random random = vg_random__start(3, (uint64_t)way);
        size_t count[CELLS] = {0}, n = 40;
        for (int block = 0; block < 4; block++, n *= 4) {
            ok(vg_set_pool__reserve(&pool, n, false));
            for (size_t i = 0; i < n; i++) {
                size_t cell = pool.cells == 1 ? 0 : (size_t)vg_random__below(&random, CELLS - 1) * 2; /* 1 is empty */
                double score = vg_random__unit(&random);
                if (count[cell] == MANY)
                    continue;
                pool.score[pool.count] = by_cell[cell][count[cell]++] = score;
                pool.cell[pool.count++] = (uint32_t)cell;
            }
        }
        ok(vg_set_pool__settle(&pool, alphas, way & 2 ? 3 : 0));
        for (size_t c = 0; c < pool.cells; c++) {
            size_t of = vg_set_pool__samples(&pool, c);
            assert_int_equal(of, count[c]);
            for (size_t i = 1; i < of; i++) /* insertion, of a copy */
                for (size_t j = i; j > 0 && by_cell[c][j] < by_cell[c][j - 1]; j--) {
                    double kept = by_cell[c][j];
                    by_cell[c][j] = by_cell[c][j - 1];
                    by_cell[c][j - 1] = kept;
                }
            for (size_t a = 0; a < 3; a++)
                assert_true(vg_set__quantile(pool.score + pool.start[c], of, alphas[a]) ==
                            vg_set__quantile(by_cell[c], of, alphas[a]));
            if (!(way & 2))
                assert_memory_equal(pool.score + pool.start[c], by_cell[c], of * sizeof(double));
        }
        vg_set_pool__free(&pool);
    }
}

/* The threshold by its definition: from t = 1 down by 1/1024 while the p-value is at most 1 - confidence. */
static void thresholds_of_labels(void **state) {
    (void)state;
    enum { N = 120, C = 3 };
    vg_random random = vg_random__start(11, 0);
    for (int trial = 0; trial < 6; trial++) {
        double value[N][C], losses[N], found, alpha = trial < 3 ? 0.2 : 0.4, best = INFINITY;
        int64_t labels[N][C];
        vg_set_positives p = {0};
        for (size_t i = 0; i < N; i++) {
            for (size_t c = 0; c < C; c++) {
                value[i][c] = trial % 3 == 0 ? (double)vg_random__below(&random, 5) / 4 : vg_random__unit(&random);
                if (trial % 3 == 2) /* beyond 1 by rounding, and 1 exactly */
                    value[i][c] = value[i][c] > .5 ? 1.0005 : value[i][c];
                labels[i][c] = vg_random__unit(&random) < value[i][c];
            }
            ok(vg_set_positives__add(&p, value[i], labels[i], C));
        }
        for (int g = 1024; g >= 0; g--) {
            for (size_t i = 0; i < N; i++) {
                double all = 0, missed = 0;
                for (size_t c = 0; c < C; c++) {
                    all += labels[i][c] != 0;
                    missed += labels[i][c] && 1 - value[i][c] > g / 1024.0;
                }
                losses[i] = all > 0 ? missed / all : 0;
            }
            if (!(vg_evaluate__bounded_p(losses, N, alpha, .05) <= .1))
                break;
            best = g / 1024.0;
        }
        ok(vg_set_positives__threshold(&found, &p, alpha, 0.9));
        near(found, best);
        vg_set_positives__free(&p);
    }
    vg_set_positives none = {0};
    double t;
    ok(vg_set_positives__threshold(&t, &none, .5, .9));
    assert_true(isinf(t));
}

/* lambda and k_reg by trying all of them: the smallest sets on average, of equals the smaller lambda. */
static void tuning(void **state) {
    (void)state;
    static const double grid[] = {0, 0.0001, 0.001, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1};
    enum { N = 60, C = 6 };
    for (int trial = 0; trial < 8; trial++) {
        samples s = random_samples(N, 1, C, trial & 1 ? 4 : 0, (uint64_t)(20 + trial));
        vg_set_rule rule = {.score = trial & 2 ? VG_SET_SAPS : VG_SET_RAPS,
                            .lambda = NAN,
                            .k_reg = NAN,
                            .classes = C,
                            .kernels = vg_set__kernels()};
        vg_set_tuning t = {0};
        double *memory = malloc(vg_set_room__doubles(C) * sizeof(double)), ranks[N], scores[N];
        vg_set_room room = vg_set_room__at(memory, C);
        for (size_t i = 0; i < N; i++) {
            vg_set_row row = {s.p + i * C, NULL, trial & 4 ? 1 : vg_set__uniform(1, 0, i)};
            vg_set_parts parts = vg_set__label_parts(&rule, &row, (size_t)s.labels[i]);
            vg_set__order_row(&room, rule.kernels, row.value, C, 0);
            ok(vg_set_tuning__add(&t, &parts, room.sums, C));
            ranks[i] = parts.rank;
        }
        double alpha = 0.1 + 0.1 * trial / 8, best_lambda = NAN, k_reg = 0;
        for (size_t i = 1; i < N; i++)
            for (size_t j = i; j > 0 && ranks[j] < ranks[j - 1]; j--) {
                double kept = ranks[j];
                ranks[j] = ranks[j - 1];
                ranks[j - 1] = kept;
            }
        if (rule.score == VG_SET_RAPS)
            k_reg = vg_set__quantile(ranks, N, alpha);
        size_t best = SIZE_MAX;
        for (size_t g = rule.score == VG_SET_SAPS; g < 10; g++) {
            vg_set_rule tried = rule;
            size_t size = 0;
            tried.lambda = grid[g];
            tried.k_reg = k_reg;
            for (size_t i = 0; i < N; i++)
                scores[i] = vg_set__ranked_score(&tried, &t.parts[i]);
            for (size_t i = 1; i < N; i++)
                for (size_t j = i; j > 0 && scores[j] < scores[j - 1]; j--) {
                    double kept = scores[j];
                    scores[j] = scores[j - 1];
                    scores[j - 1] = kept;
                }
            double limit = vg_set__quantile(scores, N, alpha);
            for (size_t i = 0; i < N; i++)
                for (size_t y = 0; y < C; y++) {
                    vg_set_row row = {s.p + i * C, NULL, t.parts[i].u};
                    size += vg_set__label_score(&tried, &row, y) <= limit;
                }
            if (size < best) {
                best = size;
                best_lambda = grid[g];
            }
        }
        ok(vg_set_tuning__choose(&rule, &t, alpha));
        assert_true(rule.k_reg == k_reg && rule.lambda == best_lambda);
        rule.lambda = 0.3; /* what is given stays */
        rule.k_reg = 2;
        ok(vg_set_tuning__choose(&rule, &t, alpha));
        assert_true(rule.k_reg == 2 && rule.lambda == 0.3);
        rule.k_reg = NAN; /* more is asked for than there are samples: all classes */
        ok(vg_set_tuning__choose(&rule, &t, 0.001));
        assert_true(rule.k_reg == (rule.score == VG_SET_RAPS ? C : 0));
        vg_set_tuning__free(&t);
        free(memory);
        samples_free(&s);
    }
}

static void names_of_groups(void **state) {
    (void)state;
    vg_set_groups g = {0};
    uint32_t found;
    char name[16];
    ok(vg_set_groups__find(&found, &g, "none", false));
    assert_int_equal(found, VG_SET_NO_CELL);
    for (int round = 0; round < 2; round++)
        for (uint32_t i = 0; i < 3000; i++) {
            snprintf(name, sizeof name, i % 2 ? "g%u" : "%u", i);
            ok(vg_set_groups__find(&found, &g, name, round == 0));
            assert_int_equal(found, i);
        }
    assert_int_equal(g.count, 3000);
    assert_true(g.slot_count >= 2 * g.count && (g.slot_count & (g.slot_count - 1)) == 0);
    ok(vg_set_groups__find(&found, &g, "none", false));
    assert_true(found == VG_SET_NO_CELL && g.count == 3000);
    vg_set_groups__free(&g);
}

/* --- options ------------------------------------------------------------------------------------------------------ */
static void taken(vg_sets_options o) {
    vg_sets *sets;
    ok(vg_sets_new(&sets, &o));
    vg_sets_free(sets);
}
static void refused(vg_sets_options o, const char *words) {
    vg_sets *sets = (vg_sets *)1;
    assert_int_equal(vg_sets_new(&sets, &o), VG_ERR_ARGUMENT);
    assert_null(sets);
    if (!strstr(vg_error_message(), words))
        fail_msg("%s: expected %s", vg_error_message(), words);
}

static vg_sets_options option(size_t field, double value) {
    vg_sets_options o = options_of(VG_SET_RAPS);
    memcpy((char *)&o + field, &value, sizeof value);
    return o;
}

static void bounds_of_numbers(void **state) {
    (void)state;
    static const struct {
        size_t field;
        double least, most; /* both are refused */
        const char *words;
    } fields[] = {
        {offsetof(vg_sets_options, tuning), 0, 1, "--tuning: "},
        {offsetof(vg_sets_options, confidence), 0, 1, "--confidence: "},
        {offsetof(vg_sets_options, gate), 0, INFINITY, "--gated: "},
        {offsetof(vg_sets_options, lambda), -1e-9, INFINITY, "--lambda: "},
        {offsetof(vg_sets_options, k_reg), -1e-9, INFINITY, "--k-reg: "},
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        refused(option(fields[i].field, fields[i].least), fields[i].words);
        refused(option(fields[i].field, fields[i].most), fields[i].words);
        taken(option(fields[i].field, fields[i].least < 0 ? 0 : 1e-9));
        taken(option(fields[i].field, fields[i].most == 1 ? 1 - 1e-9 : 1e9));
    }
    double alphas[VG_SETS_ALPHAS + 1];
    vg_sets_options o = options_of(VG_SET_LAC);
    for (size_t i = 0; i <= VG_SETS_ALPHAS; i++)
        alphas[i] = 0.5;
    o.alphas = alphas;
    o.alpha_count = VG_SETS_ALPHAS;
    taken(o);
    o.alpha_count++;
    refused(o, "--alpha: 65 values, at most 64");
    o.alpha_count = 2;
    for (int i = 0; i < 3; i++) {
        alphas[1] = i == 0 ? 0 : i == 1 ? 1 : NAN;
        refused(o, "--alpha: ");
    }
}

static void options_that_do_not_go_together(void **state) {
    (void)state;
    vg_score_options multilabel = VG_SCORE_OPTIONS_INIT;
    multilabel.task = VG_TASK_MULTILABEL;
    for (int score = VG_SET_LAC; score <= VG_SET_SNR; score++) {
        bool raps = score == VG_SET_RAPS, ranked = raps || score == VG_SET_SAPS;
        vg_sets_options o = options_of(score);
        taken(o);
        o.lambda = 0.1;
        ranked ? taken(o) : refused(o, "--lambda goes with the scores raps and saps");
        o = options_of(score);
        o.k_reg = 1;
        raps ? taken(o) : refused(o, "--k-reg goes with the score raps");
        o = options_of(score);
        o.randomise = 1;
        ranked || score == VG_SET_APS ? taken(o) : refused(o, "--randomise goes with the scores aps, raps and saps");
        o.randomise = 0;
        taken(o);
        o.randomise = -1;
        vg_sets *sets;
        ok(vg_sets_new(&sets, &o));
        assert_int_equal(sets->randomised, ranked || score == VG_SET_APS);
        assert_true(sets->alpha_count == 1 && sets->alphas[0] == 0.1);
        vg_sets_free(sets);
        o.gate = 1;
        score != VG_SET_SNR ? taken(o) : refused(o, "--gated does not go with the score snr");
        o = options_of(score);
        o.scoring = &multilabel;
        score == VG_SET_LAC ? taken(o) : refused(o, "--multilabel: ");
    }
    vg_sets_options o = options_of(VG_SET_LAC);
    o.score = (vg_set_score)(VG_SET_SNR + 1);
    refused(o, "unknown score 7 or grouping 0");
    o = options_of(VG_SET_LAC);
    o.by = (vg_set_by)(VG_SETS_BY_TOP + 1);
    refused(o, "unknown score 0 or grouping 4");
    for (int i = 0; i < 3; i++) {
        o = options_of(VG_SET_LAC);
        o.scoring = &multilabel;
        o.by = i == 0 ? VG_SETS_BY_CLASS : VG_SETS_BY_NONE;
        o.gate = i == 1 ? 1 : NAN;
        o.p_values = i == 2;
        refused(o, "--multilabel: ");
    }
}

/* --- sets --------------------------------------------------------------------------------------------------------- */
static bool holds(const uint8_t *mask, size_t c) { return mask[c / 8] >> (7 - c % 8) & 1; }

/* Thresholds of 0 leave every set empty: the first class is added, for each alpha in its own bytes. */
static void empty_sets_are_filled(void **state) {
    (void)state;
    enum { C = 20, A = 3, BYTES = 3 };
    static const double alphas[A] = {0.5, 0.4, 0.3};
    samples s = samples_new(30, 1, C);
    uint8_t mask[C * A * BYTES];
    int32_t size[C * A];
    vg_sets_options o = options_of(VG_SET_LAC);
    vg_set_places at = VG_SET_PLACES_INIT;
    o.alphas = alphas;
    o.alpha_count = A;
    o.never_empty = 1;
    memset(s.p, 0, 30 * C * sizeof *s.p);
    for (size_t i = 0; i < 30; i++) { /* scores of 0 to calibrate on, then samples of 0.1 and more */
        s.labels[i] = 3;
        s.p[i * C + 3] = 1;
    }
    vg_sets *sets = new_sets(&o, 1);
    vg_predictions first = view_of(&s, 0, 30);
    ok(vg_sets_feed(sets, NULL, &first, s.labels, NULL));
    for (size_t i = 0; i < C; i++)
        for (size_t c = 0; c < C; c++)
            s.p[i * C + c] = c == i ? 0.9 : 0.1 / (C - 1);
    vg_predictions rest = view_of(&s, 0, C);
    at.mask = mask;
    at.size = size;
    ok(vg_sets_feed(sets, &at, &rest, s.labels, NULL));
    for (size_t i = 0; i < C * A; i++) {
        assert_int_equal(size[i], 1);
        for (size_t c = 0; c < C; c++)
            assert_int_equal(holds(mask + i * BYTES, c), c == i / A);
    }
    vg_sets_free(sets);
    samples_free(&s);
}

/* One calibration sample promises nothing: every class is in every set, and no bit beyond the classes is set. */
static void sets_of_everything(void **state) {
    (void)state;
    static const size_t counts[] = {2, 7, 8, 16, 24, 25, 31, 32, 33, 40, 48, 56, 64, 72};
    static float narrow[9 * 72];
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (int score = VG_SET_LAC; score <= VG_SET_TOPK; score++)
            for (int wide = 0; wide < 2; wide++) {
                size_t c = counts[i], bytes = (c + 7) / 8;
                samples s = random_samples(9, 1, c, 0, 30 + i);
                uint8_t mask[9 * 9];
                int32_t size[9];
                vg_sets_options o = options_of(score);
                vg_set_places at = VG_SET_PLACES_INIT;
                for (size_t j = 0; j < 9 * c; j++)
                    narrow[j] = (float)s.p[j];
                o.randomise = 0;
                at.mask = mask;
                at.size = size;
                vg_sets *sets = new_sets(&o, 1);
                vg_predictions one = wide ? view_of(&s, 0, 1) : vg_predictions_f32(narrow, 1, 1, c);
                vg_predictions all = wide ? view_of(&s, 0, 9) : vg_predictions_f32(narrow, 9, 1, c);
                ok(vg_sets_feed(sets, NULL, &one, s.labels, NULL));
                ok(vg_sets_feed(sets, &at, &all, s.labels, NULL));
                for (size_t n = 0; n < 9; n++) {
                    assert_int_equal(size[n], c);
                    for (size_t j = 0; j < 8 * bytes; j++)
                        assert_int_equal(holds(mask + n * bytes, j), j < c);
                }
                vg_sets_free(sets);
                samples_free(&s);
            }
}

/* An alpha alone has the threshold, lambda and k_reg that it has among others. */
static void check_alone(const vg_sets *sets, vg_sets_options o, const samples *s) {
    vg_predictions all = view_of(s, 0, s->n);
    for (size_t a = 0; a < sets->alpha_count; a++) {
        o.alphas = sets->alphas + a;
        o.alpha_count = 1;
        vg_sets *one = new_sets(&o, 1);
        ok(vg_sets_feed(one, NULL, &all, s->labels, NULL));
        ok(vg_sets_feed(one, NULL, NULL, NULL, NULL));
        assert_true(one->thresholds[0] == sets->thresholds[a] && one->lambdas[0] == sets->lambdas[a]);
        assert_true(!one->k_regs || one->k_regs[0] == sets->k_regs[a]);
        vg_sets_free(one);
    }
}

/* P-values belong to one score: lambda and k_reg of the first alpha are those of all. Without them each has its own,
 * whether they rise or fall. */
static void parameters_of_alphas(void **state) {
    (void)state;
    static const double rising[] = {0.02, 0.1, 0.3}, falling[] = {0.3, 0.1, 0.02};
    samples s = random_samples(2000, 1, 8, 0, 20); /* saps: lambdas 0.5, 1e-4, 1e-4 */
    size_t below = 0, above = 0;
    for (int way = 0; way < 8; way++) {
        vg_sets_options o = VG_SETS_OPTIONS_INIT;
        o.score = way & 1 ? VG_SET_RAPS : VG_SET_SAPS;
        o.p_values = way >> 1 & 1;
        o.alphas = way & 4 ? rising : falling;
        o.alpha_count = 3;
        vg_sets *sets = new_sets(&o, 1);
        vg_predictions all = view_of(&s, 0, s.n);
        ok(vg_sets_feed(sets, NULL, &all, s.labels, NULL));
        ok(vg_sets_feed(sets, NULL, NULL, NULL, NULL));
        assert_true(!isnan(sets->lambdas[0]) && sets->lambda == sets->lambdas[0]);
        for (size_t a = 1; a < 3; a++) {
            bool same = sets->lambdas[a] == sets->lambdas[0] && (!sets->k_regs || sets->k_regs[a] == sets->k_regs[0]);
            assert_true(!o.p_values || same);
            below += !(way & 1) && sets->lambdas[a] < sets->lambdas[0];
            above += !(way & 1) && sets->lambdas[a] > sets->lambdas[0];
        }
        if (!o.p_values)
            check_alone(sets, o, &s);
        vg_sets_free(sets);
    }
    assert_true(below > 0 && above > 0);
    samples_free(&s);
}

/* More values than are ordered by counting. */
static void long_rows_in_order(void **state) {
    (void)state;
    static const size_t counts[] = {1, 63, 64, 65, 66, 200, 5000};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        size_t n = counts[i];
        samples s = random_samples(1, 1, n, i % 2 ? 50 : 0, 40 + i);
        double *memory = malloc(vg_set_room__doubles(n) * sizeof(double)), sum = 0, all = 0;
        vg_set_room room = vg_set_room__at(memory, n);
        assert_int_equal(vg_set__order_row(&room, vg_set__kernels(), s.p, n, 0), n);
        for (size_t c = 0; c < n; c++) {
            all += s.p[c];
            sum += room.falling[c];
            assert_true(c == 0 || room.falling[c] <= room.falling[c - 1]);
            assert_true(fabs(room.sums[c] - sum) < 1e-11);
        }
        assert_true(fabs(sum - all) < 1e-11);
        free(memory);
        samples_free(&s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_sets_are_filled),
        cmocka_unit_test(sets_of_everything),
        cmocka_unit_test(parameters_of_alphas),
        cmocka_unit_test(long_rows_in_order),
        cmocka_unit_test(figures_by_hand),
        cmocka_unit_test(figures_of_few),
        cmocka_unit_test(risk_of_labels),
        cmocka_unit_test(quantiles),
        cmocka_unit_test(cells_of_scores),
        cmocka_unit_test(thresholds_of_labels),
        cmocka_unit_test(tuning),
        cmocka_unit_test(names_of_groups),
        cmocka_unit_test(bounds_of_numbers),
        cmocka_unit_test(options_that_do_not_go_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
