/* fuzz-trace-nodelist.c - any bytes as a Slurm node list
 *
 * Beside not crashing: as many names as are promised, none of them empty.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "trace/nodelist.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(cond)   \
    do {             \
        if (!(cond)) \
            abort(); \
    } while (0)

static int count(void *arg, struct str name)
{
    MUST(name.len > 0 && name.len <= NODELIST_NAME_LEN_MAX);
    return ++*(int *)arg > NODELIST_NAMES_MAX;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err = {0};
    struct str list = {(const char *)data, size};
    int calls = 0, promised = nodelist_expand(list, NULL, NULL, &err);
    if (promised > 1 << 16) /* right, but slow */
        return 0;
    int n = nodelist_expand(list, count, &calls, &err);
    MUST(n == promised && (n < 0 ? calls == 0 && err.text[0] : calls == n));
    return 0;
}
