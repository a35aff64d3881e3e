/* test_workflow_shared.c - the thread rules of vargate.h: four threads use one object of each public kind at once. What
 * several threads may use gives every one of them its result; an object that serves one caller at a time serves one and
 * answers the others with an error. Under ThreadSanitizer this finds data races. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "vargate/vargate.h"
#include "workflow_util.h"

enum { N = 64, M = 4, C = 3, THREADS = 4, ROUNDS = 30 };

/* One call on the shared object `object`; `own` numbers the call. */
typedef vg_status (*shared_call)(void *object, size_t own);

typedef struct crew {
    shared_call call;
    void *object;
    pthread_barrier_t start;
    int served, refused, failed; /* calls */
    char message[300];           /* of a call that failed */
} crew;

typedef struct hand {
    crew *of;
    size_t number;
    pthread_t thread;
} hand;

static pthread_mutex_t count_lock = PTHREAD_MUTEX_INITIALIZER;
static double probabilities[N * M * C], logits[N * M * C], mean[N * C];
static int64_t labels[N];

static void *work(void *argument) {
    hand *h = argument;
    crew *c = h->of;
    for (size_t round = 0; round < ROUNDS; round++) {
        pthread_barrier_wait(&c->start);
        vg_status status = c->call(c->object, round * THREADS + h->number);
        pthread_mutex_lock(&count_lock);
        if (status == VG_OK)
            c->served++;
        else if (status == VG_ERR_ARGUMENT && strstr(vg_error_message(), "in use by another thread"))
            c->refused++;
        else {
            c->failed++;
            snprintf(c->message, sizeof c->message, "%s", vg_error_message());
        }
        pthread_mutex_unlock(&count_lock);
    }
    return NULL;
}

