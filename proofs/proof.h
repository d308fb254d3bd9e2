/* proof.h - what the proofs share: where things lie, runs of the program, the verdict
 * A proof calls proof_begin first, counts what does not hold with proof_miss (or
 * proof_same), and returns proof_end, which prints the last line "NAME: VALUE (aim)".
 * Paths come from the environment as proofs/run and meson set it ($MUSTER,
 * $MUSTER_BUILD, $MUSTER_SRC, $MUSTER_SHARED). Strings that are returned live as long
 * as the process. What cannot go on ends the process: exit 1, or 77 for "skipped".
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_PROOF_H
#define MUSTER_PROOF_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

#define PROOF_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
/* The words of a command, zero-terminated, for proof_run and proof_sim. */
#define PROOF_WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

enum { PROOF_SKIPPED = 77, PROOF_RUNS = 5 };

void proof_begin(const char *name);
_Noreturn void proof_die(const char *fmt, ...) PROOF_PRINTF(1, 2);
_Noreturn void proof_skip(const char *fmt, ...) PROOF_PRINTF(1, 2);
/* One more thing that does not hold; prints the line. */
void proof_miss(const char *fmt, ...) PROOF_PRINTF(1, 2);
/* Prints "what: got, whose want" and counts a difference. */
void proof_same(const char *what, int64_t got, int64_t want, const char *whose);
unsigned proof_misses(void);
/* Prints the figure's line; the exit code: 0, or 1 if anything was missed. */
int proof_end(const char *fmt, ...) PROOF_PRINTF(1, 2);

const char *proof_muster(void); /* the program */
const char *proof_text(const char *fmt, ...) PROOF_PRINTF(1, 2);
const char *proof_source(const char *path); /* below the source tree */
const char *proof_build(const char *path);  /* below the build folder */
/* Below the shared data; skips the proof when it cannot be read. */
const char *proof_shared(const char *path);
/* A file in this process's own folder, which is removed at the end. */
const char *proof_temp(const char *name);

struct proof_use {
    double cpu_s;    /* user and system time of the process */
    double peak_mib; /* its largest resident set */
};
/* Runs words[0] with its standard output in a file (NULL: nowhere). Its exit code, 128
 * + n for signal n. ret_use may be NULL. */
int proof_run(const char *const *words, const char *out, struct proof_use *ret_use);
/* The same, and dies when the exit code is not 0. */
void proof_must_run(const char *const *words, const char *out,
                    struct proof_use *ret_use);
/* Runs muster's command and reads its standard output as JSON; dies if either fails. */
json_t *proof_json(const char *const *words);
json_t *proof_json_file(const char *path);

/* The value at a path such as "runs.0.totals.faults"; dies when there is none. */
json_t *proof_at(json_t *root, const char *path);
int64_t proof_int(json_t *root, const char *path); /* an integer, or one in a string */
const char *proof_str(json_t *root, const char *path);

/* "11", "11.0" or "11.04" with places 2 -> 1104: exact, so a digit more, a sign or
 * anything else is refused. */
bool proof_decimal(struct str s, unsigned places, int64_t *ret);

#endif
