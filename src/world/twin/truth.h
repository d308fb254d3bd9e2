/* truth.h - what is so (the twin's truth) and what the scheduler is told (its belief)
 *
 * Two small YAML files, so that the twin cannot prove a model against itself: the truth
 * moves the simulated cluster, the belief writes the job specs that the core sees. docs/twin.md
 * lists the keys. Both structs are plain values. SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_TRUTH_H
#define MUSTER_TRUTH_H

#include "cluster/nodedesc.h"

enum { FACTORS_MAX = 16, FACTOR_NAME_MAX = 63 };

#define PPM 1000000u /* speed 1 */

/* A named factor in parts per million: a topology level's, or a GPU type's. */
struct factor {
    char name[FACTOR_NAME_MAX + 1];
    uint32_t ppm;
};

struct factors {
    uint32_t n;
    struct factor at[FACTORS_MAX];
};

/* The factor of that name; PPM when it is not listed. */
uint32_t factors_get(const struct factors *f, struct str name);

struct truth {
    int64_t start_us;  /* from launch to running */
    int64_t ready_us;  /* from running to ready */
    int64_t stop_us;   /* from stop to ended */
    struct factors level; /* speed when that level is the lowest that holds the gang */
    struct factors type;  /* speed by GPU type */
    int64_t ckpt_save_us, ckpt_restore_us;  /* what they really take; -1: as declared */
    double fault_rate;    /* node faults in 1000 node-days; 0: none */
    /* Repair time at quantiles 0, .1, .5, .9, .99, 1; between them log-linear. */
    int64_t repair_us[6];
};

enum belief_expected { EXPECTED_NONE = 0, EXPECTED_LIMIT, EXPECTED_ORACLE };

struct belief {
    uint8_t expected;     /* where a job's expected_us comes from */
    uint32_t error_ppm;   /* oracle: log-normal error of that sigma; 0: exact */
    struct factors type;  /* what it is told about speeds of GPU types */
    int64_t ckpt_interval_us; /* 0: jobs have no checkpoints */
    int64_t ckpt_save_us, ckpt_restore_us;
    int64_t least_gpus;   /* from so many GPUs on every job has checkpoints */
    uint32_t smaller_ppm; /* ... and of the smaller ones this share */
    uint8_t on_loss;      /* enum job_loss */
};

void truth_init(struct truth *t);   /* the defaults: truth/default.yaml says the same */
void belief_init(struct belief *b); /* belief/default.yaml */
/* Does a job of so many GPUs write checkpoints? Of the smaller ones a hash of the name tells,
 * so a job has them under every policy or under none. */
bool belief_checkpoints(const struct belief *b, int64_t gpus, struct str name);
/* Keys that the file lacks keep their defaults. 0 or -errno, err "file:line:column: why". */
int truth_load(const char *path, struct truth *ret, struct err *err);
int belief_load(const char *path, struct belief *ret, struct err *err);
int truth_parse(const char *name, struct str text, struct truth *ret, struct err *err);
int belief_parse(const char *name, struct str text, struct belief *ret, struct err *err);

#endif
