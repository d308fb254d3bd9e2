/* infile.h - read a file as one stream of bytes, plain, gzip or zstd (by its magic)
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_INFILE_H
#define MUSTER_INFILE_H

#include "base/buf.h"
#include "base/err.h"

struct infile;

/* path "-" is standard input. On failure *ret is untouched; err names the path. */
int infile_open(struct infile **ret, const char *path, struct err *err);
/* The same over bytes in memory (fuzzers, tests); borrows them. */
int infile_open_mem(struct infile **ret, const void *data, size_t len, const char *name,
                    struct err *err);
/* Bytes read (0: end), or -errno with err (damaged or cut compressed data is
 * -EBADMSG). */
long infile_read(struct infile *in, void *out, size_t room, struct err *err);
const char *infile_name(const struct infile *in);
void infile_close(struct infile *in); /* NULL is fine */

/* Whole file into b; refuses more than max bytes (-EFBIG). */
int infile_slurp(const char *path, size_t max, struct buf *b, struct err *err);

#endif
