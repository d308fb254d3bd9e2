/* word.h - short names that many records share, as small numbers
 * Tags, partition keys, roles, GPU types, topology levels, queues, users. Ids count
 * from 1 in the order of definition; 0 is "none". A record `word{id, text}` precedes
 * the first use in any stream, so each reader builds the same table.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_WORD_H
#define MUSTER_WORD_H

#include "base/arena.h"
#include "base/map.h"

typedef uint32_t word_t;
#define WORD_NONE 0u
#define WORD_MAX 65535u   /* words in one table */
#define WORD_LEN_MAX 255u /* bytes in one word */

struct words { /* zero it to make it empty */
    struct arena text;
    struct strmap ids;
    struct str *at;   /* at[id]; at[0] is ""; NULL while n is 0 */
    uint32_t n, room; /* n words: ids 1 .. n */
};

word_t words_find(const struct words *w, struct str text); /* 0: not there */
/* Find or add. Returns the id, or 0 when the table or the text is too long (or
 * empty). */
word_t words_add(struct words *w, struct str text);
struct str words_text(const struct words *w, word_t id); /* "" for 0 and unknown */
void words_done(struct words *w);

#endif
