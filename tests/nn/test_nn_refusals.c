/* test_nn_refusals.c - what the training engine refuses, and how it says so: networks and learners that cannot be
 * built, checkpoints that are damaged or of another network, members that a checkpoint does not have, options and data
 * that do not fit a run, stops and errors in the middle. */
#include "formats/arrays.h"
#include "nn/checkpoint.h"
#include "nn/predictor.h"
#include "nn/recipe.h"
#include "nn/run_lock.h"
#include "nn/trainer.h"
#include "tiny_training.h"
#include "vargate/formats.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

static void path_in(char out[400], const char *name) { snprintf(out, 400, "%s/%s", folder, name); }

static vg_backend *open_plain(void) {
    vg_backend *b;
    vg_backend_options options = {.threads = 1};
    OK(vg_backend__open(&b, "ref", &options));
    return b;
}

/* --- networks */

static vg_status build(const char *architecture, vg_shape input, size_t heads, size_t classes, double dropout,
                       size_t trunks) {
    vg_network *net;
    vg_network_spec spec = {architecture, input, heads, classes, dropout, trunks, false};
    vg_status status = vg_network__new(&net, &spec);
    if (status == VG_OK)
        vg_network__free(net);
    return status;
}

static void networks(void **state) {
    (void)state;
    const vg_shape small = {1, 16, 16}, tiny = {1, 7, 7}, flat = {1, 16, 15};
    OK(build("cnn-4-8", small, 2, 3, 0.1, 1));
    REFUSED(build("cnn-4-8", flat, 2, 3, 0.1, 1), VG_ERR_ARGUMENT, "16 or more, found 16 x 15");
    REFUSED(build("wrn-10-1", tiny, 2, 3, 0.1, 1), VG_ERR_ARGUMENT, "8 or more, found 7 x 7");
    REFUSED(build("wrn-11-1", small, 2, 3, 0.1, 1), VG_ERR_ARGUMENT, "wrn-11-1: depth must be 10, 16, 22");
    REFUSED(build("wrn-4-1", small, 2, 3, 0.1, 1), VG_ERR_ARGUMENT, "depth must be");
    REFUSED(build("wrn-106-1", small, 2, 3, 0.1, 1), VG_ERR_ARGUMENT, "depth must be");
    REFUSED(build("wrn-10-0", small, 2, 3, 0.1, 1), VG_ERR_ARGUMENT, "width 1 to 64");
    REFUSED(build("wrn-10-65", small, 2, 3, 0.1, 1), VG_ERR_ARGUMENT, "width 1 to 64");
    static const char *const unknown[] = {"resnet-18",  "cnn-4",       "cnn-0-8",  "cnn-4-0",
                                          "cnn-5000-8", "cnn-4-70000", "cnn-4-8x", "wrn-10-1-2"};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        REFUSED(build(unknown[i], small, 2, 3, 0.1, 1), VG_ERR_ARGUMENT, "is not known; there are cnn,");
    REFUSED(build("cnn-4-8", small, 0, 3, 0.1, 1), VG_ERR_ARGUMENT, "at least 1 head and 2 classes, found 0 and 3");
    REFUSED(build("cnn-4-8", small, 1, 1, 0.1, 1), VG_ERR_ARGUMENT, "found 1 and 1");
    REFUSED(build("cnn-4-8", small, 100001, 3, 0.1, 1), VG_ERR_ARGUMENT, "found 100001 and 3");
    REFUSED(build("cnn-4-8", small, 1, 100001, 0.1, 1), VG_ERR_ARGUMENT, "found 1 and 100001");
    REFUSED(build("cnn-4-8", small, 1, 3, 1.0, 1), VG_ERR_ARGUMENT, "dropout must lie in [0, 1), found 1");
    REFUSED(build("cnn-4-8", small, 1, 3, NAN, 1), VG_ERR_ARGUMENT, "dropout must lie in");
    /* Every trunk takes streams of dropout, layers and parameters of its own, of which there are so many. */
    REFUSED(build("cnn-4-8", small, 90, 3, 0.1, 90), VG_ERR_ARGUMENT, "so many times, has too many layers");
    REFUSED(build("wrn-100-1", small, 60, 3, 0.1, 60), VG_ERR_ARGUMENT, "has too many layers");
    /* Once a number of networks is too large, larger ones are too. */
    static const char *const each[] = {"cnn-4-8", "wrn-10-1", "wrn-40-1", "wrn-100-1"};
    for (size_t i = 0; i < sizeof each / sizeof *each; i++)
        for (size_t dropout = 0, full = 0, n = 2; dropout < 2; n += n / 4 + 1) {
            vg_status status = build(each[i], small, n, 3, dropout ? 0.1 : 0, n);
            assert_true(status == VG_ERR_ARGUMENT || (status == VG_OK && !full));
            full |= status != VG_OK;
            if (n > 2000) {
                assert_true(full);
                dropout++;
                full = 0;
                n = 2;
            }
        }
    vg_recipe r = tiny_recipe(NULL);
    size_t room = vg_network__training_memory(&r, small, 3);
    assert_true(room > 0);
    r.batch *= 2;
    assert_true(vg_network__training_memory(&r, small, 3) > room);
    strcpy(r.network, "other");
    assert_int_equal(vg_network__training_memory(&r, small, 3), 0);
}

