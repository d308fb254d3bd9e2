/* hindsight.c - the state that a record of a journal met, and the record
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/hindsight.h"

#include <errno.h>
#include <inttypes.h>

#include "journal/journal_reader.h"

int hindsight(const char *path, uint64_t seq, hindsight_f see, void *arg,
              struct err *err)
{
    struct journal_base base;
    struct journal_reader *r = NULL;
    struct journal_frame f;
    struct journal_point to = {seq - 1, INT64_MAX};
    int more = 0;
    bool seen = false;
    int rc = journal_base(&base, path, &to, true, err);
    if (rc)
        return rc;
    rc = journal_reader_open(&r, path, base.seq, NULL, err);
    if (rc)
        r = NULL;
    while (!rc && !seen && (more = journal_reader_next(r, &f, err)) > 0) {
        for (uint32_t i = 0; i < f.n && f.first_seq + i < seq; i++)
            sched_fold(base.sched, &f.records->list.at[i]);
        if (f.last_seq < seq)
            continue;
        seen = true;
        see(arg, base.sched, &f.records->list.at[seq - f.first_seq]);
    }
    if (!rc && more < 0)
        rc = more;
    else if (!rc && !seen)
        rc = err_set(err, ENOENT, "the journal has no record %" PRIu64, seq);
    journal_reader_close(r);
    sched_destroy(base.sched);
    return rc;
}
