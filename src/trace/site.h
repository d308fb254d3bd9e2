/* site.h - what a trace's file says of the site beside its jobs (private to trace)
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_SITE_H
#define MUSTER_SITE_H

#include "base/yaml.h"
#include "trace/mapping.h"

/* The keys `head` and `cluster` of a mapping file. 0 or -errno with the place. */
int site_mapping_read(struct mapping_site *s, const struct ynode *root, struct err *err);

/* What the mapping makes of the file's head line; strings go to a. `name` is the file's, for
 * errors. 0, or -EINVAL. */
int site_read(const struct mapping_site *s, struct str head, const char *name,
              struct arena *a, struct trace_site *ret, struct err *err);

#endif
