/* mapping.h - which columns of a CSV mean what: a mapping file, read and checked
 * docs/trace-format.md describes the file; formats/ has the shipped ones.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_MAPPING_H
#define MUSTER_MAPPING_H

#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"
#include "trace/trace.h"

enum mapping_field {
    FIELD_NAME = 0, FIELD_USER, FIELD_QUEUE, FIELD_NEED_LEVEL, FIELD_NODE_LIST,
    FIELD_SUBMIT, FIELD_ELIGIBLE, FIELD_START, FIELD_END,
    FIELD_RUN, FIELD_WAIT, FIELD_LIMIT,
    FIELD_PRIORITY, FIELD_NODES, FIELD_GPUS, FIELD_GPU_MILLI, FIELD_GPU_MEM,
    FIELD_CPU, FIELD_MEM, FIELD_STATE, FIELD_TYPES,
    FIELDS
};

/* How a cell becomes a value. */
enum mapping_how {
    HOW_SCALED = 0, /* decimal x mul */
    HOW_DATETIME,   /* 2017-10-09 07:01:55 */
    HOW_CLOCK,      /* 1-02:03:04 */
    HOW_TEXT,
    HOW_WORD        /* by the words table alone */
};

struct mapping_word {
    struct str from;
    struct str text; /* of text fields */
    int64_t value;   /* of the others: state, priority, ... */
};

struct mapping_column { /* where a field or a filter gets its value */
    bool used;
    bool optional;      /* the file may lack the column */
    bool per_task;      /* gpus: as written counts each task; cpu, mem: not divided */
    bool has_preset;    /* when the cell is missing, or there is no column */
    uint8_t how;        /* enum mapping_how */
    struct str column;  /* empty: the preset is a constant */
    int64_t mul;
    int64_t preset;
    struct str preset_text;
    char separator;     /* of lists; 0: one item */
    uint32_t nwords;
    const struct mapping_word *words;
    struct strmap word_ids;
    bool other_ok;      /* words that the table lacks become the preset */
};

enum { MAPPING_KEEPS_MAX = 16, MAPPING_MISSING_MAX = 8, MAPPING_COLUMNS_MAX = 256 };

struct mapping_keep { /* a row stays only if every rule says so */
    struct mapping_column from;
    bool is_range, not_in;
    int64_t lo, hi;       /* range: both inclusive */
    struct strmap set;    /* in, notin */
};

/* How the file's head line is read (site.h); empty: not. */
struct mapping_site {
    struct str window;       /* the word FROM..UNTIL */
    int64_t window_mul;      /* of its unit, in us */
    struct str queues_after; /* behind this word stand NAME=GPUS */
    struct str cluster;      /* a cluster file; $NAME: value of the head's word */
};

struct mapping {
    struct arena arena;
    char name[32];
    char delim, quote;
    bool header;
    struct str comment;   /* lines that start so are skipped; empty: none */
    uint32_t ncolumns, nmissing, nrecognise, nkeeps;
    const struct str *columns;   /* without a header */
    struct str missing[MAPPING_MISSING_MAX]; /* cells that mean "nothing here" */
    const struct str *recognise; /* first lines that this mapping is meant for */
    struct mapping_keep keeps[MAPPING_KEEPS_MAX];
    struct mapping_column fields[FIELDS];
    struct str need_tag;  /* "vc={queue}"; empty: none */
    struct mapping_site site;
    uint32_t gpus_per_node;
};

/* From a file, or from text. A new mapping, or -errno with "file:line:column: why". */
int mapping_load(struct mapping **ret, const char *path, struct err *err);
int mapping_parse(struct mapping **ret, const char *name, struct str text,
                  struct err *err);
void mapping_free(struct mapping *m); /* NULL is fine */

/* The file of a named mapping in path; 0, or -ENOENT with the places that were
 * tried. */
int mapping_find(const char *name, char path[4096], struct err *err);
/* The mapping that is meant for files whose first line is this one (without line end).
 * 0, or -ENOENT. */
int mapping_recognise(struct str first_line, struct mapping **ret, struct err *err);

const char *mapping_field_name(int field);
int mapping_state(struct str word); /* "done" ...: enum trace_state, or -1 */

#endif
