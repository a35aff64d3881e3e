/* places.c - the places that are searched for data sets, and whether a file found is the published one.
 *
 * Places, in order: the folder asked for, $VARGATE_DATA, $XDG_DATA_HOME/vargate (~/.local/share/vargate), the data
 * installed with the program (beside its executable, then in the configured folder), ./data, /usr/share/datasets
 * (Debian's data packages). A set is in PLACE/NAME, or in a folder named as in its archive or by torchvision; in the
 * folder asked for also directly. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/file.h"
#include "data/catalogue.h"

static vg_status add(char **list, size_t *count, const char *first, const char *second) {
    if (!first || !*first)
        return VG_OK;
    VG_TRY(vg_data__join(&list[*count], first, second));
    for (size_t i = 0; i < *count; i++)
        if (strcmp(list[i], list[*count]) == 0) {
            vg_base__release(list[*count]);
            return VG_OK;
        }
    ++*count;
    return VG_OK;
}

/* $XDG_DATA_HOME/vargate or ~/.local/share/vargate. */
static vg_status add_xdg(char **list, size_t *count) {
    const char *xdg = getenv("XDG_DATA_HOME");
    if (xdg && xdg[0] == '/') /* the XDG standard says to ignore relative paths */
        return add(list, count, xdg, "vargate");
    return add(list, count, getenv("HOME"), ".local/share/vargate");
}

static vg_status add_installed(char **list, size_t *count) {
    char prefix[4096];
    if (vg_file__install_prefix(prefix, sizeof prefix))
        VG_TRY(add(list, count, prefix, "share/vargate/data"));
#ifdef VG_DATADIR
    VG_TRY(add(list, count, VG_DATADIR, ""));
#endif
    return VG_OK;
}

vg_status vg_data_places(char ***out, size_t *count, const char *folder) {
    VG_TRY(vg_base__given(out && count, "vg_data_places: out and count"));
    char **list;
    *out = NULL;
    *count = 0;
    VG_TRY(vg_base__zalloc(&list, 8, sizeof *list, "places of data"));
    size_t found = 0;
    vg_status status = add(list, &found, folder, "");
    if (status == VG_OK)
        status = add(list, &found, getenv("VARGATE_DATA"), "");
    if (status == VG_OK)
        status = add_xdg(list, &found);
    if (status == VG_OK)
        status = add_installed(list, &found);
    if (status == VG_OK)
        status = add(list, &found, "data", "");
    if (status == VG_OK)
        status = add(list, &found, "/usr/share/datasets", "");
    if (status != VG_OK) {
        vg_data_places_free(list, found);
        return status;
    }
    *out = list, *count = found;
    return VG_OK;
}

void vg_data_places_free(char **places, size_t count) {
    for (size_t i = 0; places && i < count; i++)
        vg_base__release(places[i]);
    vg_base__release(places);
}

vg_status vg_catalogue__home(char **out) {
    char *list[2] = {NULL, NULL};
    size_t count = 0;
    *out = NULL;
    VG_TRY(add(list, &count, getenv("VARGATE_DATA"), ""));
    if (count == 0)
        VG_TRY(add_xdg(list, &count));
    if (count == 0)
        return vg_base__fail(
            VG_ERR_ARGUMENT,
            "no folder for data: none was named, and VARGATE_DATA, XDG_DATA_HOME and HOME are not set");
    *out = list[0];
    return VG_OK;
}

/* MD5 of the bytes of a file. */
static vg_status raw_md5(const char *path, char text[VG_DIGEST_TEXT], uint64_t *size) {
    FILE *file = fopen(path, "rb");
    if (!file)
        return vg_base__fail(VG_ERR_IO, "%s: %s", path, strerror(errno));
    vg_digest digest;
    unsigned char block[65536];
    size_t got;
    vg_digest__start(&digest, VG_DIGEST_MD5);
    while ((got = fread(block, 1, sizeof block, file)) > 0)
        vg_digest__update(&digest, block, got);
    bool failed = ferror(file) != 0;
    int reason = errno;
    fclose(file);
    if (failed)
        return vg_base__fail(VG_ERR_IO, "%s: %s", path, strerror(reason));
    *size = digest.bytes;
    vg_digest__finish(&digest, text);
    return VG_OK;
}

