/* report_gnuplot.c - figures drawn by gnuplot, where it is installed: one process reads all scripts from a pipe and
 * writes into the figures' folder; files appear under their names when they are complete. */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"

static const struct {
    const char *terminal, *ending;
} kinds[] = {{"svg", "svg"}, {"pdfcairo", "pdf"}, {"pngcairo", "png"}};
enum { KINDS = sizeof kinds / sizeof *kinds, NAME_ROOM = 64 };
static const size_t NOT_INSTALLED = (size_t)-1; /* instead of a number of figures */

static void file_name(char out[NAME_ROOM], const vg_page_figure *figure, int kind, bool part) {
    snprintf(out, NAME_ROOM, part ? ".%s.%s.part" : "%s.%s", figure->name, kinds[kind].ending);
}

/* The child: gnuplot in `folder`, scripts on its standard input, what it says kept away from ours. */
static void become_gnuplot(const char *folder, int input) {
    static char program[] = "gnuplot";
    char *arguments[] = {program, NULL};
    int nowhere = open("/dev/null", O_WRONLY);
    if (chdir(folder) != 0 || nowhere < 0)
        _exit(126);
    dup2(input, STDIN_FILENO);
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    execvp(program, arguments);
    _exit(errno == ENOENT ? 127 : 126);
}

static vg_status write_pipe(void *context, const void *bytes, size_t size) {
    return fwrite(bytes, 1, size, context) == size ? VG_OK : VG_ERR_IO;
}

static vg_status write_scripts(const vg_page *page, FILE *pipe) {
    vg_sink sink = {.context = pipe, .write = write_pipe};
    for (size_t f = 0; f < page->figure_count; f++) {
        for (int kind = 0; kind < KINDS && page->figures[f].present; kind++) {
            char name[NAME_ROOM];
            file_name(name, &page->figures[f], kind, true);
            vg_status status = vg_page_figure_script(page, f, kinds[kind].terminal, name, &sink);
            if (status != VG_OK)
                return status;
        }
    }
    return VG_OK;
}

/* Renames what is whole into place and removes the rest. */
static int settle(const vg_page *page, const char *folder, bool whole, size_t *drawn) {
    int code = CLI_OK;
    for (size_t f = 0; f < page->figure_count; f++) {
        for (int kind = 0; kind < KINDS; kind++) {
            char part[NAME_ROOM], name[NAME_ROOM], from[4300], to[4300];
            struct stat st;
            file_name(part, &page->figures[f], kind, true);
            file_name(name, &page->figures[f], kind, false);
            snprintf(from, sizeof from, "%.4200s/%s", folder, part);
            snprintf(to, sizeof to, "%.4200s/%s", folder, name);
            bool there = stat(from, &st) == 0 && st.st_size > 0;
            if (!page->figures[f].present) {
                unlink(to); /* of an earlier report */
                continue;
            }
            if (whole && there && rename(from, to) == 0) {
                ++*drawn;
                continue;
            }
            unlink(from);
            if (code == CLI_OK)
                code = console_fail("gnuplot did not draw %s", to);
        }
    }
    return code;
}

static int draw_figures(const vg_page *page, const char *folder, size_t *drawn) {
    int ends[2], status = 0;
    *drawn = 0;
    if (pipe(ends) != 0)
        return console_fail("no pipe to gnuplot: %s", strerror(errno));
    pid_t child = fork();
    if (child == 0) {
        close(ends[1]);
        become_gnuplot(folder, ends[0]);
    }
    close(ends[0]);
    FILE *pipe = child > 0 ? fdopen(ends[1], "w") : NULL;
    vg_status written = pipe ? write_scripts(page, pipe) : VG_ERR_IO;
    if (pipe && fclose(pipe) != 0 && written == VG_OK)
        written = VG_ERR_IO;
    if (child > 0)
        waitpid(child, &status, 0);
    if (child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 127) {
        console_note("no figures: gnuplot is not installed");
        *drawn = NOT_INSTALLED;
        return CLI_OK;
    }
    if (written != VG_OK && written != VG_ERR_IO)
        return console_fail_library();
    return settle(page, folder, child > 0 && written == VG_OK && WIFEXITED(status) && WEXITSTATUS(status) == 0, drawn);
}

void report_page_clear(const vg_page *page) {
    char folder[4200], path[4300], name[NAME_ROOM];
    snprintf(folder, sizeof folder, "%.4100s/figures", page->folder);
    for (size_t f = 0; f < page->figure_count; f++)
        for (int kind = 0; kind < KINDS; kind++) {
            file_name(name, &page->figures[f], kind, false);
            snprintf(path, sizeof path, "%s/%s", folder, name);
            unlink(path);
        }
    rmdir(folder); /* only where nothing else is in it */
}

int report_page_draw(const vg_page *page, char *folder, size_t room, size_t *drawn) {
    struct stat st;
    *drawn = 0;
    snprintf(folder, room, "%s/figures", page->folder);
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return console_fail("%s: %s", folder, strerror(errno));
    if (stat(folder, &st) != 0 || !S_ISDIR(st.st_mode))
        return console_fail("%s: not a folder", folder);
    int code = draw_figures(page, folder, drawn);
    if (*drawn == NOT_INSTALLED) {
        *drawn = 0;
        report_page_clear(page);
    }
    return code;
}
