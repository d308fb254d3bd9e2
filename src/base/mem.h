/* mem.h - allocation that never returns NULL (out of memory aborts, with the size)
 * Size 0 gives a pointer that free() takes. MUSTER_MALLOC_FILL=<byte> in the
 * environment fills new memory with that byte (tests: no result may depend on it).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_MEM_H
#define MUSTER_MEM_H

#include <stdlib.h>
#include <string.h>

/* Once, before anything large: freed memory stays ours, and the heap asks for huge
 * pages. A short run otherwise spends a fifth of its time in page faults. */
void mem_setup(void);
void *mem_alloc(size_t size);             /* not cleared */
void *mem_zero(size_t size);              /* cleared */
void *mem_resize(void *old, size_t size); /* as realloc */
char *mem_strdup(const char *z);
char *mem_strndup(const char *ptr, size_t len); /* zero-terminated copy */
/* For memory that is handed out again without free(): the debug fill, or nothing. */
void mem_scramble(void *ptr, size_t size);

#endif
