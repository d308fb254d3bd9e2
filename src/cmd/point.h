/* point.h - a place in a journal as people write it
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_POINT_H
#define MUSTER_POINT_H

#include "journal/resume.h"

/* "1234" is a record; "12h", "3d 4h" is so long after the first record; "2017-10-01
 * 00:00:45" is a time. text NULL: the end. 0 or -EINVAL/-ERANGE/-errno with err. */
int point_parse(struct journal_point *ret, const char *text, const char *path,
                struct err *err);
#define POINT_HELP "a record's number, so long after the start (12h), or a time"

/* When the journal's first record was made. 0 or -errno with err. */
int point_start(int64_t *ret, const char *path, struct err *err);

/* "1 h 5 min", "at the start": since the start of the journal. */
void point_text(int64_t at, int64_t start, struct buf *out);

#endif
