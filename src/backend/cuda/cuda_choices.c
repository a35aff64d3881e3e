/* cuda_choices.c - the file of chosen engines. */
#include "backend/cuda/cuda_choices.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

typedef struct choice {
    char name[160];
    int count, index;
    float milliseconds;
} choice;

struct cuda_choices {
    char path[4096]; /* "": the choices are not stored */
    choice *items;
    size_t used, room;
};

static bool add(cuda_choices *c, const char *name, int count, int index, float milliseconds) {
    if (c->used == c->room) {
        size_t room = c->room ? 2 * c->room : 64;
        choice *items = realloc(c->items, room * sizeof *items);
        if (!items)
            return false;
        c->items = items;
        c->room = room;
    }
    choice *item = &c->items[c->used++];
    snprintf(item->name, sizeof item->name, "%s", name);
    item->count = count;
    item->index = index;
    item->milliseconds = milliseconds;
    return true;
}

static void place(cuda_choices *c, size_t version, const char *device) {
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    char folder[3072], plain[128];
    size_t used = 0;
    int size = cache && *cache ? snprintf(folder, sizeof folder, "%s", cache)
               : home && *home ? snprintf(folder, sizeof folder, "%s/.cache", home)
                               : -1;
    if (size < 0 || (size_t)size >= sizeof folder - 16)
        return;
    mkdir(folder, 0777);
    strcat(folder, "/vargate");
    mkdir(folder, 0777);
    for (; *device && used + 1 < sizeof plain; device++)
        if (isalnum((unsigned char)*device))
            plain[used++] = *device;
    plain[used] = 0;
    snprintf(c->path, sizeof c->path, "%s/convolutions-%zu-%s.txt", folder, version, plain);
}

static const choice *find(const cuda_choices *c, const char *name, int count) {
    for (size_t i = 0; i < c->used; i++)
        if (c->items[i].count == count && strcmp(c->items[i].name, name) == 0)
            return &c->items[i];
    return NULL;
}

/* Adds the choices of the file that are not known yet. */
static void load(cuda_choices *c) {
    char line[512], name[160];
    int count, index;
    float milliseconds;
    FILE *file = *c->path ? fopen(c->path, "r") : NULL;
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "%159s %d %d %f", name, &count, &index, &milliseconds) == 4 && index >= 0 && index < count &&
            !find(c, name, count))
            add(c, name, count, index, milliseconds);
    if (file)
        fclose(file);
}

vg_status vg_cuda__choices_open(cuda_choices **out, size_t version, const char *device) {
    VG_TRY(vg_base__zalloc(out, 1, sizeof **out, "choices"));
    place(*out, version, device);
    load(*out);
    return VG_OK;
}

/* A failure is not reported: the choices are then measured again. */
static void store(const cuda_choices *c) {
    vg_output *output;
    vg_status status = vg_output__open(&output, c->path);
    if (status != VG_OK)
        return;
    for (size_t i = 0; i < c->used && status == VG_OK; i++) {
        char line[256];
        int length = snprintf(line, sizeof line, "%s %d %d %.5f\n", c->items[i].name, c->items[i].count,
                              c->items[i].index, (double)c->items[i].milliseconds);
        status = vg_output__write(output, line, (size_t)length);
    }
    if (status == VG_OK)
        vg_output__commit(output);
    else
        vg_output__abandon(output);
}

void vg_cuda__choices_close(cuda_choices *c) {
    if (!c)
        return;
    free(c->items);
    vg_base__release(c);
}

int vg_cuda__choice(const cuda_choices *c, const char *name, int count, float *milliseconds) {
    const choice *found = find(c, name, count);
    if (!found)
        return -1;
    *milliseconds = found->milliseconds;
    return found->index;
}

/* Waits until no other process changes the file; -1 where there is no file to be locked. */
static int lock_file(const cuda_choices *c) {
    char path[4096 + 8];
    snprintf(path, sizeof path, "%s.lock", c->path);
    int descriptor = *c->path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666) : -1;
    if (descriptor >= 0)
        flock(descriptor, LOCK_EX);
    return descriptor;
}

int vg_cuda__choose(cuda_choices *c, const char *name, int count, int index, float *milliseconds) {
    int lock = lock_file(c), held;
    float time = *milliseconds;
    load(c);
    held = vg_cuda__choice(c, name, count, milliseconds);
    if (held < 0) {
        held = index;
        *milliseconds = time;
        if (add(c, name, count, index, time) && *c->path)
            store(c);
    }
    if (lock >= 0)
        close(lock);
    return held;
}
