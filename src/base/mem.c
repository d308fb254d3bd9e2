/* mem.c - allocation that never returns NULL
 *
 * Out of memory aborts with the size on stderr: muster's processes have no use for half
 * their state, and the journal brings back what was settled. For tests the environment
 * variable MUSTER_MALLOC_FILL=<byte, decimal or 0x..> fills new memory with that byte,
 * so that a result which depends on uncleared memory shows itself under two fills.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"

#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define HUGE (UINT64_C(2) << 20)
enum {
    HEAP_AT_ONCE = 64 << 20
}; /* address space; nothing is used before it is written */
enum { FILL_UNREAD = -2, FILL_OFF = -1 };

static int fill_byte = FILL_UNREAD;

static int fill_read(void)
{
    const char *z = getenv("MUSTER_MALLOC_FILL");
    fill_byte = z && *z ? (int)(strtoul(z, NULL, 0) & 0xff) : FILL_OFF;
    return fill_byte;
}

static inline int fill(void)
{
    return __builtin_expect(fill_byte == FILL_UNREAD, 0) ? fill_read() : fill_byte;
}

static _Noreturn void mem_out(size_t size)
{
    fprintf(stderr, "muster: out of memory: %zu bytes asked for\n", size);
    abort();
}

void mem_setup(void)
{
#if defined(M_MMAP_THRESHOLD) && defined(MADV_HUGEPAGE)
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    mallopt(M_TOP_PAD, HEAP_AT_ONCE);
    void *volatile more =
        malloc(1 << 20); /* volatile: gcc would drop an unused block */
    free(more); /* more than there was, so the heap has its address space now */
    uintptr_t end = (uintptr_t)sbrk(0), from = (end - HEAP_AT_ONCE + HUGE - 1) & -HUGE;
    if (end != UINTPTR_MAX && end > from)
        madvise((void *)from, end - from, MADV_HUGEPAGE); /* only a hint */
#endif
}

void *mem_alloc(size_t size)
{
    void *p = malloc(size ? size : 1);
    if (!p)
        mem_out(size);
    if (__builtin_expect(fill() >= 0, 0))
        memset(p, fill_byte, size);
    return p;
}

void *mem_zero(size_t size)
{
    void *p = calloc(1, size ? size : 1);
    if (!p)
        mem_out(size);
    return p;
}

void *mem_resize(void *old, size_t size)
{
    size_t had = __builtin_expect(fill() >= 0, 0) && old ? malloc_usable_size(old) : 0;
    void *p = realloc(old, size ? size : 1);
    if (!p)
        mem_out(size);
    if (__builtin_expect(fill_byte >= 0, 0) && size > had)
        memset((char *)p + had, fill_byte, size - had);
    return p;
}

void mem_scramble(void *ptr, size_t size)
{
    if (__builtin_expect(fill() >= 0, 0) && size)
        memset(ptr, fill_byte, size);
}

char *mem_strndup(const char *ptr, size_t len)
{
    if (len == SIZE_MAX)
        mem_out(len);
    char *p = mem_alloc(len + 1);
    if (len)
        memcpy(p, ptr, len);
    p[len] = '\0';
    return p;
}

char *mem_strdup(const char *z)
{
    return mem_strndup(z, strlen(z));
}
