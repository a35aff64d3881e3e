/* test_nn_host.c - what training and predicting on the CPU leave behind in the program that calls them: its number of
 * OpenMP threads, and the cores that its threads may run on, are as before. A predictor serves any thread, one at a
 * time. */
#define _GNU_SOURCE /* sched_getaffinity, RTLD_DEFAULT */
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>

#include "tiny_training.h"

enum { THREADS = 2 };

/* Of the runtime that this build uses. NULL without OpenMP, and in wheels, whose own functions no host shares. */
static int (*most_threads)(void);
static void (*set_threads)(int);

static void find_runtime(void) {
    void *most = dlsym(RTLD_DEFAULT, "omp_get_max_threads"), *set = dlsym(RTLD_DEFAULT, "omp_set_num_threads");
    memcpy(&most_threads, &most, sizeof most);
    memcpy(&set_threads, &set, sizeof set);
}

/* Every thread of the process may run on every core that this one may run on. */
static void check_cores(const char *when) {
    cpu_set_t own, other;
    size_t seen = 0;
    DIR *tasks = opendir("/proc/self/task");
    if (!tasks || sched_getaffinity(0, sizeof own, &own) != 0)
        skip();
    for (const struct dirent *e = readdir(tasks); e; e = readdir(tasks)) {
        int id = atoi(e->d_name);
        if (id <= 0 || sched_getaffinity(id, sizeof other, &other) != 0)
            continue; /* it has ended */
        seen++;
        if (!CPU_EQUAL(&own, &other))
            fail_msg("%s: thread %d may use %d cores, the caller %d", when, id, CPU_COUNT(&other), CPU_COUNT(&own));
    }
    closedir(tasks);
    assert_true(seen > 0);
}

static void check_host(const char *when, int wanted) {
    check_cores(when);
    if (most_threads && most_threads() != wanted)
        fail_msg("%s: the caller's loops have %d threads, before %d", when, most_threads(), wanted);
}

static void train_here(const char *run) {
    tiny_feed train = {0}, validation = {0};
    vg_recipe recipe = tiny_recipe(NULL);
    vg_train_options o = tiny_options(&recipe, run, &train, &validation);
    vg_train_result result;
    o.device = "cpu";
    o.threads = THREADS;
    OK(vg_train(&result, &o));
}

static void predict_here(vg_predictor *p) {
    float logits[TINY_COUNT * 2 * TINY_CLASSES];
    OK(vg_predictor_run(p, logits, tiny_images, TINY_COUNT, 0));
    for (size_t i = 0; i < sizeof logits / sizeof *logits; i++)
        assert_true(isfinite(logits[i]));
}

/* Another thread than the one that opened the predictor. */
static void *predict_elsewhere(void *predictor) {
    if (set_threads)
        set_threads(3);
    predict_here(predictor);
    check_host("predicted on another thread", 3);
    return NULL;
}

enum { CALLERS = 4 };

static void *call_often(void *predictor) {
    float logits[TINY_COUNT * 2 * TINY_CLASSES];
    size_t served = 0;
    while (served < 10) {
        vg_status status = vg_predictor_run(predictor, logits, tiny_images, TINY_COUNT, 0);
        if (status == VG_OK)
            served++;
        else if (status != VG_ERR_ARGUMENT || !strstr(vg_error_message(), "in use by another thread"))
            return "failed";
    }
    return NULL;
}

/* Several threads at once: one is served, the others are refused. */
static void share_predictor(vg_predictor *predictor) {
    pthread_t threads[CALLERS];
    for (size_t i = 0; i < CALLERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, call_often, predictor), 0);
    for (size_t i = 0; i < CALLERS; i++) {
        void *failure;
        assert_int_equal(pthread_join(threads[i], &failure), 0);
        assert_null(failure);
    }
}

static void test_host_is_left_as_it_was(void **state) {
    char run[300], checkpoint[340];
    vg_predictor_options options = VG_PREDICTOR_OPTIONS_INIT;
    vg_predictor *predictor;
    pthread_t thread;
    (void)state;
    find_runtime();
    make_tiny_images();
    snprintf(run, sizeof run, "%s/run", folder);
    snprintf(checkpoint, sizeof checkpoint, "%s/last.safetensors", run);
    if (set_threads)
        set_threads(5);
    train_here(run);
    check_host("trained", 5);
    options.device = "cpu";
    options.threads = THREADS;
    OK(vg_predictor_open(&predictor, checkpoint, &options));
    check_host("opened a predictor", 5);
    predict_here(predictor);
    check_host("predicted", 5);
    assert_int_equal(pthread_create(&thread, NULL, predict_elsewhere, predictor), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    share_predictor(predictor);
    vg_predictor_free(predictor);
    check_host("freed the predictor", 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_host_is_left_as_it_was)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
