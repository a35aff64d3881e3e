/* doctor.c - what this build and this machine have, and how to get what is missing: `vargate doctor`. It starts no
 * program and writes nothing; files of data sets are searched for but not read. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/backend.h"
#include "base/base.h"
#include "base/c_locale.h"
#include "base/cpu.h"
#include "vargate/data.h"
#include "vargate/doctor.h"
#include "vargate/measures.h"
#include "vargate/workflow.h"
#include "workflow/json_build.h"

#if defined(__clang__)
#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)
#define COMPILER "clang " TEXT(__clang_major__) "." TEXT(__clang_minor__) "." TEXT(__clang_patchlevel__)
#else
#define COMPILER "gcc " __VERSION__
#endif
#if defined(__aarch64__)
#define MACHINE "aarch64"
#elif defined(__x86_64__)
#define MACHINE "x86_64"
#else
#define MACHINE "other processor"
#endif
#ifdef VG_HAVE_CUDA
#define WITH_CUDA ", with CUDA"
#else
#define WITH_CUDA ", without CUDA"
#endif

const char *vg_build_facts(void) { return COMPILER ", " MACHINE WITH_CUDA; }

enum { MOST_LINES = 24 };

typedef struct examination {
    vg_doctor_line *lines;
    size_t count;
} examination;

/* Adds a line; advice NULL: nothing is missing. */
static void add(examination *e, const char *topic, const char *found, const char *advice) {
    vg_doctor_line *line = &e->lines[e->count < MOST_LINES ? e->count++ : MOST_LINES - 1];
    snprintf(line->topic, sizeof line->topic, "%s", topic);
    snprintf(line->found, sizeof line->found, "%s", found);
    snprintf(line->advice, sizeof line->advice, "%s", advice ? advice : "");
}

/* Whether a program of that name is in one of the folders of PATH. */
static bool in_path(const char *program) {
    const char *folders = getenv("PATH");
    while (folders && *folders) {
        char path[4096];
        size_t length = strcspn(folders, ":");
        int used = snprintf(path, sizeof path, "%.*s/%s", (int)length, folders, program);
        if (used > 0 && (size_t)used < sizeof path && access(path, X_OK) == 0)
            return true;
        folders += length + (folders[length] == ':');
    }
    return false;
}

static void processor(examination *e) {
    char found[64];
    const char *best = vg_base__tier_name(vg_base__cpu_best_tier());
    bool lowered = vg_base__cpu_tier() != vg_base__cpu_best_tier();
    char advice[96] = "";
    if (lowered)
        snprintf(advice, sizeof advice, "VARGATE_CPU lowers it; unset it for %s", best);
    snprintf(found, sizeof found, "%s kernels, %u cores", vg_cpu_tier(), vg_base__cores());
    add(e, "processor", found, advice);
}

/* Opens a backend and reports what it is, or why it cannot be opened, with the advice. */
static void device(examination *e, const char *topic, const char *name, const char *advice) {
    vg_backend *backend;
    if (vg_backend__open(&backend, name, NULL) == VG_OK) {
        add(e, topic, backend->device, NULL);
        vg_backend__close(backend);
        return;
    }
    add(e, topic, vg_error_message(), advice);
}

/* The rows of a table that the build writes: FOUND("name version"), MISSING("name", "Debian package", "what for"). */
static void libraries(examination *e) {
    static const char *const found[] = {
#define FOUND(name) name,
#define MISSING(name, package, gives)
#include "library_table.h"
        NULL};
#undef FOUND
#undef MISSING
    static const char *const missing[][3] = {
#define FOUND(name)
#define MISSING(name, package, gives) {name, package, gives},
#include "library_table.h"
        {NULL, NULL, NULL}};
#undef FOUND
#undef MISSING
    char all[sizeof e->lines->found] = "";
    for (size_t i = 0, used = 0; found[i] && used < sizeof all; i++)
        used += (size_t)snprintf(all + used, sizeof all - used, "%s%s", i ? ", " : "", found[i]);
    add(e, "libraries", all, NULL);
    for (size_t i = 0; missing[i][0]; i++) {
        char advice[sizeof e->lines->advice];
        snprintf(advice, sizeof advice, "gives %s: build from the sources with %s", missing[i][2], missing[i][1]);
        add(e, missing[i][0], "not in this build", advice);
    }
}

