/* sweep.c - a recipe run for every combination of some settings, and the runs compared.
 *
 *   FOLDER/KEY=VALUE,KEY=VALUE   the run of one combination (run_recipe.c); combinations that are finished are skipped
 *   FOLDER/comparison.md, .html  the runs side by side (compare_runs.c)
 *
 * The last setting with several values changes fastest. All recipes are checked before the first training begins. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "base/c_locale.h"
#include "vargate/compare.h"
#include "workflow/job.h"
#include "workflow/workflow_options.h"

enum { NAME = 256, PATH = 1024, SETTINGS = 64, TEXT = 512, MESSAGE = 1024 };

/* A setting "key=a,b,c"; commas inside brackets belong to a value. */
typedef struct axis {
    const char *key, *values;
    size_t key_length, count;
} axis;

typedef struct sweep {
    vg_sweep_options options;
    axis axes[SETTINGS];
    size_t runs, next, done; /* next: the first run that no worker has taken; both under lock */
    char folder[PATH];
    char paths[VG_COMPARE_MOST][PATH + NAME];
    vg_recipe recipes[VG_COMPARE_MOST];
    bool stop;
    vg_status status; /* the first failure, under lock */
    char message[MESSAGE];
    unsigned threads;
    pthread_mutex_t lock;
} sweep;

/* --- combinations ------------------------------------------------------------------------------------------------- */

/* The length of the first value of a list. */
static size_t value_length(const char *values) {
    size_t length = 0;
    for (int depth = 0; values[length] && (depth > 0 || values[length] != ','); length++)
        depth += values[length] == '[' ? 1 : values[length] == ']' ? -1 : 0;
    return length;
}

static vg_status read_axis(axis *a, const char *setting) {
    const char *equals = strchr(setting, '=');
    if (!equals || equals == setting || !equals[1])
        return vg_base__fail(VG_ERR_ARGUMENT, "sweep: '%.100s' is not key=value or key=a,b,c", setting);
    *a = (axis){setting, equals + 1, (size_t)(equals - setting), 1};
    for (const char *v = a->values; v[value_length(v)]; v += value_length(v) + 1)
        a->count++;
    return VG_OK;
}

/* "key=value" of one value of an axis. */
static vg_status setting_of(char out[TEXT], const axis *a, size_t index) {
    const char *v = a->values;
    while (index-- > 0)
        v += value_length(v) + 1;
    int length = snprintf(out, TEXT, "%.*s=%.*s", (int)a->key_length, a->key, (int)value_length(v), v);
    if (length >= TEXT || !value_length(v))
        return vg_base__fail(VG_ERR_ARGUMENT, "sweep: a value of '%.*s' is empty or too long", (int)a->key_length,
                             a->key);
    return VG_OK;
}

/* The recipe and the folder of combination `index`. */
static vg_status make_run(sweep *s, size_t index) {
    static const char *const none = "run";
    char texts[SETTINGS][TEXT], name[NAME] = "";
    const char *changes[SETTINGS];
    size_t rest = index, used = 0;
    for (size_t i = s->options.setting_count; i-- > 0; rest /= s->axes[i].count) {
        VG_TRY(setting_of(texts[i], &s->axes[i], rest % s->axes[i].count));
        changes[i] = texts[i];
    }
    for (size_t i = 0; i < s->options.setting_count; i++)
        if (s->axes[i].count > 1 && used < sizeof name)
            used += (size_t)snprintf(name + used, sizeof name - used, "%s%s", used ? "," : "", texts[i]);
    if (used >= sizeof name)
        return vg_base__fail(VG_ERR_ARGUMENT, "sweep: the name of a run is too long: %.80s...", name);
    for (char *c = name; *c; c++)
        *c = *c == '/' || *c == ' ' ? '-' : *c;
    snprintf(s->paths[index], sizeof s->paths[index], "%s/%s", s->folder, used ? name : none);
    return vg_recipe_find(&s->recipes[index], s->options.recipe, changes, s->options.setting_count);
}

static vg_status choose_folder(sweep *s) {
    vg_recipe recipe;
    int length;
    VG_TRY(vg_recipe_find(&recipe, s->options.recipe, NULL, 0));
    if (s->options.folder)
        length = snprintf(s->folder, sizeof s->folder, "%s", s->options.folder);
    else
        length = snprintf(s->folder, sizeof s->folder, "runs/%s-sweep", recipe.name);
    if (length < 0 || length > 200)
        return vg_base__fail(VG_ERR_ARGUMENT, "sweep: the folder's name is too long");
    return VG_OK;
}

static vg_status plan(sweep *s) {
    const vg_sweep_options *o = &s->options;
    if (!o->recipe || (o->setting_count && !o->settings))
        return vg_base__fail(VG_ERR_ARGUMENT, "sweep: recipe and settings must not be NULL");
    if (o->setting_count > SETTINGS)
        return vg_base__fail(VG_ERR_ARGUMENT, "sweep: %zu settings, expected at most %d", o->setting_count, SETTINGS);
    VG_TRY(choose_folder(s));
    s->runs = 1;
    for (size_t i = 0; i < o->setting_count; i++) {
        VG_TRY(read_axis(&s->axes[i], o->settings[i]));
        s->runs *= s->axes[i].count;
        if (s->runs > VG_COMPARE_MOST)
            return vg_base__fail(VG_ERR_ARGUMENT, "sweep: more than %d runs", VG_COMPARE_MOST);
    }
    for (size_t i = 0; i < s->runs; i++)
        VG_TRY(make_run(s, i));
    return VG_OK;
}