/* MD5 of the decompressed content of a gzip file, stopping soon after `most` bytes. */
static vg_status unpacked_md5(const char *path, char text[VG_DIGEST_TEXT], uint64_t *size, uint64_t most) {
    vg_bytes bytes;
    vg_digest digest;
    unsigned char block[65536];
    size_t got = sizeof block;
    vg_digest__start(&digest, VG_DIGEST_MD5);
    VG_TRY(vg_bytes__open(&bytes, path));
    vg_status status = VG_OK;
    while (status == VG_OK && got == sizeof block && bytes.taken <= most) {
        status = vg_bytes__read(&bytes, block, sizeof block, &got);
        vg_digest__update(&digest, block, got);
    }
    *size = bytes.taken;
    if (status == VG_OK && *size == most)
        status = vg_bytes__at_end(&bytes, most);
    vg_bytes__close(&bytes);
    vg_digest__finish(&digest, text);
    return status;
}

static void wrong(vg_data_found *out, const char *format, ...) VG_PRINTF(2, 3);
static void wrong(vg_data_found *out, const char *format, ...) {
    va_list arguments;
    out->state = VG_DATA_WRONG;
    va_start(arguments, format);
    vsnprintf(out->problem, sizeof out->problem, format, arguments);
    va_end(arguments);
}

static void wrong_size(vg_data_found *out, const char *what, uint64_t found, uint64_t expected) {
    wrong(out, "%s: %llu bytes expected%s, %llu found", found < expected ? "truncated" : "too long",
          (unsigned long long)expected, what, (unsigned long long)found);
}

/* Accepts a gzip file that differs from the published one if its content is the same. */
static vg_status verify_unpacked(vg_data_found *out, const char *path, const vg_data_file *file) {
    char text[VG_DIGEST_TEXT];
    uint64_t size;
    if (unpacked_md5(path, text, &size, file->plain_size) != VG_OK) {
        const char *message = vg_error_message();
        size_t length = strlen(path);
        bool prefixed = strncmp(message, path, length) == 0 && message[length] == ':';
        wrong(out, "%s", prefixed ? message + length + 2 : message);
    } else if (size != file->plain_size)
        wrong_size(out, " after unpacking", size, file->plain_size);
    else if (!file->plain_md5)
        out->state = VG_DATA_UNCHECKED;
    else if (strcmp(text, file->plain_md5) != 0)
        wrong(out, "MD5 %s after unpacking, expected %s", text, file->plain_md5);
    else
        out->state = VG_DATA_GOOD;
    return VG_OK;
}

vg_status vg_catalogue__verify(vg_data_found *out, const char *path, const vg_data_file *file) {
    char raw[VG_DIGEST_TEXT];
    uint64_t size;
    vg_bytes bytes;
    out->problem[0] = '\0';
    VG_TRY(raw_md5(path, raw, &size));
    if ((file->md5 && strcmp(raw, file->md5) == 0) || (file->plain_md5 && strcmp(raw, file->plain_md5) == 0)) {
        out->state = VG_DATA_GOOD;
        return VG_OK;
    }
    VG_TRY(vg_bytes__open(&bytes, path));
    bool plain = bytes.plain;
    vg_bytes__close(&bytes);
    if (!plain && file->plain_size > 0)
        return verify_unpacked(out, path, file);
    uint64_t expected = file->plain_size > 0 ? file->plain_size : file->size;
    if (expected > 0 && size != expected)
        wrong_size(out, "", size, expected);
    else if (file->plain_size > 0 && !file->plain_md5)
        out->state = VG_DATA_UNCHECKED;
    else
        wrong(out, "MD5 %s, expected %s", raw, file->plain_size > 0 ? file->plain_md5 : file->md5);
    return VG_OK;
}

/* The names under which a published file may be stored: its own; without .gz; with dots, as torchvision and others
 * write it; .npz for .mat. */
static size_t spellings(char names[4][128], const char *name) {
    size_t count = 0, length = strlen(name);
    snprintf(names[count++], 128, "%s", name);
    if (vg_data__ends_with(name, ".gz")) {
        snprintf(names[count++], 128, "%.*s", (int)(length - 3), name);
        snprintf(names[count], 128, "%.*s", (int)(length - 3), name);
        char *dash = strstr(names[count], "-idx");
        if (dash) {
            *dash = '.';
            count++;
        }
    } else if (vg_data__ends_with(name, ".mat"))
        snprintf(names[count++], 128, "%.*s.npz", (int)(length - 4), name);
    else if (vg_data__ends_with(name, ".bin"))
        snprintf(names[count++], 128, "%s.gz", name);
    return count;
}