static void programs(examination *e) {
    bool plots = in_path("gnuplot"), fetches = in_path("curl") || in_path("wget");
    add(e, "figures", plots ? "gnuplot" : "gnuplot is not in PATH", plots ? NULL : "apt-get install gnuplot-nox");
    add(e, "downloads", fetches ? "curl or wget" : "neither curl nor wget is in PATH",
        fetches ? NULL : "apt-get install curl");
}

/* The names of the data sets that are on this machine, and of those that are not. */
static vg_status data_sets(examination *e) {
    size_t count;
    const vg_data_entry *all = vg_data_catalogue(&count);
    char here[sizeof e->lines->found] = "", missing[sizeof e->lines->found] = "", advice[sizeof e->lines->advice] = "";
    for (size_t i = 0; i < count; i++) {
        size_t found_files = 0;
        for (size_t file = 0; file < all[i].file_count; file++) {
            vg_data_found found;
            VG_TRY(vg_data_look(&found, &all[i], file, NULL, 0));
            found_files += found.state != VG_DATA_MISSING;
        }
        char *to = found_files == all[i].file_count ? here : missing;
        size_t used = strlen(to);
        snprintf(to + used, sizeof here - used, "%s%s", used ? ", " : "", all[i].name);
    }
    if (*missing)
        snprintf(advice, sizeof advice, "vargate data fetch NAME downloads others: %.160s", missing);
    add(e, "data sets", *here ? here : "none", advice);
    return VG_OK;
}

vg_status vg_doctor(vg_doctor_line **out, size_t *count) {
    VG_TRY(vg_base__given(out && count, "vg_doctor: out and count"));
    VG_IN_C_LOCALE;
    examination e = {NULL, 0};
    char version[192];
    *out = NULL;
    *count = 0;
    VG_TRY(vg_base__zalloc(&e.lines, MOST_LINES, sizeof *e.lines, "findings"));
    snprintf(version, sizeof version, "%s, %s", vg_version(), vg_build_facts());
    add(&e, "vargate", version, NULL);
    processor(&e);
    device(&e, "training", "cpu", NULL);
#ifdef VG_HAVE_CUDA
    device(&e, "GPU", "cuda", "needs an NVIDIA driver, and cuDNN and cuBLASLt: pip install 'vargate-uq[cuda]'");
#else
    add(&e, "GPU", "no device code in this build",
        "on x86_64 pip install 'vargate-uq[cuda]' has it; or build it (docs/gpu.md)");
#endif
    libraries(&e);
    programs(&e);
    vg_status status = data_sets(&e);
    if (status != VG_OK) {
        vg_base__release(e.lines);
        return status;
    }
    *out = e.lines;
    *count = e.count;
    return VG_OK;
}

void vg_doctor_free(vg_doctor_line *lines) { vg_base__release(lines); }

vg_status vg_doctor_json(char **out, const vg_doctor_line *lines, size_t count) {
    VG_TRY(vg_base__given(out && (lines || count == 0), "vg_doctor_json: out and lines"));
    VG_IN_C_LOCALE;
    json_t *document = vg_json__document("doctor"), *array = json_array();
    vg_json__put_text(document, "version", vg_version());
    vg_json__put(document, "findings", array);
    for (size_t i = 0; i < count; i++) {
        json_t *object = json_object();
        vg_json__put_text(object, "topic", lines[i].topic);
        vg_json__put_text(object, "found", lines[i].found);
        vg_json__put(object, "advice", *lines[i].advice ? json_string(lines[i].advice) : json_null());
        vg_json__append(array, object);
    }
    return vg_json__text(out, document);
}
