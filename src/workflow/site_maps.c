/* site_maps.c - scores of images as arrays and pictures in a folder. See site_maps.h. */
#include "workflow/site_maps.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json_text.h"
#include "data/image_file.h"
#include "formats/arrays.h"
#include "report/map_picture.h"
#include "workflow/json_build.h"
#include "workflow/site_maps_page.h"

enum { PIECE = 1 << 16, PATH = 4096 };

/* One map: a field at one gate setting. */
typedef struct map_column {
    char name[VG_FIELD_TITLE];
    vg_field field;
    size_t k, width;
    bool whole;       /* int32: pred, decision */
    double low, high; /* of the values that are finite */
} map_column;

typedef struct map_job {
    const vg_site_maps *maps;
    const vg_score_input *in;
    const vg_column_store *store;
    const size_t *shape; /* N, H, W, D */
    const char *const *names;
    size_t pictures;
    void *piece;   /* rows as stored */
    double *reals; /* of one map: PIECE values, or a slice */
    int32_t *wholes;
    json_t *listed;
    double low, high; /* of the measure that the page shows */
} map_job;

vg_field_set vg_site_maps__fields(vg_field_set set) {
    return set & (VG_FIELDS_MEASURES | VG_FIELD_BIT(VG_FIELD_PRED) | VG_FIELD_BIT(VG_FIELD_DECISION));
}

/* --- the folder --------------------------------------------------------------------------------------------------- */
static vg_status path_of(char out[PATH], const map_job *job, const char *name) {
    int length = snprintf(out, PATH, "%s/%s", job->maps->folder, name);
    return length > 0 && length < PATH ? VG_OK
                                       : vg_base__fail(VG_ERR_ARGUMENT, "%s: the path is too long", job->maps->folder);
}

/* Whether maps.json says that vargate wrote the folder. */
static bool is_ours(const char *folder) {
    char path[PATH];
    snprintf(path, sizeof path, "%s/maps.json", folder);
    json_t *root;
    if (vg_base__json_load_file(&root, path, 0) != VG_OK)
        return false;
    const char *command = json_string_value(json_object_get(root, "command"));
    const char *schema = json_string_value(json_object_get(root, "schema"));
    bool ours = command && schema && strcmp(command, "maps") == 0 && strcmp(schema, VG_JSON_SCHEMA) == 0;
    json_decref(root);
    return ours;
}

vg_status vg_site_maps__check(const vg_site_maps *maps, const vg_score_input *in) {
    size_t entries = 0;
    if (!vg_score_input__images(in) || in->layout.multilabel)
        return vg_base__fail(VG_ERR_ARGUMENT, "%s: --maps writes maps of images: name the axes, --axes NMCHW",
                             in->path);
    DIR *folder = opendir(maps->folder);
    for (const struct dirent *entry; folder && (entry = readdir(folder));)
        entries += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    if (folder)
        closedir(folder);
    if (entries == 0 || maps->force || is_ours(maps->folder))
        return VG_OK;
    return vg_base__fail(
        VG_ERR_ARGUMENT,
        "%s: holds files and is not a folder of maps that vargate wrote; choose another, or use it with "
        "--force",
        maps->folder);
}

/* --- values ------------------------------------------------------------------------------------------------------- */
/* Sites first .. first + count - 1 of a map, into job->reals or job->wholes. */
static vg_status read_sites(const map_job *job, const map_column *map, size_t first, size_t count) {
    for (size_t done = 0, now; done < count; done += now) {
        now = count - done < PIECE ? count - done : PIECE;
        VG_TRY(vg_column_store__get(job->store, map->field, first + done, now, job->piece));
        for (size_t i = 0; i < now; i++) {
            size_t at = i * map->width + map->k;
            if (map->whole)
                job->wholes[done + i] = ((const int32_t *)job->piece)[at];
            else
                job->reals[done + i] = ((const double *)job->piece)[at];
        }
    }
    return VG_OK;
}

