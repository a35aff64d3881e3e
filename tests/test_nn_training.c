/* test_nn_training.c - recipes; training that is stopped, killed and resumed; checkpoints; NaN and collapse; ensemble
 * prediction.
 *
 * Every training runs in a child process of its own: some of them are killed on purpose. The data is made here: digits of ten
 * kinds of blobs, the same for every run. */
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/random.h"
#include "folder_util.h"
#include "vargate/formats.h"
#include "vargate/nn.h"

#define OK(call)                                                                                                               \
    do {                                                                                                                       \
        if ((call) != VG_OK)                                                                                                   \
            fail_msg("%s: %s", #call, vg_error_message());                                                                     \
    } while (0)

enum { SIDE = 28, IMAGE = SIDE * SIDE, BATCH = 32, TRAIN = 200, VALID = 60, STEPS = (TRAIN + BATCH - 1) / BATCH };

/* --- data */

typedef struct set {
    uint64_t stream;
    size_t count, steps, bad_step; /* bad_step: global step whose images are NaN; 0: none */
    uint64_t epoch;
    size_t step;
    bool shuffle;
    float images[BATCH * IMAGE];
    int32_t labels[BATCH];
    size_t indices[BATCH];
} set;

/* Image i of a stream: a bright square whose place tells its class, and noise. */
static int32_t picture(float *image, uint64_t stream, size_t i) {
    vg_random random = vg_random__start(77, stream << 32 | i);
    int32_t label = (int32_t)(i % 10);
    for (int k = 0; k < IMAGE; k++)
        image[k] = (float)(0.7 * vg_random__normal(&random));
    for (int y = 0; y < 6; y++)
        for (int x = 0; x < 6; x++)
            image[(4 + label / 5 * 12 + y) * SIDE + label % 5 * 5 + x] += 1.5f;
    return label;
}

static vg_status seek(void *context, uint64_t epoch, size_t step) {
    set *s = context;
    s->epoch = epoch + step / s->steps;
    s->step = step % s->steps;
    return VG_OK;
}

static vg_status next(void *context, vg_nn_batch *batch) {
    set *s = context;
    size_t first = s->step * BATCH, n = s->count - first < BATCH ? s->count - first : BATCH, order[TRAIN];
    for (size_t i = 0; i < s->count; i++)
        order[i] = i;
    vg_random random = vg_random__start(5, s->epoch);
    if (s->shuffle)
        vg_random__shuffle(&random, order, s->count);
    for (size_t i = 0; i < n; i++) {
        s->indices[i] = order[first + i];
        s->labels[i] = picture(s->images + i * IMAGE, s->stream, order[first + i]);
    }
    if (s->bad_step && s->epoch * s->steps + s->step == s->bad_step)
        s->images[3] = NAN;
    *batch = (vg_nn_batch){s->images, s->labels, s->indices, n};
    if (++s->step == s->steps) {
        s->step = 0;
        s->epoch++;
    }
    return VG_OK;
}

static vg_feed feed(set *s, uint64_t stream, size_t count, bool shuffle) {
    *s = (set){.stream = stream, .count = count, .steps = (count + BATCH - 1) / BATCH, .shuffle = shuffle};
    return (vg_feed){s, count, s->steps, seek, next};
}

static vg_recipe small(const char *const *changes) {
    vg_recipe r;
    vg_recipe_defaults(&r);
    const char *base[] = {"name=test", "network=cnn-16-48", "heads=6",     "batch=32",
                          "epochs=3",  "rate=1e-3",         "dropout=0.1", NULL};
    for (const char **c = base; *c; c++)
        OK(vg_recipe_set(&r, *c));
    for (; changes && *changes; changes++)
        OK(vg_recipe_set(&r, *changes));
    return r;
}

/* --- runs in children */

typedef struct plan {
    const char *name;
    const char *const *changes;
    int stop_at, kill_at;   /* global step; 0: never */
    int kill_in_checkpoint; /* at the n-th one */
    size_t bad_step;
    long file_limit; /* bytes a file may have; 0: no limit */
    bool resume;
} plan;

typedef struct outcome {
    int status; /* vg_status, -1: killed */
    int collapses, steps;
    vg_train_result result;
    char message[512];
} outcome;

static const plan *current;
static outcome *report;
static int checkpoints;

static int on_event(void *context, const vg_train_event *event) {
    (void)context;
    if (event->kind == VG_TRAIN_COLLAPSE)
        report->collapses++;
    if (event->kind == VG_TRAIN_CHECKPOINT && ++checkpoints == current->kill_in_checkpoint)
        kill(getpid(), SIGKILL);
    if (event->kind != VG_TRAIN_STEP)
        return 0;
    int step = (int)(event->epoch * event->steps + event->step);
    report->steps = step;
    if (step == current->kill_at)
        kill(getpid(), SIGKILL);
    return current->stop_at && step >= current->stop_at;
}

static void path_of(char *out, const char *run, const char *file) { snprintf(out, 512, "%s/%s/%s", folder, run, file); }

static outcome train(plan p) {
    int ends[2];
    outcome o = {.status = -1};
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        static set training, validation;
        char run[512];
        vg_recipe recipe = small(p.changes);
        vg_train_options options = VG_TRAIN_OPTIONS_INIT;
        path_of(run, p.name, "");
        current = &p;
        report = &o;
        options.recipe = &recipe;
        options.folder = run;
        options.device = "cpu";
        options.threads = 2;
        options.resume = p.resume;
        options.channels = 1;
        options.height = options.width = SIDE;
        options.classes = 10;
        options.std[0] = 1;
        options.train = feed(&training, 1, TRAIN, true);
        options.validation = feed(&validation, 2, VALID, false);
        training.bad_step = p.bad_step;
        options.event = on_event;
        if (p.file_limit) {
            struct rlimit limit = {(rlim_t)p.file_limit, (rlim_t)p.file_limit};
            signal(SIGXFSZ, SIG_IGN);
            setrlimit(RLIMIT_FSIZE, &limit);
        }
        o.status = (int)vg_train(&o.result, &options);
        snprintf(o.message, sizeof o.message, "%s", o.status ? vg_error_message() : "");
        ssize_t written = write(ends[1], &o, sizeof o);
        _exit(written == sizeof o ? 0 : 1);
    }
    close(ends[1]);
    outcome got;
    ssize_t length = read(ends[0], &got, sizeof got);
    close(ends[0]);
    waitpid(child, NULL, 0);
    if (length == sizeof got)
        o = got;
    return o;
}

