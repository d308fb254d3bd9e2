/* mapping_find.c - where mapping files are: by name, or by a file's first line
 *
 * The places, first found wins: $MUSTER_FORMATS, $MUSTER_DATADIR/formats, ./formats,
 * formats beside the program and above it (a build tree), the installed place, the
 * source tree. Recognising a file loads the mappings of the first place that has any; a
 * line is recognised when a mapping lists exactly it, so there is no guessing.
 * SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/infile.h"
#include "base/mem.h"
#include "base/vec.h"
#include "trace/mapping.h"

enum { PLACES_MAX = 8, FILES_MAX = 1024, FILE_BYTES_MAX = 1 << 20 };

struct places {
    char at[PLACES_MAX][2048];
    uint32_t n;
};

static void place_add(struct places *p, const char *dir, const char *below)
{
    if (!dir || !*dir || p->n == PLACES_MAX)
        return;
    int len = snprintf(p->at[p->n], sizeof p->at[0], "%s%s", dir, below);
    if (len > 0 && (size_t)len < sizeof p->at[0])
        p->n++;
}

static void places_list(struct places *p)
{
    char exe[1024];
    p->n = 0;
    place_add(p, getenv("MUSTER_FORMATS"), "");
    place_add(p, getenv("MUSTER_DATADIR"), "/formats");
    place_add(p, ".", "/formats");
    ssize_t len = readlink("/proc/self/exe", exe, sizeof exe - 1);
    if (len > 0) {
        exe[len] = 0;
        char *slash = strrchr(exe, '/');
        if (slash) {
            *slash = 0;
            place_add(p, exe, "/formats");
            place_add(p, exe, "/../formats");
            place_add(p, exe, "/../share/muster/formats"); /* installed anywhere */
        }
    }
#ifdef MUSTER_DATADIR
    place_add(p, MUSTER_DATADIR, "/formats");
#endif
#ifdef MUSTER_SOURCE_DIR
    place_add(p, MUSTER_SOURCE_DIR, "/formats");
#endif
}

int mapping_find(const char *name, char path[4096], struct err *err)
{
    size_t len = strlen(name);
    bool is_path = strchr(name, '/') || (len > 5 && !strcmp(name + len - 5, ".yaml"));
    struct places p;
    if (is_path) {
        if (len >= 4096)
            return err_set(err, ENAMETOOLONG, "the mapping's path is too long");
        memcpy(path, name, len + 1);
        return 0;
    }
    places_list(&p);
    for (uint32_t i = 0; i < p.n; i++) {
        char file[4096];
        int n = snprintf(file, sizeof file, "%s/%s.yaml", p.at[i], name);
        if (n > 0 && (size_t)n < sizeof file && access(file, R_OK) == 0) {
            memcpy(path, file, (size_t)n + 1);
            return 0;
        }
    }
    return err_set(err, ENOENT,
                   "no trace format '%.64s': it is not swf, sacct or jsonl, "
                   "and there is no %.64s.yaml in $MUSTER_FORMATS, ./formats or the "
                   "installed formats",
                   name, name);
}

static int name_order(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The .yaml files of a directory in name order. */
static uint32_t files_list(const char *dir, char **names)
{
    uint32_t n = 0;
    DIR *d = opendir(dir);
    if (!d)
        return 0;
    for (struct dirent *e; (e = readdir(d)) && n < FILES_MAX;) {
        size_t len = strlen(e->d_name);
        if (len > 5 && !strcmp(e->d_name + len - 5, ".yaml"))
            names[n++] = mem_strdup(e->d_name);
    }
    closedir(d);
    qsort(names, n, sizeof *names, name_order);
    return n;
}

static bool mapping_knows(const struct mapping *m, struct str line)
{
    for (uint32_t i = 0; i < m->nrecognise; i++)
        if (str_eq(m->recognise[i], line))
            return true;
    return false;
}

/* Does the line stand in the file as it is? */
static bool file_has(const char *path, struct str line)
{
    struct buf text = {0};
    bool has = infile_slurp(path, FILE_BYTES_MAX, &text, NULL) == 0 &&
               memmem(text.data, text.len, line.ptr, line.len);
    buf_done(&text);
    return has;
}

/* A mapping file that does not parse is skipped here: it is named when it is asked
 * for. plain: only files in which the line stands as it is, which are soon found; YAML
 * may also write it with escapes. */
static int place_recognise(const char *dir, char **names, uint32_t n, struct str line,
                           bool plain, struct mapping **ret)
{
    for (uint32_t i = 0; i < n; i++) {
        char path[4096];
        struct mapping *m;
        int len = snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        if (len < 0 || (size_t)len >= sizeof path || (plain && !file_has(path, line)) ||
            mapping_load(&m, path, NULL) < 0)
            continue;
        if (mapping_knows(m, line)) {
            *ret = m;
            return 0;
        }
        mapping_free(m);
    }
    return -ENOENT;
}

int mapping_recognise(struct str first_line, struct mapping **ret, struct err *err)
{
    struct places p;
    int rc = -ENOENT;
    char **names = mem_alloc(FILES_MAX * sizeof *names);
    uint32_t n = 0;
    places_list(&p);
    for (uint32_t i = 0; i < p.n && !n; i++) {
        n = files_list(p.at[i], names);
        rc = place_recognise(p.at[i], names, n, first_line, true, ret);
        if (rc < 0)
            rc = place_recognise(p.at[i], names, n, first_line, false, ret);
    }
    for (uint32_t i = 0; i < n; i++)
        free(names[i]);
    free(names);
    if (rc < 0)
        return err_set(err, ENOENT,
                       "no trace format is known for a file that begins with "
                       "'%.*s': name one with --format",
                       (int)(first_line.len < 80 ? first_line.len : 80),
                       first_line.ptr);
    return 0;
}
