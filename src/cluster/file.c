/* file.c - a cluster as a file: YAML, or a plain list of nodes as CSV
 *
 * The YAML tree is walked once; rows of CSV files stream by. A bare CSV file is read
 * with one of the built-in entries below, which are themselves YAML: the first whose
 * columns the file has. SPDX-License-Identifier: Apache-2.0 */
#include "cluster/file.h"

#include <errno.h>
#include <stdio.h>

#include "cluster/file_read.h"

#ifndef MUSTER_SOURCE_DIR
#define MUSTER_SOURCE_DIR "."
#endif

#define PATH_LEN_MAX 4096u

/* Node lists that are recognised by their columns. */
static const struct known {
    const char *columns, *entry;
} knowns[] = {
    {"sn|cpu_milli|memory_mib|gpu|model",
     "{name: '{sn}', cpus: '{cpu_milli}m', memory: '{memory_mib}MiB',"
     " gpus: {type: '{model}', count: '{gpu}'}}"},
    {"vc|node num",
     "{name: '{vc}-{000}', count: '{node num}', gpus: {type: GPU, count: 8},"
     " place: {vc: '{vc}'}, tags: ['vc={vc}']}"},
    {"gpu_model|gpu_capacity_num|cpu_num|node_name",
     "{name: 'node-{node_name}', cpus: '{cpu_num}',"
     " gpus: {type: '{gpu_model}', count: '{gpu_capacity_num}'}}"},
};

/* The first row: column names, kept in the arena. */
static int header_read(struct csv *csv, struct arena *a, struct vars *v,
                       struct err *err)
{
    struct csv_row row;
    int rc = csv_next(csv, &row, err);
    if (rc < 0)
        return rc;
    if (rc == 0)
        return err_set(err, EINVAL, "%s:1:1: there is nothing in it", csv_name(csv));
    struct str *names = arena_alloc(a, row.n * sizeof *names);
    for (uint32_t i = 0; i < row.n; i++)
        names[i] = arena_str(a, str_trim(row.cells[i]));
    *v = (struct vars){.csv = csv, .names = names, .n = row.n};
    return 0;
}

/* How many of the entry's texts contain it. */
static uint32_t mentions(const struct ynode *n, struct str what)
{
    uint32_t times = n->kind == YNODE_SCALAR && n->text.len >= what.len &&
                     memmem(n->text.ptr, n->text.len, what.ptr, what.len);
    for (const struct ynode *m = n->first; m; m = m->next)
        times += mentions(m, what);
    return times;
}

/* Most lists are long runs of rows that differ in the name alone: such a row need not
 * go through the entry again. */
struct run {
    uint32_t name; /* column that is the name and nothing else; >= n: there is none */
    struct str
        *cells; /* of the row before, when its node can be had again; ptr NULL: not */
    struct arena text;
};

static void run_begin(struct run *run, const struct ynode *entry, const struct vars *v)
{
    const struct ynode *name = ynode_get(entry, "name");
    struct str s = name && name->kind == YNODE_SCALAR ? name->text : STR("");
    *run = (struct run){.name = 0};
    while (run->name < v->n &&
           !(s.len == v->names[run->name].len + 2 && s.ptr[0] == '{' &&
             str_eq((struct str){s.ptr + 1, s.len - 2}, v->names[run->name])))
        run->name++;
    if (run->name < v->n && mentions(entry, s) > 1)
        run->name = v->n;
}

static bool run_goes_on(const struct run *run, const struct vars *v)
{
    for (uint32_t i = 0; run->cells && i < v->n; i++)
        if (i != run->name && !str_eq(run->cells[i], v->cells[i]))
            return false;
    return run->cells != NULL;
}

