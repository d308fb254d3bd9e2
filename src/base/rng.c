/* rng.c - reproducible random numbers: xoshiro256** seeded by splitmix64
 *
 * Blackman and Vigna, "Scrambled linear pseudorandom number generators", 2021;
 * reference code at prng.di.unimi.it. Stream 0 of a seed is exactly their procedure
 * (four outputs of splitmix64 from the seed); stream k starts from the seed XOR the
 * splitmix64 finaliser of k, so that neighbouring streams begin far apart. Bounded
 * numbers: Lemire, "Fast random integer generation in an interval", 2019.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/rng.h"

#include <assert.h>
#include <math.h>

static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

void rng_init(struct rng *r, uint64_t seed, uint64_t stream)
{
    uint64_t x = seed ^ mix(stream); /* mix(0) is 0 */
    for (int i = 0; i < 4; i++)
        r->s[i] = mix(x += UINT64_C(0x9E3779B97F4A7C15));
}

static inline uint64_t rotl(uint64_t x, int k)
{
    return x << k | x >> (64 - k);
}

uint64_t rng_u64(struct rng *r)
{
    uint64_t *s = r->s, result = rotl(s[1] * 5, 7) * 9, t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotl(s[3], 45);
    return result;
}

uint64_t rng_below(struct rng *r, uint64_t n)
{
    assert(n > 0);
    unsigned __int128 m = (unsigned __int128)rng_u64(r) * n;
    if ((uint64_t)m < n) {
        uint64_t least = (0 - n) % n; /* 2^64 mod n: a draw below it is biased */
        while ((uint64_t)m < least)
            m = (unsigned __int128)rng_u64(r) * n;
    }
    return (uint64_t)(m >> 64);
}

int64_t rng_between(struct rng *r, int64_t lo, int64_t hi)
{
    assert(lo <= hi);
    uint64_t span = (uint64_t)hi - (uint64_t)lo + 1; /* 0: all 2^64 */
    return (int64_t)((uint64_t)lo + (span ? rng_below(r, span) : rng_u64(r)));
}

double rng_unit(struct rng *r)
{
    return (double)(rng_u64(r) >> 11) * 0x1p-53;
}

double rng_exp(struct rng *r, double mean)
{
    return -mean * log(1.0 - rng_unit(r));
}

double rng_normal(struct rng *r)
{
    double u = 1.0 - rng_unit(r), v = rng_unit(r);
    return sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v);
}
