/* fuzz-trace-mapping.c - any bytes as a mapping file
 *
 * Beside not crashing: each refusal says why.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "trace/mapping.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(cond)   \
    do {             \
        if (!(cond)) \
            abort(); \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mapping *m;
    struct err err = {0};
    int rc = mapping_parse(&m, "fuzz", (struct str){(const char *)data, size}, &err);
    if (rc < 0) {
        MUST(err.code == -rc && err.text[0]);
        return 0;
    }
    MUST(m->fields[FIELD_SUBMIT].used && m->delim != m->quote && m->name[0]);
    for (int i = 0; i < FIELDS; i++)
        MUST(!m->fields[i].used || m->fields[i].column.len || m->fields[i].has_preset);
    mapping_free(m);
    return 0;
}