/* --- learners */

static vg_learner_options learner_options(void) {
    return (vg_learner_options){.network = {"cnn-4-8", {1, TINY_SIDE, TINY_SIDE}, 2, TINY_CLASSES, 0.1, 1, false},
                                .beta1 = 0.9,
                                .beta2 = 0.999,
                                .epsilon = 1e-8,
                                .seed = 1,
                                .training = true};
}

static vg_status make_learner(vg_backend *b, const vg_learner_options *o) {
    vg_learner *l;
    vg_status status = vg_learner__new(&l, b, o);
    if (status == VG_OK)
        vg_learner__free(l);
    return status;
}

static void learners(void **state) {
    (void)state;
    static const float weights[TINY_CLASSES] = {1, 2, 3};
    vg_backend *b = open_plain();
    vg_learner_options o = learner_options(), bad;
    vg_learner *l;
    OK(make_learner(b, &o));
    bad = o, bad.head_features = 1.5;
    REFUSED(make_learner(b, &bad), VG_ERR_ARGUMENT, "head_features must lie in (0, 1], found 1.5");
    bad = o, bad.head_prior = -1;
    REFUSED(make_learner(b, &bad), VG_ERR_ARGUMENT, "must not be negative");
    bad = o, bad.head_anchor = NAN;
    REFUSED(make_learner(b, &bad), VG_ERR_ARGUMENT, "must not be negative");
    bad = o, bad.head_init_scale = -1;
    REFUSED(make_learner(b, &bad), VG_ERR_ARGUMENT, "must not be negative");
    bad = o, bad.loss = VG_LOSS_MIXTURE, bad.head_bootstrap = true;
    REFUSED(make_learner(b, &bad), VG_ERR_ARGUMENT, "it needs loss 'mean'");
    bad = o, bad.loss = VG_LOSS_MIXTURE, bad.label_smoothing = 0.1;
    REFUSED(make_learner(b, &bad), VG_ERR_ARGUMENT, "need loss 'mean'");
    bad = o, bad.loss = VG_LOSS_MIXTURE, bad.class_weights = weights;
    REFUSED(make_learner(b, &bad), VG_ERR_ARGUMENT, "need loss 'mean'");
    bad = o, bad.network.trunks = 2, bad.head_features = 0.5;
    REFUSED(make_learner(b, &bad), VG_ERR_ARGUMENT, "are for heads on one trunk");
    /* A fixed network whose logits are all the same cannot be scaled. */
    o.head_prior = 2;
    OK(vg_learner__new(&l, b, &o));
    OK(vg_learner__initialise(l));
    static const float black[TINY_IMAGE * 2];
    REFUSED(vg_learner__scale_prior(l, black, 2), VG_ERR_NUMERIC, "logits have standard deviation 0");
    OK(vg_learner__scale_prior(l, tiny_images, TINY_COUNT));
    vg_learner__free(l);
    vg_learner__free(NULL);
    /* Members with dropout of a network that has none. */
    o = learner_options();
    o.network.dropout = 0;
    float logits[TINY_CLASSES * 2];
    vg_members passes = {true, 2, 1, false, 2};
    vg_tensor *kept;
    OK(vg_learner__new(&l, b, &o));
    OK(vg_learner__initialise(l));
    REFUSED(vg_learner__predict(l, logits, tiny_images, 1, 0, &passes, 4), VG_ERR_ARGUMENT,
            "the network has no dropout");
    REFUSED(vg_learner__predict_on_device(l, &kept, tiny_images, 1, 0, &passes, 4), VG_ERR_ARGUMENT,
            "the network has no dropout");
    vg_learner__free(l);
    vg_backend__close(b);
    /* Logits that stay on a device that has no memory of its own. */
    vg_backend_options one = {.threads = 1};
    vg_members plain = {false, 1, 2, false, 2};
    OK(vg_backend__open(&b, "cpu", &one));
    OK(vg_learner__new(&l, b, &o));
    REFUSED(vg_learner__predict_on_device(l, &kept, tiny_images, 1, 0, &plain, 4), VG_ERR_UNSUPPORTED,
            "does not keep logits in its own memory");
    vg_learner__free(l);
    vg_backend__close(b);
}