vg_status vg_catalogue__probe(vg_data_found *out, const char *folder, const vg_data_file *file, bool verify) {
    char names[4][128];
    size_t count = spellings(names, file->name);
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < count; i++) {
        int length = snprintf(out->path, sizeof out->path, "%s/%s", folder, names[i]);
        if (length < 0 || (size_t)length >= sizeof out->path || !vg_data__is_file(out->path)) {
            out->path[0] = '\0';
            continue;
        }
        out->state = VG_DATA_UNCHECKED;
        if (verify && !vg_data__ends_with(names[i], ".npz"))
            return vg_catalogue__verify(out, out->path, file);
        return VG_OK;
    }
    return VG_OK;
}

/* Looks in one place, under each name the set's folder may have. */
static vg_status look_in_place(vg_data_found *out, const char *place, const char *const *folders,
                               const vg_data_file *file, bool verify) {
    for (const char *const *name = folders; *name && out->state == VG_DATA_MISSING; name++) {
        char *path;
        VG_TRY(vg_data__join(&path, place, *name));
        vg_status status = vg_catalogue__probe(out, path, file, verify);
        vg_base__release(path);
        VG_TRY(status);
    }
    return VG_OK;
}

/* Looks at files directly in the folder that was asked for. Many sets use the same file names, so only files whose
 * checksum agrees count, and .npz files, which have none. Problems of other files are reported if the set is not
 * found in another place. */
static vg_status look_directly(vg_data_found *out, vg_data_found *unverified, const char *folder,
                               const vg_data_file *file) {
    VG_TRY(vg_catalogue__probe(out, folder, file, true));
    if (out->state == VG_DATA_WRONG || (out->state == VG_DATA_UNCHECKED && !vg_data__ends_with(out->path, ".npz"))) {
        *unverified = *out;
        if (unverified->state == VG_DATA_UNCHECKED)
            wrong(unverified, "no checksum to compare with; put it in a folder with the data set's name");
        memset(out, 0, sizeof *out);
    }
    return VG_OK;
}

vg_status vg_data_look(vg_data_found *out, const vg_data_entry *entry, size_t file, const char *folder, int verify) {
    VG_TRY(vg_base__given(out && entry, "vg_data_look: out and entry"));
    if (file >= entry->file_count)
        return vg_base__fail(VG_ERR_ARGUMENT, "%s: file %zu of %zu", entry->name, file, entry->file_count);
    if (folder && *folder && !vg_data__is_folder(folder))
        return vg_base__fail(VG_ERR_IO, "%s: no such folder", folder);
    char **places;
    size_t count;
    vg_data_found unverified = {.state = VG_DATA_MISSING};
    memset(out, 0, sizeof *out);
    VG_TRY(vg_data_places(&places, &count, folder));
    vg_status status = VG_OK;
    for (size_t p = 0; status == VG_OK && p < count && out->state == VG_DATA_MISSING; p++) {
        status = look_in_place(out, places[p], vg_catalogue__known(entry)->folders, &entry->files[file], verify != 0);
        if (status == VG_OK && p == 0 && folder && *folder && out->state == VG_DATA_MISSING)
            status = look_directly(out, &unverified, folder, &entry->files[file]);
    }
    vg_data_places_free(places, count);
    if (status == VG_OK && out->state == VG_DATA_MISSING && unverified.state == VG_DATA_WRONG)
        *out = unverified;
    return status;
}

vg_status vg_data_here(int here[2], const vg_data_entry *entry, const char *folder) {
    VG_TRY(vg_base__given(here && entry, "vg_data_here: here and entry"));
    size_t found_count[2] = {0, 0}, file_count[2] = {0, 0};
    for (size_t i = 0; i < entry->file_count; i++) {
        vg_part part = entry->files[i].part;
        vg_data_found found;
        VG_TRY(vg_data_look(&found, entry, i, folder, 0));
        file_count[part]++;
        found_count[part] += found.state != VG_DATA_MISSING;
    }
    for (int part = 0; part < 2; part++)
        here[part] = file_count[part] > 0 && found_count[part] == file_count[part];
    return VG_OK;
}
