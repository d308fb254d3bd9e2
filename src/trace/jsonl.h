/* jsonl.h - muster's own trace format: one JSON object a line
 * docs/trace-format.md has the keys; trace_open(..., "jsonl") reads it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_JSONL_H
#define MUSTER_JSONL_H

#include "base/buf.h"
#include "trace/trace.h"

/* The first line: format version, GPUs of a node (0: not said), a remark ("": none). */
void jsonl_head(struct buf *out, uint32_t gpus_per_node, struct str remark);
/* One job as one line; what is not known or zero is left out. */
void jsonl_job(struct buf *out, const struct trace_job *job);

#endif