/* Larger batches after smaller ones, and loss totals that are not finite. */
static void steps(void **state) {
    (void)state;
    vg_backend *b = open_plain();
    vg_learner_options o = learner_options();
    vg_learner *l;
    vg_loss_totals totals;
    o.head_bootstrap = true;
    OK(vg_learner__new(&l, b, &o));
    OK(vg_learner__initialise(l));
    for (size_t n = 2; n <= TINY_COUNT; n += 5) {
        OK(vg_learner__step(l, tiny_images, tiny_labels, tiny_indices, n, (uint32_t)n, 1e-3));
        OK(b->ops->loss_read(b, &totals));
        assert_int_equal(totals.rows, n);
        assert_int_equal(totals.bad_step, -1);
        assert_true(isfinite(totals.loss));
    }
    static float broken[TINY_BATCH * TINY_IMAGE];
    broken[3] = INFINITY;
    OK(vg_learner__step(l, broken, tiny_labels, tiny_indices, TINY_BATCH, 41, 1e-3));
    OK(vg_learner__step(l, broken, tiny_labels, tiny_indices, TINY_BATCH, 42, 1e-3));
    OK(b->ops->loss_read(b, &totals));
    assert_int_equal(totals.bad_step, 41);
    vg_learner__free(l);
    vg_backend__close(b);
}

/* --- checkpoints */

typedef struct damage {
    const char *recipe, *state, *names; /* NULL: as it was */
    const char *without;                /* the array that is left out */
    const char *flat;                   /* the array that loses its shape */
    bool no_recipe, no_state;
} damage;

static char *metadata_of(const char *path, const char *key) {
    vg_source *s;
    OK(vg_source__open(&s, path));
    const char *text = vg_source__metadata(s, key);
    char *copy = text ? strdup(text) : NULL;
    vg_source__close(s);
    return copy;
}

static void copy_arrays(vg_writer *w, vg_source *s, const damage *d) {
    for (size_t i = 0; i < vg_source__count(s); i++) {
        vg_array_info info;
        const void *bytes;
        OK(vg_source__info(s, i, &info));
        OK(vg_source__map(s, i, &bytes));
        if (d->without && strcmp(info.name, d->without) == 0)
            continue;
        bool flat = d->flat && strcmp(info.name, d->flat) == 0;
        size_t count = info.count;
        OK(vg_writer_array(w, info.name, info.element, flat ? 1 : info.rank, flat ? &count : info.shape, bytes));
    }
}

/* Writes a copy of the checkpoint with the damage. */
static void spoil(char out[400], const char *from, damage d) {
    vg_writer *w;
    vg_source *s;
    char *recipe = metadata_of(from, "recipe"), *state = metadata_of(from, "state"),
         *names = metadata_of(from, "classes");
    path_in(out, "damaged.safetensors");
    OK(vg_writer_open(&w, out));
    if (!d.no_recipe)
        OK(vg_writer__metadata(w, "recipe", d.recipe ? d.recipe : recipe));
    if (!d.no_state)
        OK(vg_writer__metadata(w, "state", d.state ? d.state : state));
    if (d.names || names)
        OK(vg_writer__metadata(w, "classes", d.names ? d.names : names));
    OK(vg_source__open(&s, from));
    copy_arrays(w, s, &d);
    OK(vg_writer_close(w));
    vg_source__close(s);
    free(recipe);
    free(state);
    free(names);
}

