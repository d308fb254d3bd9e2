/* bitset.h - a set of small numbers in caller-owned words of 64 bits
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_BITSET_H
#define MUSTER_BITSET_H

#include <stdbool.h>
#include <stdint.h>

#define BITSET_WORDS(n) (((n) + 63u) / 64u)

static inline bool bit_get(const uint64_t *s, uint32_t i)
{
    return s[i >> 6] >> (i & 63) & 1;
}
static inline void bit_set(uint64_t *s, uint32_t i)
{
    s[i >> 6] |= UINT64_C(1) << (i & 63);
}
static inline void bit_clear(uint64_t *s, uint32_t i)
{
    s[i >> 6] &= ~(UINT64_C(1) << (i & 63));
}

#endif
