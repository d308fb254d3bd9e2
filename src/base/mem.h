/* mem.h - allocation that never returns NULL (out of memory aborts, with the size)
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_MEM_H
#define MUSTER_MEM_H

#include <stdlib.h>
#include <string.h>

void *mem_alloc(size_t size);               /* not cleared */
void *mem_zero(size_t size);                /* cleared */
void *mem_resize(void *old, size_t size);   /* as realloc */
char *mem_strdup(const char *z);
char *mem_strndup(const char *ptr, size_t len); /* zero-terminated copy */

#endif
