/* fault_walk.c - runs a command again and again, each time with one fault (fault_preload.c), and judges how it ended.
 *
 *   fault_walk [options] LABEL PROGRAM ARGUMENT...      in a folder; the command writes into out/
 *     -p LIBRARY   preloaded into the program; without it the program contains the faults
 *     -k KINDS     "alloc open write+": kinds of faults; with "+" every call from the n-th on fails
 *     -n WHICH     all: every n; sites: one n for every stack that allocates, and every n of the other kinds; a number:
 *                  so many, spread over the calls and chosen by the seed
 *     -m I/P       the I-th of P processes that share them: of those n every P-th, beginning with the I-th
 *     -v           prints how far it is after every 100 faults
 *     -r SEED      default 1
 *     -i FOLDER    below out/, not compared: what may be there or not
 *     -f FILE      standard input
 *     -s FILE      out/FILE is there before, with the contents of FILE; afterwards it is old or new, and whole
 *     -a           what is printed may differ: it describes the machine
 *
 * With a fault a command either fails, with exit status 1 or 2 and one line, or gives the result that it gives without
 * the fault. In both cases a file under a final name is complete, no temporary or lock is left, and it ends in time and
 * by no signal (but for the kind term, where the signal is the fault). Warnings do not count as lines. A training that
 * C++ code ends (cli/fatal_ends.c) leaves its lock, which the next takes over, as after a kill. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATH_ROOM = 4096, LONGEST_RUN = 120, EXIT_BY_SIGNAL = 1000, MOST_FILES = 512 };

typedef struct text {
    char *bytes;
    size_t size;
} text;
typedef struct entry {
    char *path;
    text content;
    bool stable; /* the same in every run without a fault */
} entry;
typedef struct tree {
    entry files[MOST_FILES];
    size_t count;
    char *left; /* a temporary or a lock; NULL: none */
} tree;

static const char *preload, *kind_list = "alloc", *which = "3", *ignored, *input = "/dev/null", *label, *seeded;
static unsigned long seed = 1, part = 1, parts = 1;
static bool verbose;
static char **command;
static tree reference;
static text printed; /* standard output without a fault */
static bool printed_stable, any_output;
static char preload_word[PATH_ROOM];

static void *must(void *memory) {
    if (!memory)
        abort();
    return memory;
}

static text read_file(const char *path) {
    text t = {must(malloc(1)), 0};
    int fd = open(path, O_RDONLY);
    struct stat about;
    if (fd < 0 || fstat(fd, &about) != 0)
        return t;
    t.bytes = must(realloc(t.bytes, (size_t)about.st_size + 1));
    while (t.size < (size_t)about.st_size) {
        ssize_t got = read(fd, t.bytes + t.size, (size_t)about.st_size - t.size);
        if (got <= 0)
            break;
        t.size += (size_t)got;
    }
    t.bytes[t.size] = 0;
    close(fd);
    return t;
}
static bool same(const text *a, const text *b) {
    return a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0;
}

static bool ends_with(const char *name, const char *ending) {
    size_t a = strlen(name), b = strlen(ending);
    return a >= b && strcmp(name + a - b, ending) == 0;
}

/* Every file below a folder. */
static void read_tree(tree *out, const char *folder) {
    DIR *directory = opendir(folder);
    for (struct dirent *e; directory && (e = readdir(directory));) {
        char path[PATH_ROOM];
        struct stat about;
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (lstat(path, &about) != 0)
            continue;
        if ((ends_with(path, ".tmp") || ends_with(path, ".lock")) && !out->left)
            out->left = must(strdup(path));
        if (ignored && strcmp(path + strlen("out/"), ignored) == 0)
            continue;
        if (S_ISDIR(about.st_mode))
            read_tree(out, path);
        else if (out->count < MOST_FILES)
            out->files[out->count++] = (entry){must(strdup(path)), read_file(path), true};
    }
    if (directory)
        closedir(directory);
}
static void free_tree(tree *t) {
    for (size_t i = 0; i < t->count; i++) {
        free(t->files[i].path);
        free(t->files[i].content.bytes);
    }
    free(t->left);
    *t = (tree){.count = 0};
}
static entry *find(tree *t, const char *path) {
    for (size_t i = 0; i < t->count; i++)
        if (strcmp(t->files[i].path, path) == 0)
            return &t->files[i];
    return NULL;
}

/* Removes all in a folder. */
static void empty_folder(const char *folder) {
    DIR *directory = opendir(folder);
    for (struct dirent *e; directory && (e = readdir(directory));) {
        char path[PATH_ROOM];
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (unlink(path) != 0) {
            empty_folder(path);
            rmdir(path);
        }
    }
    if (directory)
        closedir(directory);
}

