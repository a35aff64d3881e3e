/* map_picture.c - draws maps. See map_picture.h.
 *
 *     title
 *     +--------------+  bar or legend
 *     | map, s x s   |  0.69
 *     | pixels per   |   ...
 *     | site         |  0
 *     +--------------+
 *
 * Colours of measures are ten points of matplotlib's viridis (CC0), linear between them: their brightness rises evenly,
 * so that a map reads the same in grey. */
#include "report/map_picture.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "report/map_font.h"

enum {
    MARGIN = 12,
    SCALE = 2, /* pixels per dot of a letter */
    LETTER = (VG_FONT_COLUMNS + 1) * SCALE,
    LINE = (VG_FONT_ROWS + 3) * SCALE,
    BAR = 20,
    WANTED = 320, /* pixels of a map's longer side where it has fewer sites */
    LEGEND_LETTERS = 18,
    LEGEND_ROWS = 24,
    TITLE = 80
};

typedef struct colour {
    uint8_t r, g, b;
} colour;

static const colour paper = {255, 255, 255}, ink = {32, 32, 32}, left_out = {150, 150, 150}, abstained = {20, 20, 20},
                    stripe = {235, 235, 235};
static const colour viridis[] = {{68, 1, 84},    {72, 40, 120},  {62, 74, 137},  {49, 104, 142}, {38, 130, 142},
                                 {31, 158, 137}, {53, 183, 121}, {110, 206, 88}, {181, 222, 43}, {253, 231, 37}};
/* Tableau's ten, then hues a golden angle apart, dark and bright in turn: no two of the first 21 are closer than two of
 * the ten are. */
static const colour classes[] = {{78, 121, 167}, {242, 142, 43},  {225, 87, 89},   {118, 183, 178}, {89, 161, 79},
                                 {237, 201, 72}, {176, 122, 161}, {255, 157, 167}, {156, 117, 95},  {186, 176, 172}};

static colour of_share(double share) {
    double at = share * (double)(sizeof viridis / sizeof *viridis - 1);
    size_t i = at >= (double)(sizeof viridis / sizeof *viridis - 1) ? sizeof viridis / sizeof *viridis - 2 : (size_t)at;
    double t = at - (double)i;
    const colour *a = &viridis[i], *b = a + 1;
    return (colour){(uint8_t)(a->r + t * (b->r - a->r) + 0.5), (uint8_t)(a->g + t * (b->g - a->g) + 0.5),
                    (uint8_t)(a->b + t * (b->b - a->b) + 0.5)};
}

/* The colour of hue 0 .. 6. */
static colour of_hue(double hue, double saturation, double value) {
    double parts[3];
    for (int i = 0; i < 3; i++) {
        double k = fmod(5 - 2 * i + hue, 6), low = k < 4 - k ? k : 4 - k;
        low = low < 0 ? 0 : low > 1 ? 1 : low;
        parts[i] = value * (1 - saturation * low);
    }
    return (colour){(uint8_t)(255 * parts[0] + 0.5), (uint8_t)(255 * parts[1] + 0.5), (uint8_t)(255 * parts[2] + 0.5)};
}

static colour of_class(int32_t c) {
    size_t known = sizeof classes / sizeof *classes, at = (size_t)c - known;
    if ((size_t)c < known)
        return classes[c];
    return at % 2 ? of_hue(fmod((double)at * 6 * 0.381966 + 0.36, 6), 1, 1)
                  : of_hue(fmod((double)at * 6 * 0.381966 + 0.36, 6), 0.95, 0.6);
}

/* --- canvas ------------------------------------------------------------------------------------------------------- */
static void fill(vg_map_picture *p, size_t top, size_t left, size_t h, size_t w, colour c) {
    for (size_t y = top; y < top + h && y < p->height; y++)
        for (size_t x = left; x < left + w && x < p->width; x++)
            memcpy(p->rgb + (y * p->width + x) * 3, &c, 3);
}

/* Abstained sites are dark with light stripes, so that they differ from every class in grey too. */
static void fill_abstained(vg_map_picture *p, size_t top, size_t left, size_t h, size_t w) {
    for (size_t y = top; y < top + h && y < p->height; y++)
        for (size_t x = left; x < left + w && x < p->width; x++)
            memcpy(p->rgb + (y * p->width + x) * 3, (x + y) % 8 < 2 ? &stripe : &abstained, 3);
}

/* Bytes that are not printable ASCII become '?', one for each UTF-8 character. */
static void write(vg_map_picture *p, size_t top, size_t left, const char *text, size_t most) {
    size_t at = 0;
    for (const char *t = text; *t && at < most; t++) {
        if (((unsigned char)*t & 0xC0) == 0x80)
            continue;
        int letter = *t >= VG_FONT_FIRST && *t <= VG_FONT_LAST ? *t : '?';
        const uint8_t *columns = vg_font[letter - VG_FONT_FIRST];
        for (size_t x = 0; x < VG_FONT_COLUMNS; x++)
            for (size_t y = 0; y < VG_FONT_ROWS; y++)
                if (columns[x] >> y & 1)
                    fill(p, top + y * SCALE, left + at * LETTER + x * SCALE, SCALE, SCALE, ink);
        at++;
    }
}

