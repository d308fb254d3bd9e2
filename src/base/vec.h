/* vec.h - a growable array of any type: `VEC(int) v = {0}; vec_push(&v, 3);`
 * Out of memory aborts (see mem.h). SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_VEC_H
#define MUSTER_VEC_H

#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

#define VEC(type)      \
    struct {           \
        type *at;      \
        uint32_t n;    \
        uint32_t room; \
    }

void vec_grow_raw(void *at_ptr, uint32_t *room, uint32_t need, size_t item);

#define vec_reserve(v, need)                                                       \
    do {                                                                           \
        if ((v)->room < (uint32_t)(need))                                          \
            vec_grow_raw(&(v)->at, &(v)->room, (uint32_t)(need), sizeof *(v)->at); \
    } while (0)
#define vec_push(v, ...)                   \
    do {                                   \
        vec_reserve(v, (v)->n + 1);        \
        (v)->at[(v)->n++] = (__VA_ARGS__); \
    } while (0)
/* Make the length n; new items are zero. */
#define vec_resize(v, len)                                                            \
    do {                                                                              \
        uint32_t vec_n_ = (uint32_t)(len);                                            \
        vec_reserve(v, vec_n_);                                                       \
        if (vec_n_ > (v)->n)                                                          \
            memset((v)->at + (v)->n, 0, (size_t)(vec_n_ - (v)->n) * sizeof *(v)->at); \
        (v)->n = vec_n_;                                                              \
    } while (0)
#define vec_clear(v) ((void)((v)->n = 0))
#define vec_done(v)     \
    do {                \
        free((v)->at);  \
        (v)->at = NULL; \
        (v)->n = 0;     \
        (v)->room = 0;  \
    } while (0)

#endif
