/* hash.h - one 64-bit hash for tables and digests (xxhash's XXH3, inlined)
 * Table hashes take a process-wide seed that tests change: no result may depend on it.
 * Digests always use seed 0. SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_HASH_H
#define MUSTER_HASH_H

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/str.h"

extern uint64_t hash_seed; /* set once in main(), before any table exists */

static inline uint64_t hash_bytes(const void *ptr, size_t len)
{
    return XXH3_64bits_withSeed(ptr, len, hash_seed);
}

/* The same purpose for short names, without a call: the text as two words (up to 16
 * bytes, they may overlap), mixed by one wide multiplication (wyhash's step). */
static inline uint64_t hash_name(const char *p, size_t len)
{
    uint64_t a = 0, b = 0;
    if (len - 8 <= 8) {
        memcpy(&a, p, 8);
        memcpy(&b, p + len - 8, 8);
    } else if (len - 4 < 4) {
        memcpy(&a, p, 4);
        memcpy(&b, p + len - 4, 4);
    } else if (len - 1 < 3) {
        a = (uint64_t)(unsigned char)p[0] << 16 |
            (uint64_t)(unsigned char)p[len >> 1] << 8 | (unsigned char)p[len - 1];
    } else if (len) {
        return hash_bytes(p, len);
    }
    a ^= 0x2d358dccaa6c78a5ull ^ hash_seed;
    b ^= 0x8bb84b93962eacc9ull ^ len;
    unsigned __int128 m = (unsigned __int128)a * b;
    uint64_t h = (uint64_t)m ^ (uint64_t)(m >> 64);
    return h ^ h >> 32;
}

static inline uint64_t hash_u64(uint64_t x)
{
    x = (x ^ hash_seed) * 0x9E3779B97F4A7C15ull;
    x ^= x >> 32;
    x *= 0xD6E8FEB86659FD93ull;
    return x ^ (x >> 32);
}

static inline uint64_t digest_bytes(const void *ptr, size_t len, uint64_t seed)
{
    return XXH3_64bits_withSeed(ptr, len, seed);
}

/* Fold one number into a running digest (splitmix64's finaliser over the sum). */
static inline uint64_t digest_mix(uint64_t h, uint64_t x)
{
    h += 0x9E3779B97F4A7C15ull + x;
    h = (h ^ (h >> 30)) * 0xBF58476D1CE4E5B9ull;
    h = (h ^ (h >> 27)) * 0x94D049BB133111EBull;
    return h ^ (h >> 31);
}

#endif
