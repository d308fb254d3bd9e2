/* record.c - a simulated run's journal
 *
 * The head's hashes are of texts, never of word numbers, so that two runs of the same
 * cluster have the same ones. SPDX-License-Identifier: Apache-2.0 */
#include "cmd/record.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/hash.h"

static uint64_t mix_text_in(uint64_t h, struct str text)
{
    return digest_mix(h, digest_bytes(text.ptr, text.len, 0));
}

static uint64_t type_hash(const struct scene *s, const struct device_type *t)
{
    uint64_t h = mix_text_in(0, words_text(&s->words, t->name));
    h = digest_mix(h, (uint64_t)t->mem_bytes);
    h = digest_mix(h,
                   (uint64_t)t->modes << 16 | t->mem_slices << 8 | t->compute_slices);
    for (uint32_t i = 0; i < t->nprofiles; i++) {
        h = mix_text_in(h, words_text(&s->words, t->profiles[i].name));
        h = digest_mix(h, t->profiles[i].milli);
    }
    return h;
}

/* A set: how many nodes have a type is the topology's matter. */
static uint64_t catalogue_hash(const struct scene *s)
{
    struct u64map seen = {0};
    const struct device_type *last = NULL;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < s->cluster.nodes.n; i++) {
        const struct node_desc *d = &s->cluster.nodes.at[i];
        for (uint32_t k = 0; k < d->ndevices; k++) {
            if (d->devices[k].type == last)
                continue;
            last = d->devices[k].type;
            uint64_t h = type_hash(s, last) >> 1;
            if (u64map_get(&seen, h) != MAP_NONE)
                continue;
            u64map_put(&seen, h, 1);
            sum += h;
        }
    }
    u64map_done(&seen);
    return sum;
}

static uint64_t topology_hash(const struct scene *s)
{
    uint64_t h = 0;
    for (uint32_t i = 0; i < s->cluster.nlevels; i++)
        h = mix_text_in(h, words_text(&s->words, s->cluster.levels[i]));
    for (uint32_t i = 0; i < s->cluster.nodes.n; i++) {
        const struct node_desc *d = &s->cluster.nodes.at[i];
        h = mix_text_in(h, d->name);
        h = digest_mix(h, d->ndevices);
        for (uint32_t k = 0; k < d->nplace; k++)
            h = mix_text_in(h, words_text(&s->words, d->place[k].value));
    }
    return h;
}

int record_open(struct journal **ret, const struct record_options *o,
                const struct scene *s, const struct policy_file *f, struct err *err)
{
    struct journal_options jo = {
        .is = {.term = 1,
               .policy = digest_bytes(f->text.data, f->text.len, 0),
               .catalogue = catalogue_hash(s),
               .topology = topology_hash(s)},
        .sync = o->each ? JOURNAL_EACH : JOURNAL_BATCH,
        .keep = o->keep,
        .segment_bytes = o->segment_bytes,
        .snapshot_records = o->snapshot_records,
    };
    char path[4096];
    *ret = NULL;
    if (!o->path)
        return 0;
    snprintf(jo.is.cluster, sizeof jo.is.cluster, STR_FMT, STR_ARG(s->cluster.name));
    if (o->apart && mkdir(o->path, 0777) && errno != EEXIST)
        return err_set(err, EIO, "cannot make the folder %s: %s", o->path,
                       strerror(errno));
    int len = o->apart ? snprintf(path, sizeof path, "%s/%s", o->path, f->policy.name)
                       : snprintf(path, sizeof path, "%s", o->path);
    if (len >= (int)sizeof path)
        return err_set(err, ENAMETOOLONG, "--journal: the name is too long");
    return journal_create(ret, path, &jo, err);
}

int record_close(struct journal *j, struct control_totals *totals, int rc,
                 struct err *err)
{
    struct journal_totals t;
    if (!j)
        return rc;
    journal_totals(j, &t);
    int closed = journal_close(j, rc ? NULL : err);
    if (!rc)
        totals->bytes = t.bytes;
    return rc ? rc : closed;
}
