/* codec.h - records as bytes and back (the journal's form; little endian, varints)
 * Decoding never trusts: every length is capped and checked against what is left.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_CODEC_H
#define MUSTER_CODEC_H

#include "base/buf.h"
#include "event/records.h"

void record_encode(const struct record *r, struct buf *out);
/* One record from *in (moved behind it) into rs. 0, or -EBADMSG with err naming field
 * and byte. Strings are copied into the arena of rs. */
int record_decode(struct str *in, struct records *rs, struct err *err);

#endif
