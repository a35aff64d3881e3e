/* terminal.c - width and colours of the terminal. See console.h. */
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli.h"

static terminal_colour colour = TERMINAL_COLOUR_AUTO;

size_t terminal_columns(FILE *stream, size_t otherwise) {
    struct winsize size;
    const char *text = getenv("COLUMNS");
    char *end;
    long given = text ? strtol(text, &end, 10) : 0;
    if (given >= 20 && given < 10000 && *end == '\0')
        return (size_t)given;
    return ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col >= 20 ? size.ws_col : otherwise;
}

void terminal_set_colour(terminal_colour wanted) { colour = wanted; }

static bool has_colour(FILE *stream) {
    const char *no = getenv("NO_COLOR"), *kind = getenv("TERM");
    if (colour != TERMINAL_COLOUR_AUTO)
        return colour == TERMINAL_COLOUR_ALWAYS;
    return !(no && *no) && kind && *kind && strcmp(kind, "dumb") != 0 && isatty(fileno(stream));
}

const char *terminal_begin(FILE *stream, terminal_style style) {
    static const char *const codes[] = {[STYLE_HEADING] = "\033[1m",
                                        [STYLE_BEST] = "\033[1;32m",
                                        [STYLE_GOOD] = "\033[32m",
                                        [STYLE_FAIR] = "\033[33m",
                                        [STYLE_BAD] = "\033[31m"};
    return has_colour(stream) ? codes[style] : "";
}

const char *terminal_end(FILE *stream) { return has_colour(stream) ? "\033[0m" : ""; }
