/* program.c - other programs, which the library does not start: gnuplot for the figures of a page. */
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"

/* The child: the program in `folder` with `input` as its standard input; what it prints is dropped. */
static void become(char *const *arguments, const char *folder, int input) {
    int nowhere = open("/dev/null", O_WRONLY);
    if (chdir(folder) != 0 || nowhere < 0)
        _exit(126);
    dup2(input, STDIN_FILENO);
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    execvp(arguments[0], arguments);
    _exit(errno == ENOENT ? 127 : 126);
}

/* Its exit code, 127 where it is not installed; -1 where it was not started or did not exit by itself. The input goes
 * through a file without a name, so that neither side waits for the other. */
static int run_program(char *const *arguments, const char *folder, const char *input, size_t length) {
    FILE *file = tmpfile();
    int status = -1;
    if (file && fwrite(input, 1, length, file) == length && fseek(file, 0, SEEK_SET) == 0) {
        pid_t child = fork();
        if (child == 0)
            become(arguments, folder, fileno(file));
        if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
            status = -1;
        else
            status = WEXITSTATUS(status);
    }
    if (file)
        fclose(file);
    return status;
}

vg_status gnuplot_run(void *context, const char *folder, const char *script, size_t length) {
    (void)context;
    static char program[] = "gnuplot";
    char *arguments[] = {program, NULL};
    int status = run_program(arguments, folder, script, length);
    if (status == 127)
        console_note("no figures: gnuplot is not installed");
    return status == 0 ? VG_OK : status == 127 ? VG_ERR_UNSUPPORTED : VG_ERR_IO;
}
