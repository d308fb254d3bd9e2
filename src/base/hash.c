/* hash.c - the seed of all table hashes
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"

uint64_t hash_seed = UINT64_C(0x6d75737465720001);
