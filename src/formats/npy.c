/* npy.c - NumPy's .npy.
 *
 *     offset  bytes   content
 *     0       6       "\x93NUMPY"
 *     6       2       version: major 1, 2 or 3; minor 0
 *     8       2 or 4  length of the header text, little-endian: 2 bytes with major 1, 4 bytes with major 2 and 3
 *     ..      length  header text, a Python dictionary padded with spaces and a newline:
 *                     {'descr': '<f4', 'fortran_order': False, 'shape': (10, 3), }
 *     ..      rest    the elements, C order or first axis fastest
 *
 * descr is byte order (< > = |), kind (f i u b) and bytes per element; or kind U or S and characters per text (4 bytes
 * or 1 byte each), which becomes an array of characters with one more axis. Structures, objects and the 2-byte void
 * that ml_dtypes writes for bfloat16 are well-formed but not supported: VG_ERR_UNSUPPORTED. */
#include <stdio.h>
#include <string.h>

#include "formats/source.h"

enum { HEADER_LIMIT = 10000 }; /* NumPy's own: a header of numbers has about 100 bytes */

vg_status vg_npy__header_size(size_t *out, const uint8_t *bytes, size_t available, const char *what) {
    if (available < 6 || memcmp(bytes, "\x93NUMPY", 6) != 0)
        return vg_base__fail(VG_ERR_FORMAT, "%s: does not begin with the .npy magic \\x93NUMPY", what);
    if (available < 10)
        return vg_base__fail(VG_ERR_FORMAT, "%s: ends after %zu bytes, inside the .npy header", what, available);
    unsigned major = bytes[6], minor = bytes[7];
    if (major < 1 || major > 3 || minor != 0)
        return vg_base__fail(VG_ERR_FORMAT, "%s: .npy version %u.%u, expected 1.0, 2.0 or 3.0", what, major, minor);
    if (major > 1 && available < 12)
        return vg_base__fail(VG_ERR_FORMAT, "%s: ends after %zu bytes, inside the .npy header", what, available);
    size_t length = major == 1 ? vg_le16(bytes + 8) : vg_le32(bytes + 8);
    if (length > HEADER_LIMIT)
        return vg_base__fail(VG_ERR_FORMAT, "%s: .npy header of %zu bytes, expected at most %d", what, length,
                             HEADER_LIMIT);
    *out = (major == 1 ? 10 : 12) + length;
    return VG_OK;
}

/* --- the dictionary ----------------------------------------------------------------------------------------------- */
typedef struct cursor {
    const char *text;
    size_t length, at;
    size_t base; /* offset of `text` in the array's file, for messages */
    const char *what;
    unsigned major; /* the version */
} cursor;

static char peek(cursor *c) {
    while (c->at < c->length &&
           (c->text[c->at] == ' ' || c->text[c->at] == '\t' || c->text[c->at] == '\n' || c->text[c->at] == '\r'))
        c->at++;
    return c->at < c->length ? c->text[c->at] : '\0';
}

static vg_status bad(const cursor *c, const char *expected) {
    if (c->at >= c->length)
        return vg_base__fail(VG_ERR_FORMAT, "%s: .npy header ends at byte %zu, expected %s", c->what, c->base + c->at,
                             expected);
    return vg_base__fail(VG_ERR_FORMAT, "%s: .npy header has '%c' at byte %zu, expected %s", c->what, c->text[c->at],
                         c->base + c->at, expected);
}

static vg_status expect(cursor *c, char wanted) {
    if (peek(c) != wanted || c->at >= c->length)
        return bad(c, (char[]){'\'', wanted, '\'', '\0'});
    c->at++;
    return VG_OK;
}

/* A quoted string without escapes. */
static vg_status string(cursor *c, const char **out, size_t *length) {
    char quote = peek(c);
    *out = "", *length = 0;
    if (quote != '\'' && quote != '"')
        return bad(c, "a quoted string");
    size_t start = ++c->at;
    while (c->at < c->length && c->text[c->at] != quote)
        c->at++;
    if (c->at >= c->length)
        return bad(c, "a closing quote");
    *out = c->text + start;
    *length = c->at++ - start;
    return VG_OK;
}

