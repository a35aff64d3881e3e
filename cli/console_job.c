/* console_job.c - a listener that shows a job of the library on the console. See console.h. */
#include "cli.h"

static void finish_bar(console_job *state) {
    if (state->drawing)
        progress_end(&state->bar);
    state->drawing = false;
}

static void warn_once(console_job *state, const char *text) {
    uint64_t digest = 14695981039346656037u; /* FNV-1a */
    for (const char *at = text; *at; at++)
        digest = (digest ^ (unsigned char)*at) * 1099511628211u;
    uint64_t *place = &state->warned[digest % 16];
    if (*place != digest)
        console_warn("%s", text);
    *place = digest;
}

static int notify(void *context, const vg_job_message *message) {
    console_job *state = context;
    switch (message->event) {
    case VG_JOB_BEGIN:
        finish_bar(state);
        if (state->guards && !state->guarded) {
            console_guard();
            state->guarded = true;
        }
        vg_printable(state->what, sizeof state->what, message->text);
        snprintf(state->unit, sizeof state->unit, "%s", message->unit);
        progress_begin(&state->bar, state->what, state->unit);
        state->drawing = true;
        break;
    case VG_JOB_PROGRESS:
        if (!state->drawing)
            break;
        vg_printable(state->what, sizeof state->what, message->text);
        progress_update(&state->bar, message->done, message->total);
        break;
    case VG_JOB_END: finish_bar(state); break;
    case VG_JOB_NOTE: console_note("%s", message->text); break;
    case VG_JOB_WARNING: warn_once(state, message->text); break;
    }
    return console_interrupted();
}

vg_job console_job_listener(console_job *state) {
    *state = (console_job){.drawing = false};
    return (vg_job){notify, state};
}

vg_job console_job_guarded(console_job *state) {
    vg_job job = console_job_listener(state);
    state->guards = true;
    return job;
}

void console_job_end(console_job *state) {
    finish_bar(state);
    if (state->guarded)
        console_unguard();
    state->guarded = false;
}

vg_job console_job_writing(console_job *state, const char *output) {
    return output ? console_job_guarded(state) : console_job_listener(state);
}
