/* mutator_safetensors.c - the .safetensors target's mutator: the JSON header is changed and its length (the first 8
 * bytes, little-endian) made to fit; the data after it becomes longer or shorter. */
#include "mutate.h"

enum { PREFIX = 8 };

static const char *const types[] = {"F32", "F64", "F16", "BF16", "I64", "I8", "U8", "BOOL", "U64", "F8_E4M3", "F4", ""};
static const char *const parts[] = {
    "[]",
    "[0]",
    "[1,2]",
    "[2,1,2]",
    "[0,4]",
    "[4,8]",
    "[0,8]",
    "[8,0]",
    "[18446744073709551615,1]",
    "[-1,4]",
    "[4294967296,4294967296]",
    "[1,1,1,1,1,1,1,1,1]",
    "[0,1e1]",
    "[0,16]",
    "[0,32]",
    "[2]",
    "[1.0]",
    "{}",
};

/* Replaces the text from the first `open` at or after a random position to the next `shut` by `with`. */
static size_t swap_part(uint8_t *json, size_t size, size_t room, char open, char shut, const char *with,
                        unsigned *state) {
    size_t at = mutate_draw(state, (unsigned)size), to;
    while (at < size && json[at] != (uint8_t)open)
        at++;
    for (to = at + 1; to < size && json[to] != (uint8_t)shut;)
        to++;
    return to < size ? mutate_replace(json, size, room, at, to + 1 - at, with, strlen(with)) : size;
}

static size_t change_header(uint8_t *json, size_t size, size_t room, unsigned seed) {
    unsigned state = seed;
    char type[16] = "\"";
    switch (mutate_draw(&state, 4)) {
    case 0:
        strcat(strcat(type, types[mutate_draw(&state, sizeof types / sizeof *types)]), "\"");
        return swap_part(json, size, room, '"', '"', type, &state);
    case 1:
        return swap_part(json, size, room, '[', ']', parts[mutate_draw(&state, sizeof parts / sizeof *parts)], &state);
    default: return mutate_text(json, size, room, state);
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned int seed) {
    unsigned state = seed;
    size_t length = 0;
    for (size_t i = PREFIX; i-- > 0 && size > PREFIX;)
        length = length << 8 | data[i];
    if (mutate_draw(&state, 4) == 0 || length == 0 || size <= PREFIX || length > size - PREFIX || length > 2048)
        return LLVMFuzzerMutate(data, size, room);
    size_t body = size - PREFIX - length;
    if (mutate_draw(&state, 3) == 0) {
        size_t wanted = mutate_draw(&state, 9) * 4;
        if (wanted > body && size + wanted - body <= room)
            memset(data + size, 0, wanted - body), size += wanted - body;
        else if (wanted < body)
            size -= body - wanted;
        body = size - PREFIX - length;
    }
    size = mutate_part(data, size, room, PREFIX, length, state, change_header);
    length = size - PREFIX - body;
    for (size_t i = 0; i < PREFIX; i++)
        data[i] = (uint8_t)(length >> 8 * i);
    return size;
}