/* The row made the nodes from `before` on. */
static void run_note(struct run *run, const struct reader *r, const struct vars *v,
                     uint32_t before)
{
    const struct node_desc *d = &r->out->nodes.at[before];
    run->cells = NULL;
    if (run->name >= v->n || r->out->nodes.n != before + 1 || d->nplace || d->nparts ||
        d->nfaults || !str_eq(d->name, str_trim(v->cells[run->name])))
        return;
    arena_reset(&run->text);
    run->cells = arena_alloc(&run->text, v->n * sizeof *run->cells);
    for (uint32_t i = 0; i < v->n; i++)
        run->cells[i] = arena_str(&run->text, v->cells[i]);
}

/* Every row through the entry. */
static int rows_read(struct reader *r, const struct ynode *entry, struct vars *v)
{
    struct csv_row row;
    struct run run;
    uint32_t nrows = 0;
    int rc;
    run_begin(&run, entry, v);
    while ((rc = csv_next((struct csv *)(uintptr_t)v->csv, &row, r->err)) > 0) {
        uint32_t before = r->out->nodes.n;
        v->cells = row.cells;
        arena_reset(&r->tmp);
        if (row.n != v->n) {
            rc = err_set(r->err, EINVAL, "%s:%llu:1: %u cells, the first row has %u",
                         csv_name(v->csv), (unsigned long long)row.line, row.n, v->n);
        } else if (nrows++ == CLUSTER_FILE_ROWS_MAX) {
            rc =
                err_set(r->err, E2BIG, "%s:%llu:1: more than %u rows", csv_name(v->csv),
                        (unsigned long long)row.line, CLUSTER_FILE_ROWS_MAX);
        } else if (run_goes_on(&run, v)) {
            rc = entry_again(r, entry, v);
        } else {
            rc = entry_read(r, entry, v);
            if (rc == 0)
                run_note(&run, r, v, before);
        }
        if (rc)
            break;
    }
    arena_done(&run.text);
    return rc;
}

/* The path a `file:` means: from the YAML's folder, or under the shared data. */
static int path_resolve(struct reader *r, const struct ynode *n, struct buf *path)
{
    static const char var[] = "$MUSTER_SHARED";
    struct str s;
    int rc = ynode_str(n, &s, r->err);
    if (rc)
        return rc;
    if (!s.len || s.len > PATH_LEN_MAX || memchr(s.ptr, 0, s.len))
        return ynode_err(n, EINVAL, r->err, "not a path");
    if (str_starts(s, str_of(var))) {
        const char *shared = getenv("MUSTER_SHARED");
        buf_z(path, shared && *shared ? shared : MUSTER_SOURCE_DIR "/../shared");
        s = (struct str){s.ptr + sizeof var - 1, s.len - (sizeof var - 1)};
    } else if (s.ptr[0] == '$') {
        return ynode_err(n, EINVAL, r->err, "only $MUSTER_SHARED may stand in a path");
    } else if (s.ptr[0] != '/') {
        buf_z(path, r->folder);
        buf_char(path, '/');
    }
    buf_str(path, s);
    return 0;
}

static int csv_read(struct reader *r, const struct ynode *entry)
{
    const struct ynode *file = ynode_get(entry, "file");
    struct buf path = {0};
    struct infile *in;
    struct arena names = {0};
    struct vars v = {0};
    int rc = ynode_only(entry, entry_keys, r->err);
    if (rc)
        return rc;
    if (!file)
        return ynode_err(entry, EINVAL, r->err, "csv needs a file");
    if (!r->folder)
        return ynode_err(file, EPERM, r->err, "no other file may be read here");
    rc = path_resolve(r, file, &path);
    if (rc == 0 && (rc = infile_open(&in, path.data, r->err)) < 0 && r->err)
        ynode_err(file, -rc, r->err, "%s", r->err->text);
    if (rc == 0) {
        struct csv *csv = csv_open(in, ',', '"');
        rc = header_read(csv, &names, &v, r->err);
        if (rc == 0)
            rc = rows_read(r, entry, &v);
        csv_close(csv);
    }
    arena_done(&names);
    buf_done(&path);
    return rc;
}