static bool word(cursor *c, const char *wanted) {
    size_t length = strlen(wanted);
    peek(c);
    if (c->length - c->at < length || memcmp(c->text + c->at, wanted, length) != 0)
        return false;
    c->at += length;
    return true;
}

/* A length as Python writes it: 0 or digits that do not begin with 0. Python 2 appended an L to some. */
static vg_status axis(cursor *c, size_t *out, size_t which) {
    size_t value = 0, first = c->at;
    if (peek(c) < '0' || peek(c) > '9')
        return bad(c, "a length");
    for (first = c->at; c->at < c->length && c->text[c->at] >= '0' && c->text[c->at] <= '9'; c->at++) {
        if (c->at > first && value == 0)
            return bad(c, "a length that does not begin with 0");
        if (!vg_base__mul(&value, value, 10) || !vg_base__add(&value, value, (size_t)(c->text[c->at] - '0')) ||
            value > SIZE_MAX / 2)
            return vg_base__fail(VG_ERR_FORMAT, "%s: axis %zu of the shape does not fit in memory", c->what, which);
    }
    if (c->major < 3 && c->at < c->length && c->text[c->at] == 'L')
        c->at++;
    *out = value;
    return VG_OK;
}

static vg_status shape(cursor *c, vg_stored *array) {
    VG_TRY(expect(c, '('));
    array->rank = 0;
    while (peek(c) != ')') {
        if (array->rank == VG_MAX_RANK)
            return vg_base__fail(VG_ERR_UNSUPPORTED, "%s: more than %d axes", c->what, VG_MAX_RANK);
        VG_TRY(axis(c, array->shape + array->rank, array->rank));
        array->rank++;
        if (peek(c) == ',')
            c->at++;
        else if (peek(c) != ')')
            return bad(c, "',' or ')'");
        else if (array->rank == 1)
            return bad(c, "',': (3) is a number, (3,) a shape");
    }
    c->at++;
    return VG_OK;
}

/* '<U5': texts of up to 5 code points of 4 bytes; '|S5': of up to 5 bytes. */
static vg_status characters(cursor *c, vg_stored *array, const char *text, size_t length) {
    const uint16_t one = 1;
    size_t width = 0;
    for (size_t i = 2; i < length; i++) {
        if (text[i] < '0' || text[i] > '9' || width > 1 << 20)
            return vg_base__fail(VG_ERR_UNSUPPORTED, "%s: type '%.*s' has no length of text that can be read", c->what,
                                 length > 40 ? 40 : (int)length, text);
        width = width * 10 + (size_t)(text[i] - '0');
    }
    array->text = true;
    array->width = width;
    array->element = text[1] == 'U' ? VG_ELEMENT_U32 : VG_ELEMENT_U8;
    array->swapped = text[1] == 'U' && (text[0] == '>') == (*(const uint8_t *)&one == 1) && text[0] != '=';
    return VG_OK;
}

/* An array of Python objects: refused with the lines that convert it. `what` is "FILE" or "FILE: member 'NAME.npy'". */
static vg_status objects(const cursor *c) {
    static const char mark[] = ": member '";
    const char *member = strstr(c->what, mark), *name = member ? member + sizeof mark - 1 : NULL;
    size_t length = member ? (size_t)(member - c->what) : strlen(c->what), named = name ? strcspn(name, "'") : 0;
    named -= named > 4 ? 4 : named; /* without .npy */
    const char *file = c->what + length;
    while (file > c->what && file[-1] != '/')
        file--;
    char from[400];
    snprintf(from, sizeof from, "np.load(\"%.*s\", allow_pickle=True)%s%.*s%s", (int)(c->what + length - file), file,
             name ? "[\"" : "", (int)(named > 60 ? 60 : named), name ? name : "", name ? "\"]" : "");
    return vg_base__fail(VG_ERR_UNSUPPORTED,
                         "%s: holds Python objects, which only pickle can read; convert it in Python: a = %s; "
                         "np.savez(\"numbers.npz\", P=np.stack(a).astype(float)), or a.astype(str) if it holds names",
                         c->what, from);
}