static vg_status open_at(const char *path, int ensemble, size_t members, size_t passes, size_t heads) {
    vg_predictor *p;
    vg_predictor_options o = VG_PREDICTOR_OPTIONS_INIT;
    o.device = "ref";
    o.threads = 1;
    o.ensemble = ensemble;
    o.members = members;
    o.passes = passes;
    o.heads = heads;
    vg_status status = vg_predictor_open(&p, path, &o);
    if (status == VG_OK)
        vg_predictor_free(p);
    return status;
}

static vg_status open_spoiled(const char *from, damage d) {
    char path[400];
    spoil(path, from, d);
    return open_at(path, -1, 0, 0, 0);
}

static vg_status train_into(const char *name, const char *const *changes, vg_train_options *given, bool resume) {
    static const char *const names[] = {"one", "two", "three"};
    char run[400];
    tiny_feed train = {0}, validation = {0};
    vg_recipe recipe = tiny_recipe(changes);
    vg_train_result result;
    path_in(run, name);
    vg_train_options o = tiny_options(&recipe, run, &train, &validation);
    o.class_names = names;
    o.resume = resume;
    if (given) {
        given->recipe = o.recipe;
        given->folder = o.folder;
        given->resume = resume;
        o = *given;
    }
    return vg_train(&result, &o);
}

static void damaged_checkpoints(void **state) {
    (void)state;
    char good[400];
    OK(train_into("good", NULL, NULL, false));
    path_in(good, "good/last.safetensors");
    OK(open_spoiled(good, (damage){0}));
    REFUSED(open_at("/nonexistent.safetensors", -1, 0, 0, 0), VG_ERR_IO, "/nonexistent.safetensors");
    REFUSED(open_spoiled(good, (damage){.no_state = true}), VG_ERR_FORMAT, "no state of training in it");
    REFUSED(open_spoiled(good, (damage){.no_recipe = true}), VG_ERR_FORMAT, "no recipe in it");
    REFUSED(open_spoiled(good, (damage){.state = "{\"epoch\": 1}"}), VG_ERR_FORMAT, "no state of training in it");
    REFUSED(open_spoiled(good, (damage){.state = "not JSON"}), VG_ERR_FORMAT, "no state of training in it");
    REFUSED(open_spoiled(good, (damage){.recipe = "no colon"}), VG_ERR_FORMAT, "its recipe is damaged");
    REFUSED(open_spoiled(good, (damage){.recipe = "rates: 1"}), VG_ERR_ARGUMENT, "unknown key 'rates'");
    REFUSED(open_spoiled(good, (damage){.recipe = "network: cnn-4-8\nheads: 3\n"}), VG_ERR_FORMAT,
            "array 'heads.weight' has shape (6, 8...), the network expects (9, 8...)");
    REFUSED(open_spoiled(good, (damage){.without = "conv2.bias"}), VG_ERR_ARGUMENT, "conv2.bias");
    REFUSED(open_spoiled(good, (damage){.flat = "conv1.weight"}), VG_ERR_FORMAT, "array 'conv1.weight' has shape (100");
    REFUSED(open_spoiled(good, (damage){.names = "[\"one\", \"two\"]"}), VG_ERR_FORMAT,
            "its class names are not a list of 3");
    REFUSED(open_spoiled(good, (damage){.names = "{}"}), VG_ERR_FORMAT, "are not a list of 3");
    REFUSED(open_spoiled(good, (damage){.names = "[\"one\", 2, \"three\"]"}), VG_ERR_FORMAT,
            "the name of class 1 is not a text");
    char line[9000];
    memset(line, 'x', sizeof line);
    memcpy(line, "name: ", 6);
    line[sizeof line - 1] = 0;
    REFUSED(open_spoiled(good, (damage){.recipe = line}), VG_ERR_FORMAT, "its recipe is damaged");
}

