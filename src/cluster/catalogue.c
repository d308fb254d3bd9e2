/* catalogue.c - the accelerators muster knows by name: memory, modes, ways to cut
 *
 * Memory: what the device offers, not the decimal label: 79.6 GiB on an "80 GB" H100.
 * From shared/data/models/accelerators.csv (mem_gib_usable, which names its sources);
 * P100, V100 of 16 GB: the total that nvidia-smi prints; A30: that of its 4g.24gb, 23.5
 * GiB. The bare names mean the most common form: A100 the 80 GB one, H100 the 80 GB SXM
 * one.
 *
 * Cuts (MIG): NVIDIA Multi-Instance GPU User Guide, "Supported MIG Profiles" (fractions
 * of memory and of SMs), and the placements that `nvidia-smi mig -lgipp` prints, the
 * same on A100, H100, H200 and B200: {0..6}:1 for 1g, {0,2,4,6}:2 for 1g with double
 * memory, {0,2,4}:2 for 2g, {0,4}:4 for 3g, {0}:4 for 4g, {0}:8 for 7g; on A30
 * {0..3}:1, {0,2}:2, {0}:4. Eight memory slices (A30: four), seven compute slices (A30:
 * four). A profile's memory is its slices' part of the device. The +me forms (one a
 * device with the media engines) are left out: their placement is that of the plain
 * form.
 *
 * openb's codes (G1, G2, G3, V100M16, V100M32) and Alibaba's GPU-series-1, -2 stand
 * without memory: the publisher masked the types or says nothing of their bytes, and
 * unknown memory is never a reason to refuse. SPDX-License-Identifier: Apache-2.0 */
#include "cluster/catalogue.h"

#include <string.h>

#define ROW_PROFILES 6

struct cut {
    uint8_t mem_slices, compute_slices, n;
    struct {
        uint16_t starts;
        uint8_t slices, compute;
    } rows[ROW_PROFILES];
};

static const struct cut cuts[] = {
    {.n = 0},
    {.mem_slices = 8,
     .compute_slices = 7,
     .n = 6,
     .rows = {{0x7f, 1, 1},
              {0x55, 2, 1},
              {0x15, 2, 2},
              {0x11, 4, 3},
              {0x01, 4, 4},
              {0x01, 8, 7}}},
    {.mem_slices = 4,
     .compute_slices = 4,
     .n = 3,
     .rows = {{0x0f, 1, 1}, {0x05, 2, 2}, {0x01, 4, 4}}},
};

struct row {
    const char *names; /* separated by |; the first is the usual one */
    int32_t mem_mib;   /* 0: unknown */
    uint8_t cut;       /* index into cuts */
    uint8_t ring;      /* devices in a ring; 0: none */
    const char *profiles;
};

