/* json_load.c - reads JSON into jansson's values. See json_text.h.
 *
 * jansson's own reader does not notice when the buffer in which it collects a token cannot grow: a digit or a letter is
 * then missing without an error, an assertion ends the process, or memory past the buffer is read. This reader takes
 * tokens where they lie in the text. It accepts what jansson accepts, and describes errors in its words:
 *
 *     VALUE  = { "KEY": VALUE, ... } | [VALUE, ...] | "TEXT" | NUMBER | true | false | null
 *     NUMBER = -? (0 | [1-9][0-9]*) (.[0-9]+)? ([eE][+-]?[0-9]+)?; without point and exponent an integer of 64 bits
 *              -Infinity with VG_JSON_INFINITY */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "base/file.h"
#include "base/json_text.h"
#include "base/number.h"
#include "base/printable.h"

enum { LARGEST_FILE = 1 << 30, DEEPEST = 2048, SHOWN = 20 };
enum { AT_END = -1, UNDECODABLE = -2 }; /* instead of a byte */
/* Tokens; { } [ ] : and , are themselves. */
enum { TOKEN_END, TOKEN_INVALID = 256, TOKEN_STRING, TOKEN_INTEGER, TOKEN_REAL, TOKEN_TRUE, TOKEN_FALSE, TOKEN_NULL };

typedef struct reader {
    const char *text;
    size_t size, at; /* at: the byte that is read next */
    size_t decoded;  /* the bytes before are complete UTF-8 sequences */
    size_t begin;    /* of the token */
    size_t flags, depth;
    int token;
    char *string; /* of TOKEN_STRING, with a terminating zero byte */
    size_t length;
    json_int_t integer; /* of TOKEN_INTEGER */
    double real;        /* of TOKEN_REAL */
    json_error_t *error;
} reader;

/* --- errors */
static void *no_memory(reader *r) {
    snprintf(r->error->text, sizeof r->error->text - 1, "out of memory");
    r->error->text[sizeof r->error->text - 1] = (char)json_error_out_of_memory;
    return NULL;
}
bool vg_base__json_no_memory(const json_error_t *error) { return json_error_code(error) == json_error_out_of_memory; }

static void set_place(reader *r) {
    r->error->line = 1;
    r->error->column = 0;
    r->error->position = (int)r->at;
    for (size_t i = 0; i < r->at; i++) {
        r->error->line += r->text[i] == '\n';
        r->error->column = r->text[i] == '\n' ? 0 : r->error->column + ((r->text[i] & 0xc0) != 0x80);
    }
}