static void damaged_gates(void **state) {
    (void)state;
    static const char *const gated[] = {"loss=gated", NULL};
    char good[400], bad[400];
    double *k;
    OK(train_into("gated", gated, NULL, false));
    path_in(good, "gated/last.safetensors");
    OK(vg_checkpoint__gates(&k, good, TINY_CLASSES));
    for (size_t c = 0; c < TINY_CLASSES; c++)
        assert_true(k[c] > 0.6 && k[c] < 0.8); /* .693 at the start */
    vg_free(k);
    REFUSED(vg_checkpoint__gates(&k, good, 5), VG_ERR_FORMAT, "array 'gate.l' has shape (3");
    assert_null(k);
    spoil(bad, good, (damage){.without = "gate.l"});
    OK(vg_checkpoint__gates(&k, bad, TINY_CLASSES));
    assert_null(k);
    REFUSED(open_at(bad, -1, 0, 0, 0), VG_ERR_ARGUMENT, "gate.l");
}

/* A checkpoint cut at any place is refused. */
static void truncated_checkpoints(void **state) {
    (void)state;
    char good[400], cut[400];
    static char bytes[1 << 20];
    path_in(good, "good/last.safetensors");
    path_in(cut, "cut.safetensors");
    FILE *file = fopen(good, "rb");
    assert_non_null(file);
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    assert_true(size > 1000 && size < sizeof bytes);
    for (size_t length = 0; length < size; length += size / 23) {
        file = fopen(cut, "wb");
        assert_int_equal(fwrite(bytes, 1, length, file), length);
        fclose(file);
        vg_status status = open_at(cut, -1, 0, 0, 0);
        if (status != VG_ERR_FORMAT)
            fail_msg("%zu of %zu bytes: status %d: %s", length, size, (int)status, vg_error_message());
        expect_text(vg_error_message(), cut);
    }
}

/* --- members */

static void members(void **state) {
    (void)state;
    static const char *const one_head[] = {"ensemble=mcd", "heads=1", "members=4", NULL};
    char lle[400], mcd[400];
    vg_predictor *p;
    vg_predictor_info info = VG_PREDICTOR_INFO_INIT;
    path_in(lle, "good/last.safetensors");
    OK(train_into("mcd", one_head, NULL, false));
    path_in(mcd, "mcd/last.safetensors");
    REFUSED(open_at(lle, 7, 0, 0, 0), VG_ERR_ARGUMENT, "vg_predictor_options.ensemble is 7, expected -1 to 2");
    REFUSED(open_at(lle, -1, 3, 0, 0), VG_ERR_ARGUMENT, "has 2 heads, 3 members were asked for");
    REFUSED(open_at(lle, -1, 0, 3, 0), VG_ERR_ARGUMENT, "passes and heads go together");
    REFUSED(open_at(lle, -1, 0, 0, 2), VG_ERR_ARGUMENT, "passes and heads go together");
    REFUSED(open_at(lle, -1, 0, 3, 2), VG_ERR_ARGUMENT, "passes are for ensembles with dropout");
    REFUSED(open_at(lle, VG_ENSEMBLE_MCD_LLE, 0, 3, 3), VG_ERR_ARGUMENT, "has 2 heads, 3 were asked for");
    REFUSED(open_at(lle, VG_ENSEMBLE_MCD, 0, 0, 0), VG_ERR_ARGUMENT, "mcd needs one; take mcd-lle");
    REFUSED(open_at(lle, VG_ENSEMBLE_MCD_LLE, 0, SIZE_MAX / 2 + 2, 2), VG_ERR_ARGUMENT, "at most 1000000 members");
    REFUSED(open_at(mcd, -1, (size_t)1 << 40, 0, 0), VG_ERR_ARGUMENT, "at most 1000000 members");
    OK(open_at(mcd, VG_ENSEMBLE_LLE, 1, 0, 0));
    OK(open_at(lle, VG_ENSEMBLE_MCD_LLE, 0, 5, 2));
    OK(vg_predictor_open(&p, mcd, NULL));
    OK(vg_predictor_describe(&info, p));
    assert_int_equal(info.members, 4);
    REFUSED(vg_predictor_describe(NULL, p), VG_ERR_ARGUMENT, "must not be NULL");
    REFUSED(vg_predictor_describe(&info, NULL), VG_ERR_ARGUMENT, "must not be NULL");
    float number = 0;
    REFUSED(vg_predictor_run(p, NULL, &number, 1, 0), VG_ERR_ARGUMENT, "must not be NULL");
    REFUSED(vg_predictor_run(p, &number, NULL, 1, 0), VG_ERR_ARGUMENT, "must not be NULL");
    OK(vg_predictor_run(p, NULL, NULL, 0, 0));
    static const char *const names[] = {"one", "two", "three"};
    REFUSED(vg_predictor__order_classes(p, names, 2), VG_ERR_DATA, "2 class names for a network of 3 classes");
    OK(vg_predictor__order_classes(p, names, 3)); /* its own order */
    static const char *const other[] = {"three", "two", "one"};
    OK(vg_predictor__order_classes(p, other, 3));
    REFUSED(vg_predictor__order_classes(p, names, 3), VG_ERR_ARGUMENT, "or were ordered already");
    const float *there;
    void *stream;
    REFUSED(vg_predictor__run_on_device(p, &there, &stream, tiny_images, 1, 0), VG_ERR_UNSUPPORTED,
            "in another order of classes");
    vg_predictor_free(p);
    vg_predictor_free(NULL);
}

