/* program.c - other programs, which the library does not start: gnuplot for the figures of a page, and programs that
 * download data sets. */
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"

enum { NOT_INSTALLED = 127, LINE = 400 };

/* The child process: runs the program in `folder` with its standard input and error connected; its output is
 * dropped. */
static void become(const char *const *words, const char *folder, int input, int errors) {
    char *arguments[16] = {NULL};
    int nowhere = open("/dev/null", O_WRONLY);
    for (size_t i = 0; words[i] && i < 15; i++)
        memcpy(&arguments[i], &words[i], sizeof *arguments); /* execvp changes no argument */
    if (chdir(folder) != 0 || nowhere < 0)
        _exit(126);
    dup2(input, STDIN_FILENO);
    dup2(nowhere, STDOUT_FILENO);
    dup2(errors, STDERR_FILENO);
    execvp(arguments[0], arguments);
    _exit(errno == ENOENT ? NOT_INSTALLED : 126);
}

/* The last line of a file that is not empty, without the program's name at its start. */
static void last_line(FILE *file, const char *program, char line[LINE]) {
    char next[LINE];
    rewind(file);
    while (fgets(next, sizeof next, file)) {
        size_t length = strcspn(next, "\r\n"), name = strlen(program);
        next[length] = '\0';
        bool named = strncmp(next, program, name) == 0 && strncmp(next + name, ": ", 2) == 0;
        if (length > 0)
            memmove(line, next + (named ? name + 2 : 0), LINE - (named ? name + 2 : 0));
    }
}

/* Runs a program from PATH until it ends. Returns its exit code, NOT_INSTALLED, or -1 where a signal ended it; line:
 * the last line of its standard error. Input and errors go through unnamed files, so that neither process waits for
 * the other. */
static int run_program(const char *const *words, const char *folder, const char *input, size_t length,
                       char line[LINE]) {
    FILE *in = tmpfile(), *errors = tmpfile();
    int status = -1;
    line[0] = '\0';
    if (in && errors && fwrite(input, 1, length, in) == length && fflush(in) == 0 && fseek(in, 0, SEEK_SET) == 0) {
        pid_t child = fork();
        if (child == 0)
            become(words, folder, fileno(in), fileno(errors));
        while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
        }
        status = child > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        last_line(errors, words[0], line);
    }
    if (in)
        fclose(in);
    if (errors)
        fclose(errors);
    return status;
}

vg_status gnuplot_run(void *context, const char *folder, const char *script, size_t length) {
    (void)context;
    char line[LINE];
    int status = run_program((const char *[]){"gnuplot", NULL}, folder, script, length, line);
    if (status == NOT_INSTALLED)
        console_note("no figures: gnuplot is not installed");
    return status == 0 ? VG_OK : status == NOT_INSTALLED ? VG_ERR_UNSUPPORTED : VG_ERR_IO;
}

/* Downloads with one program. VG_ERR_UNSUPPORTED where it is not installed. */
static vg_status download_by(const char *const *words, const char *folder, char *reason, size_t room) {
    char line[LINE];
    int status = run_program(words, folder, "", 0, line);
    if (status == 0)
        return VG_OK;
    if (status == NOT_INSTALLED)
        snprintf(reason, room, "%s is not installed", words[0]);
    else if (*line)
        snprintf(reason, room, "%s: %s", words[0], line);
    else
        snprintf(reason, room, "%s: ended with status %d", words[0], status);
    return status == NOT_INSTALLED ? VG_ERR_UNSUPPORTED : VG_ERR_IO;
}

vg_status data_download(void *context, const char *address, const char *folder, char *reason, size_t room) {
    (void)context;
    const char *slash = strrchr(address, '/'), *name = slash ? slash + 1 : address, *package = address + 4;
    static const char unpack[] = "apt-get download -qq \"$0\" && dpkg-deb -x ./*.deb .";
    const char *const npm[] = {"npm", "pack", "--silent", package, NULL}, *const deb[] = {"sh", "-c", unpack, package,
                                                                                          NULL};
    const char *const curl[] = {"curl", "-fsSL", "--connect-timeout", "20", "--output", name, address, NULL};
    const char *const wget[] = {"wget", "-nv", "--tries=2", "--timeout=60", "--output-document", name, address, NULL};
    if (strncmp(address, "npm:", 4) == 0)
        return download_by(npm, folder, reason, room);
    if (strncmp(address, "deb:", 4) == 0)
        return download_by(deb, folder, reason, room);
    vg_status status = download_by(curl, folder, reason, room);
    if (status == VG_ERR_UNSUPPORTED)
        status = download_by(wget, folder, reason, room);
    if (status == VG_ERR_UNSUPPORTED)
        snprintf(reason, room, "neither curl nor wget is installed");
    return status;
}
