/* point.c - a place in a journal as people write it
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/point.h"

#include <errno.h>

#include "base/units.h"

int point_start(int64_t *ret, const char *path, struct err *err)
{
    struct journal_reader *r;
    struct journal_frame f;
    struct shelf s;
    struct segment_head h = {0};
    int rc = shelf_open(&s, path, err);
    if (rc)
        return rc;
    if (!s.segments.n)
        rc = err_set(err, ENOENT, "%s holds no journal", path);
    else
        rc = shelf_head(&s, s.segments.at[0], &h, err);
    shelf_done(&s);
    if (rc && rc != -EBADMSG) /* a damaged head: the reader knows what that means */
        return rc;
    *ret = h.at;
    if (h.first_seq > 1) /* its beginning went with older segments */
        return 0;
    rc = journal_reader_open(&r, path, 0, NULL, err);
    if (rc)
        return rc;
    rc = journal_reader_next(r, &f, err);
    if (rc > 0)
        *ret = f.records->list.at[0].at;
    journal_reader_close(r);
    return rc < 0 ? rc : 0;
}

int point_parse(struct journal_point *ret, const char *text, const char *path,
                struct err *err)
{
    int64_t start, us;
    *ret = (struct journal_point){UINT64_MAX, INT64_MAX};
    if (!text)
        return 0;
    if (!str_to_u64(str_of(text), &ret->seq))
        return 0;
    if (!time_parse(str_of(text), &ret->at, NULL))
        return 0;
    int rc = duration_parse(str_of(text), &us, err);
    if (rc)
        return err_set(err, EINVAL, "'%s' is no record's number, duration or time",
                       text);
    rc = point_start(&start, path, err);
    if (!rc && us > INT64_MAX - start)
        rc = err_set(err, ERANGE, "'%s' is too long", text);
    if (!rc)
        ret->at = start + us;
    return rc;
}

void point_text(int64_t at, int64_t start, struct buf *out)
{
    char text[24];
    if (at <= start)
        buf_z(out, "at the start");
    else
        buf_fmt(out, "%s after the start", duration_text(at - start, text));
}