static void trained(plan p) {
    outcome o = train(p);
    if (o.status != VG_OK)
        fail_msg("%s: %s", p.name, o.status < 0 ? "killed" : o.message);
}

/* Arrays of two checkpoints, byte for byte. */
static void same_checkpoint(const char *a, const char *b, const char *file) {
    char one[512], two[512];
    vg_source *x, *y;
    path_of(one, a, file);
    path_of(two, b, file);
    OK(vg_source_open(&x, one));
    OK(vg_source_open(&y, two));
    assert_int_equal(vg_source_count(x), vg_source_count(y));
    for (size_t i = 0; i < vg_source_count(x); i++) {
        vg_array_info info;
        size_t j;
        const void *p, *q;
        OK(vg_source_info(x, i, &info));
        OK(vg_source_find(y, info.name, &j));
        OK(vg_source_map(x, i, &p));
        OK(vg_source_map(y, j, &q));
        assert_non_null(p);
        assert_non_null(q);
        if (memcmp(p, q, info.count * vg_element_size(info.element)) != 0)
            fail_msg("%s of %s and %s: array '%s' differs", file, a, b, info.name);
    }
    vg_source_close(x);
    vg_source_close(y);
}

static json_t *metrics(const char *run) {
    char path[512], line[4096];
    json_t *lines = json_array();
    path_of(path, run, "metrics.jsonl");
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        json_t *j = json_loads(line, 0, NULL);
        assert_non_null(j);
        json_object_del(j, "images_per_s");
        json_array_append_new(lines, j);
    }
    fclose(file);
    return lines;
}

