/* shapes.c - draws a folder of JPEG files for docs/your-images.md: circles, squares and triangles of many sizes.
 *
 *     cc -O2 examples/shapes.c -o shapes -ljpeg -lm
 *     ./shapes photos [PER_CLASS [SIDE]]      # 300 training images per class, about 240 pixels per side
 *
 *     photos/train/CLASS/0000.jpg    PER_CLASS images per class
 *     photos/test/CLASS/0000.jpg     a third as many
 *     photos/new/0000.jpg            as many, without labels: shapes of the three classes, and every fifth a cross
 *
 * Some circles are nearly square and some squares nearly round, and the light of some is poor, so that some
 * images are ambiguous. */
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <jpeglib.h>

static uint64_t state = 20260401;

/* Uniform in 0..1 (xorshift64*). */
static double uniform(void) {
    state ^= state >> 12, state ^= state << 25, state ^= state >> 27;
    return (double)((state * 0x2545f4914f6cdd1dULL) >> 11) / 9007199254740992.0;
}

static double between(double low, double high) { return low + (high - low) * uniform(); }

typedef enum shape { CIRCLE, SQUARE, TRIANGLE, CROSS } shape;

typedef struct picture {
    int height, width;
    shape what;
    double y, x, radius, angle, power, contrast, noise;
    double paper[3], ink[3];
} picture;

static picture compose(shape what, int side) {
    picture p = {.what = what};
    p.height = (int)(side * between(0.7, 1.2)), p.width = (int)(side * between(0.8, 1.4));
    p.radius = between(0.20, 0.38) * fmin(p.height, p.width);
    p.y = p.height / 2.0 + between(-0.08, 0.08) * p.height, p.x = p.width / 2.0 + between(-0.08, 0.08) * p.width;
    p.angle = between(-0.3, 0.3);
    p.power = what == CIRCLE ? between(1.9, 3.4) : between(3.0, 12.0); /* |u|^power + |v|^power = 1 */
    p.contrast = uniform() < 0.15 ? between(0.03, 0.12) : between(0.3, 0.7);
    p.noise = between(5, 40);
    double side_of = uniform() < 0.5 ? -255 : 255;
    for (int c = 0; c < 3; c++)
        p.paper[c] = between(70, 180), p.ink[c] = p.paper[c] + side_of * p.contrast * between(0.7, 1);
    return p;
}

static int inside(const picture *p, double y, double x) {
    double dy = (y - p->y) / p->radius, dx = (x - p->x) / p->radius;
    double u = dx * cos(p->angle) + dy * sin(p->angle), v = dy * cos(p->angle) - dx * sin(p->angle);
    if (p->what == TRIANGLE)
        return v < 0.6 && v > -1.2 + 1.8 * fabs(u) / 1.04;
    if (p->what == CROSS)
        return fmax(fabs(u), fabs(v)) < 1 && fmin(fabs(u), fabs(v)) < 0.3;
    return pow(fabs(u), p->power) + pow(fabs(v), p->power) < 1;
}

static uint8_t level(double value) { return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value); }

static int draw(const char *path, const picture *p) {
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr errors;
    FILE *file = fopen(path, "wb");
    uint8_t *row = malloc(3 * (size_t)p->width);
    if (!file || !row) {
        perror(path);
        return 1;
    }
    jpeg.err = jpeg_std_error(&errors);
    jpeg_create_compress(&jpeg);
    jpeg_stdio_dest(&jpeg, file);
    jpeg.image_width = (JDIMENSION)p->width, jpeg.image_height = (JDIMENSION)p->height;
    jpeg.input_components = 3, jpeg.in_color_space = JCS_RGB;
    jpeg_set_defaults(&jpeg);
    jpeg_set_quality(&jpeg, 85, TRUE);
    jpeg_start_compress(&jpeg, TRUE);
    for (int y = 0; y < p->height; y++) {
        for (int x = 0; x < p->width; x++) {
            const double *colour = inside(p, y, x) ? p->ink : p->paper;
            double grain = p->noise * (uniform() + uniform() - 1);
            for (int c = 0; c < 3; c++)
                row[3 * x + c] = level(colour[c] + grain);
        }
        jpeg_write_scanlines(&jpeg, &row, 1);
    }
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
    free(row);
    return fclose(file) != 0;
}

static void make_folder(const char *path) {
    if (mkdir(path, 0777) != 0 && errno != EEXIST) {
        perror(path);
        exit(1);
    }
}

int main(int argc, char **argv) {
    static const char *const names[] = {"circle", "square", "triangle"}, *const parts[] = {"train", "test"};
    int count = argc > 2 ? atoi(argv[2]) : 300, side = argc > 3 ? atoi(argv[3]) : 240;
    char path[4096];
    if (argc < 2 || count < 3 || side < 16 || strlen(argv[1]) > 4000) {
        fprintf(stderr, "usage: shapes FOLDER [PER_CLASS [SIDE]]\n");
        return 2;
    }
    make_folder(argv[1]);
    for (int part = 0; part < 2; part++)
        for (int class = 0; class < 3; class ++) {
            snprintf(path, sizeof path, "%s/%s", argv[1], parts[part]);
            make_folder(path);
            snprintf(path, sizeof path, "%s/%s/%s", argv[1], parts[part], names[class]);
            make_folder(path);
            for (int i = 0; i < (part ? count / 3 : count); i++) {
                picture p = compose((shape)class, side);
                snprintf(path, sizeof path, "%s/%s/%s/%04d.jpg", argv[1], parts[part], names[class], i);
                if (draw(path, &p))
                    return 1;
            }
        }
    snprintf(path, sizeof path, "%s/new", argv[1]);
    make_folder(path);
    for (int i = 0; i < count; i++) {
        picture p = compose(i % 5 == 4 ? CROSS : (shape)(i % 3), side);
        snprintf(path, sizeof path, "%s/new/%04d.jpg", argv[1], i);
        if (draw(path, &p))
            return 1;
    }
    return 0;
}
