/* pulse.c - cancellation of a long call: between slices of work the caller is asked whether to continue. */
#include "evaluate/evaluate_internal.h"

vg_status vg_evaluate__pulse(vg_pulse *pulse, unsigned worker) {
    if (!pulse || !pulse->ask)
        return VG_OK;
    if (worker == 0 && !atomic_load(&pulse->stop) &&
        pulse->ask(pulse->context, atomic_load(&pulse->done), pulse->total))
        atomic_store(&pulse->stop, true);
    return atomic_load(&pulse->stop) ? vg_base__fail(VG_ERR_INTERRUPTED, "%s: interrupted", pulse->what) : VG_OK;
}

vg_status vg_evaluate__pulse_end(const vg_pulse *pulse) {
    return atomic_load(&pulse->stop) ? vg_base__fail(VG_ERR_INTERRUPTED, "%s: interrupted", pulse->what) : VG_OK;
}

void vg_evaluate__pulse_add(vg_pulse *pulse, size_t steps) {
    if (pulse)
        atomic_fetch_add(&pulse->done, steps);
}

void vg_evaluate__pulse_idle(void *pulse) { (void)vg_evaluate__pulse(pulse, 0); }
