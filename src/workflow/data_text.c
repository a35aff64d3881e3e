/* data_text.c - a data set as text: its files and contents. data_json.c gives the same as JSON. */
#include <stdio.h>
#include <stdlib.h>

#include "base/base.h"
#include "base/c_locale.h"
#include "vargate/data.h"
#include "workflow/data_walk.h"

typedef char shown_text[4200];

static void write_entry(void *context, const vg_data_entry *entry) {
    fprintf(context, "%s: %s\n", entry->name, entry->title);
    fprintf(context, "images    %zux%zu %s, %zu train, %zu test, %zu classes\n", entry->height, entry->width,
            entry->channels == 1 ? "grey" : "RGB", entry->train, entry->test, entry->classes);
    fprintf(context, "licence   %s\nhome      %s\n", entry->licence, entry->homepage);
}

static void write_places(void *context, char *const *places, size_t count) {
    shown_text shown;
    for (size_t i = 0; i < count; i++)
        fprintf(context, "%s %s\n", i == 0 ? "looked in" : "         ", vg_printable(shown, sizeof shown, places[i]));
    fprintf(context, "files\n");
}

static void write_file(void *context, const vg_data_file *file, const char *part, const char *state,
                       const vg_data_found *found) {
    shown_text shown;
    fprintf(context, "  %-5s %-28s %-12s %s%s%s\n", part, file->name, state,
            vg_printable(shown, sizeof shown, found->path), found->problem[0] ? ": " : "", found->problem);
}

static void write_classes(FILE *out, const vg_dataset_info *info) {
    enum { NAMED = 20 };
    shown_text shown;
    fprintf(out, "  classes");
    for (size_t c = 0; c < info->classes && c < NAMED; c++)
        fprintf(out, "%s %s", c == 0 ? "" : ",", vg_printable(shown, sizeof shown, info->class_names[c]));
    fprintf(out, "%s\n", info->classes > NAMED ? ", ..." : "");
}

static void write_contents(void *context, const char *title, const vg_dataset_info *info,
                           const vg_statistics *statistics) {
    fprintf(context, "%-9s %zu image%s of %zux%zu, %zu channel%s, %s, ", title, info->n, info->n == 1 ? "" : "s",
            info->height, info->width, info->channels, info->channels == 1 ? "" : "s",
            info->is_float ? "float32" : "bytes");
    if (info->classes > 0)
        fprintf(context, "%zu class%s\n", info->classes, info->classes == 1 ? "" : "es");
    else
        fprintf(context, "no labels\n");
    for (size_t c = 0; c < statistics->channels; c++)
        fprintf(context, "%-9s %.6f, standard deviation %.6f\n", c == 0 ? "  mean" : "", statistics->mean[c],
                statistics->std[c]);
    if (info->classes > 0 && info->class_names)
        write_classes(context, info);
    for (size_t i = 0; i < info->note_count; i++)
        fprintf(context, "  note    %s\n", info->notes[i]);
    if (info->skipped_count > 0)
        fprintf(context, "  skipped %zu file%s\n", info->skipped_count, info->skipped_count == 1 ? "" : "s");
    for (size_t i = 0; i < info->skipped_count; i++)
        fprintf(context, "          %s\n", info->skipped[i]);
}

vg_status vg_data_text(char **out, const char *name, const vg_dataset_options *options, int statistics) {
    VG_TRY(vg_base__given(out != NULL, "vg_data_text: out"));
    VG_IN_C_LOCALE;
    static const vg_dataset_options defaults = VG_DATASET_OPTIONS_INIT;
    vg_dataset_options o;
    size_t length;
    *out = NULL;
    VG_TRY(vg_base__given(name != NULL, "vg_data_text: name"));
    VG_TRY(vg_base__take_options(&o, options, &defaults, sizeof o, "vg_dataset_options"));
    FILE *stream = open_memstream(out, &length);
    if (!stream)
        return vg_base__fail(VG_ERR_MEMORY, "out of memory for a text");
    const vg_data_visitor writer = {stream, write_entry, write_places, write_file, write_contents};
    vg_status status = vg_data__walk(&writer, name, &o, statistics != 0);
    if ((fclose(stream) != 0 || !*out) && status == VG_OK)
        status = vg_base__fail(VG_ERR_MEMORY, "out of memory for a text");
    if (status != VG_OK) {
        free(*out);
        *out = NULL;
    }
    return status;
}