static void widen_range(map_column *map, const double *values, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (isfinite(values[i])) {
            map->low = values[i] < map->low ? values[i] : map->low;
            map->high = values[i] > map->high ? values[i] : map->high;
        }
}

static vg_status write_array(const map_job *job, map_column *map) {
    char name[VG_FIELD_TITLE + 8], path[PATH];
    vg_writer *writer;
    size_t bytes = map->whole ? sizeof(int32_t) : sizeof(double);
    snprintf(name, sizeof name, "%s.npy", map->name);
    VG_TRY(path_of(path, job, name));
    VG_TRY(vg_writer_open(&writer, path));
    vg_status status = vg_writer__begin(writer, map->name, map->whole ? VG_ELEMENT_I32 : VG_ELEMENT_F64,
                                        job->shape[3] > 1 ? 4 : 3, job->shape);
    for (size_t first = 0, now; first < job->store->layout.n && status == VG_OK; first += now) {
        now = job->store->layout.n - first < PIECE ? job->store->layout.n - first : PIECE;
        status = read_sites(job, map, first, now);
        if (status == VG_OK)
            status = vg_writer__append(writer, map->whole ? (void *)job->wholes : (void *)job->reals, now * bytes);
        if (!map->whole)
            widen_range(map, job->reals, now);
    }
    if (status == VG_OK)
        return vg_writer_close(writer);
    vg_writer_abandon(writer);
    return status;
}

/* --- pictures ----------------------------------------------------------------------------------------------------- */
/* Moves the middle slice of a volume to the front of the image's values. */
static void take_slice(const map_job *job) {
    size_t depth = job->shape[3], sites = job->shape[1] * job->shape[2];
    for (size_t i = 0; depth > 1 && i < sites; i++) {
        job->reals[i] = job->reals[i * depth + depth / 2];
        job->wholes[i] = job->wholes[i * depth + depth / 2];
    }
}

static vg_status draw(const map_job *job, const map_column *map, size_t image) {
    size_t h = job->shape[1], w = job->shape[2], depth = job->shape[3], size = 0;
    char title[160], name[VG_FIELD_TITLE + 32], path[PATH], slice[64] = "";
    vg_map_picture picture = {0, 0, NULL};
    uint8_t *bytes = NULL;
    VG_TRY(read_sites(job, map, image * h * w * depth, h * w * depth));
    take_slice(job);
    if (depth > 1)
        snprintf(slice, sizeof slice, ", d = %zu of %zu", depth / 2, depth);
    snprintf(title, sizeof title, "%s, image %zu%s", map->name, image, slice);
    snprintf(name, sizeof name, "%s-%04zu.png", map->name, image);
    VG_TRY(path_of(path, job, name));
    VG_TRY(map->whole ? vg_map_picture__classes(&picture, job->wholes, h, w, job->names, title)
                      : vg_map_picture__measure(&picture, job->reals, h, w, map->low, map->high, title));
    vg_status status = vg_image__write_png(&bytes, &size, picture.rgb, picture.height, picture.width);
    if (status == VG_OK)
        status = vg_text_save(path, (const char *)bytes, size);
    vg_base__release(picture.rgb);
    vg_base__release(bytes);
    return status;
}

/* --- all of it ---------------------------------------------------------------------------------------------------- */
static vg_status write_map(map_job *job, vg_field field, size_t k) {
    const vg_score_layout *layout = &job->store->layout;
    map_column map = {.field = field, .k = k, .width = vg_field__width(field, layout)};
    map.whole = vg_field__element(field) == VG_ELEMENT_I32;
    vg_field__title(map.name, field, layout, k);
    if (field == VG_FIELD_DECISION && job->maps->decided)
        snprintf(map.name, sizeof map.name, "%s", vg_field__name(field));
    VG_TRY(write_array(job, &map));
    for (size_t i = 0; i < job->pictures; i++)
        VG_TRY(draw(job, &map, i));
    if (field == vg_site_images__field(job->store->set) && k == 0)
        job->low = map.low, job->high = map.high;
    json_t *row = json_object();
    vg_json__put_text(row, "name", map.name);
    if (!map.whole) {
        vg_json__put_number(row, "low", map.low);
        vg_json__put_number(row, "high", map.high);
    }
    vg_json__append(job->listed, row);
    return VG_OK;
}

