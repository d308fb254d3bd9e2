/* err.h - a negative errno with a sentence
 * Every library call that can fail returns 0 or -errno and fills a struct err that the
 * caller owns. SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_ERR_H
#define MUSTER_ERR_H

struct err {
    int code;       /* positive errno; 0: nothing happened */
    char text[480]; /* one sentence, no newline, no full stop */
};

/* Set the text and return -code. err may be NULL (then only the code is returned). */
int err_set(struct err *err, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Put "prefix: " before the text that is there; returns -err->code (-EINVAL if
 * NULL). */
int err_prefix(struct err *err, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif
