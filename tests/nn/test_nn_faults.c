/* test_nn_faults.c - the training engine with the n-th allocation, open, read, write, rename, fsync or thread failing,
 * for every n: learners with every option of their heads, checkpoints, predictors, recipes, and whole trainings. Each
 * ends with one line of message, or as without a fault, and frees its memory. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* nftw */
#endif
#include <ftw.h>
#include <sys/stat.h>

#include "fault_loop.h"
#include "nn/checkpoint.h"
#include "nn/predictor.h"
#include "nn/recipe.h"
#include "tiny_training.h"

static const char *const names[] = {"one", "two", "three"};
static double figure; /* of a result: the same where a fault made no difference */

typedef struct scene {
    const char *device;
    const char *const *changes; /* of the recipe */
    vg_recipe recipe;
    vg_train_state state;
    bool refreshes, resumes;
    char run[400], file[420];
} scene;

static int remove_entry(const char *path, const struct stat *about, int kind, struct FTW *place) {
    (void)about, (void)kind, (void)place;
    return remove(path);
}

static scene make_scene(const char *device, const char *const *changes) {
    scene s = {.device = device, .changes = changes, .recipe = tiny_recipe(changes)};
    s.state =
        (vg_train_state){.channels = 1, .height = TINY_SIDE, .width = TINY_SIDE, .classes = TINY_CLASSES, .std = {1}};
    snprintf(s.run, sizeof s.run, "%s/run", folder);
    snprintf(s.file, sizeof s.file, "%s/tiny.safetensors", folder);
    return s;
}

/* --- learners and checkpoints */

static vg_status steps(vg_learner *l, const scene *s) {
    vg_loss_totals totals;
    VG_TRY(vg_learner__initialise(l));
    VG_TRY(vg_learner__scale_prior(l, tiny_images, TINY_COUNT));
    for (uint32_t i = 0; i < 2; i++)
        VG_TRY(vg_learner__step(l, tiny_images, tiny_labels, tiny_indices, TINY_BATCH, i, 1e-3));
    if (s->refreshes) {
        VG_TRY(vg_learner__refresh(l, tiny_images, NULL, 0, TINY_BATCH, 0));
        l->model->has_refreshed = true;
    }
    return l->backend->ops->loss_read(l->backend, &totals);
}

static vg_status predict(vg_learner *l, const scene *s) {
    float logits[TINY_COUNT * 3 * 2 * TINY_CLASSES];
    vg_members plain = {false, 1, 2, false, 2}, passes = {true, 3, 2, false, 6};
    VG_TRY(vg_learner__predict(l, logits, tiny_images, TINY_COUNT, 0, &plain, 5));
    if (s->recipe.loss == VG_LOSS_GATED)
        return VG_OK;
    return vg_learner__predict(l, logits, tiny_images, TINY_COUNT, 0, &passes, 5);
}

static vg_status with_learner(vg_backend *backend, const scene *s, bool training) {
    vg_learner *l;
    vg_learner_options o = vg_checkpoint__learner_options(&s->recipe, &s->state, training);
    VG_TRY(vg_learner__new(&l, backend, &o));
    vg_status status = training ? steps(l, s) : vg_checkpoint__load(s->file, l, false);
    if (status == VG_OK && training)
        status = vg_checkpoint__save(s->file, l, &s->recipe, &s->state, names, true);
    if (status == VG_OK && training)
        status = vg_checkpoint__load(s->file, l, true);
    if (status == VG_OK)
        status = predict(l, s);
    vg_learner__free(l);
    return status;
}

static vg_status learn(void *context) {
    const scene *s = context;
    vg_backend *backend;
    vg_backend_options options = {.threads = 1};
    VG_TRY(vg_backend__open(&backend, s->device, &options));
    vg_status status = with_learner(backend, s, true);
    if (status == VG_OK)
        status = with_learner(backend, s, false);
    vg_backend__close(backend);
    return status;
}

static const char *const all_of_heads[] = {
    "head_features=0.5", "head_prior=2",        "head_bootstrap=yes", "head_init_scale=2", "head_anchor=0.1",
    "ema=0.9",           "label_smoothing=0.1", "clip_norm=1",        "heads=2",           NULL};
/* The same without the fixed network, which takes most of the time. */
static const char *const most_of_heads[] = {"head_features=0.5", "head_bootstrap=yes", "head_anchor=0.1",
                                            "ema=0.9",           "clip_norm=1",        NULL};
static const char *const residual[] = {"network=wrn-10-1", "dropout=0.3", "optimiser=sgd", "momentum=0.9", NULL};
static const char *const joint[] = {"ensemble=deep", "loss=gated", "members=2", "heads=1", NULL};

static void learners(void **state) {
    (void)state;
    static const char *const kinds[] = {"open", "read", "write", "mmap", "fsync", "rename"};
    static const struct {
        const char *device;
        const char *const *changes;
    } cases[] = {{"ref", all_of_heads}, {"cpu", residual}, {"cpu", joint}};
    for (int i = 0; i < 3; i++) {
        scene s = make_scene(cases[i].device, cases[i].changes);
        s.refreshes = cases[i].changes == residual;
        walk_faults((fault_walk){.what = s.device,
                                 .body = learn,
                                 .context = &s,
                                 .kind = "alloc",
                                 .status = VG_ERR_MEMORY,
                                 .stride = i ? 5 : 3,
                                 .tolerated = 4});
    }
    scene s = make_scene("ref", most_of_heads);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        walk_faults(
            (fault_walk){.what = "files of a learner", .body = learn, .context = &s, .kind = kinds[k], .stride = 5});
}

/* --- predictors */