static const struct row rows[] = {
    {"A100-40GB|A100-40GB-SXM|A100-SXM4-40GB|A100-40GB-PCIe|A100-PCIE-40GB|"
     "A100-SXM-40GB", 40346, 1,
     0, "1g.5gb|1g.10gb|2g.10gb|3g.20gb|4g.20gb|7g.40gb"},
    {"A100|A100-80GB|A100-80GB-SXM|A100-SXM4-80GB|A100-80GB-PCIe|A100-80GB-PCI|"
     "A100-SXM-80GB|A100-PCIE-80GB", 81101,
     1, 0, "1g.10gb|1g.20gb|2g.20gb|3g.40gb|4g.40gb|7g.80gb"},
    {"A800|A800-80GB|A800-80GB-SXM|A800-SXM4-80GB|A800-80GB-PCIe", 81101, 1, 0,
     "1g.10gb|1g.20gb|2g.20gb|3g.40gb|4g.40gb|7g.80gb"},
    {"A30", 24064, 2, 0, "1g.6gb|2g.12gb|4g.24gb"}, /* 23.5 GiB as 4g.24gb */
    {"H100|H100-80GB|H100-80GB-SXM|H100-80GB-HBM3|H100-80GB-PCIe|H100-PCIe|"
     "H100-SXM|H100-SXM5|H100-SXM5-80GB", 81510, 1,
     0, "1g.10gb|1g.20gb|2g.20gb|3g.40gb|4g.40gb|7g.80gb"},
    {"H800|H800-80GB|H800-80GB-SXM", 81510, 1, 0,
     "1g.10gb|1g.20gb|2g.20gb|3g.40gb|4g.40gb|7g.80gb"},
    {"H20|H20-96GB|H20-96GB-SXM", 97894, 1, 0,
     "1g.12gb|1g.24gb|2g.24gb|3g.48gb|4g.48gb|7g.96gb"},
    {"H200|H200-141GB|H200-141GB-SXM|H200-SXM", 143770, 1, 0,
     "1g.18gb|1g.35gb|2g.35gb|3g.71gb|4g.71gb|7g.141gb"},
    {"B200|B200-180GB|B200-180GB-SXM", 182682, 1, 0,
     "1g.23gb|1g.45gb|2g.45gb|3g.90gb|4g.90gb|7g.180gb"},
    {"B300|B300-288GB-SXM", 274432, 0, 0, NULL},
    {"GB200", 188416, 0, 0, NULL},
    {"GB300", 283648, 0, 0, NULL},
    {"L40S", 46070, 0, 0, NULL},
    {"L4", 23040, 0, 0, NULL},
    {"A10", 23040, 0, 0, NULL},
    {"T4", 15155, 0, 0, NULL},
    {"P100|P100-16GB|P100-PCIE-16GB|P100-SXM2-16GB", 16280, 0, 0, NULL},
    {"V100|V100-16GB|V100-SXM2-16GB|V100-PCIE-16GB", 16160, 0, 0, NULL},
    {"V100-32GB|V100-32GB-SXM2|V100-SXM2-32GB|V100-PCIE-32GB", 32461, 0, 0, NULL},
    {"RTX4090|GeForce-RTX-4090", 24166, 0, 0, NULL},
    {"MI250X", 131072, 0, 0, NULL},
    {"MI300X|MI300X-OAM", 196301, 0, 0, NULL},
    {"MI325X|MI325X-OAM", 261837, 0, 0, NULL},
    {"MI355X|MI355X-OAM", 294912, 0, 0, NULL},
    {"Ascend910B|910B|Ascend-910", 65536, 0, 4, NULL},
    {"Gaudi2|HL-225", 98304, 0, 0, NULL},
    {"Gaudi3|HL-325", 131072, 0, 0, NULL},
    {"G1", 0, 0, 0, NULL},
    {"G2", 0, 0, 0, NULL},
    {"G3", 0, 0, 0, NULL},
    {"V100M16", 0, 0, 0, NULL},
    {"V100M32", 0, 0, 0, NULL},
    {"GPU-series-1", 0, 0, 0, NULL},
    {"GPU-series-2", 0, 0, 0, NULL},
};

#define NROWS (sizeof rows / sizeof *rows)

static bool skipped(char c)
{
    return c == '-' || c == '_' || c == ' ';
}

static int lower(char c)
{
    return c >= 'A' && c <= 'Z' ? c + 32 : (unsigned char)c;
}

/* Equal but for case and separators. */
static bool name_like(struct str a, struct str b)
{
    size_t i = 0, j = 0;
    for (;; i++, j++) {
        while (i < a.len && skipped(a.ptr[i]))
            i++;
        while (j < b.len && skipped(b.ptr[j]))
            j++;
        if (i == a.len || j == b.len)
            return i == a.len && j == b.len;
        if (lower(a.ptr[i]) != lower(b.ptr[j]))
            return false;
    }
}

bool catalogue_same(struct str a, struct str b)
{
    return name_like(a, b);
}

