/* replay.c - main() for a fuzz target where libFuzzer is not: feeds it each file named, or each file of each folder
 * named. An empty folder or none is a failure, so that a missing corpus is noticed. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *path) {
    FILE *file = fopen(path, "rb");
    struct stat about;
    if (!file || fstat(fileno(file), &about) != 0) {
        perror(path);
        return 1;
    }
    size_t size = (size_t)about.st_size;
    uint8_t *data = malloc(size ? size : 1); /* exactly as long as the file: a sanitizer sees any read past the end */
    if (!data || fread(data, 1, size, file) != size) {
        perror(path);
        return 1;
    }
    fclose(file);
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    return 0;
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
        if (replay_file(name) != 0)
            return 1;
        ++*count;
    }
    return 0;
}

int main(int argc, char **argv) {
    unsigned count = 0;
    for (int i = 1; i < argc; i++) {
        DIR *folder = opendir(argv[i]);
        int failed = folder ? replay_folder(folder, argv[i], &count) : replay_file(argv[i]);
        if (folder)
            closedir(folder);
        else
            count++;
        if (failed)
            return 1;
    }
    printf("%u inputs replayed\n", count);
    return count == 0;
}