/* A list of entries, or one alone. */
static int entries_read(struct reader *r, const struct ynode *n, bool csv)
{
    const struct vars none = {0};
    bool list = n->kind == YNODE_LIST;
    for (const struct ynode *e = list ? n->first : n; e; e = list ? e->next : NULL) {
        arena_reset(&r->tmp);
        if (!csv && ynode_get(e, "file"))
            return ynode_err(ynode_get(e, "file"), EINVAL, r->err,
                             "files belong under csv");
        int rc = csv ? csv_read(r, e) : entry_read(r, e, &none);
        if (rc)
            return rc;
    }
    return 0;
}

static int level_add(struct reader *r, const struct ynode *n, struct str text)
{
    struct cluster_file *f = r->out;
    word_t w = 0;
    if (f->nlevels == NODE_LEVELS_MAX)
        return ynode_err(n, ERANGE, r->err, "more than %d levels", NODE_LEVELS_MAX);
    if (str_is(text, "node") || str_is(text, "cluster"))
        return ynode_err(n, EINVAL, r->err,
                         "the levels are those between cluster and node");
    const struct vars none = {0};
    int rc = text_word(r, n, &none, NULL, text, &w);
    if (rc)
        return rc;
    for (uint32_t l = 0; l < f->nlevels; l++)
        if (f->levels[l] == w)
            return ynode_err(n, EINVAL, r->err, "a level stands twice");
    f->levels[f->nlevels++] = w;
    r->levels_given = true;
    return 0;
}

static int levels_read(struct reader *r, const struct ynode *root)
{
    const struct ynode *list = ynode_get(root, "levels");
    const struct ynode *labels = ynode_get(root, "levels_from_labels");
    struct str text;
    int rc;
    if (list && list->kind != YNODE_LIST)
        return ynode_err(list, EINVAL, r->err, "levels must be a list: [block, rack]");
    for (const struct ynode *n = list ? list->first : NULL; n; n = n->next)
        if ((rc = ynode_str(n, &text, r->err)) || (rc = level_add(r, n, text)))
            return rc;
    if (labels && labels->kind != YNODE_MAP)
        return ynode_err(labels, EINVAL, r->err, "a map is wanted: {rack: the/label}");
    for (const struct ynode *n = labels ? labels->first : NULL; n; n = n->next)
        if ((rc = ynode_str(n, &text, r->err)) ||
            (!list && (rc = level_add(r, n, n->key))))
            return rc;
    r->label_levels = labels;
    return 0;
}

static int root_read(struct reader *r, const struct ynode *root)
{
    static const char *const keys[] = {"name",  "about", "levels", "levels_from_labels",
                                       "types", "nodes", "csv",    NULL};
    const struct ynode *types = ynode_get(root, "types"),
                       *name = ynode_get(root, "name");
    struct str text = {0};
    int rc = ynode_only(root, keys, r->err);
    if (rc || (name && (rc = ynode_str(name, &text, r->err))))
        return rc;
    if (name)
        r->out->name = arena_str(&r->out->arena, text);
    if ((rc = levels_read(r, root)) || (types && (rc = types_read(r, types))))
        return rc;
    for (const struct ynode *n = root->first; n; n = n->next) {
        bool csv = str_is(n->key, "csv");
        if ((csv || str_is(n->key, "nodes")) && (rc = entries_read(r, n, csv)))
            return rc;
    }
    if (!r->out->nodes.n)
        return ynode_err(root, EINVAL, r->err, "there are no nodes in it");
    return 0;
}

/* "a|b" all among the columns? */
static bool has_columns(const struct vars *v, const char *columns)
{
    for (struct str rest = str_of(columns); rest.ptr;) {
        struct str want = str_cut(&rest, '|');
        uint32_t i = 0;
        while (i < v->n && !str_eq(v->names[i], want))
            i++;
        if (i == v->n)
            return false;
    }
    return true;
}