/* Members whose classes are all gated away keep their probabilities: spec section 4, Z_m <= 1e-8. */
static void gates_that_close(void **state) {
    (void)state;
    float p[2 * 2 * 2] = {1, 0, 0, 1, 0.9f, 0.1f, 0.8f, 0.2f}, kept[8];
    const double wide[2] = {1e15, 1e15}, narrow[2] = {1e-3, 1e-3};
    memcpy(kept, p, sizeof p);
    OK(vg_nn__gate_rows(p, 2, 2, 2, wide));
    for (int i = 0; i < 4; i++)
        assert_true(p[i] == kept[i]); /* both gates are at their floor: Z is 1e-8 */
    memcpy(p, kept, sizeof p);
    OK(vg_nn__gate_rows(p, 2, 2, 2, narrow)); /* the gates are open: nothing changes */
    for (int i = 4; i < 8; i++)
        assert_true(fabsf(p[i] - kept[i]) < 1e-6f);
}

/* --- runs */

static vg_train_options options_of(tiny_feed feeds[2]) {
    static const vg_recipe none;
    memset(feeds, 0, 2 * sizeof *feeds);
    return tiny_options(&none, "", &feeds[0], &feeds[1]);
}

static void options_that_do_not_fit(void **state) {
    (void)state;
    static const char *const deep[] = {"ensemble=deep", "heads=1", NULL};
    static const char *const balanced[] = {"class_weights=balanced", NULL};
    static const char *const four[] = {"class_weights=[1, 2, 3, 4]", NULL};
    static const char *const three[] = {"class_weights=[1, 2, 3]", "epochs=1", NULL};
    static const char *const broken[] = {"one", "t\xffo", "three"};
    tiny_feed f[2];
    vg_train_options o = options_of(f);
    o.train.next = NULL;
    REFUSED(train_into("x", NULL, &o, false), VG_ERR_ARGUMENT, "a recipe, a folder and two feeds");
    o = options_of(f), o.validation.seek = NULL;
    REFUSED(train_into("x", NULL, &o, false), VG_ERR_ARGUMENT, "a recipe, a folder and two feeds");
    o = options_of(f), o.train.steps = 0;
    REFUSED(train_into("x", NULL, &o, false), VG_ERR_DATA, "no images to train or to validate on");
    o = options_of(f), o.validation.steps = 0;
    REFUSED(train_into("x", NULL, &o, false), VG_ERR_DATA, "no images to train or to validate on");
    o = options_of(f), o.classes = 1;
    REFUSED(train_into("x", NULL, &o, false), VG_ERR_DATA, "at least 2 classes, found 1");
    o = options_of(f), o.device = "abacus";
    REFUSED(train_into("x", NULL, &o, false), VG_ERR_UNSUPPORTED, "device 'abacus' is not in this build");
    o = options_of(f), o.class_names = broken;
    REFUSED(train_into("x", NULL, &o, false), VG_ERR_DATA, "the name of class 1 is not UTF-8");
    REFUSED(train_into("x", deep, NULL, false), VG_ERR_ARGUMENT, "vg_train trains one network");
    REFUSED(train_into("x", balanced, NULL, false), VG_ERR_ARGUMENT, "needs vg_train_options.class_weights");
    REFUSED(train_into("x", four, NULL, false), VG_ERR_ARGUMENT, "has 4 numbers, the data 3 classes");
    OK(train_into("weights", three, NULL, false));
    REFUSED(train_into("bf16", (const char *const[]){"compute=bfloat16", NULL}, NULL, false), VG_ERR_UNSUPPORTED,
            "float32 only");
    char path[5000];
    memset(path, 'x', sizeof path);
    path[sizeof path - 1] = 0;
    vg_run_lock *lock;
    REFUSED(vg_run_lock__take(&lock, path), VG_ERR_ARGUMENT, "the run folder's name is too long");
    REFUSED(vg_run__checkpoint(path, sizeof path, path, 0, NULL), VG_ERR_ARGUMENT, "name is too long");
    vg_recipe recipe = tiny_recipe(NULL);
    vg_train_result result;
    o = options_of(f), o.recipe = &recipe, o.folder = path;
    REFUSED(vg_train(&result, &o), VG_ERR_ARGUMENT, "the run folder's name is too long");
}

