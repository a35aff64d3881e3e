/* report_draw.c - figures of a report page, drawn by gnuplot: the script, and the names and renaming of its files.
 * The library starts no program: the caller's function runs gnuplot.
 *
 * One script draws every figure in three formats into FOLDER/figures, each as .NAME.svg.part; a file is renamed when
 * gnuplot has succeeded. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/c_locale.h"
#include "base/file.h"
#include "workflow/report_files.h"

static const struct {
    const char *terminal, *ending;
} kinds[] = {{"svg", "svg"}, {"pdfcairo", "pdf"}, {"pngcairo", "png"}};
enum { KINDS = sizeof kinds / sizeof *kinds };
enum { NAME_ROOM = 64, FOLDER_ROOM = 4300, PATH_ROOM = FOLDER_ROOM + NAME_ROOM + 2 };

static void file_name(char out[NAME_ROOM], const vg_page_figure *figure, int kind, bool part) {
    snprintf(out, NAME_ROOM, part ? ".%s.%s.part" : "%s.%s", figure->name, kinds[kind].ending);
}

static void file_path(char out[PATH_ROOM], const char *folder, const vg_page_figure *figure, int kind, bool part) {
    char name[NAME_ROOM];
    file_name(name, figure, kind, part);
    snprintf(out, PATH_ROOM, "%.*s/%s", FOLDER_ROOM, folder, name);
}

static vg_status write_stream(void *context, const void *bytes, size_t size) {
    return fwrite(bytes, 1, size, context) == size ? VG_OK : vg_base__fail(VG_ERR_MEMORY, "out of memory for a script");
}

static vg_status write_scripts(FILE *stream, const vg_page *page) {
    vg_sink sink = {.context = stream, .write = write_stream};
    for (size_t f = 0; f < page->figure_count; f++) {
        for (int kind = 0; kind < KINDS && page->figures[f].present; kind++) {
            char name[NAME_ROOM];
            file_name(name, &page->figures[f], kind, true);
            VG_TRY(vg_report__figure_script(vg_page__report(page), f, kinds[kind].terminal, name, &sink));
        }
    }
    return VG_OK;
}

/* The script that draws all figures; owned by the caller (free), also after a failure. */
static vg_status all_scripts(char **out, size_t *length, const vg_page *page) {
    *out = NULL;
    FILE *stream = open_memstream(out, length);
    if (!stream)
        return vg_base__fail(VG_ERR_MEMORY, "out of memory for the script of the figures");
    vg_status status = write_scripts(stream, page);
    if ((fclose(stream) != 0 || !*out) && status == VG_OK)
        status = vg_base__fail(VG_ERR_MEMORY, "out of memory for the script of the figures");
    return status;
}

/* Removes the files of the figures that the page does not have, or of all: an earlier report may have left them. */
static void remove_figures(const vg_page *page, const char *folder, bool all) {
    char path[PATH_ROOM];
    for (size_t f = 0; f < page->figure_count; f++) {
        for (int kind = 0; kind < KINDS && (all || !page->figures[f].present); kind++) {
            file_path(path, folder, &page->figures[f], kind, false);
            unlink(path);
        }
    }
    if (all)
        rmdir(folder); /* fails where the folder is not empty */
}

/* Renames one file into place; one that gnuplot did not draw, or not completely, is removed. */
static vg_status settle_file(const char *part, const char *path, bool complete) {
    struct stat st;
    if (complete && stat(part, &st) == 0 && st.st_size > 0 && vg_file__place(part, path) == VG_OK)
        return VG_OK;
    unlink(part);
    return vg_base__fail(VG_ERR_IO, "gnuplot did not draw %s", path);
}

static vg_status settle(const vg_page *page, const char *folder, bool complete, size_t *files) {
    vg_status first = VG_OK;
    for (size_t f = 0; f < page->figure_count; f++) {
        for (int kind = 0; kind < KINDS && page->figures[f].present; kind++) {
            char part[PATH_ROOM], path[PATH_ROOM];
            file_path(part, folder, &page->figures[f], kind, true);
            file_path(path, folder, &page->figures[f], kind, false);
            vg_status status = settle_file(part, path, complete);
            *files += status == VG_OK;
            if (first == VG_OK)
                first = status;
        }
    }
    return first;
}

vg_status vg_page_draw(size_t *files, const vg_page *page, vg_gnuplot_fn gnuplot, void *context) {
    VG_TRY(vg_base__given(files && page, "vg_page_draw: files and page"));
    VG_IN_C_LOCALE;
    char folder[FOLDER_ROOM], *script;
    struct stat st;
    size_t length;
    *files = 0;
    snprintf(folder, sizeof folder, "%s/figures", page->folder);
    if (!gnuplot) {
        remove_figures(page, folder, true);
        return VG_OK;
    }
    VG_TRY(vg_file__make_folders(folder));
    if (stat(folder, &st) != 0 || !S_ISDIR(st.st_mode))
        return vg_base__fail(VG_ERR_IO, "%s: not a folder", folder);
    vg_status status = all_scripts(&script, &length, page);
    if (status == VG_OK) {
        vg_status drawn = gnuplot(context, folder, script, length);
        remove_figures(page, folder, drawn == VG_ERR_UNSUPPORTED);
        if (drawn != VG_ERR_UNSUPPORTED)
            status = settle(page, folder, drawn == VG_OK, files);
    }
    free(script);
    return status;
}