/* Takes in. */
static int list_read(struct reader *r, struct infile *in)
{
    struct arena a = {0};
    struct csv *csv = csv_open(in, ',', '"');
    struct vars v = {0};
    struct ynode *entry = NULL;
    int rc = header_read(csv, &a, &v, r->err);
    size_t i = 0, n = sizeof knowns / sizeof *knowns;
    while (rc == 0 && i < n && !has_columns(&v, knowns[i].columns))
        i++;
    if (rc == 0 && i == n)
        rc = err_set(
            r->err, EINVAL,
            "%s:1:1: no known list of nodes by its columns; a YAML file with csv: "
            "can say what they mean",
            csv_name(csv));
    if (rc == 0)
        rc = yaml_parse("built-in", str_of(knowns[i].entry), &a, &entry, r->err);
    if (rc == 0)
        rc = rows_read(r, entry, &v);
    if (rc == 0 && !r->out->nodes.n)
        rc = err_set(r->err, EINVAL, "%s:2:1: there are no nodes in it", csv_name(csv));
    csv_close(csv);
    arena_done(&a);
    return rc;
}

/* "a/b/openb.csv.gz" -> "openb" */
static struct str stem_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    struct str rest = str_of(slash ? slash + 1 : path);
    return str_cut(&rest, '.');
}

static bool is_list(const char *path)
{
    const char *slash = strrchr(path, '/');
    return strstr(slash ? slash + 1 : path, ".csv") != NULL;
}

static int reader_run(struct reader *r, const char *name, struct infile *list,
                      const struct ynode *root)
{
    r->out->name = arena_str(&r->out->arena, stem_of(name));
    return list ? list_read(r, list) : root_read(r, root);
}

static void reader_done(struct reader *r)
{
    arena_done(&r->tmp);
    fills_done(&r->fills);
    strmap_done(&r->names);
    strmap_done(&r->type_at);
    vec_done(&r->types);
}

/* Either an open list or a YAML tree. Takes list. */
static int file_read(struct cluster_file *ret, const char *name, const char *folder,
                     struct infile *list, const struct ynode *root, struct words *words,
                     struct err *err)
{
    struct cluster_file out = {0};
    struct reader r = {.out = &out, .words = words, .err = err, .folder = folder};
    int rc = reader_run(&r, name, list, root);
    reader_done(&r);
    if (rc < 0)
        cluster_file_done(&out);
    else
        *ret = out;
    return rc;
}

int cluster_file_load(struct cluster_file *ret, const char *path, struct words *words,
                      struct err *err)
{
    struct infile *in;
    struct arena a = {0};
    struct ynode *root = NULL;
    if (is_list(path)) {
        int rc = infile_open(&in, path, err);
        return rc ? rc : file_read(ret, path, NULL, in, NULL, words, err);
    }
    const char *slash = strrchr(path, '/');
    char *folder = slash ? mem_strndup(path, (size_t)(slash - path)) : mem_strdup(".");
    int rc = yaml_load(path, &a, &root, err);
    if (rc == 0)
        rc = file_read(ret, path, *folder ? folder : "/", NULL, root, words, err);
    arena_done(&a);
    free(folder);
    return rc;
}

int cluster_file_parse(struct cluster_file *ret, const char *name, struct str text,
                       struct words *words, struct err *err)
{
    struct infile *in;
    struct arena a = {0};
    struct ynode *root = NULL;
    if (is_list(name)) {
        int rc = infile_open_mem(&in, text.ptr, text.len, name, err);
        return rc ? rc : file_read(ret, name, NULL, in, NULL, words, err);
    }
    int rc = yaml_parse(name, text, &a, &root, err);
    if (rc == 0)
        rc = file_read(ret, name, NULL, NULL, root, words, err);
    arena_done(&a);
    return rc;
}

void cluster_file_done(struct cluster_file *f)
{
    vec_done(&f->nodes);
    arena_done(&f->arena);
    *f = (struct cluster_file){0};
}

void cluster_file_fill(const struct cluster_file *f, struct cluster *c)
{
    cluster_set_levels(c, f->levels, f->nlevels);
    for (uint32_t i = 0; i < f->nodes.n; i++)
        cluster_node_set(c, &f->nodes.at[i]);
    cluster_settle(c);
}
