/* catalogue.h - the accelerators muster knows by name: memory, modes, ways to cut
 * Facts only; what a node's description says about its own devices always wins.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_CATALOGUE_H
#define MUSTER_CATALOGUE_H

#include "cluster/nodedesc.h"

/* The row for a type, made in the arena with the profiles' names added to the words.
 * Names are compared without regard to case and to the separators "-", "_" and " "; a
 * leading "nvidia", "tesla", "amd" or "instinct" is skipped, and NFD's last "-SHARED". A name that is not in the catalogue gives a row that can
 * be used whole and shared, with unknown memory. Never NULL, but for a full word table
 * or a name that is no word: then NULL. */
struct device_type *catalogue_type(struct words *words, struct arena *a,
                                   struct str name);

/* Is the name (or another name of the same type) a row? */
bool catalogue_has(struct str name);

/* The first name of the row that the name belongs to, so that Slurm's "h100" and NFD's
 * "NVIDIA-H100-80GB-HBM3" are both "H100"; lives as long as the program. Without a row:
 * the name as it is. */
struct str catalogue_canonical(struct str name);

/* Are two names one but for case and separators? For types without a row. */
bool catalogue_same(struct str a, struct str b);

uint32_t catalogue_count(void);
/* Row i's name and memory, for listings. */
struct str catalogue_name(uint32_t i, int64_t *ret_mem_bytes, bool *ret_cut);

/* Devices in a ring of the type's boards; 0: it has none. Ascend 910B boards: 4 + 4. */
uint8_t catalogue_ring(struct str name);
/* Rings of so many devices on a full node of n: masks into rings (room for 8); returns
 * their number, 0: none. */
uint32_t rings_of_board(uint32_t ring, uint32_t n, uint64_t *rings);

#endif