static vg_status write_maps(map_job *job) {
    const vg_score_layout *layout = &job->store->layout;
    vg_field_set set = vg_site_maps__fields(job->store->set);
    size_t total = 0, done = 0;
    vg_status status = vg_job__begin(job->in->job, "maps", "maps");
    for (int f = 0; f < VG_FIELD_COUNT; f++)
        total += set & VG_FIELD_BIT(f) ? (vg_field__gated(f) ? layout->k_count : 1) : 0;
    for (int f = 0; f < VG_FIELD_COUNT && status == VG_OK; f++)
        for (size_t k = 0; (set & VG_FIELD_BIT(f)) && k < (vg_field__gated(f) ? layout->k_count : 1); k++) {
            status = write_map(job, f, k);
            if (status == VG_OK)
                status = vg_job__progress(job->in->job, "maps", ++done, total);
            if (status != VG_OK)
                break;
        }
    vg_job__end(job->in->job);
    return status;
}

/* --- the page ----------------------------------------------------------------------------------------------------- */
static map_column column_of(const map_job *job, vg_field field) {
    map_column map = {.field = field, .width = vg_field__width(field, &job->store->layout)};
    map.whole = vg_field__element(field) == VG_ELEMENT_I32;
    return map;
}

static vg_status read_slice(void *context, size_t image, int32_t *pred, double *ratio, double *level) {
    const map_job *job = context;
    size_t sites = job->shape[1] * job->shape[2], all = sites * job->shape[3];
    map_column columns[] = {column_of(job, VG_FIELD_PRED), column_of(job, VG_FIELD_SNR),
                            column_of(job, vg_site_images__field(job->store->set))};
    VG_TRY(read_sites(job, &columns[0], image * all, all));
    VG_TRY(read_sites(job, &columns[1], image * all, all));
    take_slice(job);
    memcpy(pred, job->wholes, sites * sizeof *pred);
    memcpy(ratio, job->reals, sites * sizeof *ratio);
    VG_TRY(read_sites(job, &columns[2], image * all, all));
    take_slice(job); /* of the classes too, which are not needed afterwards */
    memcpy(level, job->reals, sites * sizeof *level);
    return VG_OK;
}

/* Written where classes fit a byte and the margin ratio is what the rule compares with k. */
static vg_status write_page(map_job *job, const vg_site_images *images) {
    const vg_score_layout *layout = &job->store->layout;
    vg_field_set wanted = VG_FIELD_BIT(VG_FIELD_PRED) | VG_FIELD_BIT(VG_FIELD_SNR);
    vg_field field = vg_site_images__field(job->store->set);
    char path[PATH];
    if (job->pictures == 0 || layout->class_k || layout->c > VG_MAPS_PAGE_CLASSES ||
        (job->store->set & wanted) != wanted)
        return VG_OK;
    VG_TRY(path_of(path, job, "maps.html"));
    vg_maps_page page = {.path = path,
                         .file = job->in->path,
                         .count = images->count,
                         .images = job->pictures,
                         .height = job->shape[1],
                         .width = job->shape[2],
                         .depth = job->shape[3],
                         .class_count = layout->c,
                         .classes = job->names,
                         .ignored = job->in->ignored,
                         .k = layout->k_count ? layout->k[0] : 1,
                         .measure = vg_field__name(field),
                         .low = job->low,
                         .high = job->high,
                         .slice = read_slice,
                         .context = job};
    return vg_maps_page__write(&page);
}

