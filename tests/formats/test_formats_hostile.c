/* test_formats_hostile.c - damaged and forged files: cut short anywhere, absurd sizes, zip bombs, directories that
 * disagree with what they list. */
#include <zlib.h>

#include "formats/prediction_file.h"
#include "formats/source.h"
#include "formats_util.h"

/* Cut at every byte, each kind is refused (never read wrongly), and any single changed byte is harmless. */
static void cut_anywhere(void **state) {
    (void)state;
    static const char *const paths[] = {DATA "le_f4.npy",         DATA "version2.npy",      DATA "stored.npz",
                                        DATA "deflated.npz",      DATA "pipe_deflated.npz", DATA "pipe_stored.npz",
                                        DATA "mixed.safetensors", DATA "logits.safetensors"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        size_t size;
        uint8_t *bytes = slurp(paths[i], &size);
        assert_ok(try_bytes(bytes, size, paths[i]));
        for (size_t cut = 0; cut < size; cut++) {
            vg_status status = try_bytes(bytes, cut, paths[i]);
            if (status != VG_ERR_FORMAT)
                fail_msg("%s cut at %zu: status %d (%s)", paths[i], cut, (int)status, vg_error_message());
            assert_non_null(strstr(vg_error_message(), paths[i]));
        }
        for (size_t at = 0; at < size; at++)
            for (unsigned change = 1; change < 256; change = change * 2 + 1) {
                bytes[at] ^= (uint8_t)change;
                try_bytes(bytes, size, paths[i]); /* may be fine or refused; must not crash */
                bytes[at] ^= (uint8_t)change;
            }
        free(bytes);
    }
}

/* A changed byte of a zip member's data is noticed by its CRC, stored or deflated. */
static void crc(void **state) {
    (void)state;
    size_t size;
    uint8_t *bytes = slurp(DATA "stored.npz", &size);
    bytes[250] ^= 1;
    assert_fails(try_bytes(bytes, size, "crc.npz"), VG_ERR_FORMAT, "CRC-32");
    vg_prediction_file *file;
    vg_predictions view;
    assert_ok(vg_prediction_file__open_memory(&file, bytes, size, "crc.npz", NULL));
    assert_ok(vg_prediction_file_block(file, 0, 2, &view));
    assert_fails(vg_prediction_file_block(file, 2, 2, &view), VG_ERR_FORMAT, "member 'P.npy': CRC-32");
    vg_prediction_file_close(file);
    free(bytes);
    bytes = slurp(DATA "deflated.npz", &size);
    vg_member *members;
    size_t count, refused = 0;
    assert_ok(vg_zip__list(&members, &count, bytes, size, "crc.npz"));
    for (size_t at = members[0].data; at < members[0].data + members[0].packed_size; at++) {
        /* a few bits of a deflate stream are of no consequence: then the values must be the right ones */
        bytes[at] ^= 4;
        vg_source *source;
        float values[60];
        if (vg_source__open_memory(&source, bytes, size, "crc.npz") == VG_OK) {
            size_t index;
            if (vg_source__find(source, "P", &index) == VG_OK &&
                vg_source__read_f32(source, index, 0, 4, values) == VG_OK)
                for (size_t i = 0; i < 60; i++)
                    assert_true(values[i] == (float)i / 64);
            else
                refused++;
            vg_source__close(source);
        } else {
            refused++;
        }
        bytes[at] ^= 4;
    }
    assert_true(refused > members[0].packed_size / 2);
    vg_base__release(members);
    free(bytes);
}

/* An .npy of a header text and some bytes. */
static vg_status try_header(const char *text, size_t data) {
    static uint8_t bytes[4096];
    size_t length = strlen(text);
    memcpy(bytes, "\x93NUMPY\1", 8);
    vg_put16(bytes + 8, (uint32_t)length);
    memcpy(bytes + 10, text, length);
    memset(bytes + 10 + length, 0, data);
    return try_bytes(bytes, 10 + length + data, "x.npy");
}