/* --- running ------------------------------------------------------------------------------------------------------ */

typedef struct one_run {
    sweep *sweep;
    size_t index;
} one_run;

static const char *name_of(const sweep *s, size_t index) { return strrchr(s->paths[index], '/') + 1; }

/* The listener of one run: prefixes its lines with its name, and reports progress of the whole sweep. */
static int notify(void *context, const vg_job_message *message) {
    one_run *own = context;
    sweep *s = own->sweep;
    pthread_mutex_lock(&s->lock);
    if (message->event == VG_JOB_NOTE)
        vg_job__note(&s->options.job, "%s: %s", name_of(s, own->index), message->text);
    else if (message->event == VG_JOB_WARNING)
        vg_job__warn(&s->options.job, "%s: %s", name_of(s, own->index), message->text);
    else if (message->event == VG_JOB_PROGRESS && !s->stop &&
             vg_job__progress(&s->options.job, "sweep", s->done, s->runs) != VG_OK)
        s->stop = true;
    int stop = s->stop;
    pthread_mutex_unlock(&s->lock);
    return stop;
}

static vg_status run_one(sweep *s, size_t index) {
    one_run own = {s, index};
    vg_run_recipe_options options = VG_RUN_RECIPE_OPTIONS_INIT;
    vg_run_result *result;
    options.recipe = &s->recipes[index];
    options.folder = s->paths[index];
    options.data = s->options.data;
    options.device = s->options.device;
    options.threads = s->threads;
    options.job = (vg_job){notify, &own};
    VG_TRY(vg_run_recipe(&result, &options));
    vg_run_result_free(result);
    return VG_OK;
}

static void *work(void *argument) {
    VG_IN_C_LOCALE;
    sweep *s = argument;
    pthread_mutex_lock(&s->lock);
    while (s->next < s->runs && !s->stop) {
        size_t index = s->next++;
        pthread_mutex_unlock(&s->lock);
        vg_status status = run_one(s, index);
        pthread_mutex_lock(&s->lock);
        s->done += status == VG_OK;
        if (status != VG_OK) {
            if (s->status == VG_OK || s->status == VG_ERR_INTERRUPTED) {
                s->status = status;
                snprintf(s->message, sizeof s->message, "%.200s: %.800s", name_of(s, index), vg_error_message());
            }
            s->stop = true;
        }
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

static vg_status run_all(sweep *s) {
    pthread_t workers[VG_COMPARE_MOST];
    unsigned jobs = s->options.jobs > s->runs ? (unsigned)s->runs : s->options.jobs, started = 0;
    unsigned cores = vg_base__cores();
    s->threads = s->options.threads;
    if (jobs > 1 && !s->threads)
        s->threads = cores / jobs ? cores / jobs : 1;
    VG_TRY(vg_job__begin(&s->options.job, "sweep", "runs"));
    while (jobs > 1 && started < jobs && pthread_create(&workers[started], NULL, work, s) == 0)
        started++;
    if (!started)
        work(s);
    for (unsigned i = 0; i < started; i++)
        pthread_join(workers[i], NULL);
    vg_job__end(&s->options.job);
    if (s->status == VG_OK && s->done < s->runs)
        return vg_base__fail(VG_ERR_INTERRUPTED, "sweep: interrupted after %zu of %zu runs", s->done, s->runs);
    return s->status == VG_OK ? VG_OK : vg_base__fail(s->status, "%s", s->message);
}

static vg_status compare(vg_compare_result **out, sweep *s) {
    const char *inputs[VG_COMPARE_MOST];
    char path[PATH + 32];
    vg_compare_options how = VG_COMPARE_OPTIONS_INIT;
    how.job = s->options.job;
    how.resamples = s->options.resamples;
    for (size_t i = 0; i < s->runs; i++)
        inputs[i] = s->paths[i];
    VG_TRY(vg_compare(out, inputs, s->runs, NULL, &how));
    static const char *const endings[] = {"md", "html"};
    vg_status status = VG_OK;
    for (int i = 0; i < 2 && status == VG_OK; i++) {
        snprintf(path, sizeof path, "%s/comparison.%s", s->folder, endings[i]);
        status = vg_compare_result_save(*out, path);
    }
    if (status != VG_OK) {
        vg_compare_result_free(*out);
        *out = NULL;
    }
    return status;
}

vg_status vg_sweep(vg_compare_result **out, const vg_sweep_options *options) {
    VG_TRY(vg_base__given(out != NULL, "vg_sweep: out"));
    VG_IN_C_LOCALE;
    sweep *s;
    *out = NULL;
    VG_TRY(vg_base__given(options != NULL, "vg_sweep: options"));
    VG_TRY(vg_base__zalloc(&s, 1, sizeof *s, "a sweep"));
    s->options = (vg_sweep_options)VG_SWEEP_OPTIONS_INIT;
    pthread_mutex_init(&s->lock, NULL);
    vg_status status = vg_workflow__options(&s->options, sizeof s->options, options, "vg_sweep_options");
    if (status == VG_OK)
        status = plan(s);
    if (status == VG_OK)
        status = run_all(s);
    if (status == VG_OK)
        status = compare(out, s);
    pthread_mutex_destroy(&s->lock);
    vg_base__release(s);
    return status;
}