/* --- rows --------------------------------------------------------------------------------------------------------- */
static vg_status write_rows(const map_job *job, const vg_site_images *images) {
    char path[PATH], *text = NULL;
    size_t length = 0;
    bool refer = !isnan(job->maps->refer_above);
    VG_TRY(path_of(path, job, "images.csv"));
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return vg_base__fail(VG_ERR_MEMORY, "out of memory for the rows of the images");
    fprintf(out, "image,sites,abstained,accuracy,mean,median,p95,max%s\n", refer ? ",referred" : "");
    for (size_t i = 0; i < images->count; i++) {
        const vg_image_row *row = &images->rows[i];
        fprintf(out, "%zu,%llu,%.17g,%.17g,%.17g,%.17g,%.17g,%.17g", i, row->sites, row->abstained_share, row->accuracy,
                row->mean, row->median, row->p95, row->max);
        fprintf(out, !refer ? "\n" : row->abstained_share > job->maps->refer_above ? ",1\n" : ",0\n");
    }
    bool failed = fclose(out) != 0 || !text;
    vg_status status = failed ? vg_base__fail(VG_ERR_MEMORY, "out of memory for the rows of the images")
                              : vg_text_save(path, text, length);
    free(text);
    return status;
}

static vg_status write_index(const map_job *job, const vg_site_images *images) {
    char path[PATH], *text;
    json_t *root = vg_json__document("maps");
    vg_json__put_text(root, "file", job->in->path);
    vg_json__put(root, "maps", json_incref(job->listed));
    vg_json__put_count(root, "pictures", job->pictures);
    vg_json__put_images(root, &(vg_image_list){job->shape, job->in->ignored, images->rows, images->count,
                                               vg_score_input__labelled(job->in), job->maps->refer_above});
    VG_TRY(vg_json__text(&text, root));
    vg_status status = path_of(path, job, "maps.json");
    if (status == VG_OK)
        status = vg_text_save(path, text, strlen(text));
    free(text);
    return status;
}

static vg_status make_room(map_job *job) {
    size_t row = 0, image = job->shape[1] * job->shape[2] * job->shape[3], most = image > PIECE ? image : PIECE;
    for (int f = 0; f < VG_FIELD_COUNT; f++) {
        size_t bytes = vg_field__bytes(f, &job->store->layout);
        row = (vg_site_maps__fields(job->store->set) & VG_FIELD_BIT(f)) && bytes > row ? bytes : row;
    }
    VG_TRY(vg_base__alloc(&job->piece, PIECE, row ? row : 1, "maps"));
    VG_TRY(vg_base__zalloc(&job->reals, most, sizeof *job->reals, "maps"));
    return vg_base__zalloc(&job->wholes, most, sizeof *job->wholes, "maps");
}

vg_status vg_site_maps__write(const vg_site_maps *maps, const vg_score_input *in, const vg_column_store *store,
                              const vg_site_images *images) {
    vg_row_names names = {.classes = NULL};
    map_job job = {.maps = maps, .in = in, .store = store, .shape = vg_score_input__shape(in)};
    job.pictures = maps->pictures < images->count ? maps->pictures : images->count;
    if (job.pictures > 0 && !vg_image__can_write_png()) {
        vg_job__warn(in->job, "this build has no libpng: maps are written without pictures");
        job.pictures = 0;
    }
    job.listed = json_array();
    vg_status status = vg_file__make_folders(maps->folder);
    if (status == VG_OK)
        status = make_room(&job);
    if (status == VG_OK)
        status = vg_score_input__names(&names, in);
    job.names = names.classes;
    if (status == VG_OK)
        status = write_maps(&job);
    if (status == VG_OK)
        status = write_page(&job, images);
    if (status == VG_OK)
        status = write_rows(&job, images);
    if (status == VG_OK)
        status = write_index(&job, images);
    vg_row_names__free(&names);
    vg_base__release(job.piece);
    vg_base__release(job.reals);
    vg_base__release(job.wholes);
    if (status == VG_OK)
        json_decref(job.listed);
    else
        vg_json__drop(job.listed);
    return status;
}
