/* mutate.h - mutators that know a format, for libFuzzer's LLVMFuzzerCustomMutator. Bytes changed at random mostly break
 * a checksum, a length or an offset, and the reader refuses them at the first check; these change a part and
 * then recompute what depends on it, so that the deeper code is reached. About one call in four leaves the file to
 * libFuzzer's own mutations, so that the first checks are tested too.
 *
 * Each function changes data[size] in place, within `room` bytes, and returns the new size. */
#ifndef MUTATE_H
#define MUTATE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t room); /* libFuzzer's own */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned int seed);

/* Lines, fields and numbers of CSV, JSON, JSON Lines and YAML. */
size_t mutate_text(uint8_t *data, size_t size, size_t room, unsigned seed);
/* The header's text of an .npy, its length, and the amount of data after it. */
size_t mutate_npy(uint8_t *data, size_t size, size_t room, unsigned seed);

/* A small generator: the next number below `limit`, which is at least 1. */
static inline unsigned mutate_draw(unsigned *state, unsigned limit) {
    *state = *state * 1664525u + 1013904223u;
    return (unsigned)(((uint64_t)(*state >> 8) * limit) >> 24);
}

/* Replaces bytes[at .. at + length) by the `count` bytes of `with`; unchanged where there is no room. */
static inline size_t mutate_replace(uint8_t *bytes, size_t size, size_t room, size_t at, size_t length,
                                    const void *with, size_t count) {
    if (size - length + count > room)
        return size;
    memmove(bytes + at + count, bytes + at + length, size - at - length);
    memcpy(bytes + at, with, count);
    return size - length + count;
}

/* Mutates bytes[at .. at + length) by `how` and keeps what is around it. */
static inline size_t mutate_part(uint8_t *bytes, size_t size, size_t room, size_t at, size_t length, unsigned seed,
                                 size_t (*how)(uint8_t *, size_t, size_t, unsigned)) {
    enum { PART = 4096 };
    uint8_t part[PART];
    if (length > PART)
        return size;
    memcpy(part, bytes + at, length);
    size_t space = room - (size - length), most = space < PART ? space : PART;
    size_t now = how ? how(part, length, most, seed) : LLVMFuzzerMutate(part, length, most);
    return mutate_replace(bytes, size, room, at, length, part, now);
}

#endif