static void npy_headers(void **state) {
    (void)state;
    static const struct {
        const char *text;
        size_t data;
        vg_status status;
        const char *message;
    } cases[] = {
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", 8, VG_OK, ""},
        {" { \"shape\" : ( 2L , ) , 'descr':'<f4','fortran_order':True}\n", 8, VG_OK, ""},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", 7, VG_ERR_FORMAT,
         "truncated: 7 bytes follow the header, expected 8"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", 9, VG_ERR_FORMAT, "left over"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296), }", 0, VG_ERR_FORMAT,
         "more elements"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (0, 4294967296, 4294967296), }", 0, VG_ERR_FORMAT,
         "more elements"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999999,), }", 0, VG_ERR_FORMAT, "axis 0"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (2305843009213693952,), }", 0, VG_ERR_FORMAT,
         "more elements"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000,), }", 8, VG_ERR_FORMAT, "truncated"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", 4, VG_ERR_FORMAT, "'-' at byte 61"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1 1), }", 4, VG_ERR_FORMAT, "expected ',' or ')'"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1), }", 4, VG_ERR_FORMAT, "(3) is a number"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (01,), }", 4, VG_ERR_FORMAT, "does not begin with 0"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (0, 18446744073709551615), }", 0, VG_ERR_FORMAT, "axis 1"},
        {"{'descr': 'xU1', 'fortran_order': False, 'shape': (1,), }", 4, VG_ERR_UNSUPPORTED, "type 'xU1'"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1), }", 4, VG_ERR_UNSUPPORTED,
         "more than 8 axes"},
        {"{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,), }", 4, VG_ERR_FORMAT, "True or False"},
        {"{'descr': '<f4', 'fortran_order': False, }", 4, VG_ERR_FORMAT, "lacks 'shape'"},
        {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", 4, VG_ERR_FORMAT,
         "twice the key 'descr'"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'more': 1}", 4, VG_ERR_FORMAT, "unknown key 'more'"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,), } x", 4, VG_ERR_FORMAT, "expected the header's end"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,)", 4, VG_ERR_FORMAT, "ends at byte 64"},
        {"{'descr': '<f4", 4, VG_ERR_FORMAT, "closing quote"},
        {"{'descr': '<f3', 'fortran_order': False, 'shape': (1,), }", 4, VG_ERR_UNSUPPORTED, "'<f3'"},
        {"{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }", 8, VG_ERR_UNSUPPORTED, "'<c8'"},
        {"{'descr': 'f4', 'fortran_order': False, 'shape': (1,), }", 4, VG_ERR_UNSUPPORTED, "'f4'"},
        {"", 0, VG_ERR_FORMAT, "expected '{'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        vg_status status = try_header(cases[i].text, cases[i].data);
        if (cases[i].status == VG_OK)
            assert_ok(status);
        else
            assert_fails(status, cases[i].status, cases[i].message);
    }
    assert_fails(try_bytes((const uint8_t *)"\x93NUMPY\4\0\0\0\0\0", 12, "x.npy"), VG_ERR_FORMAT, "version 4.0");
    assert_fails(try_bytes((const uint8_t *)"\x93NUMPY\2\0\xff\xff\xff\xff", 12, "x.npy"), VG_ERR_FORMAT,
                 "4294967295 bytes");
    assert_fails(try_bytes((const uint8_t *)"not an array", 12, "x.npy"), VG_ERR_FORMAT, "magic");
    assert_fails(try_bytes((const uint8_t *)"", 0, "x.npy"), VG_ERR_FORMAT, "empty");
}

/* --- zip files made here ---------------------------------------------------------------------------------------- */
typedef struct builder {
    uint8_t bytes[1 << 17];
    size_t size;
    size_t offset[8];
    char name[8][40];
    uint32_t crc[8], packed[8], plain[8], method[8];
    size_t count;
} builder;

