/* fuzz_stream.c - one line of `vargate decide --stdin-jsonl` on any bytes. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "workflow/stream_line.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0)
        return 0;
    static vg_stream_line line;                                      /* reused, as the command does */
    char *text = memchr(data, '\n', size) ? NULL : malloc(size + 1); /* the caller cuts at line ends */
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    volatile double sum = 0;
    if (vg_stream_line__read(&line, text, size))
        for (size_t i = 0; i < line.m * line.c; i++)
            sum = sum + line.values[i];
    else if (line.error[0] == '\0' || strchr(line.error, '\n'))
        abort();
    free(text);
    return 0;
}