/* Runs the call in all threads at once. `everyone`: nobody may be refused. */
static void share(shared_call call, void *object, bool everyone) {
    crew c = {.call = call, .object = object};
    hand hands[THREADS];
    assert_int_equal(pthread_barrier_init(&c.start, NULL, THREADS), 0);
    for (size_t i = 0; i < THREADS; i++) {
        hands[i] = (hand){.of = &c, .number = i};
        assert_int_equal(pthread_create(&hands[i].thread, NULL, work, &hands[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(hands[i].thread, NULL);
    pthread_barrier_destroy(&c.start);
    if (c.failed)
        fail_msg("%d of %d calls failed: %s", c.failed, THREADS * ROUNDS, c.message);
    assert_int_equal(c.served + c.refused, THREADS * ROUNDS);
    assert_true(c.served >= ROUNDS); /* at least one of each round */
    assert_true(!everyone || c.refused == 0);
}

static int prepare(void **state) {
    uint64_t seed = 7;
    for (size_t r = 0; r < N * M; r++) {
        double sum = 0;
        for (size_t c = 0; c < C; c++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            sum += probabilities[r * C + c] = 0.05 + (double)(seed >> 40) / 0x1p24;
        }
        for (size_t c = 0; c < C; c++) {
            probabilities[r * C + c] /= sum;
            logits[r * C + c] = probabilities[r * C + c] * 5;
            mean[r / M * C + c] += probabilities[r * C + c] / M;
        }
    }
    for (size_t n = 0; n < N; n++)
        labels[n] = (int64_t)(n % C);
    return make_folder(state);
}

/* --- one caller at a time ----------------------------------------------------------------------------------------- */

static vg_status feed_scorer(void *object, size_t own) {
    double tu[N];
    (void)own;
    vg_scores out = {.tu = tu};
    vg_predictions block = vg_predictions_f64(probabilities, N, M, C);
    return vg_scorer_feed(object, &out, &block, NULL);
}

static void a_scorer(void **state) {
    (void)state;
    vg_scorer *scorer;
    vg_score_options options = VG_SCORE_OPTIONS_INIT;
    options.threads = 2;
    OK(vg_scorer_new(&scorer, M, C, &options));
    share(feed_scorer, scorer, false);
    vg_scorer_free(scorer);
}

static vg_status feed_tally(void *object, size_t own) {
    (void)own;
    return vg_tally_feed(object, mean, NULL, labels, N);
}

static vg_status describe_tally(void *object, size_t own) {
    (void)own;
    vg_tally_info info = VG_TALLY_INFO_INIT;
    return vg_tally_describe(&info, object);
}

static void a_tally(void **state) {
    (void)state;
    vg_tally *tally;
    vg_tally_info info = VG_TALLY_INFO_INIT;
    OK(vg_tally_new(&tally, C, NULL));
    share(feed_tally, tally, false);
    OK(vg_tally_describe(&info, tally));
    assert_int_equal(info.rows % N, 0);
    share(describe_tally, tally, true);
    vg_tally_free(tally);
}

static vg_status write_array(void *object, size_t own) {
    char name[32];
    size_t shape = N;
    snprintf(name, sizeof name, "a%zu", own);
    return vg_writer_array(object, name, VG_ELEMENT_I64, 1, &shape, labels);
}

static void a_writer(void **state) {
    (void)state;
    char path[PATH];
    vg_writer *writer;
    OK(vg_writer_open(&writer, in_folder(path, "shared.npz")));
    share(write_array, writer, false);
    OK(vg_writer_close(writer));
}

static vg_status read_block(void *object, size_t own) {
    vg_predictions view;
    return vg_prediction_file_block(object, own % N, 1, &view);
}

/* What is read at the first call: labels and ids. */
static vg_status read_texts(void *object, size_t own) {
    const int64_t *found;
    const char *const *texts;
    size_t columns;
    if (own % 3 == 0)
        return vg_prediction_file_labels(object, &found, &columns);
    return own % 3 == 1 ? vg_prediction_file_ids(object, &texts) : vg_prediction_file_classes(object, &texts);
}

static const char *write_predictions(char path[PATH]) {
    vg_writer *writer;
    size_t shape[] = {N, M, C}, ids[] = {N};
    OK(vg_writer_open(&writer, in_folder(path, "p.npz")));
    OK(vg_writer_array(writer, "P", VG_ELEMENT_F64, 3, shape, probabilities));
    OK(vg_writer_array(writer, "L", VG_ELEMENT_I64, 1, ids, labels));
    OK(vg_writer_array(writer, "id", VG_ELEMENT_I64, 1, ids, labels));
    OK(vg_writer_close(writer));
    return path;
}

static void a_prediction_file(void **state) {
    (void)state;
    char path[PATH];
    vg_prediction_file *file;
    write_predictions(path);
    OK(vg_prediction_file_open(&file, path, NULL));
    share(read_texts, file, false);
    share(read_block, file, false);
    vg_prediction_file_close(file);
}

static vg_status feed_sets(void *object, size_t own) {
    (void)own;
    vg_predictions block = vg_predictions_f64(probabilities, N, M, C);
    return vg_sets_feed(object, NULL, &block, labels, NULL);
}

static void prediction_sets(void **state) {
    (void)state;
    vg_sets *sets;
    OK(vg_sets_new(&sets, NULL));
    share(feed_sets, sets, false);
    vg_sets_free(sets);
}

static vg_status decide_line(void *object, size_t own) {
    const char *answer, *line = "{\"id\": 1, \"p\": [[0.7, 0.2, 0.1], [0.6, 0.3, 0.1]]}";
    size_t length;
    (void)own;
    return vg_decision_stream_line(object, line, strlen(line), &answer, &length);
}

static vg_status decide_with_policy(void *object, size_t own) {
    vg_decision_stream *stream;
    vg_status status = vg_decision_stream_new(&stream, object, NULL, NULL);
    if (status == VG_OK) {
        status = decide_line(stream, own);
        vg_decision_stream_free(stream);
    }
    return status;
}

static void a_stream_and_its_policy(void **state) {
    (void)state;
    vg_policy *policy;
    vg_decision_stream *stream;
    vg_policy_options options = VG_POLICY_OPTIONS_INIT;
    options.by = "k";
    options.k = 1;
    OK(vg_policy_new(&policy, &options));
    OK(vg_decision_stream_new(&stream, policy, NULL, NULL));
    share(decide_line, stream, false);
    share(decide_with_policy, policy, true);
    vg_decision_stream_free(stream);
    vg_policy_free(policy);
}

static const char *decided;

static vg_status decide_a_file(void *object, size_t own) {
    vg_decide_result result = VG_DECIDE_RESULT_INIT;
    (void)own;
    return vg_decide_file(&result, object, decided, NULL, NULL);
}

/* A policy that is chosen by the first call, and then serves others. */
static void a_policy_for_files(void **state) {
    (void)state;
    char path[PATH];
    vg_policy *policy;
    vg_policy_options options = VG_POLICY_OPTIONS_INIT;
    decided = write_predictions(path);
    options.by = "k";
    options.target_coverage = 0.5;
    options.calibration = path;
    OK(vg_policy_new(&policy, &options));
    share(decide_a_file, policy, false);
    assert_int_equal(policy->chosen, 1);
    vg_policy_free(policy);
}

/* --- several callers ---------------------------------------------------------------------------------------------- */

static vg_status apply_map(void *object, size_t own) {
    double out[N * M * C];
    vg_predictions z = vg_predictions_f64(logits, N, M, C);
    return vg_calibration_map_apply(out, NULL, NULL, object, &z, 1, own % 3);
}

static vg_status write_calibration(void *object, size_t own) {
    char *text;
    (void)own;
    vg_status status = vg_temperatures_text(&text, object);
    if (status == VG_OK)
        vg_free(text);
    return status;
}

static void a_calibration_and_its_map(void **state) {
    (void)state;
    char *text;
    vg_calibration *calibration;
    vg_calibration_map *map;
    vg_predictions z = vg_predictions_f64(logits, N, M, C);
    OK(vg_calibrate(&calibration, &z, labels, NULL));
    OK(vg_temperatures_text(&text, calibration));
    OK(vg_calibration_map_load(&map, text));
    share(apply_map, map, true);
    share(write_calibration, calibration, true);
    vg_free(text);
    vg_free(map);
    vg_calibration_free(calibration);
}

static vg_status read_set(void *object, size_t own) {
    vg_statistics statistics;
    vg_dataset_info info = VG_DATASET_INFO_INIT;
    size_t some[] = {own, own + 1, 500 - own};
    vg_status status = vg_dataset_describe(&info, object);
    return status == VG_OK ? vg_dataset_statistics(&statistics, object, some, 3) : status;
}

static void a_data_set(void **state) {
    (void)state;
    vg_dataset *set;
    OK(vg_dataset_open(&set, "path:data/digits", VG_PART_TEST, NULL));
    share(read_set, set, true);
    vg_dataset_free(set);
}

/* Functions without an object, and the constants of the library. */
static vg_status without_object(void *object, size_t own) {
    double tu[N];
    vg_scores out = {.tu = tu};
    vg_score_options options = VG_SCORE_OPTIONS_INIT;
    vg_predictions p = vg_predictions_f64(probabilities, N, M, C);
    size_t count;
    (void)object;
    options.threads = 1 + (unsigned)(own % 3);
    if (!vg_measure_info_at(own % 10) || !vg_cpu_tier() || !vg_data_catalogue(&count) || count == 0)
        return VG_ERR_DATA;
    return vg_score(&out, NULL, &p, &options);
}

static void functions_without_an_object(void **state) {
    (void)state;
    share(without_object, NULL, true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_scorer),           cmocka_unit_test(a_tally),
        cmocka_unit_test(a_writer),           cmocka_unit_test(a_prediction_file),
        cmocka_unit_test(prediction_sets),    cmocka_unit_test(a_stream_and_its_policy),
        cmocka_unit_test(a_policy_for_files), cmocka_unit_test(a_calibration_and_its_map),
        cmocka_unit_test(a_data_set),         cmocka_unit_test(functions_without_an_object),
    };
    return cmocka_run_group_tests(tests, prepare, remove_folder);
}