static void add_member(builder *zip, const char *name, const void *data, uint32_t packed, uint32_t plain,
                       uint32_t method, uint32_t sum) {
    size_t i = zip->count++, length = strlen(name);
    uint8_t *p = zip->bytes + zip->size;
    zip->offset[i] = zip->size;
    snprintf(zip->name[i], sizeof zip->name[i], "%s", name);
    zip->crc[i] = sum, zip->packed[i] = packed, zip->plain[i] = plain, zip->method[i] = method;
    memset(p, 0, 30);
    memcpy(p, "PK\3\4", 4);
    vg_put16(p + 8, method), vg_put32(p + 14, sum), vg_put32(p + 18, packed), vg_put32(p + 22, plain),
        vg_put16(p + 26, (uint32_t)length);
    memcpy(p + 30, name, length);
    memcpy(p + 30 + length, data, packed);
    zip->size += 30 + length + packed;
}

static void end_zip(builder *zip) {
    size_t start = zip->size;
    for (size_t i = 0; i < zip->count; i++) {
        uint8_t *p = zip->bytes + zip->size;
        size_t length = strlen(zip->name[i]);
        memset(p, 0, 46);
        memcpy(p, "PK\1\2", 4);
        vg_put16(p + 10, zip->method[i]), vg_put32(p + 16, zip->crc[i]), vg_put32(p + 20, zip->packed[i]),
            vg_put32(p + 24, zip->plain[i]);
        vg_put16(p + 28, (uint32_t)length), vg_put32(p + 42, (uint32_t)zip->offset[i]);
        memcpy(p + 46, zip->name[i], length);
        zip->size += 46 + length;
    }
    uint8_t *p = zip->bytes + zip->size;
    memset(p, 0, 22);
    memcpy(p, "PK\5\6", 4);
    vg_put16(p + 8, (uint32_t)zip->count), vg_put16(p + 10, (uint32_t)zip->count);
    vg_put32(p + 12, (uint32_t)(zip->size - start)), vg_put32(p + 16, (uint32_t)start);
    zip->size += 22;
}

/* An .npy of `count` float64 zeros in `out`; its size. */
static size_t zeros_npy(uint8_t *out, size_t declared, size_t present) {
    uint8_t *header;
    size_t size;
    assert_ok(vg_npy__make_header(&header, &size, VG_ELEMENT_F64, 1, &declared));
    memcpy(out, header, size);
    memset(out + size, 0, present * 8);
    vg_base__release(header);
    return size + present * 8;
}

static uint32_t deflate_raw(uint8_t *out, size_t room, const uint8_t *in, size_t size) {
    z_stream z = {0};
    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, -15, 9, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = (Bytef *)in, z.avail_in = (uInt)size, z.next_out = out, z.avail_out = (uInt)room;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    uint32_t packed = (uint32_t)z.total_out;
    deflateEnd(&z);
    return packed;
}

static builder zip;
static uint8_t plain[1 << 20], packed[1 << 17];

static vg_status try_zip(void) {
    end_zip(&zip);
    return try_bytes(zip.bytes, zip.size, "x.npz");
}

static void start_zip(void) { memset(&zip, 0, offsetof(builder, name)), zip.size = zip.count = 0; }

/* One deflated member whose declared sizes are what the caller says. */
static vg_status try_deflated(size_t declared_count, size_t present, uint32_t declared_plain, uint32_t extra_packed) {
    size_t size = zeros_npy(plain, declared_count, present);
    uint32_t small = deflate_raw(packed, sizeof packed - 8, plain, size);
    start_zip();
    add_member(&zip, "P.npy", packed, small + extra_packed, declared_plain ? declared_plain : (uint32_t)size, 8,
               (uint32_t)crc32(0, plain, (uInt)size));
    return try_zip();
}

static void bombs(void **state) {
    (void)state;
    assert_ok(try_deflated(1000, 1000, 0, 0));
    assert_ok(try_deflated(100000, 100000, 0, 0)); /* 800 kB in 1 kB: large, but as declared */
    assert_fails(try_deflated(10, 100000, 0, 0), VG_ERR_FORMAT, "has bytes left over");
    assert_fails(try_deflated(10, 100000, 128 + 80, 0), VG_ERR_FORMAT, "inflates to more than the 208 bytes declared");
    assert_fails(try_deflated(1000, 10, 128 + 8000, 0), VG_ERR_FORMAT, "inflates to 208 bytes, expected 8128");
    assert_fails(try_deflated(500000000, 10, 4000000128u, 0), VG_ERR_FORMAT, "cannot hold the 4000000128 declared");
    assert_fails(try_deflated(1000, 1000, 0, 3), VG_ERR_FORMAT, "deflate data end before");
}

