/* fatal_ends.c - ends of the program that no function can return from: it writes one line and exits with status 1. The
 * outputs that were being written have no names yet, so none is left. The library does neither: signals and the end of
 * the process belong to the program.
 *
 * A file becomes shorter while it is mapped: the system sends SIGBUS to the thread that touches a page past the new
 * end. Or a library in C++ (oneDNN) finds no memory where no exception can be caught, as in a parallel region or where
 * the exception itself needs memory: the C++ runtime calls its terminate handler. */
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "cli.h"

enum { ROOM = 4400 };

/* Puts "PATH: became shorter ..." of the file that is mapped at the address. Calls what a signal handler may call. A
 * line of /proc/self/maps is "FROM-TO rwxp OFFSET DEVICE INODE   PATH". */
static bool describe(char out[ROOM], uintptr_t address) {
    static char maps[1 << 18];
    size_t size = 0;
    ssize_t got = 1;
    int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    for (; file >= 0 && got > 0; size += got > 0 ? (size_t)got : 0)
        got = read(file, maps + size, sizeof maps - 1 - size);
    for (char *line = maps, *next, *end; line; line = next) {
        if ((next = strchr(line, '\n')))
            *next++ = '\0';
        uintptr_t from = (uintptr_t)strtoull(line, &end, 16);
        uintptr_t to = *end == '-' ? (uintptr_t)strtoull(end + 1, &end, 16) : 0;
        const char *path = strchr(end, '/');
        if (address < from || address >= to || !path)
            continue;
        vg_printable(out, ROOM - 64, path);
        strcat(out, ": became shorter while it was read\n");
        return true;
    }
    return false;
}

/* Of several threads that come here the first one writes. */
static void end_with(const char *text) {
    static atomic_flag ending = ATOMIC_FLAG_INIT;
    const char *command = console_command(), *parts[] = {"vargate ", command ? command : "", ": ", text};
    while (atomic_flag_test_and_set(&ending))
        pause();
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (write(STDERR_FILENO, parts[i], strlen(parts[i])) < 0)
            break;
    _exit(CLI_FAILED);
}

static void on_bus_error(int number, siginfo_t *info, void *context) {
    static char text[ROOM];
    (void)context;
    signal(number, SIG_DFL); /* not a file: the instruction is executed again and ends the process */
    if (info->si_code == BUS_ADRERR && describe(text, (uintptr_t)info->si_addr))
        end_with(text);
}

/* std::set_terminate; absent where the program contains no C++. */
extern void (*set_terminate(void (*handler)(void)))(void) __asm__("_ZSt13set_terminatePFvvE") __attribute__((weak));
static void on_terminate(void) { end_with("a C++ library could not go on, most likely for lack of memory\n"); }

void console_catch_fatal_ends(void) {
    struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO};
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, NULL);
    if (set_terminate)
        set_terminate(on_terminate);
}
