/* foreign.c - files of formats that are common but not read here: refused with the lines of Python that convert
 * them.
 *
 * Pickles (.pkl, PyTorch's .pt, joblib) run any code they hold when they are opened, so they are never read.
 * Parquet, Arrow, HDF5, MATLAB and Excel need libraries of their own; the Python package reads Parquet where pyarrow
 * is installed. Kinds are recognised by their first bytes, or by the ending where those are not specific. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memmem */
#endif
#include <stdio.h>
#include <string.h>

#include "base/names.h"
#include "formats/source.h"

enum { LOCAL_HEADER = 30 }; /* of a zip member; its name follows, with its length at offset 26 */

/* `lines` has one %s for the input's name and one for the output's, without folder and ending. */
typedef struct foreign {
    const char *what, *lines;
    const char *magic; /* first bytes, or NULL */
    size_t magic_size;
    const char *inside; /* text in the name of a zip file's first member, or NULL */
    const char *endings[4];
} foreign;

#define PICKLE_LINES "p = pickle.load(open(\"%s\", \"rb\")); np.savez(\"%s.npz\", P=np.asarray(p))"
static const foreign kinds[] = {
    {"a PyTorch file, which is not read because opening it can run any code",
     "p = torch.load(\"%s\", weights_only=True); np.savez(\"%s.npz\", P=p.cpu().numpy())",
     NULL,
     0,
     "/data.pkl",
     {".pt", ".pth", ".ckpt", NULL}},
    {"a Parquet file, which the Python package reads: vargate.score",
     "t = pandas.read_parquet(\"%s\"); t.to_csv(\"%s.csv\", index=False)",
     "PAR1",
     4,
     NULL,
     {".parquet", ".pq", NULL}},
    {"an Arrow file",
     "t = pandas.read_feather(\"%s\"); t.to_csv(\"%s.csv\", index=False)",
     "ARROW1",
     6,
     NULL,
     {".feather", ".arrow", NULL}},
    {"an HDF5 file",
     "f = h5py.File(\"%s\"); np.savez(\"%s.npz\", **{name: f[name][()] for name in f})",
     "\x89HDF\r\n\x1a\n",
     8,
     NULL,
     {".h5", ".hdf5", NULL}},
    {"a MATLAB file",
     "f = scipy.io.loadmat(\"%s\"); np.savez(\"%s.npz\", **{name: f[name] for name in f if name[0] != \"_\"})",
     "MATLAB 5.0",
     10,
     NULL,
     {".mat", NULL}},
    {"an Excel file",
     "t = pandas.read_excel(\"%s\"); t.to_csv(\"%s.csv\", index=False)",
     NULL,
     0,
     "[Content_Types].xml",
     {".xlsx", ".xls", NULL}},
    {"a joblib file, which is not read because opening it can run any code",
     "p = joblib.load(\"%s\"); np.savez(\"%s.npz\", P=np.asarray(p))",
     NULL,
     0,
     NULL,
     {".joblib", NULL}},
    {"a pickle, which is not read because opening it can run any code",
     PICKLE_LINES,
     NULL,
     0,
     NULL,
     {".pkl", ".pickle", ".p", NULL}},
};

static bool has_ending(const char *path, const char *const *endings) {
    for (; *endings; endings++)
        if (vg_names__ends_with(path, *endings))
            return true;
    return false;
}

static bool begins(const vg_mapping *map, const char *text, size_t length) {
    return map->size >= length && memcmp(map->bytes, text, length) == 0;
}

static vg_status refuse(const vg_source *source, const foreign *kind) {
    const char *slash = strrchr(source->path, '/'), *base = slash ? slash + 1 : source->path;
    const char *point = strrchr(base, '.');
    char stem[128], lines[512];
    snprintf(stem, sizeof stem, "%.*s", (int)(point && point > base ? point - base : (ptrdiff_t)strlen(base)), base);
    snprintf(lines, sizeof lines, kind->lines, base, stem);
    return vg_base__fail(VG_ERR_UNSUPPORTED, "%s: is %s; convert it in Python: %s", source->path, kind->what, lines);
}

/* Pickles of protocol 2 and later: 0x80, the protocol, and a stop opcode at the end. Protocols 0 and 1 are
 * recognised by the ending. */
static bool is_pickle(const vg_mapping *map) {
    return map->size >= 3 && map->bytes[0] == 0x80 && map->bytes[1] >= 2 && map->bytes[1] <= 5 &&
           map->bytes[map->size - 1] == '.';
}

/* Whether the name of a zip file's first member holds the text. */
static bool first_member_has(const vg_mapping *map, const char *text) {
    size_t room = map->size > LOCAL_HEADER ? map->size - LOCAL_HEADER : 0, length = room ? vg_le16(map->bytes + 26) : 0;
    return room && memmem(map->bytes + LOCAL_HEADER, length < room ? length : room, text, strlen(text));
}

vg_status vg_foreign__refuse(const vg_source *source) {
    const vg_mapping *map = &source->map;
    bool zip = begins(map, "PK\3\4", 4), npy = begins(map, "\x93NUMPY", 6);
    size_t count = sizeof kinds / sizeof *kinds;
    for (size_t i = 0; i < count; i++) {
        const foreign *kind = kinds + i;
        if (kind->magic && begins(map, kind->magic, kind->magic_size))
            return refuse(source, kind);
        if (zip && kind->inside && first_member_has(map, kind->inside))
            return refuse(source, kind);
    }
    for (size_t i = 0; i < count && !npy && !zip; i++)
        if (has_ending(source->name, kinds[i].endings))
            return refuse(source, kinds + i);
    return is_pickle(map) ? refuse(source, kinds + count - 1) : VG_OK;
}