/* The name behind a vendor's word ("nvidia_h100", "Tesla-T4"); the whole without one. */
static struct str vendor_skip(struct str name)
{
    static const char *const vendors[] = {"nvidia", "tesla", "amd", "instinct"};
    for (size_t i = 0; i < sizeof vendors / sizeof *vendors; i++) {
        size_t n = strlen(vendors[i]);
        if (name.len <= n || !name_like((struct str){name.ptr, n}, str_of(vendors[i])))
            continue;
        name = (struct str){name.ptr + n, name.len - n};
        while (name.len && skipped(name.ptr[0]))
            name = (struct str){name.ptr + 1, name.len - 1};
    }
    return name;
}

static const struct row *row_find(struct str name)
{
    static const char shared[] = "-SHARED"; /* NFD's mark of time slicing */
    size_t n = sizeof shared - 1;
    name = vendor_skip(name);
    if (name.len > n && !memcmp(name.ptr + name.len - n, shared, n))
        name.len -= n;
    for (size_t i = 0; i < NROWS; i++)
        for (struct str rest = str_of(rows[i].names); rest.ptr;)
            if (name_like(str_cut(&rest, '|'), name))
                return &rows[i];
    return NULL;
}

bool catalogue_has(struct str name)
{
    return row_find(name) != NULL;
}

struct str catalogue_canonical(struct str name)
{
    const struct row *r = row_find(name);
    struct str rest = r ? str_of(r->names) : name;
    return r ? str_cut(&rest, '|') : name;
}

/* The profiles of a cut. NULL: the word table is full. */
static const struct profile *profiles_make(struct words *words, struct arena *a,
                                           const struct row *r, const struct cut *cut)
{
    struct profile *p = arena_zero(a, cut->n * sizeof *p);
    struct str rest = str_of(r->profiles);
    for (uint32_t i = 0; i < cut->n; i++) {
        p[i].name = words_add(words, str_cut(&rest, '|'));
        p[i].starts = cut->rows[i].starts;
        p[i].slices = cut->rows[i].slices;
        p[i].compute = cut->rows[i].compute;
        p[i].mem_bytes = (int64_t)r->mem_mib * cut->rows[i].slices / cut->mem_slices *
                         (INT64_C(1) << 20);
        p[i].milli = 1000u * cut->rows[i].compute / cut->compute_slices;
        if (!p[i].name)
            return NULL;
    }
    return p;
}

struct device_type *catalogue_type(struct words *words, struct arena *a,
                                   struct str name)
{
    const struct row *r = row_find(name);
    word_t word = words_add(words, name);
    if (!word)
        return NULL;
    struct device_type *t = arena_zero(a, sizeof *t);
    t->name = word;
    t->modes = DEVICE_WHOLE | DEVICE_SHARE;
    if (!r)
        return t;
    t->mem_bytes = (int64_t)r->mem_mib << 20;
    if (r->cut) {
        const struct cut *cut = &cuts[r->cut];
        t->modes |= DEVICE_MIG;
        t->mem_slices = cut->mem_slices;
        t->compute_slices = cut->compute_slices;
        t->profiles = profiles_make(words, a, r, cut);
        t->nprofiles = cut->n;
        if (!t->profiles)
            return NULL;
    }
    return t;
}

uint32_t catalogue_count(void)
{
    return NROWS;
}

struct str catalogue_name(uint32_t i, int64_t *ret_mem_bytes, bool *ret_cut)
{
    struct str rest = str_of(rows[i].names);
    *ret_mem_bytes = (int64_t)rows[i].mem_mib << 20;
    *ret_cut = rows[i].cut != 0;
    return str_cut(&rest, '|');
}

uint8_t catalogue_ring(struct str name)
{
    const struct row *r = row_find(name);
    return r ? r->ring : 0;
}

uint32_t rings_of_board(uint32_t ring, uint32_t n, uint64_t *rings)
{
    if (!ring || n % ring || n / ring > 8)
        return 0;
    for (uint32_t i = 0; i < n / ring; i++)
        rings[i] = ((UINT64_C(1) << ring) - 1) << (i * ring);
    return n / ring;
}
