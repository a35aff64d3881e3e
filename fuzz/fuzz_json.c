/* fuzz_json.c - the .json reader on any bytes. */
#include "fuzz_source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { return fuzz_source(data, size, "fuzz.json"); }