static void runs_that_cannot_be_resumed(void **state) {
    (void)state;
    static const char *const two[] = {"epochs=2", "schedule=cyclic", "snapshots=2", NULL};
    static const char *const three[] = {"epochs=3", "schedule=cyclic", "snapshots=2", NULL};
    static const char *const other[] = {"network=cnn-4-9", NULL};
    tiny_feed f[2];
    vg_train_options o = options_of(f);
    REFUSED(train_into("good", NULL, NULL, false), VG_ERR_ARGUMENT, "exists already: resume it");
    REFUSED(train_into("good", other, NULL, true), VG_ERR_ARGUMENT,
            "'network: cnn-4-8' there, 'network: cnn-4-9' here");
    o.std[0] = 2;
    REFUSED(train_into("good", NULL, &o, true), VG_ERR_DATA, "the mean or spread of its images differs");
    o = options_of(f), o.height = 20;
    REFUSED(train_into("good", NULL, &o, true), VG_ERR_DATA, "is for images of 1 x 16 x 16, the data has 1 x 20 x 16");
    o = options_of(f), o.classes = 4;
    REFUSED(train_into("good", NULL, &o, true), VG_ERR_DATA, "has 3 classes, the data 4");
    OK(train_into("snapshots", two, NULL, false));
    REFUSED(train_into("snapshots", three, NULL, true), VG_ERR_ARGUMENT, "a run of 3 needs another folder");
    static const char *const joint[] = {"ensemble=deep", "heads=1", "loss=gated", "members=2", NULL};
    static const char *const more[] = {"ensemble=deep", "heads=1", "loss=gated", "members=3", NULL};
    OK(train_into("joint", joint, NULL, false));
    REFUSED(train_into("joint", more, NULL, true), VG_ERR_ARGUMENT, "'members: 2' there, 'members: 3' here");
}

static int stops; /* events of this kind until the stop */
static vg_train_event_kind stop_kind;
static int on_event(void *context, const vg_train_event *event) {
    (void)context;
    return event->kind == stop_kind && stops > 0 && --stops == 0;
}

