/* mutate_text.c - see mutate.h: lines, fields and numbers of text. */
#include "mutate.h"

static const char *const numbers[] = {
    "0",
    "1",
    "-1",
    "0.5",
    "1e-320",
    "1e308",
    "1e309",
    "-0.0",
    "9007199254740993",
    "18446744073709551616",
    "nan",
    "inf",
    "-inf",
    "0.1e-5",
    "1,5",
    "1.",
    ".5",
    "+1",
    "2147483648",
    "-9223372036854775809",
    "null",
    "true",
    "\"a\"",
    "[0.5,1]",
    "1e",
    "0x10",
    "[]",
    "{}",
    "\"\\u0000\"",
    "99999999999999999999999",
};
static const char *const separators[] = {",", ";", "\t", " ", "\n", "\r\n", "\"", ":", "[", "]", "{", "}", "\\", "#"};

static int is_number(uint8_t c) {
    return (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '+' || c == 'e' || c == 'E';
}
static int is_separator(uint8_t c) { return c == ',' || c == ';' || c == '\t' || c == '\n' || c == ':' || c == ' '; }

/* The run of bytes around `at` for which `inside` gives `wanted`: from *first, of the length returned. */
static size_t run_at(const uint8_t *data, size_t size, size_t at, int (*inside)(uint8_t), int wanted, size_t *first) {
    size_t from = at, to = at;
    while (from > 0 && inside(data[from - 1]) == wanted)
        from--;
    while (to < size && inside(data[to]) == wanted)
        to++;
    *first = from;
    return to - from;
}

static int is_newline(uint8_t c) { return c == '\n'; }

/* Copies, removes, moves or changes one line. */
static size_t change_line(uint8_t *data, size_t size, size_t room, unsigned *state) {
    uint8_t line[1024];
    size_t first, other, length = run_at(data, size, mutate_draw(state, (unsigned)size), is_newline, 0, &first);
    if (first + length < size)
        length++; /* its end */
    if (length > sizeof line)
        return LLVMFuzzerMutate(data, size, room);
    memcpy(line, data + first, length);
    switch (mutate_draw(state, 4)) {
    case 0: return mutate_replace(data, size, room, first, length, "", 0);
    case 1: return mutate_replace(data, size, room, first, 0, line, length);
    case 2:
        run_at(data, size, mutate_draw(state, (unsigned)size), is_newline, 0, &other);
        return mutate_replace(data, size, room, other, 0, line, length);
    default: return mutate_part(data, size, room, first, length, 0, NULL);
    }
}

/* A field takes the place of another. */
static size_t change_field(uint8_t *data, size_t size, size_t room, unsigned *state) {
    uint8_t field[256];
    size_t from, to, length = run_at(data, size, mutate_draw(state, (unsigned)size), is_separator, 0, &from);
    size_t replaced = run_at(data, size, mutate_draw(state, (unsigned)size), is_separator, 0, &to);
    if (length > sizeof field)
        length = sizeof field;
    memcpy(field, data + from, length);
    return mutate_replace(data, size, room, to, replaced, field, length);
}

size_t mutate_text(uint8_t *data, size_t size, size_t room, unsigned seed) {
    unsigned state = seed, kind = mutate_draw(&state, 8);
    const char *text;
    size_t at, length;
    if (size == 0)
        return LLVMFuzzerMutate(data, size, room);
    switch (kind) {
    case 0:
    case 1: return change_line(data, size, room, &state);
    case 2: return change_field(data, size, room, &state);
    case 3:
        length = run_at(data, size, mutate_draw(&state, (unsigned)size), is_number, 1, &at);
        text = numbers[mutate_draw(&state, sizeof numbers / sizeof *numbers)];
        return mutate_replace(data, size, room, at, length, text, strlen(text));
    case 4:
        text = separators[mutate_draw(&state, sizeof separators / sizeof *separators)];
        at = mutate_draw(&state, (unsigned)size);
        return mutate_replace(data, size, room, at, mutate_draw(&state, 2), text, strlen(text));
    default: return LLVMFuzzerMutate(data, size, room);
    }
}
