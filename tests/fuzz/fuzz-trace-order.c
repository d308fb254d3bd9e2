/* fuzz-trace-order.c - any bytes as arrival orders
 *
 * trace_order_load reads files only, so each input goes through one in memory.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "trace/trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(cond)   \
    do {             \
        if (!(cond)) \
            abort(); \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint32_t *pods, *ranks, npods, nranks;
    struct err err = {0};
    char path[64];
    int fd = memfd_create("orders", 0);
    MUST(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int rc = trace_order_load(path, 42, &pods, &npods, &ranks, &nranks, &err);
    if (rc == 0) {
        free(pods);
        free(ranks);
    } else {
        MUST(err.code == -rc && err.text[0]);
    }
    close(fd);
    return 0;
}
