/* report_command.h - command lines that a page shows so that its decisions can be repeated. Internal. */
#ifndef VG_WORKFLOW_REPORT_COMMAND_H
#define VG_WORKFLOW_REPORT_COMMAND_H

#include "base/base.h"
#include "vargate/workflow.h"

/* "vargate decide FILE" with the options by which `reading` reads and scores the file; -k K is added by the page. Words
 * are quoted for a shell where they need it. `*out` is released by vg_base__release. */
vg_status vg_report_command__decide(char **out, const char *path, const vg_input_options *reading);

/* The command line that repeats a decision of `vargate decide` for a file: `options` (words of a shell) that decide,
 * or the policy in the file `saved`, which also holds the conventions and the temperature; then how the file is
 * read. Labels are left out: they were those of the validation data. */
vg_status vg_report_command__again(char **out, const char *path, const vg_input_options *reading, const char *options,
                                   const char *saved);

/* The same for a policy: FILE is also the --calibration file, and k of the rule is chosen; --target-risk R and --save
 * FILE are added by the page. */
vg_status vg_report_command__policy(char **out, const char *path, const vg_input_options *reading);
/* Any words as one line. */
vg_status vg_report_command__join(char **out, const char *const *words, size_t count);

/* The time in UTC as 2026-11-16T19:05:00Z; that of $SOURCE_DATE_EPOCH where it is set, so that equal inputs give equal
 * pages. */
void vg_report_command__now(char *out, size_t room);

#endif
