/* progress.c - the progress bar. See console.h. */
#include <time.h>
#include <unistd.h>

#include "cli.h"

/* Seconds: before the first output, between bars, between plain lines. */
static const double first_after = 0.5, bar_every = 0.1, line_every = 5.0;
enum { BAR_CELLS = 30 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void progress_begin(progress *p, const char *what, const char *unit) {
    *p = (progress){.what = what, .unit = unit, .began = now(), .silent = console_quiet()};
    p->terminal = isatty(STDERR_FILENO) != 0;
    p->shown = p->terminal ? p->began + first_after - bar_every : p->began;
}

/* Draws one line that fits: a wider one would wrap, and \r would not return to its beginning. The bar is shortened
 * first. */
static void draw_bar(const progress *p, double share, double rate, double left) {
    char bar[BAR_CELLS + 1], end[64], line[256];
    size_t room = terminal_columns(stderr, 80) - 1;
    int tail = snprintf(end, sizeof end, "%3.0f %%  %.3g %s/s  %.0f s left", 100 * share, rate, p->unit, left);
    if ((size_t)tail + strlen(p->what) > room) /* a narrow terminal: without the rate */
        tail = snprintf(end, sizeof end, "%3.0f %%  %.0f s left", 100 * share, left);
    size_t fixed = strlen(p->what) + (size_t)tail + 4; /* " [", "] " */
    size_t cells = room > fixed ? room - fixed : 0, full;
    cells = cells > BAR_CELLS ? BAR_CELLS : cells;
    full = (size_t)(share * (double)cells);
    memset(bar, '.', cells);
    memset(bar, '#', full);
    bar[cells] = '\0';
    if (cells >= 5)
        snprintf(line, sizeof line, "%.150s [%s] %s", p->what, bar, end);
    else
        snprintf(line, sizeof line, "%.150s %s", p->what, end);
    fprintf(stderr, "\r%.*s\033[K", (int)room, line);
    fflush(stderr);
}

void progress_update(progress *p, unsigned long long done, unsigned long long total) {
    if (p->silent)
        return;
    double t = now();
    if (t - p->shown < (p->terminal ? bar_every : line_every))
        return;
    p->shown = t;
    p->drawn = true;
    if (total == 0) {
        char line[256];
        snprintf(line, sizeof line, "%.150s: %llu %s", p->what, done, p->unit);
        int room = p->terminal ? (int)terminal_columns(stderr, 80) - 1 : (int)sizeof line;
        fprintf(stderr, p->terminal ? "\r%.*s\033[K" : "%.*s\n", room, line);
        return;
    }
    double share = (double)done / (double)total;
    double left = share > 0 ? (t - p->began) * (1 / share - 1) : 0, rate = (double)done / (t - p->began);
    if (p->terminal)
        draw_bar(p, share > 1 ? 1 : share, rate, left);
    else
        fprintf(stderr, "%s: %llu of %llu %s, %.3g/s, %.0f s left\n", p->what, done, total, p->unit, rate, left);
}

void progress_end(progress *p) {
    if (p->drawn && p->terminal)
        fputs("\r\033[K", stderr);
    p->drawn = false;
}