static vg_status descr(cursor *c, vg_stored *array) {
    static const struct {
        char kind;
        size_t size;
        vg_element element;
    } known[] = {{'f', 2, VG_ELEMENT_F16}, {'f', 4, VG_ELEMENT_F32}, {'f', 8, VG_ELEMENT_F64},
                 {'i', 1, VG_ELEMENT_I8},  {'i', 2, VG_ELEMENT_I16}, {'i', 4, VG_ELEMENT_I32},
                 {'i', 8, VG_ELEMENT_I64}, {'u', 1, VG_ELEMENT_U8},  {'u', 2, VG_ELEMENT_U16},
                 {'u', 4, VG_ELEMENT_U32}, {'u', 8, VG_ELEMENT_U64}, {'b', 1, VG_ELEMENT_BOOL}};
    if (peek(c) == '[' || peek(c) == '(')
        return vg_base__fail(VG_ERR_UNSUPPORTED, "%s: holds structures, expected numbers", c->what);
    const char *text;
    size_t length;
    VG_TRY(string(c, &text, &length));
    if (length >= 2 && memcmp(text + length - 2, "V2", 2) == 0)
        return vg_base__fail(
            VG_ERR_UNSUPPORTED,
            "%s: type '%.*s' (2 raw bytes) may be bfloat16 but does not say so; save it as float32, or as "
            "safetensors, which can carry bfloat16",
            c->what, length > 8 ? 8 : (int)length, text);
    if (length >= 2 && text[length - 1] == 'O')
        return objects(c);
    const uint16_t one = 1;
    bool little_host = *(const uint8_t *)&one == 1, ordered = length > 0 && strchr("<>=|", text[0]) && text[0];
    if (ordered && length >= 3 && (text[1] == 'U' || text[1] == 'S'))
        return characters(c, array, text, length);
    if (ordered && length == 3 && text[2] >= '1' && text[2] <= '9')
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            if (known[i].kind == text[1] && known[i].size == (size_t)(text[2] - '0')) {
                array->element = known[i].element;
                array->swapped =
                    known[i].size > 1 && ((text[0] == '>' && little_host) || (text[0] == '<' && !little_host));
                return VG_OK;
            }
    return vg_base__fail(VG_ERR_UNSUPPORTED,
                         "%s: type '%.*s', expected floats (f2 f4 f8), integers (i1..i8, u1..u8) or b1", c->what,
                         length > 40 ? 40 : (int)length, text);
}

static vg_status entry(cursor *c, vg_stored *array, unsigned *seen) {
    static const char *const keys[] = {"descr", "fortran_order", "shape"};
    const char *key;
    size_t length;
    VG_TRY(string(c, &key, &length));
    unsigned which = 0;
    while (which < 3 && (strlen(keys[which]) != length || memcmp(keys[which], key, length) != 0))
        which++;
    if (which == 3 || *seen & 1u << which)
        return vg_base__fail(VG_ERR_FORMAT, "%s: .npy header has %s key '%.*s'", c->what,
                             which == 3 ? "an unknown" : "twice the", length > 40 ? 40 : (int)length, key);
    *seen |= 1u << which;
    VG_TRY(expect(c, ':'));
    if (which == 0)
        return descr(c, array);
    if (which == 2)
        return shape(c, array);
    array->fortran = word(c, "True");
    return array->fortran || word(c, "False") ? VG_OK : bad(c, "True or False");
}

vg_status vg_npy__header(vg_stored *array, const uint8_t *bytes, size_t size, const char *what) {
    size_t whole;
    VG_TRY(vg_npy__header_size(&whole, bytes, size, what));
    if (whole > size)
        return vg_base__fail(VG_ERR_FORMAT, "%s: ends after %zu bytes, inside its .npy header of %zu", what, size,
                             whole);
    size_t prefix = bytes[6] == 1 ? 10 : 12;
    cursor c = {(const char *)bytes + prefix, whole - prefix, 0, prefix, what, bytes[6]};
    unsigned seen = 0;
    VG_TRY(expect(&c, '{'));
    while (peek(&c) != '}') {
        VG_TRY(entry(&c, array, &seen));
        if (peek(&c) == ',')
            c.at++;
        else if (peek(&c) != '}')
            return bad(&c, "',' or '}'");
    }
    c.at++;
    if (peek(&c) != '\0' || c.at < c.length)
        return bad(&c, "the header's end");
    if (seen != 7)
        return vg_base__fail(VG_ERR_FORMAT, "%s: .npy header lacks %s", what,
                             !(seen & 1)   ? "'descr'"
                             : !(seen & 2) ? "'fortran_order'"
                                           : "'shape'");
    if (array->rank < 2) /* both orders are the same then */
        array->fortran = false;
    if (array->text && array->rank == 2 && array->shape[1] == 1) { /* a column of texts is a list of them */
        array->rank = 1;
        array->fortran = false;
    }
    if (array->text && array->rank > 1)
        return vg_base__fail(VG_ERR_UNSUPPORTED, "%s: texts with %zu axes, expected one", what, array->rank);
    if (array->text)
        array->shape[array->rank++] = array->width;
    if (!vg_stored__measure(array))
        return vg_base__fail(VG_ERR_FORMAT, "%s: its shape has more elements than fit in memory", what);
    return VG_OK;
}

