/* write_counts.c - linked into the program and api_walk where lines are counted (VG_COVERAGE): counters are written to
 * their files at the end of a process, where a fault would hit gcov instead of us, and not at all by one that SIGKILL
 * or _exit() ends. So the faults (fault_preload.c) end before the counters are written, and the library of faults
 * writes them before it ends the process. Where the size of files is limited, and the limit cannot be lifted, they are
 * not written: half a file of counters would cost those of all other processes. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

extern void __gcov_dump(void);
static void (*end_faults)(void);

__attribute__((constructor)) static void find_faults(void) {
    void (**before_kill)(void) = (void (**)(void))dlsym(RTLD_DEFAULT, "vg_fault_before_kill");
    end_faults = (void (*)(void))(uintptr_t)dlsym(RTLD_DEFAULT, "vg_fault_end");
    if (before_kill)
        *before_kill = __gcov_dump;
}

/* gcov's own destructor has a later priority. */
__attribute__((destructor)) static void end(void) {
    struct rlimit size, unlimited = {RLIM_INFINITY, RLIM_INFINITY};
    if (end_faults)
        end_faults();
    if (getrlimit(RLIMIT_FSIZE, &size) == 0 && size.rlim_cur != RLIM_INFINITY && setrlimit(RLIMIT_FSIZE, &unlimited)) {
        setenv("GCOV_PREFIX", "/dev/null",
               1); /* a folder that cannot be made; what gcov says of it is not the program's */
        if (dup2(open("/dev/null", O_WRONLY), STDERR_FILENO) < 0)
            return;
    }
}
