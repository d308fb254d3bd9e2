/* rng.h - reproducible random numbers: xoshiro256** seeded by splitmix64
 * One stream a purpose: rng_init(&r, seed, stream). Doubles are made without libm
 * surprises: only rng_exp and rng_normal call log/sqrt/cos, and only the twin uses
 * those.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_RNG_H
#define MUSTER_RNG_H

#include <stdint.h>

struct rng {
    uint64_t s[4];
};

void rng_init(struct rng *r, uint64_t seed, uint64_t stream);
uint64_t rng_u64(struct rng *r);
uint64_t rng_below(struct rng *r, uint64_t n); /* 0 .. n-1, unbiased; n > 0 */
int64_t rng_between(struct rng *r, int64_t lo, int64_t hi); /* inclusive */
double rng_unit(struct rng *r);                             /* [0, 1), 53 bits */
double rng_exp(struct rng *r, double mean);
double rng_normal(struct rng *r); /* mean 0, sd 1 */

#endif