static void directories(void **state) {
    (void)state;
    size_t size = zeros_npy(plain, 2, 2);
    uint32_t sum = (uint32_t)crc32(0, plain, (uInt)size), bytes = (uint32_t)size;
    start_zip();
    assert_ok(try_zip()); /* no members at all */
    start_zip();
    add_member(&zip, "P.npy", plain, bytes, bytes, 0, sum);
    add_member(&zip, "P.npy", plain, bytes, bytes, 0, sum);
    assert_fails(try_zip(), VG_ERR_FORMAT, "two arrays named 'P'");
    start_zip();
    add_member(&zip, "P.npy", plain, bytes, bytes, 0, sum);
    zip.count++; /* a second entry for the same bytes */
    zip.offset[1] = zip.offset[0], zip.crc[1] = sum, zip.packed[1] = zip.plain[1] = bytes, zip.method[1] = 0;
    strcpy(zip.name[1], "P.npy");
    assert_fails(try_zip(), VG_ERR_FORMAT, "overlaps another member");
    static const struct {
        size_t at; /* in the local header */
        uint8_t value;
        const char *message;
    } local[] = {{0, 'X', "no local header"},    {8, 8, "another method"},
                 {14, 1, "another size or CRC"}, {18, 1, "another size or CRC"},
                 {22, 1, "another size or CRC"}, {26, 4, "another name"},
                 {30, 'Q', "another name"},      {29, 255, "runs into the directory"},
                 {6, 1, "another method"}};
    for (size_t i = 0; i < sizeof local / sizeof *local; i++) {
        start_zip();
        add_member(&zip, "P.npy", plain, bytes, bytes, 0, sum);
        zip.bytes[local[i].at] = local[i].value;
        assert_fails(try_zip(), VG_ERR_FORMAT, local[i].message);
    }
    start_zip();
    add_member(&zip, "P.npy", plain, bytes, bytes, 12, sum);
    assert_fails(try_zip(), VG_ERR_FORMAT, "compression method 12");
    start_zip();
    add_member(&zip, "P.npy", plain, bytes, bytes - 8, 0, sum);
    assert_fails(try_zip(), VG_ERR_FORMAT, "its two sizes differ");
    start_zip();
    add_member(&zip, "P.npy", plain, bytes, bytes, 0, sum);
    end_zip(&zip);
    zip.bytes[zip.size - 22 + 10] = 200; /* more entries than the directory can hold */
    zip.bytes[zip.size - 22 + 8] = 200;
    assert_fails(try_bytes(zip.bytes, zip.size, "x.npz"), VG_ERR_FORMAT, "cannot hold 200 entries");
    zip.bytes[zip.size - 22 + 19] = 200; /* a directory beyond the file */
    assert_fails(try_bytes(zip.bytes, zip.size, "x.npz"), VG_ERR_FORMAT, "zip directory of");
    start_zip();
    add_member(&zip, "notes.txt", "hello", 5, 5, 0, (uint32_t)crc32(0, (const Bytef *)"hello", 5));
    assert_ok(try_zip()); /* passed over */
    start_zip();
    add_member(&zip, "P.npy", "hello", 5, 5, 0, (uint32_t)crc32(0, (const Bytef *)"hello", 5));
    assert_fails(try_zip(), VG_ERR_FORMAT, "member 'P.npy': does not begin with the .npy magic");
}

/* --- safetensors ------------------------------------------------------------------------------------------------ */
static vg_status try_tensors(const char *header, size_t data) {
    uint8_t bytes[2048] = {0};
    size_t length = strlen(header);
    vg_put64(bytes, length);
    memcpy(bytes + 8, header, length);
    return try_bytes(bytes, 8 + length + data, "x.safetensors");
}

