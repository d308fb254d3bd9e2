/* progress.h - a bar on stderr while something long runs
 * Shown only when stderr is a terminal and the run lasts longer than a second.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_PROGRESS_H
#define MUSTER_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct progress {
    const char *label;
    bool wanted, shown;
    int64_t began_us, last_us; /* monotonic */
};

void progress_begin(struct progress *p, const char *label);
/* done of all, and how many events so far. */
void progress_show(struct progress *p, uint64_t done, uint64_t all, uint64_t events);
void progress_end(struct progress *p); /* wipes the line */

/* The line itself (without colours), for tests: returns its length. */
int progress_line(char *out, size_t room, const char *label, double part, double elapsed_s,
                  uint64_t events);

#endif
