/* power_replay.c - what a disk may hold after a power cut, from the journal of power_preload.c.
 *
 *   power_replay JOURNAL count             the number of operations
 *   power_replay JOURNAL N HOW [OLD PATH]  makes out/ as it may be when the power fails after the first N operations;
 *                                          OLD: a file that was at PATH before
 *
 * What was synced is there: bytes of a synced file, names of a synced folder. What came later, HOW says:
 *   lost    neither bytes nor names
 *   empty   all names, no bytes: a file is as long as at its last sync
 *   torn    all names and lengths; half of the later bytes, then zeros
 *   kept    everything, as after a kill */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { FILES = 4096, NAMES = 4096, PATH_ROOM = 400, FOLDER = -1 };

typedef struct content {
    char *bytes;
    size_t size;
} content;
typedef struct name {
    char path[PATH_ROOM];
    int id; /* of the file; FOLDER */
} name;
typedef struct names {
    name list[NAMES];
    size_t count;
} names;

static content now[FILES], synced[FILES];
static names current, durable;

static void resize(content *c, size_t size) {
    c->bytes = realloc(c->bytes, size + 1);
    if (!c->bytes)
        abort();
    if (size > c->size)
        memset(c->bytes + c->size, 0, size - c->size);
    c->size = size;
}
static void copy(content *to, const content *from) {
    resize(to, from->size);
    if (from->size > 0)
        memcpy(to->bytes, from->bytes, from->size);
}
static name *find(names *in, const char *path) {
    for (size_t i = 0; i < in->count; i++)
        if (strcmp(in->list[i].path, path) == 0)
            return &in->list[i];
    return NULL;
}
static void put(names *in, const char *path, int id) {
    name *there = find(in, path);
    if (!there)
        there = &in->list[in->count++];
    if (in->count >= NAMES)
        abort();
    snprintf(there->path, PATH_ROOM, "%s", path);
    there->id = id;
}
static void drop(names *in, const char *path) {
    name *there = find(in, path);
    if (there)
        *there = in->list[--in->count];
}
static bool is_in(const char *path, const char *folder) {
    size_t length = strlen(folder);
    return strncmp(path, folder, length) == 0 && path[length] == '/' && !strchr(path + length + 1, '/');
}
/* The names in the folder are durable as they are. */
static void sync_folder(const char *folder) {
    for (size_t i = 0; i < durable.count;)
        if (is_in(durable.list[i].path, folder))
            durable.list[i] = durable.list[--durable.count];
        else
            i++;
    for (size_t i = 0; i < current.count; i++)
        if (is_in(current.list[i].path, folder))
            put(&durable, current.list[i].path, current.list[i].id);
}

static void apply(char op, int id, size_t offset, const content *bytes, const char *path, const char *second) {
    name *from = op == 'R' ? find(&current, path) : NULL;
    switch (op) {
    case 'C':
    case 'L': put(&current, path, id); break;
    case 'M': put(&current, path, FOLDER); break;
    case 'U': drop(&current, path); break;
    case 'R':
        if (from) {
            int moved = from->id;
            drop(&current, path);
            put(&current, second, moved);
        }
        break;
    case 'W':
        if (now[id].size < offset + bytes->size)
            resize(&now[id], offset + bytes->size);
        memcpy(now[id].bytes + offset, bytes->bytes, bytes->size);
        break;
    case 'N': resize(&now[id], offset); break;
    case 'S': copy(&synced[id], &now[id]); break;
    case 'D': sync_folder(path); break;
    default: break;
    }
}

/* Applies at most `most` operations; returns how many there were. */
static long read_journal(const char *path, long most) {
    FILE *file = fopen(path, "rb");
    char op, first[PATH_ROOM], second[PATH_ROOM];
    int id;
    size_t offset;
    content bytes = {NULL, 0};
    long count = 0;
    while (file && (most < 0 || count < most) &&
           fscanf(file, "%c %d %zu %zu %399s %399s", &op, &id, &offset, &bytes.size, first, second) == 6 &&
           fgetc(file) == '\n') {
        bytes.bytes = realloc(bytes.bytes, bytes.size + 1);
        if (!bytes.bytes || id >= FILES || (op == 'W' && fread(bytes.bytes, 1, bytes.size, file) != bytes.size))
            abort();
        apply(op, id, offset, &bytes, first, second);
        count++;
    }
    if (file)
        fclose(file);
    free(bytes.bytes);
    return count;
}

/* The contents of a file as the disk holds them. */
static void settle(content *out, int id, const char *how) {
    const content *last = strcmp(how, "lost") == 0 || strcmp(how, "empty") == 0 ? &synced[id] : &now[id];
    copy(out, last);
    bool changed = now[id].size != synced[id].size ||
                   (now[id].size > 0 && memcmp(now[id].bytes, synced[id].bytes, now[id].size) != 0);
    size_t half = synced[id].size < out->size ? (synced[id].size + out->size) / 2 : out->size / 2;
    if (strcmp(how, "torn") == 0 && changed && out->size > 0)
        memset(out->bytes + half, 0, out->size - half);
}

static int by_path(const void *a, const void *b) { return strcmp(((const name *)a)->path, ((const name *)b)->path); }

static int write_out(const char *how) {
    names *all = strcmp(how, "lost") == 0 ? &durable : &current;
    qsort(all->list, all->count, sizeof *all->list, by_path); /* folders before what is in them */
    mkdir("out", 0777);
    for (size_t i = 0; i < all->count; i++) {
        content c = {NULL, 0};
        if (all->list[i].id == FOLDER) {
            mkdir(all->list[i].path, 0777);
            continue;
        }
        settle(&c, all->list[i].id, how);
        FILE *file = fopen(all->list[i].path, "wb"); /* fails where the folder above is lost */
        if (file && (fwrite(c.bytes, 1, c.size, file) != c.size || fclose(file) != 0))
            return 1;
        free(c.bytes);
    }
    return 0;
}

int main(int argc, char **argv) {
    if (argc < 3)
        return 2;
    if (strcmp(argv[2], "count") == 0) {
        printf("%ld\n", read_journal(argv[1], -1));
        return 0;
    }
    if (argc == 6) {
        FILE *old = fopen(argv[4], "rb");
        for (int c; old && (c = fgetc(old)) != EOF;) {
            resize(&now[0], now[0].size + 1);
            now[0].bytes[now[0].size - 1] = (char)c;
        }
        if (old)
            fclose(old);
        copy(&synced[0], &now[0]);
        put(&current, argv[5], 0);
        put(&durable, argv[5], 0);
    }
    read_journal(argv[1], atol(argv[2]));
    return write_out(argv[3]);
}
