/* nodelist.h - Slurm's compressed node lists, "g[0002-0003],r[1-2]n[01-04]"
 * Zero padding is kept; of several brackets in one item the last runs fastest.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_NODELIST_H
#define MUSTER_NODELIST_H

#include "base/err.h"
#include "base/str.h"

enum { NODELIST_NAMES_MAX = 1 << 20, NODELIST_NAME_LEN_MAX = 255 };

/* Called with each name in order; the name is gone afterwards. Nonzero stops. */
typedef int (*nodelist_f)(void *arg, struct str name);

/* Number of names (0 for "" and "None assigned"), or what each() returned if not 0, or
 * -EINVAL/-ERANGE with err naming the byte (from 1). each may be NULL: only count. A
 * list that does not parse calls nothing. */
int nodelist_expand(struct str list, nodelist_f each, void *arg, struct err *err);

#endif