/* Sets the error, with the token that has been read so far, unless one is set. Returns NULL. */
static void *fail(reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void *fail(reader *r, const char *format, ...) {
    char what[80], near[SHOWN + 16] = "";
    size_t size = r->at - r->begin;
    va_list list;
    if (r->error->text[0])
        return NULL;
    va_start(list, format);
    vsnprintf(what, sizeof what, format, list);
    va_end(list);
    if (size > 0 && size <= SHOWN && r->text[r->begin])
        snprintf(near, sizeof near, " near '%.*s'", (int)size, r->text + r->begin);
    else if (size == 0 && r->at == r->size)
        snprintf(near, sizeof near, " near end of file");
    snprintf(r->error->text, sizeof r->error->text - 1, "%s%s", what, near);
    set_place(r);
    return NULL;
}

/* --- tokens */
/* The next byte of text that is UTF-8. */
static int next_byte(reader *r) {
    if (r->at >= r->size)
        return AT_END;
    unsigned char c = (unsigned char)r->text[r->at];
    if (c >= 0x80 && r->at >= r->decoded) {
        char sequence[5] = {0};
        memcpy(sequence, r->text + r->at, r->size - r->at < 4 ? r->size - r->at : 4);
        size_t length = vg_printable__sequence(sequence);
        if (length == 0) {
            fail(r, "unable to decode byte 0x%x", c);
            return UNDECODABLE;
        }
        r->decoded = r->at + length;
    }
    r->at++;
    return c;
}
static void step_back(reader *r, int c) { r->at -= c >= 0; }
static bool is_digit(int c) { return c >= '0' && c <= '9'; }
static bool is_letter(int c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
static int hexadecimal(int c) {
    if (is_digit(c))
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads the rest of an escape sequence, after its backslash, without decoding it. */
static bool skip_escape(reader *r) {
    int c = next_byte(r);
    if (c == 'u') {
        for (int i = 0; i < 4; i++)
            if (c = next_byte(r), c < 0 || hexadecimal(c) < 0)
                return fail(r, "invalid escape"), false;
        return true;
    }
    return (c > 0 && strchr("\"\\/bfnrt", c)) || (fail(r, "invalid escape"), false);
}

/* Reads a text to its closing quotation mark, and that too. */
static bool skip_string(reader *r) {
    for (int c; (c = next_byte(r)) != '"';) {
        if (c == UNDECODABLE)
            return false;
        if (c == AT_END)
            return fail(r, "premature end of input"), false;
        if (c < 0x20) {
            r->at--;
            c == '\n' ? fail(r, "unexpected newline") : fail(r, "control character 0x%x", (unsigned)c);
            return false;
        }
        if (c == '\\' && !skip_escape(r))
            return false;
    }
    return true;
}

static unsigned four_digits(const char *text) {
    unsigned value = 0;
    for (int i = 0; i < 4; i++)
        value = value * 16 + (unsigned)hexadecimal(text[i]);
    return value;
}
static char *put_utf8(char *out, unsigned code) {
    if (code < 0x80) {
        *out++ = (char)code;
        return out;
    }
    int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const unsigned char first[] = {0, 0xc0, 0xe0, 0xf0};
    *out++ = (char)(first[more] | code >> 6 * more);
    while (more-- > 0)
        *out++ = (char)(0x80 | (code >> 6 * more & 0x3f));
    return out;
}

/* Decodes the escape sequence whose backslash is before *from. NULL: half of a surrogate pair. */
static char *put_escape(reader *r, char *out, const char **from) {
    static const char letters[] = "bfnrt", values[] = "\b\f\n\r\t";
    const char *p = *from, *letter = strchr(letters, *p);
    *from = p + 1;
    if (*p != 'u') {
        *out++ = letter ? values[letter - letters] : *p;
        return out;
    }
    unsigned code = four_digits(p + 1);
    *from = p + 5;
    if (code >= 0xd800 && code <= 0xdbff && p[5] == '\\' && p[6] == 'u') {
        unsigned low = four_digits(p + 7);
        *from = p + 11;
        if (low < 0xdc00 || low > 0xdfff)
            return fail(r, "invalid Unicode '\\u%04X\\u%04X'", code, low);
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    } else if (code >= 0xd800 && code <= 0xdfff) {
        return fail(r, "invalid Unicode '\\u%04X'", code);
    }
    return put_utf8(out, code);
}

static int scan_string(reader *r) {
    if (!skip_string(r))
        return TOKEN_INVALID;
    const char *from = r->text + r->begin + 1, *end = r->text + r->at - 1;
    char *out = r->string = malloc((size_t)(end - from) + 1); /* an escape sequence is longer than what it stands for */
    if (!out)
        no_memory(r);
    while (out && from < end) {
        size_t plain = strcspn(from, "\\\"");
        memcpy(out, from, plain);
        out += plain;
        from += plain;
        if (from < end && from++)
            out = put_escape(r, out, &from);
    }
    if (!out) {
        free(r->string);
        r->string = NULL;
        return TOKEN_INVALID;
    }
    *out = '\0';
    r->length = (size_t)(out - r->string);
    return TOKEN_STRING;
}

static int skip_digits(reader *r) {
    int c;
    while (is_digit(c = next_byte(r))) {
    }
    return c;
}

static int take_integer(reader *r) {
    char copy[24];
    size_t size = r->at - r->begin;
    bool negative = r->text[r->begin] == '-';
    errno = 0;
    snprintf(copy, sizeof copy, "%.*s", (int)(size < sizeof copy ? size : sizeof copy), r->text + r->begin);
    r->integer = size < sizeof copy ? strtoll(copy, NULL, 10) : 0;
    if (size >= sizeof copy || errno == ERANGE) {
        fail(r, negative ? "too big negative integer" : "too big integer");
        return TOKEN_INVALID;
    }
    return TOKEN_INTEGER;
}
static int take_real(reader *r) {
    if (!vg_number__parse(&r->real, r->text + r->begin, r->at - r->begin)) {
        no_memory(r);
        return TOKEN_INVALID;
    }
    if (isinf(r->real)) {
        fail(r, "real number overflow");
        return TOKEN_INVALID;
    }
    return TOKEN_REAL;
}

/* A word that begins at r->begin, whose first byte or two have been read, to its last letter. */
static bool scan_letters(reader *r, const char *word) {
    int c;
    while (is_letter(c = next_byte(r))) {
    }
    step_back(r, c);
    return r->at - r->begin == strlen(word) && memcmp(r->text + r->begin, word, r->at - r->begin) == 0;
}

static int scan_infinity(reader *r) {
    if (!scan_letters(r, "-Infinity"))
        return TOKEN_INVALID;
    r->real = -DBL_MAX;
    return TOKEN_REAL;
}

/* c: its first byte, which has been read. */
static int scan_number(reader *r, int c) {
    c = c == '-' ? next_byte(r) : c;
    if (is_letter(c) && r->flags & VG_JSON_INFINITY)
        return scan_infinity(r);
    bool zero = c == '0', whole = is_digit(c);
    if (whole)
        c = zero ? next_byte(r) : skip_digits(r);
    if (!whole || (zero && is_digit(c))) {
        step_back(r, c);
        return TOKEN_INVALID;
    }
    if (c != '.' && c != 'e' && c != 'E') {
        step_back(r, c);
        return take_integer(r);
    }
    bool digits = true;
    if (c == '.') {
        digits = is_digit(c = next_byte(r));
        c = digits ? skip_digits(r) : c;
    }
    if (digits && (c == 'e' || c == 'E')) {
        c = next_byte(r);
        c = c == '+' || c == '-' ? next_byte(r) : c;
        digits = is_digit(c);
        c = digits ? skip_digits(r) : c;
    }
    step_back(r, c);
    return digits ? take_real(r) : TOKEN_INVALID;
}

static int scan_word(reader *r) {
    static const char *const words[] = {"true", "false", "null"};
    for (int i = 0; i < 3; i++)
        if (scan_letters(r, words[i]))
            return TOKEN_TRUE + i;
    if (r->flags & VG_JSON_INFINITY && (scan_letters(r, "NaN") || scan_letters(r, "Infinity")))
        fail(r, "a number that is not finite (-Infinity is allowed, in logits)");
    return TOKEN_INVALID;
}

static int scan_token(reader *r) {
    int c;
    do {
        r->begin = r->at;
        c = next_byte(r);
    } while (c == ' ' || c == '\t' || c == '\n' || c == '\r');
    if (c < 0)
        return c == AT_END ? TOKEN_END : TOKEN_INVALID;
    if (c && strchr("{}[]:,", c))
        return c;
    if (c == '"')
        return scan_string(r);
    if (is_digit(c) || c == '-')
        return scan_number(r, c);
    if (is_letter(c))
        return scan_word(r);
    r->at = c >= 0x80 ? r->decoded : r->at;
    return TOKEN_INVALID;
}
static void scan(reader *r) {
    free(r->string);
    r->string = NULL;
    r->token = scan_token(r);
}

/* --- values */
static json_t *read_value(reader *r);

/* "KEY": VALUE, from the token that should be the key. */
static bool read_pair(reader *r, json_t *object) {
    if (r->token != TOKEN_STRING)
        return fail(r, "string or '}' expected"), false;
    if (memchr(r->string, '\0', r->length))
        return fail(r, "NUL byte in object key not supported"), false;
    if (r->flags & JSON_REJECT_DUPLICATES && json_object_get(object, r->string))
        return fail(r, "duplicate object key"), false;
    char *key = r->string;
    r->string = NULL;
    scan(r);
    json_t *value = NULL;
    if (r->token != ':') {
        fail(r, "':' expected");
    } else {
        scan(r);
        value = read_value(r);
    }
    bool stored = value && json_object_set_new_nocheck(object, key, value) == 0;
    if (value && !stored)
        no_memory(r);
    free(key);
    return stored;
}

static bool read_entry(reader *r, json_t *array) {
    json_t *value = read_value(r);
    if (value && json_array_append_new(array, value) != 0)
        return no_memory(r), false;
    return value != NULL;
}

/* The pairs or values of an object or array whose first bracket has been read. */
static json_t *read_all(reader *r, json_t *out, int end) {
    bool (*read)(reader *, json_t *) = end == '}' ? read_pair : read_entry;
    if (!out)
        return no_memory(r);
    scan(r);
    if (r->token == end)
        return out;
    bool more = end == '}' || r->token != TOKEN_END;
    while (more) {
        if (!read(r, out)) {
            json_decref(out);
            return NULL;
        }
        scan(r);
        more = r->token == ',';
        if (more)
            scan(r);
        more = more && (end == '}' || r->token != TOKEN_END);
    }
    if (r->token == end)
        return out;
    json_decref(out);
    return fail(r, "'%c' expected", end);
}

static json_t *read_string(reader *r) {
    if (memchr(r->string, '\0', r->length))
        return fail(r, "\\u0000 is not allowed without JSON_ALLOW_NUL");
    json_t *value = json_stringn_nocheck(r->string, r->length);
    return value ? value : no_memory(r);
}

static json_t *read_value(reader *r) {
    json_t *value = NULL;
    if (++r->depth > DEEPEST)
        return fail(r, "maximum parsing depth reached");
    switch (r->token) {
    case TOKEN_STRING: value = read_string(r); break;
    case TOKEN_INTEGER: value = json_integer(r->integer); break;
    case TOKEN_REAL: value = json_real(r->real); break;
    case TOKEN_TRUE: value = json_true(); break;
    case TOKEN_FALSE: value = json_false(); break;
    case TOKEN_NULL: value = json_null(); break;
    case '{': value = read_all(r, json_object(), '}'); break;
    case '[': value = read_all(r, json_array(), ']'); break;
    case TOKEN_INVALID: return fail(r, "invalid token");
    default: return fail(r, "unexpected token");
    }
    r->depth--;
    return value || r->error->text[0] ? value : no_memory(r);
}

json_t *vg_base__json_load(const char *text, size_t size, size_t flags, json_error_t *error) {
    json_error_t ignored;
    json_t *value = NULL;
    reader r = {.text = text, .size = size, .flags = flags, .error = error ? error : &ignored};
    memset(r.error, 0, sizeof *r.error);
    scan(&r);
    if (flags & JSON_DECODE_ANY || r.token == '[' || r.token == '{')
        value = read_value(&r);
    else
        fail(&r, "'[' or '{' expected");
    if (value)
        scan(&r);
    if (value && r.token != TOKEN_END) {
        json_decref(value);
        value = fail(&r, "end of file expected");
    }
    free(r.string);
    return value;
}

static vg_status load_mapping(json_t **out, const vg_mapping *mapping, const char *path, size_t flags) {
    json_error_t error;
    if (mapping->size > LARGEST_FILE)
        return vg_base__fail(VG_ERR_FORMAT, "%s: %zu bytes, expected a JSON file of at most %d", path, mapping->size,
                             (int)LARGEST_FILE);
    *out = vg_base__json_load((const char *)mapping->bytes, mapping->size, flags, &error);
    if (*out)
        return VG_OK;
    if (vg_base__json_no_memory(&error))
        return vg_base__fail(VG_ERR_MEMORY, "%s: out of memory for its JSON", path);
    return vg_base__fail(VG_ERR_FORMAT, "%s: not JSON at line %d, column %d: %s", path, error.line, error.column,
                         error.text);
}
vg_status vg_base__json_load_file(json_t **out, const char *path, size_t flags) {
    vg_mapping mapping;
    *out = NULL;
    VG_TRY(vg_file__map(&mapping, path));
    vg_status status = load_mapping(out, &mapping, path, flags);
    vg_file__unmap(&mapping);
    return status;
}