/* A picture with room for h x w sites and `beside` pixels to their right; *side receives the pixels per site. */
static vg_status begin(vg_map_picture *p, size_t *side, size_t h, size_t w, size_t beside, const char *title) {
    size_t longer = h > w ? h : w;
    *side = longer < WANTED ? (WANTED + longer - 1) / longer : 1;
    p->height = 3 * MARGIN + LINE + (h * *side > 200 ? h * *side : 200);
    p->width = 3 * MARGIN + w * *side + beside;
    size_t titled = 2 * MARGIN + strlen(title) * LETTER;
    p->width = p->width > titled ? p->width : titled;
    VG_TRY(vg_base__alloc(&p->rgb, p->height, p->width * 3, "a picture"));
    fill(p, 0, 0, p->height, p->width, paper);
    write(p, MARGIN, MARGIN, title, TITLE);
    return VG_OK;
}

enum { TOP = 2 * MARGIN + LINE };

/* --- the two kinds ------------------------------------------------------------------------------------------------ */
vg_status vg_map_picture__measure(vg_map_picture *out, const double *values, size_t h, size_t w, double low,
                                  double high, const char *title) {
    enum { TICKS = 5, NUMBER = 9, LENGTH = 180 };
    size_t side, gaps = 0;
    char text[32];
    VG_TRY(begin(out, &side, h, w, MARGIN + BAR + NUMBER * LETTER, title));
    size_t left = 2 * MARGIN + w * side;
    for (size_t i = 0; i < h * w; i++) {
        double share = high > low ? (values[i] - low) / (high - low) : 0;
        share = share < 0 ? 0 : share > 1 ? 1 : share;
        gaps += isnan(values[i]);
        fill(out, TOP + i / w * side, MARGIN + i % w * side, side, side, isnan(values[i]) ? left_out : of_share(share));
    }
    size_t length = gaps ? LENGTH - LINE : LENGTH;
    for (size_t y = 0; y < length; y++)
        fill(out, TOP + y, left, 1, BAR, of_share(1 - (double)y / (double)(length - 1)));
    for (size_t i = 0; i < TICKS; i++) {
        double share = 1 - (double)i / (TICKS - 1);
        size_t y = TOP + (size_t)((1 - share) * (double)(length - VG_FONT_ROWS * SCALE));
        snprintf(text, sizeof text, "%.3g", low + share * (high - low));
        write(out, y, left + BAR + 6, text, NUMBER);
    }
    if (gaps) {
        fill(out, TOP + LENGTH - LINE / 2, left, BAR, BAR, left_out);
        write(out, TOP + LENGTH - LINE / 2 + 2, left + BAR + 6, "left out", NUMBER);
    }
    return VG_OK;
}

/* One row of the legend. */
static void write_entry(vg_map_picture *out, size_t row, size_t left, int32_t c, const char *name) {
    size_t top = TOP + row * (LINE + 4);
    if (c == -1)
        fill_abstained(out, top, left, LINE, BAR);
    else
        fill(out, top, left, LINE, BAR, c < 0 ? left_out : of_class(c));
    write(out, top + 3, left + BAR + 6, name, LEGEND_LETTERS);
}

/* Entries for abstained and left-out sites, then for the classes that occur. */
static vg_status write_legend(vg_map_picture *out, size_t left, const int32_t *decisions, size_t count,
                              const char *const *names) {
    enum { BEFORE = 2 }; /* -2 and -1 */
    size_t row = 0, most = (out->height - TOP) / (LINE + 4);
    int32_t top = -1;
    char number[24];
    uint8_t *seen;
    most = most < LEGEND_ROWS ? most : LEGEND_ROWS;
    for (size_t i = 0; i < count; i++)
        top = decisions[i] > top ? decisions[i] : top;
    VG_TRY(vg_base__zalloc(&seen, (size_t)top + 1 + BEFORE, 1, "classes"));
    for (size_t i = 0; i < count; i++)
        seen[decisions[i] + BEFORE] = 1;
    for (int32_t c = -BEFORE; c <= top && row < most; c++) {
        if (!seen[c + BEFORE])
            continue;
        snprintf(number, sizeof number, "class %d", c);
        if (row + 1 == most)
            write(out, TOP + row++ * (LINE + 4), left, "...", 3);
        else
            write_entry(out, row++, left, c, c == -1 ? "abstained" : c < 0 ? "left out" : names ? names[c] : number);
    }
    vg_base__release(seen);
    return VG_OK;
}

vg_status vg_map_picture__classes(vg_map_picture *out, const int32_t *decisions, size_t h, size_t w,
                                  const char *const *names, const char *title) {
    size_t side;
    VG_TRY(begin(out, &side, h, w, MARGIN + BAR + LEGEND_LETTERS * LETTER, title));
    for (size_t i = 0; i < h * w; i++) {
        size_t top = TOP + i / w * side, left = MARGIN + i % w * side;
        if (decisions[i] == -1)
            fill_abstained(out, top, left, side, side);
        else
            fill(out, top, left, side, side, decisions[i] < 0 ? left_out : of_class(decisions[i]));
    }
    vg_status status = write_legend(out, 2 * MARGIN + w * side, decisions, h * w, names);
    if (status != VG_OK)
        vg_base__release(out->rgb);
    return status;
}
