/* simrun.h - one trace on one cluster under several policies, reported side by side
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_SIMRUN_H
#define MUSTER_SIMRUN_H

#include "cmd/record.h"

enum simrun_output { OUTPUT_TABLE = 0, OUTPUT_JSON, OUTPUT_HTML };

struct simrun {
    struct scene_files files;
    const char *policies; /* names or paths, comma-separated */
    bool forever, check;
    int64_t until_us;
    enum simrun_output output;
    const char *out;     /* NULL: standard output */
    const char *html;    /* also as a page to this file; NULL: no */
    const char *columns; /* the FGD experiment's layout to this file; NULL: no */
    const char *jobs;    /* one CSV line a job to this file; NULL: no */
    const char *records; /* one line of text a record to this file; NULL: no */
    struct record_options journal;
};

enum { SIMRUN_POLICIES_MAX = 32 };

/* 0 or -errno with err. An audit that finds a broken promise is -EPROTO. */
int simrun(const struct simrun *r, struct err *err);

#endif