static void same_metrics(const char *a, const char *b) {
    json_t *x = metrics(a), *y = metrics(b);
    if (!json_equal(x, y))
        fail_msg("metrics of %s and %s differ:\n%s\n%s", a, b, json_dumps(x, 0), json_dumps(y, 0));
    json_decref(x);
    json_decref(y);
}

static const char *const all_switches[] = {"head_features=0.25", "head_prior=2",    "head_bootstrap=yes", "head_anchor=0.01",
                                           "head_init_scale=2",  "schedule=cosine", "weight_decay=1e-4",  NULL};

/* --- tests */

static void learns(void **state) {
    (void)state;
    outcome o = train((plan){.name = "plain", .changes = (const char *const[]){"epochs=12", "rate=2e-3", NULL}});
    if (o.status != VG_OK)
        fail_msg("%s", o.message);
    assert_true(o.result.last.val_accuracy > 0.9);
    assert_true(o.result.last.train_loss < 0.6);
    assert_true(o.result.last.diversity > 0 && o.result.last.diversity < 0.1);
    assert_true(o.result.last.k_sensitivity >= 0 && o.result.last.k_sensitivity <= 1);
    json_t *lines = metrics("plain");
    assert_int_equal(json_array_size(lines), 12);
    static const char *const names[] = {"epoch",   "train_loss", "val_loss",      "val_accuracy",
                                        "val_ece", "diversity",  "k_sensitivity", "lr"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        assert_true(json_is_number(json_object_get(json_array_get(lines, 11), names[i])));
    json_decref(lines);
}

static void same_seed_same_bits(void **state) {
    (void)state;
    trained((plan){.name = "once", .changes = all_switches});
    trained((plan){.name = "twice", .changes = all_switches});
    same_checkpoint("once", "twice", "last.safetensors");
    same_checkpoint("once", "twice", "best.safetensors");
    same_metrics("once", "twice");
}

static void stopped_and_resumed(void **state) {
    (void)state;
    outcome o = train((plan){.name = "stopped", .changes = all_switches, .stop_at = STEPS + 3});
    assert_int_equal(o.status, VG_ERR_INTERRUPTED);
    o = train((plan){.name = "stopped", .changes = all_switches});
    assert_int_equal(o.status, VG_ERR_ARGUMENT); /* without resume nothing is overwritten */
    assert_non_null(strstr(o.message, "resume"));
    o = train((plan){.name = "stopped", .changes = all_switches, .resume = true, .stop_at = 2 * STEPS + 1});
    assert_int_equal(o.status, VG_ERR_INTERRUPTED);
    trained((plan){.name = "stopped", .changes = all_switches, .resume = true});
    same_checkpoint("once", "stopped", "last.safetensors");
    same_checkpoint("once", "stopped", "best.safetensors");
    same_metrics("once", "stopped");
}

static void killed_and_resumed(void **state) {
    (void)state;
    const plan deaths[] = {{.name = "killed", .changes = all_switches, .kill_at = 2, .resume = true},
                           {.name = "killed", .changes = all_switches, .kill_in_checkpoint = 1, .resume = true},
                           {.name = "killed", .changes = all_switches, .kill_in_checkpoint = 2, .resume = true},
                           {.name = "killed", .changes = all_switches, .kill_at = 2 * STEPS, .resume = true},
                           {.name = "killed", .changes = all_switches, .kill_at = 3 * STEPS - 1, .resume = true}};
    for (size_t i = 0; i < sizeof deaths / sizeof deaths[0]; i++)
        assert_int_equal(train(deaths[i]).status, -1);
    trained((plan){.name = "killed", .changes = all_switches, .resume = true});
    same_checkpoint("once", "killed", "last.safetensors");
    same_checkpoint("once", "killed", "best.safetensors");
    same_metrics("once", "killed");
}

static void other_recipe_refused(void **state) {
    (void)state;
    outcome o = train((plan){.name = "once", .changes = (const char *const[]){"rate=2e-3", NULL}, .resume = true});
    assert_int_equal(o.status, VG_ERR_ARGUMENT);
    assert_non_null(strstr(o.message, "another recipe"));
    assert_null(strchr(o.message, '\n'));
}

static void other_losses_and_ensembles(void **state) {
    (void)state;
    trained((plan){.name = "mcd", .changes = (const char *const[]){"ensemble=mcd", "heads=1", "epochs=2", NULL}});
    outcome o =
        train((plan){.name = "mixture", .changes = (const char *const[]){"loss=mixture", "epochs=6", "rate=2e-3", NULL}});
    assert_int_equal(o.status, VG_OK);
    assert_true(o.result.last.train_loss < 2.0);
}

static void not_a_number(void **state) {
    (void)state;
    outcome o = train((plan){.name = "nan", .bad_step = STEPS + 2});
    assert_int_equal(o.status, VG_ERR_NUMERIC);
    char step[32];
    snprintf(step, sizeof step, "step %d ", STEPS + 3);
    assert_non_null(strstr(o.message, step));
    char path[512];
    vg_predictor *p;
    path_of(path, "nan", "last.safetensors"); /* of epoch 1 */
    OK(vg_predictor_open(&p, path, NULL));
    assert_int_equal(vg_predictor_describe(p).epoch, 1);
    vg_predictor_free(p);
}

static void disk_full(void **state) {
    (void)state;
    outcome o = train((plan){.name = "full", .stop_at = STEPS});
    assert_int_equal(o.status, VG_ERR_INTERRUPTED);
    o = train((plan){.name = "full", .resume = true, .file_limit = 20000});
    assert_int_equal(o.status, VG_ERR_IO);
    assert_null(strchr(o.message, '\n'));
    trained((plan){.name = "full", .resume = true});
    trained((plan){.name = "full-not"});
    same_checkpoint("full", "full-not", "last.safetensors");
}

static void collapse_is_told(void **state) {
    (void)state;
    outcome o = train(
        (plan){.name = "collapse",
               .changes = (const char *const[]){"collapse_fraction=1", "collapse_epochs=2", "epochs=8", "rate=3e-3", NULL}});
    assert_int_equal(o.status, VG_OK);
    assert_true(o.collapses >= 1);
    assert_int_equal(o.result.collapsed, 1);
    o = train((plan){.name = "no-collapse", .changes = (const char *const[]){"collapse_fraction=0", NULL}});
    assert_int_equal(o.collapses, 0);
}

static void batch_norm_refreshed(void **state) {
    (void)state;
    static const char *const wrn[] = {"network=wrn-10-1", "heads=3", "dropout=0.3", "epochs=2", NULL};
    char path[512];
    vg_source *s;
    size_t index;
    trained((plan){.name = "wrn", .changes = wrn});
    path_of(path, "wrn", "last.safetensors");
    OK(vg_source_open(&s, path));
    OK(vg_source_find(s, "norm.running_var", &index));
    OK(vg_source_find(s, "norm.refreshed_var", &index));
    vg_source_close(s);
    outcome o =
        train((plan){.name = "wrn-killed", .changes = wrn, .kill_in_checkpoint = 4}); /* end of epoch 2, before the refresh */
    assert_int_equal(o.status, -1);
    trained((plan){.name = "wrn-killed", .changes = wrn, .resume = true});
    same_checkpoint("wrn", "wrn-killed", "last.safetensors");
}

/* --- prediction (in this process: after all children) */

static float *predict(const char *run, vg_predictor_options o, size_t n, size_t cut, size_t *members) {
    char path[512];
    vg_predictor *p;
    path_of(path, run, "last.safetensors");
    o.threads = 2;
    OK(vg_predictor_open(&p, path, &o));
    vg_predictor_info info = vg_predictor_describe(p);
    *members = info.members;
    float *images = malloc(n * IMAGE * sizeof *images), *out = malloc(n * info.members * 10 * sizeof *out);
    for (size_t i = 0; i < n; i++)
        picture(images + i * IMAGE, 3, i);
    for (size_t i = 0; i < n; i += cut)
        OK(vg_predictor_run(p, out + i * info.members * 10, images + i * IMAGE, n - i < cut ? n - i : cut, i));
    free(images);
    vg_predictor_free(p);
    return out;
}

static double largest_gap(const float *a, const float *b, size_t count) {
    double gap = 0;
    for (size_t i = 0; i < count; i++)
        gap = fmax(gap, fabs((double)a[i] - b[i]));
    return gap;
}

static void members_do_not_depend_on_cuts(void **state) {
    (void)state;
    for (int e = 1; e <= 2; e++) {
        vg_predictor_options o = VG_PREDICTOR_OPTIONS_INIT;
        size_t m;
        o.ensemble = e;
        float *a = predict("once", o, 70, 70, &m);
        o.rows = 17;
        float *b = predict("once", o, 70, 23, &m);
        assert_int_equal(m, 6);
        assert_true(largest_gap(a, b, 70 * m * 10) < 1e-4);
        free(a);
        free(b);
    }
}

/* Pass t through head t is entry (t, t) of all passes through all heads. */
static void paired_members(void **state) {
    (void)state;
    vg_predictor_options o = VG_PREDICTOR_OPTIONS_INIT;
    size_t m, all;
    o.ensemble = VG_ENSEMBLE_MCD_LLE;
    float *a = predict("once", o, 20, 20, &m);
    o.passes = o.heads = 6;
    float *b = predict("once", o, 20, 20, &all);
    assert_int_equal(m, 6);
    assert_int_equal(all, 36);
    double differ = 0;
    for (size_t i = 0; i < 20; i++)
        for (size_t t = 0; t < 6; t++) {
            assert_true(largest_gap(a + (i * 6 + t) * 10, b + (i * 36 + t * 6 + t) * 10, 10) < 1e-5);
            differ = fmax(differ, largest_gap(b + (i * 36 + t * 6) * 10, b + (i * 36 + (t + 1) % 6 * 6) * 10, 10));
        }
    assert_true(differ > 1e-3); /* masks differ from pass to pass */
    free(a);
    free(b);
}

/* One head, passes that differ; both losses and the plain schedule were the business of the others. */
static void monte_carlo_dropout(void **state) {
    (void)state;
    vg_predictor_options o = VG_PREDICTOR_OPTIONS_INIT;
    size_t m;
    json_t *lines = metrics("mcd");
    assert_true(json_number_value(json_object_get(json_array_get(lines, 1), "diversity")) > 0);
    json_decref(lines);
    o.members = 9;
    float *z = predict("mcd", o, 12, 12, &m);
    assert_int_equal(m, 9);
    for (size_t i = 0; i < 12; i++)
        for (size_t t = 1; t < 9; t++)
            assert_true(largest_gap(z + i * 90, z + (i * 9 + t) * 10, 10) > 0);
    free(z);
}

static void prediction_refusals(void **state) {
    (void)state;
    char path[512];
    vg_predictor *p;
    vg_predictor_options o = VG_PREDICTOR_OPTIONS_INIT;
    path_of(path, "once", "last.safetensors");
    o.members = 7;
    assert_int_equal(vg_predictor_open(&p, path, &o), VG_ERR_ARGUMENT);
    assert_non_null(strstr(vg_error_message(), "6 heads"));
    path_of(path, "once", "recipe.yaml");
    assert_int_not_equal(vg_predictor_open(&p, path, NULL), VG_OK);
    /* cut short: refused, never half-loaded */
    char cut[512], command[1200];
    path_of(path, "once", "last.safetensors");
    path_of(cut, "once", "cut.safetensors");
    snprintf(command, sizeof command, "head -c 100000 '%s' > '%s'", path, cut);
    assert_int_equal(system(command), 0);
    assert_int_equal(vg_predictor_open(&p, cut, NULL), VG_ERR_FORMAT);
}

/* A head reads no feature outside its share, also after training; the fixed network's logits have the set spread. */
static void heads_stay_apart(void **state) {
    (void)state;
    char path[512];
    vg_source *s;
    size_t w, mask;
    path_of(path, "once", "last.safetensors");
    OK(vg_source_open(&s, path));
    OK(vg_source_find(s, "heads.weight", &w));
    OK(vg_source_find(s, "heads.mask", &mask));
    float *weights = malloc(60 * 48 * sizeof *weights);
    int64_t *kept = malloc(60 * 48 * sizeof *kept);
    OK(vg_source_read_f32(s, w, 0, 60, weights));
    OK(vg_source_read_i64(s, mask, 0, 60, kept));
    size_t count = 0;
    for (size_t i = 0; i < 60 * 48; i++) {
        count += (size_t)kept[i];
        if (kept[i])
            assert_true(weights[i] != 0);
        else
            assert_true(weights[i] == 0);
    }
    assert_int_equal(count, 60 * 12);
    for (size_t h = 0; h < 6; h++) /* the classes of a head share its features, heads differ */
        assert_memory_equal(kept + h * 480, kept + h * 480 + 48, 48 * sizeof *kept);
    assert_memory_not_equal(kept, kept + 480, 48 * sizeof *kept);
    free(weights);
    free(kept);
    vg_source_close(s);
}

static void recipes(void **state) {
    (void)state;
    vg_recipe r, again;
    vg_recipe_defaults(&r);
    assert_int_equal(vg_recipe_set(&r, "head_featurs=0.5"), VG_ERR_ARGUMENT);
    assert_non_null(strstr(vg_error_message(), "'head_features'"));
    assert_int_equal(vg_recipe_set(&r, "epochs=2.5"), VG_ERR_ARGUMENT);
    assert_int_equal(vg_recipe_set(&r, "dropout=1.5"), VG_ERR_ARGUMENT);
    assert_int_equal(vg_recipe_set(&r, "ensemble=forest"), VG_ERR_ARGUMENT);
    assert_int_equal(vg_recipe_set(&r, "flip"), VG_ERR_ARGUMENT);
    OK(vg_recipe_set(&r, "ood=[fashion-mnist, 'path:my set']"));
    OK(vg_recipe_set(&r, "k=[0.5, 1]"));
    OK(vg_recipe_set(&r, "rate=3.3e-4"));
    assert_int_equal(r.ood_count, 2);
    assert_string_equal(r.ood[1], "path:my set");
    assert_true(r.k_count == 2 && r.k[0] == 0.5 && r.rate == 3.3e-4);
    char path[512], *text, *text2;
    OK(vg_recipe_text(&text, &r));
    path_of(path, "", "round.yaml");
    FILE *file = fopen(path, "w");
    fputs(text, file);
    fclose(file);
    OK(vg_recipe_read(&again, path));
    OK(vg_recipe_text(&text2, &again));
    assert_string_equal(text, text2);
    vg_recipe_text_free(text);
    vg_recipe_text_free(text2);
    file = fopen(path, "w");
    fputs("name: x\nepoch: 3\n", file);
    fclose(file);
    assert_int_equal(vg_recipe_read(&again, path), VG_ERR_ARGUMENT);
    assert_non_null(strstr(vg_error_message(), "line 2"));
    assert_non_null(strstr(vg_error_message(), "'epochs'"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recipes),
        cmocka_unit_test(learns),
        cmocka_unit_test(same_seed_same_bits),
        cmocka_unit_test(stopped_and_resumed),
        cmocka_unit_test(killed_and_resumed),
        cmocka_unit_test(other_recipe_refused),
        cmocka_unit_test(disk_full),
        cmocka_unit_test(collapse_is_told),
        cmocka_unit_test(batch_norm_refreshed),
        cmocka_unit_test(other_losses_and_ensembles),
        cmocka_unit_test(not_a_number),
        cmocka_unit_test(members_do_not_depend_on_cuts),
        cmocka_unit_test(paired_members),
        cmocka_unit_test(monte_carlo_dropout),
        cmocka_unit_test(prediction_refusals),
        cmocka_unit_test(heads_stay_apart),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
