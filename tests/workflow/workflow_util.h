/* workflow_util.h - files in the folder of a test of workflows (folder_util.h). */
#ifndef VG_TEST_WORKFLOW_UTIL_H
#define VG_TEST_WORKFLOW_UTIL_H

#include <stdbool.h>
#include <sys/stat.h>

#include "folder_util.h"
#include "vargate/workflow.h"

#define OK(call)                                                                                                       \
    do {                                                                                                               \
        if ((call) != VG_OK)                                                                                           \
            fail_msg("%s: %s", #call, vg_error_message());                                                             \
    } while (0)

enum { PATH = 512 };

static inline const char *in_folder(char out[PATH], const char *name) {
    snprintf(out, PATH, "%s/%s", folder, name);
    return out;
}

static inline bool is_there(const char *name) {
    char path[PATH];
    struct stat st;
    return stat(in_folder(path, name), &st) == 0;
}

static inline bool same_bytes(const char *one, const char *other) {
    char command[4 * PATH];
    snprintf(command, sizeof command, "cmp -s '%s/%s' '%s/%s'", folder, one, folder, other);
    return system(command) == 0;
}

/* Options of a training on one thread of the CPU into a folder of the test. */
static inline vg_train_recipe_options train_options(const vg_recipe *recipe, char path[PATH], const char *run,
                                                    bool resume) {
    vg_train_recipe_options options = VG_TRAIN_RECIPE_OPTIONS_INIT;
    options.recipe = recipe;
    options.folder = in_folder(path, run);
    options.device = "cpu";
    options.threads = 1;
    options.resume = resume;
    return options;
}

/* Events and messages of a training go to these two functions. */
static inline void listen_to(vg_train_recipe_options *options, int (*on_event)(void *, const vg_train_event *),
                             int (*on_message)(void *, const vg_job_message *), void *context) {
    options->event = on_event;
    options->event_context = context;
    options->job = (vg_job){on_message, context};
}

#endif
