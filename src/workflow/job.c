/* job.c - messages from a running job to its listener, and its request to stop. See job.h. */
#include "workflow/job.h"

#include <stdio.h>

#include "base/c_locale.h"

enum { LINE = 1024 }; /* longest note; longer ones are cut */

static int notify(const vg_job *job, vg_job_message message) {
    if (!job || !job->notify)
        return 0;
    locale_t inside = vg_locale__outside();
    int stop = job->notify(job->context, &message);
    vg_locale__inside(inside);
    return stop;
}

static vg_status stopped(const char *what) { return vg_base__fail(VG_ERR_INTERRUPTED, "%s: interrupted", what); }

vg_status vg_job__begin(const vg_job *job, const char *what, const char *unit) {
    return notify(job, (vg_job_message){VG_JOB_BEGIN, what, unit, 0, 0}) ? stopped(what) : VG_OK;
}

vg_status vg_job__progress(const vg_job *job, const char *what, unsigned long long done, unsigned long long total) {
    return notify(job, (vg_job_message){VG_JOB_PROGRESS, what, NULL, done, total}) ? stopped(what) : VG_OK;
}

void vg_job__end(const vg_job *job) { notify(job, (vg_job_message){VG_JOB_END, NULL, NULL, 0, 0}); }

static void say(const vg_job *job, vg_job_event event, const char *format, va_list arguments) {
    char line[LINE];
    vsnprintf(line, sizeof line, format, arguments);
    notify(job, (vg_job_message){event, line, NULL, 0, 0});
}

void vg_job__note(const vg_job *job, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say(job, VG_JOB_NOTE, format, arguments);
    va_end(arguments);
}

void vg_job__warn(const vg_job *job, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say(job, VG_JOB_WARNING, format, arguments);
    va_end(arguments);
}

int vg_job__callback(void *part, unsigned long long done, unsigned long long total) {
    const vg_job_part *p = part;
    return notify(p->job, (vg_job_message){VG_JOB_PROGRESS, p->what, NULL, done, total});
}
