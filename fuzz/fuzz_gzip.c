/* fuzz_gzip.c - gzip files on any bytes: what they inflate to is read as a table. */
#include "fuzz_source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { return fuzz_source(data, size, "fuzz.tsv.gz"); }
