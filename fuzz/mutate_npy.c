/* mutate_npy.c - see mutate.h: the header of an .npy. */
#include "mutate.h"

static const char *const types[] = {
    "<f4", "<f8", "<f2", ">f4", ">f8",  "<i8", "<i4",        "|i1", "|u1", "<u2", "|b1", "<U3", "|S5", "=f8", "|O",
    "<c8", "<V4", "<M8", "f8",  "<f16", "<U0", "<U99999999", "|S0", ">U2", "<i2", "<u8", "<u4", ">i8", "<f",  "",
};
static const char *const shapes[] = {
    "()",
    "(0,)",
    "(1,)",
    "(2,)",
    "(4,)",
    "(2, 2)",
    "(1, 2, 2)",
    "(2, 1, 2)",
    "(0, 3, 2)",
    "(3, 0)",
    "(1L, 2)",
    "(2,2,2,)",
    "(-1,)",
    "(18446744073709551615,)",
    "(4294967296, 4294967296)",
    "(1,1,1,1,1,1,1,1)",
    "(1,1,1,1,1,1,1,1,1)",
    "(9223372036854775807, 2)",
    "(1, 99999999999)",
    "(2 ,)",
    "[2]",
    "2",
    "(,)",
    "(3, 2)",
    "(6,)",
};

enum { PREFIX = 10 };

static size_t find(const uint8_t *data, size_t size, const char *word) {
    size_t length = strlen(word);
    for (size_t i = 0; i + length <= size; i++)
        if (memcmp(data + i, word, length) == 0)
            return i + length;
    return size;
}

/* Replaces the text after `key`, up to the byte `end`, by `text`. */
static size_t replace_value(uint8_t *data, size_t size, size_t room, const char *key, char end, const char *text) {
    size_t at = find(data, size, key), length = 0;
    while (at + length < size && data[at + length] != (uint8_t)end)
        length++;
    return at < size ? mutate_replace(data, size, room, at, length, text, strlen(text)) : size;
}

/* Changes the header's text at data[PREFIX .. size). */
static size_t change_text(uint8_t *data, size_t size, size_t room, unsigned *state) {
    static const char *const orders[] = {" True", " False", " 1", "True"};
    const char *text;
    switch (mutate_draw(state, 5)) {
    case 0:
        text = types[mutate_draw(state, sizeof types / sizeof *types)];
        return replace_value(data, size, room, "'descr': '", '\'', text);
    case 1:
    case 2:
        text = shapes[mutate_draw(state, sizeof shapes / sizeof *shapes)];
        return replace_value(data, size, room, "'shape': ", '}', text);
    case 3: return replace_value(data, size, room, "'fortran_order':", ',', orders[mutate_draw(state, 4)]);
    default: return mutate_text(data, size, room, *state);
    }
}

size_t mutate_npy(uint8_t *data, size_t size, size_t room, unsigned seed) {
    uint8_t header[600];
    unsigned state = seed;
    size_t length = size > PREFIX ? (size_t)data[8] | (size_t)data[9] << 8 : 0;
    if (mutate_draw(&state, 4) == 0 || length == 0 || length > size - PREFIX || length > 512 || room < PREFIX + 512)
        return LLVMFuzzerMutate(data, size, room);
    if (mutate_draw(&state, 8) == 0 && size > PREFIX + length) /* the elements */
        return mutate_part(data, size, room, PREFIX + length, size - PREFIX - length, 0, NULL);
    memcpy(header, data + PREFIX, length);
    size_t text = length;
    while (text > 0 && (header[text - 1] == ' ' || header[text - 1] == '\n'))
        text--;
    text = change_text(header, text, 500, &state);
    header[text++] = mutate_draw(&state, 64) ? '\n' : 'x'; /* no padding: the input stays short */
    size = mutate_replace(data, size, room, PREFIX, length, header, text);
    if (data[6] == 1 || mutate_draw(&state, 8) == 0) {
        data[8] = (uint8_t)text;
        data[9] = (uint8_t)(text >> 8);
    }
    if (mutate_draw(&state, 4) == 0) { /* another amount of data */
        size_t wanted = PREFIX + text + mutate_draw(&state, 9) * 8;
        if (wanted <= room && wanted > size)
            memset(data + size, 0, wanted - size);
        size = wanted <= room ? wanted : size;
    }
    return size;
}
