/* scenario.c - plays one scenario file and prints TAP
 *
 *     scenario FILE         one line for each expectation, two for what always holds
 *     scenario --check FILE only reads it; exit 2 with file:line:column if it is
 * malformed
 *
 * docs/scenarios.md describes the format. SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "../unit/tap.h"
#include "scenario.h"

enum { LINE_MAX_ = 600 };

bool report(bool good, const char *fmt, ...)
{
    char text[LINE_MAX_];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return ok(good, "%s", text);
}

void remark(const char *fmt, ...)
{
    char text[LINE_MAX_];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    diag("%s", text);
}

int main(int argc, char **argv)
{
    bool only_check = argc == 3 && strcmp(argv[1], "--check") == 0;
    struct scenario sc = {0};
    struct player p;
    struct err err = {0};
    if (argc != 2 && !only_check) {
        fprintf(stderr, "usage: scenario [--check] FILE\n");
        return 2;
    }
    if (scenario_read(&sc, argv[argc - 1], &err)) {
        fprintf(stderr, "%s\n", err.text);
        scenario_done(&sc);
        return 2;
    }
    int rc = 0;
    if (!only_check) {
        player_init(&p, &sc);
        player_run(&p);
        player_done(&p);
        rc = done_testing();
    }
    scenario_done(&sc);
    return rc;
}
