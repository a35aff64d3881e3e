/* score_bridge.c - exit codes for the library's scoring helpers. See score_bridge.h. */
#include "score_bridge.h"

#include "console.h"
#include "console_job.h"

const vg_job *score_bridge_job(void) {
    static console_job state;
    static vg_job job;
    if (!job.tell)
        job = console_job_listener(&state);
    return &job;
}

int score_input_open_labels(vg_score_input *in, const score_options *options, const char *path, const char *labels) {
    score_request request;
    int code = score_options_request(&request, options);
    if (code != CLI_OK)
        return code;
    return console_status(vg_score_input__open_labels(in, path, &request.input, labels, score_bridge_job()));
}

int score_input_open(vg_score_input *in, const score_options *options, const char *path) {
    return score_input_open_labels(in, options, path, options->labels);
}

int score_input_need_labels(const vg_score_input *in) { return console_status(vg_score_input__need_labels(in)); }

int score_options_resolve(vg_score_options *out, const score_options *options) {
    score_request request;
    int code = score_options_request(&request, options);
    return code == CLI_OK ? console_status(vg_score_input__settings(out, &request.input)) : code;
}
