/* fuzz_safetensors.c - the .safetensors reader on any bytes. */
#include "fuzz_source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { return fuzz_source(data, size, "fuzz.safetensors"); }
