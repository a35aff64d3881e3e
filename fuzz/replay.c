/* replay.c - main() for a fuzz target that is built without libFuzzer. Its inputs are each file named, each file of
 * each folder named, and each input in a file that ends in .inputs: the minimised corpus of a long run, in which every
 * input follows its length (4 bytes, little-endian). A missing or empty folder is a failure, so that a missing corpus
 * is noticed. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Exactly as long as the input: a sanitizer sees any read past the end. */
static int replay_bytes(const uint8_t *bytes, size_t size) {
    uint8_t *data = malloc(size ? size : 1);
    if (!data)
        return 1;
    if (size)
        memcpy(data, bytes, size);
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    return 0;
}

static int replay_packed(const uint8_t *bytes, size_t size, const char *path, unsigned *count) {
    for (size_t at = 0; at < size; ++*count) {
        size_t length = 0;
        for (size_t i = 4; i-- > 0 && size - at >= 4;)
            length = length << 8 | bytes[at + i];
        if (size - at < 4 || length > size - at - 4) {
            fprintf(stderr, "%s: truncated\n", path);
            return 1;
        }
        if (replay_bytes(bytes + at + 4, length) != 0)
            return 1;
        at += 4 + length;
    }
    return 0;
}

static int replay_file(const char *path, unsigned *count) {
    FILE *file = fopen(path, "rb");
    struct stat about;
    if (!file || fstat(fileno(file), &about) != 0) {
        perror(path);
        return 1;
    }
    size_t size = (size_t)about.st_size, name = strlen(path);
    uint8_t *data = malloc(size ? size : 1);
    if (!data || fread(data, 1, size, file) != size) {
        perror(path);
        return 1;
    }
    fclose(file);
    int failed;
    if (name > 7 && strcmp(path + name - 7, ".inputs") == 0)
        failed = replay_packed(data, size, path, count);
    else
        failed = replay_bytes(data, size), ++*count;
    free(data);
    return failed;
}

static int replay_folder(DIR *folder, const char *path, unsigned *count) {
    const struct dirent *entry;
    while ((entry = readdir(folder)) != NULL) {
        char name[4096];
        struct stat about;
        if (snprintf(name, sizeof name, "%s/%s", path, entry->d_name) >= (int)sizeof name)
            return 1;
        if (stat(name, &about) != 0 || !S_ISREG(about.st_mode))
            continue;
        if (replay_file(name, count) != 0)
            return 1;
    }
    return 0;
}

int main(int argc, char **argv) {
    unsigned count = 0;
    for (int i = 1; i < argc; i++) {
        DIR *folder = opendir(argv[i]);
        int failed = folder ? replay_folder(folder, argv[i], &count) : replay_file(argv[i], &count);
        if (folder)
            closedir(folder);
        if (failed)
            return 1;
    }
    printf("%u inputs replayed\n", count);
    return count == 0;
}