/* --- one run */
static void put_seed(void) {
    char path[PATH_ROOM];
    if (!seeded)
        return;
    text t = read_file(seeded);
    snprintf(path, sizeof path, "out/%s", seeded);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (fd < 0 || write(fd, t.bytes, t.size) != (ssize_t)t.size)
        abort();
    close(fd);
    free(t.bytes);
}
static bool is_seed(const entry *file) {
    if (!seeded || strcmp(file->path + strlen("out/"), seeded) != 0)
        return false;
    text t = read_file(seeded);
    bool equal = same(&t, &file->content);
    free(t.bytes);
    return equal;
}
static void redirect(const char *path, int flags, int to) {
    int fd = open(path, flags, 0666);
    if (fd < 0 || dup2(fd, to) < 0)
        _exit(126);
    close(fd);
}
static void become(const char *kind, unsigned long n, bool every) {
    char number[32];
    snprintf(number, sizeof number, "%lu", n);
    setenv("VARGATE_FAULT", kind, 1);
    setenv("VARGATE_FAULT_AT", number, 1);
    setenv("VARGATE_FAULT_LAST", every ? "yes" : "no", 1);
    setenv("VARGATE_FAULT_COUNT", "count", 1);
    setenv("VARGATE_FAULT_SKIP", ":libdnnl:libgomp:", 1);
    if (n == 0 && strcmp(kind, "sites") == 0)
        setenv("VARGATE_FAULT_SITES", "sites", 1);
    if (preload)
        setenv("LD_PRELOAD", preload_word, 1);
    setenv("PATH", "/nonexistent", 1); /* no other program is started: no gnuplot */
    redirect(input, O_RDONLY, STDIN_FILENO);
    redirect("stdout", O_WRONLY | O_CREAT | O_TRUNC, STDOUT_FILENO);
    redirect("stderr", O_WRONLY | O_CREAT | O_TRUNC, STDERR_FILENO);
    setpgid(0, 0);
    execv(command[0], command);
    _exit(126);
}

static volatile sig_atomic_t child;
static void on_alarm(int number) {
    (void)number;
    kill(-child, SIGKILL);
}

