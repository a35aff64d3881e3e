/* mutator_text.c - the mutator of the targets that read text: CSV, JSON, JSON Lines, recipes. */
#include "mutate.h"

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned int seed) {
    return mutate_text(data, size, room, seed);
}
