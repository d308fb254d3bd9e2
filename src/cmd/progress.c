/* progress.c - a bar on stderr while something long runs
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/units.h"

enum { BAR = 24 };
static const int64_t show_after_us = US_PER_S, show_every_us = 100 * US_PER_MS;

static int64_t now_us(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * US_PER_S + ts.tv_nsec / 1000;
}

void progress_begin(struct progress *p, const char *label)
{
    *p = (struct progress){.label = label, .wanted = isatty(STDERR_FILENO)};
    p->began_us = now_us();
}

int progress_line(char *out, size_t room, const char *label, double part, double elapsed_s,
                  uint64_t events)
{
    char bar[BAR + 1], eta[24], rate[24];
    part = part < 0 ? 0 : part > 1 ? 1 : part;
    for (int i = 0; i < BAR; i++)
        bar[i] = i < (int)(part * BAR) ? '#' : '-';
    bar[BAR] = 0;
    double left_s = part > 0 ? elapsed_s / part * (1 - part) : 0;
    duration_text((int64_t)(left_s + 0.5) * US_PER_S, eta);
    count_text(elapsed_s > 0 ? (uint64_t)((double)events / elapsed_s) : 0, rate);
    return snprintf(out, room, "%-16.16s [%s] %3d %%  %s events/s  ETA %s", label, bar,
                    (int)(part * 100), rate, part > 0 ? eta : "?");
}

void progress_show(struct progress *p, uint64_t done, uint64_t all, uint64_t events)
{
    char line[160];
    if (!p->wanted)
        return;
    int64_t now = now_us();
    if (now - p->began_us < show_after_us || now - p->last_us < show_every_us)
        return;
    p->last_us = now;
    p->shown = true;
    progress_line(line, sizeof line, p->label, all ? (double)done / (double)all : 0,
                  (double)(now - p->began_us) / 1e6, events);
    fprintf(stderr, "\r%s\033[K", line);
    fflush(stderr);
}

void progress_end(struct progress *p)
{
    if (p->shown)
        fputs("\r\033[K", stderr);
    p->shown = false;
}