vg_status vg_npy__read(vg_source *source) {
    const vg_mapping *map = &source->map;
    vg_stored *array;
    VG_TRY(vg_source__add(source, &array, "", 0));
    VG_TRY(vg_npy__header(array, map->bytes, map->size, source->path));
    size_t header = 0;
    VG_TRY(vg_npy__header_size(&header, map->bytes, map->size, source->path));
    if (map->size - header != array->bytes)
        return vg_base__fail(VG_ERR_FORMAT, "%s: %s: %zu bytes follow the header, expected %zu for %zu elements of %s",
                             source->path, map->size - header < array->bytes ? "truncated" : "has bytes left over",
                             map->size - header, array->bytes, array->count, vg_element__name(array->element));
    array->data = map->bytes + header;
    return VG_OK;
}

/* Pads a header's dictionary (`at` bytes) and writes the magic before it. */
static vg_status finish_header(uint8_t **out, size_t *size, const char *text, size_t at) {
    size_t whole = (10 + at + 1 + 63) / 64 * 64; /* VG_MAX_RANK lengths always fit version 1 */
    VG_TRY(vg_base__alloc(out, whole, 1, "an .npy header"));
    memset(*out, ' ', whole);
    memcpy(*out, "\x93NUMPY\x01", 8);
    vg_put16(*out + 8, (uint32_t)(whole - 10));
    memcpy(*out + 10, text, at);
    (*out)[whole - 1] = '\n';
    *size = whole;
    return VG_OK;
}

vg_status vg_npy__make_text_header(uint8_t **out, size_t *size, size_t characters, size_t count) {
    char text[128];
    int at =
        snprintf(text, sizeof text, "{'descr': '<U%zu', 'fortran_order': False, 'shape': (%zu,), }", characters, count);
    return finish_header(out, size, text, (size_t)at);
}

vg_status vg_npy__make_header(uint8_t **out, size_t *size, vg_element element, size_t rank, const size_t *shape) {
    static const char *const codes[] = {
        [VG_ELEMENT_F16] = "f2", [VG_ELEMENT_F32] = "f4", [VG_ELEMENT_F64] = "f8", [VG_ELEMENT_I8] = "i1",
        [VG_ELEMENT_I16] = "i2", [VG_ELEMENT_I32] = "i4", [VG_ELEMENT_I64] = "i8", [VG_ELEMENT_U8] = "u1",
        [VG_ELEMENT_U16] = "u2", [VG_ELEMENT_U32] = "u4", [VG_ELEMENT_U64] = "u8", [VG_ELEMENT_BOOL] = "b1"};
    *out = NULL;
    if ((size_t)element >= sizeof codes / sizeof *codes || !codes[element])
        return vg_base__fail(VG_ERR_ARGUMENT, ".npy cannot hold %s", vg_element__name(element));
    const uint16_t one = 1;
    char order = vg_element__size(element) == 1 ? '|' : *(const uint8_t *)&one == 1 ? '<' : '>';
    char text[64 + 24 * VG_MAX_RANK];
    size_t at = (size_t)snprintf(text, sizeof text, "{'descr': '%c%s', 'fortran_order': False, 'shape': (", order,
                                 codes[element]);
    for (size_t i = 0; i < rank; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, i ? ", %zu" : "%zu", shape[i]);
    at += (size_t)snprintf(text + at, sizeof text - at, rank == 1 ? ",), }" : "), }");
    return finish_header(out, size, text, at);
}