/* The exit status, or EXIT_BY_SIGNAL plus the signal's number. */
static int run(const char *kind, unsigned long n, bool every) {
    int status = 0;
    empty_folder("out");
    put_seed();
    unlink("count");
    child = fork();
    if (child == 0)
        become(kind, n, every);
    alarm(LONGEST_RUN);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    alarm(0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_BY_SIGNAL + WTERMSIG(status);
}

/* --- judging */
/* Lines of standard error that are not warnings; of them those that contain a text, if one is given. */
static size_t error_lines(const char *with) {
    text t = read_file("stderr");
    size_t count = 0;
    char *rest = t.bytes;
    for (char *line; (line = strsep(&rest, "\n"));)
        count += *line && !strstr(line, ": warning: ") && (!with || strstr(line, with));
    free(t.bytes);
    return count;
}

static bool names_agree(tree *now) {
    for (size_t i = 0; i < now->count; i++)
        if (!find(&reference, now->files[i].path))
            return false;
    return now->count == reference.count;
}

/* What is wrong with the last run; NULL: nothing. */
static const char *verdict(int code, bool signalled, tree *now) {
    static char why[PATH_ROOM + 64];
    text said = read_file("stdout");
    bool equal = !printed_stable || same(&said, &printed);
    free(said.bytes);
    if (code > 2 && !(signalled && code == EXIT_BY_SIGNAL + SIGTERM))
        return "expected exit status 0, 1 or 2";
    if (code == 0 && !names_agree(now))
        return "other files than without a fault";
    if (code == 0 && !equal)
        return "prints something else than without a fault";
    if ((code == 1 || code == 2) && error_lines(NULL) != 1)
        return "expected one line of error";
    for (size_t i = 0; i < now->count; i++) {
        const entry *before = find(&reference, now->files[i].path);
        snprintf(why, sizeof why, "other contents than without a fault: %s", now->files[i].path);
        /* A training that a signal stops keeps the last checkpoint, from which it is resumed. */
        bool earlier = signalled && ends_with(now->files[i].path, "/last.safetensors");
        earlier = earlier || (code != 0 && is_seed(&now->files[i]));
        if (before && before->stable && !earlier && !same(&before->content, &now->files[i].content))
            return why;
    }
    bool ended_inside = error_lines("a C++ library could not go on") == 1;
    snprintf(why, sizeof why, "leaves %s", now->left ? now->left : "");
    return now->left && !(ended_inside && ends_with(now->left, "/train.lock")) ? why : NULL;
}

static bool judge(int code, const char *kind, unsigned long n, unsigned long calls) {
    tree now = {.count = 0};
    read_tree(&now, "out");
    const char *why = verdict(code, strcmp(kind, "term") == 0, &now);
    if (why) {
        text said = read_file("stderr");
        printf("FAILED: %s (%s, call %lu of %lu): exit status %d, %s\n%.400s\n", label, kind, n, calls, code, why,
               said.bytes);
        free(said.bytes);
    }
    free_tree(&now);
    return !why;
}

/* --- which calls */
static unsigned long calls_of(const char *kind) {
    char name[32];
    unsigned long count, found = 0;
    FILE *file = fopen("counts", "r");
    while (file && fscanf(file, "%31s %lu", name, &count) == 2)
        found = strcmp(name, kind) == 0 ? count : found;
    if (file)
        fclose(file);
    return found;
}

static uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* chosen[n - 1]: whether call n is to fail. */
static void choose(bool *chosen, unsigned long calls, const char *kind) {
    unsigned long wanted = strtoul(which, NULL, 10);
    bool sites = strcmp(which, "sites") == 0 && strcmp(kind, "alloc") == 0;
    if (sites) {
        text t = read_file("sites");
        const uint64_t *hash = (const uint64_t *)(const void *)t.bytes;
        for (unsigned long n = 0; n < calls; n++) {
            bool known = false;
            for (unsigned long i = 0; i < n && !known; i++)
                known = (i + 1) * sizeof *hash <= t.size && hash[i] == hash[n];
            chosen[n] = (n + 1) * sizeof *hash <= t.size && !known;
        }
        free(t.bytes);
        return;
    }
    for (unsigned long n = 0; n < calls && (wanted == 0 || calls <= wanted); n++)
        chosen[n] = strcmp(which, "0") != 0;
    for (unsigned long i = 0; wanted > 0 && calls > wanted && i < wanted; i++) { /* one of each part of equal length */
        unsigned long from = i * calls / wanted, to = (i + 1) * calls / wanted;
        chosen[from + mix(seed * 1000003 + i) % (to - from)] = true;
    }
}

static size_t walk(const char *word, size_t *injected) {
    char kind[32];
    bool every = strchr(word, '+') != NULL;
    snprintf(kind, sizeof kind, "%.*s", (int)strcspn(word, "+"), word);
    unsigned long calls = calls_of(kind);
    size_t tried = 0, wrong = 0, found = 0;
    bool *chosen = must(calloc(calls + 1, sizeof *chosen));
    choose(chosen, calls, kind);
    for (unsigned long n = 1; n <= calls; n++) {
        if (!chosen[n - 1] || found++ % parts != part - 1)
            continue;
        wrong += !judge(run(kind, n, every), word, n, calls);
        tried++;
        if (verbose && tried % 100 == 0)
            printf("%s %s: up to call %lu of %lu, %zu faults, %zu ended wrongly so far\n", label, word, n, calls, tried,
                   wrong);
        fflush(stdout);
    }
    free(chosen);
    if (calls > 0)
        printf("%s %s: %lu calls, %zu faults, %zu ended wrongly\n", label, word, calls, tried, wrong);
    fflush(stdout);
    *injected += tried;
    return wrong;
}

/* Two runs without a fault: what they have in common, and the numbers of calls. */
static int learn(void) {
    tree again = {.count = 0};
    for (int i = 0; i < 2; i++) {
        int code = run(i && strcmp(which, "sites") == 0 ? "sites" : "none", 0, false);
        if (code != 0) {
            text said = read_file("stderr");
            printf("FAILED: %s without a fault: exit status %d\n%s\n", label, code, said.bytes);
            return 1;
        }
        read_tree(i ? &again : &reference, "out");
        text out = read_file("stdout");
        printed_stable = i && same(&out, &printed) && !any_output;
        free(printed.bytes);
        printed = out;
    }
    for (size_t i = 0; i < reference.count; i++) {
        const entry *other = find(&again, reference.files[i].path);
        reference.files[i].stable = other && same(&other->content, &reference.files[i].content);
    }
    free_tree(&again);
    return rename("count", "counts") != 0;
}

int main(int argc, char **argv) {
    for (int option; (option = getopt(argc, argv, "+p:k:n:m:r:i:f:s:av")) >= 0;) {
        switch (option) {
        case 'p': preload = optarg; break;
        case 'k': kind_list = optarg; break;
        case 'n': which = optarg; break;
        case 'm':
            if (sscanf(optarg, "%lu/%lu", &part, &parts) != 2 || part < 1 || part > parts)
                return 2;
            break;
        case 'v': verbose = true; break;
        case 'r': seed = strtoul(optarg, NULL, 10); break;
        case 'i': ignored = optarg; break;
        case 'a': any_output = true; break;
        case 's': seeded = optarg; break;
        case 'f': input = optarg; break;
        default: return 2;
        }
    }
    if (argc - optind < 2)
        return 2;
    label = argv[optind];
    command = argv + optind + 1;
    snprintf(preload_word, sizeof preload_word, "%s", preload ? preload : "");
    signal(SIGALRM, on_alarm);
    mkdir("out", 0777);
    size_t injected = 0, wrong = 0;
    if (learn() != 0)
        return 1;
    char *words = must(strdup(kind_list)), *rest = words;
    for (char *word; (word = strsep(&rest, " "));)
        wrong += *word ? walk(word, &injected) : 0;
    free(words);
    printf("%s: %zu faults, %zu ended wrongly\n", label, injected, wrong);
    return wrong != 0;
}
