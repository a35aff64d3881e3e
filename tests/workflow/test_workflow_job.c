/* test_workflow_job.c - messages of a job: what the listener receives, how it stops the work, and jobs without a
 * listener. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "workflow/job.h"

typedef struct heard {
    char log[512];
    unsigned long long stop_at; /* progress at which to stop; 0: never */
} heard;

static int listen(void *context, const vg_job_message *m) {
    heard *h = context;
    size_t used = strlen(h->log);
    snprintf(h->log + used, sizeof h->log - used, "%d:%s:%s:%llu/%llu;", (int)m->event, m->text ? m->text : "-",
             m->unit ? m->unit : "-", m->done, m->total);
    return h->stop_at && m->event == VG_JOB_PROGRESS && m->done >= h->stop_at;
}

static void hears_everything(void **state) {
    (void)state;
    heard h = {"", 0};
    vg_job job = {listen, &h};
    assert_int_equal(vg_job__begin(&job, "scoring", "samples"), VG_OK);
    assert_int_equal(vg_job__progress(&job, "scoring", 5, 10), VG_OK);
    vg_job__end(&job);
    vg_job__note(&job, "%d files", 2);
    vg_job__warn(&job, "%s", "odd");
    assert_string_equal(h.log, "0:scoring:samples:0/0;1:scoring:-:5/10;2:-:-:0/0;3:2 files:-:0/0;4:odd:-:0/0;");
}

static void can_be_stopped(void **state) {
    (void)state;
    heard h = {"", 7};
    vg_job job = {listen, &h};
    vg_job_part part = {&job, "ranking"};
    assert_int_equal(vg_job__progress(&job, "scoring", 6, 10), VG_OK);
    assert_int_equal(vg_job__progress(&job, "scoring", 7, 10), VG_ERR_INTERRUPTED);
    assert_string_equal(vg_error_message(), "scoring: interrupted");
    assert_int_equal(vg_job__callback(&part, 6, 10), 0);
    assert_int_not_equal(vg_job__callback(&part, 8, 10), 0);
}

static void nobody_listens(void **state) {
    (void)state;
    vg_job silent = VG_JOB_INIT;
    const vg_job *jobs[] = {&silent, NULL};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(vg_job__begin(jobs[i], "scoring", "samples"), VG_OK);
        assert_int_equal(vg_job__progress(jobs[i], "scoring", 1, 0), VG_OK);
        vg_job__note(jobs[i], "nothing");
        vg_job__warn(jobs[i], "nothing");
        vg_job__end(jobs[i]);
    }
}

/* A note longer than a line is cut, not overrun. */
static void long_notes_are_cut(void **state) {
    (void)state;
    heard h = {"", 0};
    vg_job job = {listen, &h};
    char text[4000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    vg_job__note(&job, "%s", text);
    assert_true(strlen(h.log) == sizeof h.log - 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(hears_everything), cmocka_unit_test(can_be_stopped),
                                       cmocka_unit_test(nobody_listens), cmocka_unit_test(long_notes_are_cut)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
