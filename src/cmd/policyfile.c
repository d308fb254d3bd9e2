/* policyfile.c - finding and reading policies by name
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/policyfile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/infile.h"
#include "base/units.h"

static bool is_path(const char *name)
{
    size_t len = strlen(name);
    return strchr(name, '/') || (len > 5 && !strcmp(name + len - 5, ".yaml"));
}

static bool try_place(const char *dir, const char *kind, const char *name, char path[4096])
{
    if (!dir || !*dir)
        return false;
    int len = snprintf(path, 4096, "%s%s%s/%s.yaml", dir, *kind ? "/" : "", kind, name);
    return len > 0 && len < 4096 && access(path, R_OK) == 0;
}

static bool try_beside_program(const char *kind, const char *name, char path[4096])
{
    char exe[1024], above[1040], share[1056];
    ssize_t len = readlink("/proc/self/exe", exe, sizeof exe - 1);
    if (len <= 0)
        return false;
    exe[len] = 0;
    char *slash = strrchr(exe, '/');
    if (!slash)
        return false;
    *slash = 0;
    snprintf(above, sizeof above, "%s/..", exe);
    snprintf(share, sizeof share, "%s/../share/muster", exe); /* installed anywhere */
    return try_place(exe, kind, name, path) || try_place(above, kind, name, path) ||
           try_place(share, kind, name, path);
}

int data_file_find(const char *kind, const char *variable, const char *name,
                   char path[4096], struct err *err)
{
    if (is_path(name)) {
        if (strlen(name) >= 4096)
            return err_set(err, ENAMETOOLONG, "the path is too long");
        memcpy(path, name, strlen(name) + 1);
        return 0;
    }
    if (try_place(getenv(variable), "", name, path) ||
        try_place(getenv("MUSTER_DATADIR"), kind, name, path) ||
        try_place(".", kind, name, path) || try_beside_program(kind, name, path))
        return 0;
#ifdef MUSTER_DATADIR
    if (try_place(MUSTER_DATADIR, kind, name, path))
        return 0;
#endif
#ifdef MUSTER_SOURCE_DIR
    if (try_place(MUSTER_SOURCE_DIR, kind, name, path))
        return 0;
#endif
    return err_set(err, ENOENT,
                   "there is no %.64s.yaml in $%s, ./%s or the installed %s", name, variable,
                   kind, kind);
}

int policy_file_load(struct policy_file *ret, const char *name, struct err *err)
{
    struct policy_file f = {0};
    int rc = data_file_find("policies", "MUSTER_POLICIES", name, f.path, err);
    if (rc)
        return err_prefix(err, "policy '%.64s'", name);
    rc = infile_slurp(f.path, POLICY_TEXT_MAX, &f.text, err);
    if (!rc)
        rc = policy_parse(f.path, buf_as_str(&f.text), &f.arena, &f.policy, err);
    if (rc) {
        policy_file_done(&f);
        return rc;
    }
    *ret = f;
    return 0;
}

/* The line "KEY: trace" becomes a block of text; every other byte stays. */
static int line_set(struct policy_file *f, const char *key, const char *opening,
                    struct str lines, struct err *err)
{
    struct str rest = buf_as_str(&f->text);
    struct buf out = {0};
    while (rest.ptr) {
        struct str line = str_cut(&rest, '\n');
        if (!str_starts(line, str_of(key))) {
            buf_str(&out, line);
            if (rest.ptr)
                buf_char(&out, '\n');
            continue;
        }
        buf_fmt(&out, "%s %s\n", key, opening);
        struct str left = lines;
        while (left.ptr) {
            struct str one = str_cut(&left, '\n');
            if (one.len)
                buf_fmt(&out, "  " STR_FMT "\n", STR_ARG(one));
        }
    }
    buf_done(&f->text);
    f->text = out;
    return policy_parse(f->path, buf_as_str(&f->text), &f->arena, &f->policy, err);
}

int policy_file_set_mix(struct policy_file *f, struct str lines, struct err *err)
{
    return line_set(f, "mix:", "|", lines, err);
}

int policy_file_set_queues(struct policy_file *f, const struct trace_queue *queues, uint32_t n,
                           struct err *err)
{
    struct buf lines = {0};
    char gpus[24];
    for (uint32_t i = 0; i < n; i++) {
        buf_json(&lines, queues[i].name);
        buf_fmt(&lines, ": {guaranteed: {gpu: %s}}\n", milli_text(queues[i].gpu_milli, gpus));
    }
    int rc = line_set(f, "queues:", n ? "" : "{}", buf_as_str(&lines), err);
    buf_done(&lines);
    return rc;
}

void policy_file_done(struct policy_file *f)
{
    buf_done(&f->text);
    arena_done(&f->arena);
    memset(f, 0, sizeof *f);
}