static void tensors(void **state) {
    (void)state;
#define A "{\"a\":{\"dtype\":\"F32\",\"shape\":"
    assert_ok(try_tensors(A "[2],\"data_offsets\":[0,8]}}", 8));
    assert_ok(try_tensors("{}", 0));
    assert_ok(try_tensors(
        A "[2],\"data_offsets\":[8,16]},\"b\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[0,8]}}", 16));
    assert_fails(try_tensors("{}", 1), VG_ERR_FORMAT, "1 bytes follow");
    assert_fails(try_tensors(A "[2],\"data_offsets\":[0,8]}}", 7), VG_ERR_FORMAT, "truncated");
    assert_fails(try_tensors(A "[2],\"data_offsets\":[0,8]}}", 9), VG_ERR_FORMAT, "1 bytes follow");
    assert_fails(try_tensors(A "[3],\"data_offsets\":[0,8]}}", 8), VG_ERR_FORMAT, "needs another number");
    assert_fails(try_tensors(A "[2],\"data_offsets\":[4,12]}}", 12), VG_ERR_FORMAT, "begins at byte 4");
    assert_fails(try_tensors(A "[2],\"data_offsets\":[8,0]}}", 8), VG_ERR_FORMAT, "not a range");
    assert_fails(try_tensors(A "[2],\"data_offsets\":[-8,0]}}", 8), VG_ERR_FORMAT, "not a range");
    assert_fails(try_tensors(A "[2],\"data_offsets\":[0,8.0]}}", 8), VG_ERR_FORMAT, "not a range");
    assert_fails(try_tensors(A "[2],\"data_offsets\":[0,9223372036854775807]}}", 8), VG_ERR_FORMAT, "truncated");
    assert_fails(try_tensors(A "[-2],\"data_offsets\":[0,8]}}", 8), VG_ERR_FORMAT, "not a length");
    assert_fails(try_tensors(A "[4294967296,4294967296],\"data_offsets\":[0,0]}}", 0), VG_ERR_FORMAT,
                 "needs another number");
    assert_fails(try_tensors(A "[0,4294967296,4294967296],\"data_offsets\":[0,0]}}", 0), VG_ERR_FORMAT,
                 "needs another number");
    assert_fails(try_tensors(A "[-0],\"data_offsets\":[0,0]}}", 0), VG_ERR_FORMAT, "negative number");
    assert_fails(try_tensors("{\"a\":{\"dtype\":\"F33\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8), VG_ERR_FORMAT,
                 "'F33' is not a type");
    assert_fails(try_tensors("{\"a\":{\"dtype\":\"F8_E5M2\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8), VG_ERR_FORMAT,
                 "needs another number");
    assert_fails(try_tensors(A "[2],\"data_offsets\":[0,8]},\"a\":1}", 8), VG_ERR_FORMAT, "duplicate");
    assert_fails(
        try_tensors(A "[2],\"data_offsets\":[0,8]},\"b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[4,12]}}",
                    12),
        VG_ERR_FORMAT, "the tensor before it ends at 8");
    assert_fails(try_tensors("{\"a\":[]}", 0), VG_ERR_FORMAT, "expected \"dtype\"");
    assert_fails(try_tensors("[]", 0), VG_ERR_FORMAT, "not a JSON object");
    assert_fails(try_tensors("{\"a\":", 0), VG_ERR_FORMAT, "its header, at byte");
    assert_fails(try_tensors("{\"__metadata__\":{\"a\":1}}", 0), VG_ERR_FORMAT, "not a text");
    assert_fails(try_tensors("{\"__metadata__\":1}", 0), VG_ERR_FORMAT, "not an object");
    assert_fails(try_bytes((const uint8_t *)"\377\377\377\377\377\377\377\377{}", 10, "x.safetensors"), VG_ERR_FORMAT,
                 "does not fit");
#undef A
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cut_anywhere), cmocka_unit_test(crc),         cmocka_unit_test(npy_headers),
        cmocka_unit_test(bombs),        cmocka_unit_test(directories), cmocka_unit_test(tensors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
