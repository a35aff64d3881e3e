/* fault_main.h - faults begin with main(): what runs before it is set-up of libraries, and that of the CUDA runtime
 * does not check its allocations. Part of fault_preload.c where that is preloaded: the C library's function that calls
 * main() is replaced by one that calls main_with_faults(). */
typedef int main_function(int, char **, char **);
typedef int start_function(main_function *, int, char **, void (*)(void), void (*)(void), void (*)(void), void *);
static main_function *program_main;

static int main_with_faults(int count, char **words, char **environment) {
    started = true;
    return program_main(count, words, environment);
}

start_function __libc_start_main;
int __libc_start_main(main_function *main, int count, char **words, void (*init)(void), void (*fini)(void),
                      void (*rtld_fini)(void), void *stack_end) {
    program_main = main;
    return NEXT(start_function *, "__libc_start_main")(main_with_faults, count, words, init, fini, rtld_fini,
                                                       stack_end);
}
