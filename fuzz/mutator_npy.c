/* mutator_npy.c - the .npy target's mutator. */
#include "mutate.h"

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned int seed) {
    return mutate_npy(data, size, room, seed);
}