static void stops_and_errors_in_the_middle(void **state) {
    (void)state;
    static const char *const residual[] = {"network=wrn-10-1", "dropout=0.3", NULL};
    static const struct {
        vg_train_event_kind kind;
        int count;
        const char *part;
    } cases[] = {{VG_TRAIN_START, 1, "stopped in epoch 1 after step 0 of 3"},
                 {VG_TRAIN_STEP, 2, "stopped in epoch 1 after step 2 of 3"},
                 {VG_TRAIN_EPOCH, 1, "stopped in epoch 2 after step 0 of 3"},
                 {VG_TRAIN_CHECKPOINT, 1, "stopped in epoch 2 after step 0 of 3"},
                 {VG_TRAIN_REFRESH, 2, "stopped while taking batch-norm statistics again"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char name[32];
        tiny_feed f[2];
        vg_train_options o = options_of(f);
        snprintf(name, sizeof name, "stopped-%zu", i);
        o.event = on_event;
        o.device = "cpu";
        stops = cases[i].count;
        stop_kind = cases[i].kind;
        REFUSED(train_into(name, residual, &o, false), VG_ERR_INTERRUPTED, cases[i].part);
        OK(train_into(name, residual, &o, true));
    }
    for (size_t at = 1; at <= 6; at++) { /* three batches of training, three of validation */
        char name[32];
        tiny_feed f[2];
        vg_train_options o = options_of(f);
        snprintf(name, sizeof name, "unreadable-%zu", at);
        tiny_feed *which = &f[at > 3];
        which->fail_at = at > 3 ? at - 3 : at;
        which->failure = VG_ERR_IO;
        REFUSED(train_into(name, NULL, &o, false), VG_ERR_IO, "could not be read");
        which->fail_at = 0;
        which->calls = 0;
        OK(train_into(name, NULL, &o, true));
    }
}

/* A loss that is not finite ends the training with the step's number; figures of such an epoch are kept as 0. */
static void losses_that_are_not_finite(void **state) {
    (void)state;
    static const char *const wild[] = {"rate=10", "epochs=6", "optimiser=sgd", "momentum=0.99", NULL};
    float kept = tiny_images[5];
    tiny_images[5] = NAN;
    REFUSED(train_into("nan", NULL, NULL, false), VG_ERR_NUMERIC, "the loss is not finite at step 1 (epoch 1)");
    tiny_images[5] = kept;
    vg_status status = train_into("wild", wild, NULL, false);
    if (status != VG_OK)
        expect_text(vg_error_message(), "the loss is not finite at step");
}

static void folders_that_cannot_be_used(void **state) {
    (void)state;
    char path[400];
    path_in(path, "plain-file");
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
    REFUSED(train_into("plain-file", NULL, NULL, false), VG_ERR_IO, "plain-file");
    REFUSED(train_into("plain-file/run", NULL, NULL, false), VG_ERR_IO, "plain-file");
    /* A lock file that cannot be one, and a checkpoint that is a folder. */
    path_in(path, "odd");
    assert_int_equal(mkdir(path, 0777), 0);
    path_in(path, "odd/train.lock");
    assert_int_equal(mkdir(path, 0777), 0);
    REFUSED(train_into("odd", NULL, NULL, false), VG_ERR_IO, "train.lock");
    assert_int_equal(remove(path), 0);
    /* A lock that is held, by somebody who has not written who he is. */
    int held = open(path, O_RDWR | O_CREAT, 0666);
    assert_true(held >= 0 && flock(held, LOCK_EX) == 0);
    REFUSED(train_into("odd", NULL, NULL, false), VG_ERR_IO, "another process is training into this folder");
    close(held);
    path_in(path, "odd/last.safetensors");
    assert_int_equal(mkdir(path, 0777), 0);
    vg_status status = train_into("odd", NULL, NULL, true);
    assert_true(status == VG_ERR_IO || status == VG_ERR_FORMAT);
    expect_text(vg_error_message(), "odd/last.safetensors");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(networks),
        cmocka_unit_test(learners),
        cmocka_unit_test(steps),
        cmocka_unit_test(damaged_checkpoints),
        cmocka_unit_test(damaged_gates),
        cmocka_unit_test(truncated_checkpoints),
        cmocka_unit_test(members),
        cmocka_unit_test(gates_that_close),
        cmocka_unit_test(options_that_do_not_fit),
        cmocka_unit_test(runs_that_cannot_be_resumed),
        cmocka_unit_test(stops_and_errors_in_the_middle),
        cmocka_unit_test(losses_that_are_not_finite),
        cmocka_unit_test(folders_that_cannot_be_used),
    };
    make_tiny_images();
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
