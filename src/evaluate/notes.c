/* notes.c - the notes that a reader of an evaluation's figures needs, one sentence each; the same for the command
 * line, Python and the report. */
#include <stdio.h>

#include "base/c_locale.h"
#include "evaluate/evaluate_internal.h"

enum { FEW_ROWS = 30, FEW_ERRORS = 30 };

static void note_ece(char *note, const vg_evaluation *e) {
    const vg_calibration_check *c = &e->calibration;
    char p[40];
    if (c->p_value < 0.001)
        snprintf(p, sizeof p, "p < 0.001");
    else
        snprintf(p, sizeof p, "p = %.2g", c->p_value);
    if (c->p_value >= 0.05 && e->ece.value <= c->expected)
        snprintf(note, VG_NOTE_SIZE,
                 "ECE %.4f is no larger than a perfectly calibrated model would show with these samples (%.4f on "
                 "average; %s).",
                 e->ece.value, c->expected, p);
    else if (c->p_value >= 0.05)
        snprintf(note, VG_NOTE_SIZE,
                 "ECE %.4f cannot be distinguished from that of a perfectly calibrated model, which would show %.4f on "
                 "average "
                 "with these "
                 "samples (%s).",
                 e->ece.value, c->expected, p);
    else
        snprintf(note, VG_NOTE_SIZE,
                 "ECE %.4f: a perfectly calibrated model would show %.4f on average with these samples (%s); debiased "
                 "estimate %.4f.",
                 e->ece.value, c->expected, p, c->debiased);
}

size_t vg_evaluation_notes(char notes[VG_MAX_NOTES][VG_NOTE_SIZE], const vg_evaluation *e) {
    VG_IN_C_LOCALE;
    size_t count = 0;
    if (!notes || !e)
        return 0;
    if (!isnan(e->calibration.p_value))
        note_ece(notes[count++], e);
    if (e->calibration.mce_rows < FEW_ROWS)
        snprintf(notes[count++], VG_NOTE_SIZE, "MCE comes from a bin of %zu row%s: it says little about calibration.",
                 e->calibration.mce_rows, e->calibration.mce_rows == 1 ? "" : "s");
    if (e->errors < FEW_ERRORS && e->measure_count > 0)
        snprintf(notes[count++], VG_NOTE_SIZE,
                 "%zu error%s: with fewer than %d, figures of error detection and selective prediction are uncertain "
                 "and their "
                 "intervals approximate.",
                 e->errors, e->errors == 1 ? "" : "s", FEW_ERRORS);
    return count;
}