static vg_status use_predictor(void *context) {
    static const char *const swapped[] = {"two", "one", "three"};
    const scene *s = context;
    vg_predictor *p;
    vg_predictor_options options = VG_PREDICTOR_OPTIONS_INIT;
    vg_predictor_info info = VG_PREDICTOR_INFO_INIT;
    float logits[TINY_COUNT * 2 * TINY_CLASSES];
    options.device = s->device;
    options.threads = 1;
    VG_TRY(vg_predictor_open(&p, s->file, &options));
    vg_status status = vg_predictor_describe(&info, p);
    if (status == VG_OK)
        status = vg_predictor__order_classes(p, swapped, TINY_CLASSES);
    if (status == VG_OK)
        status = vg_predictor_run(p, logits, tiny_images, TINY_COUNT, 0);
    if (status == VG_OK) {
        vg_nn__softmax_rows(logits, TINY_COUNT * 2, TINY_CLASSES);
        status = vg_nn__gate_rows(logits, TINY_COUNT, 2, TINY_CLASSES, (const double[]){1, 1, 1});
    }
    vg_predictor_free(p);
    return status;
}

static void predictors(void **state) {
    (void)state;
    static const char *const *const sets[] = {most_of_heads, joint};
    for (int i = 0; i < 2; i++) {
        scene s = make_scene("ref", sets[i]);
        OK(learn(&s));
        walk_faults((fault_walk){.what = "a predictor",
                                 .body = use_predictor,
                                 .context = &s,
                                 .kind = "alloc",
                                 .status = VG_ERR_MEMORY,
                                 .tolerated = 2});
        walk_faults((fault_walk){.what = "a predictor", .body = use_predictor, .context = &s, .kind = "read"});
        walk_faults((fault_walk){.what = "a predictor", .body = use_predictor, .context = &s, .kind = "open"});
    }
}

/* --- recipes */

static vg_status write_and_read(void *context) {
    const scene *s = context;
    vg_recipe again;
    char *text;
    VG_TRY(vg_recipe_text(&text, &s->recipe));
    vg_free(text);
    return vg_recipe__read(&again, s->file);
}

static void recipes(void **state) {
    (void)state;
    scene s = make_scene("ref", all_of_heads);
    char *text;
    snprintf(s.file, sizeof s.file, "%s/tiny.yaml", folder);
    OK(vg_recipe_text(&text, &s.recipe));
    FILE *file = fopen(s.file, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
    vg_free(text);
    static const char *const kinds[] = {"alloc", "open", "read"};
    for (int i = 0; i < 3; i++)
        walk_faults((fault_walk){.what = "a recipe", .body = write_and_read, .context = &s, .kind = kinds[i]});
}

/* --- whole trainings */

static vg_status train_once(const scene *s, bool resume, const vg_recipe *recipe) {
    tiny_feed train = {0}, validation = {0};
    vg_train_options o = tiny_options(recipe, s->run, &train, &validation);
    vg_train_result result;
    o.device = s->device;
    o.class_names = names;
    o.tensorboard = 1;
    o.resume = resume;
    vg_status status = vg_train(&result, &o);
    figure = result.last.val_loss + result.last.train_loss;
    return status;
}

/* A training, and then its continuation with another name and one epoch more. */
static vg_status train_tiny(void *context) {
    scene *s = context;
    if (!s->resumes)
        return train_once(s, false, &s->recipe);
    vg_recipe longer = s->recipe;
    longer.epochs++;
    strcpy(longer.name, "longer");
    return train_once(s, true, &longer);
}

static void prepare_run(void *context) {
    scene *s = context;
    nftw(s->run, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    if (s->resumes)
        OK(train_once(s, false, &s->recipe));
}

static void whole(scene s, const char *kind, vg_status status, unsigned long stride) {
    walk_faults((fault_walk){.what = s.resumes ? "a resumed training" : "a training",
                             .body = train_tiny,
                             .context = &s,
                             .kind = kind,
                             .status = status,
                             .stride = stride,
                             .before = prepare_run,
                             .figure = &figure});
}

static const char *const short_residual[] = {"network=wrn-10-1", "dropout=0.3", NULL};
static const char *const snapshots[] = {"schedule=cyclic", "snapshots=2", "epochs=2", NULL};

static void trainings(void **state) {
    (void)state;
    static const char *const kinds[] = {"open", "read", "write", "fsync", "rename", "folder", "thread", "mmap"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        scene s = make_scene("ref", most_of_heads);
        unsigned long stride = i == 1 || i == 2 ? 7 : 1; /* of the reads and writes most are of the same arrays */
        whole(s, kinds[i], VG_OK, stride);
        s.resumes = true;
        whole(s, kinds[i], VG_OK, 2 * stride);
    }
}

static void trainings_without_memory(void **state) {
    (void)state;
    scene s = make_scene("ref", most_of_heads);
    whole(s, "alloc", VG_ERR_MEMORY, 2);
    whole(make_scene("ref", all_of_heads), "alloc", VG_ERR_MEMORY, 19);
    whole(make_scene("cpu", joint), "alloc", VG_ERR_MEMORY, 13);
    whole(make_scene("cpu", short_residual), "alloc", VG_ERR_MEMORY, 23);
    whole(make_scene("cpu", snapshots), "alloc", VG_ERR_MEMORY, 17);
    s.resumes = true;
    whole(s, "alloc", VG_ERR_MEMORY, 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(learners),
        cmocka_unit_test(predictors),
        cmocka_unit_test(recipes),
        cmocka_unit_test(trainings),
        cmocka_unit_test(trainings_without_memory),
    };
    make_tiny_images();
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
