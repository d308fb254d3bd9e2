/* fuzz-policy.c - any bytes as a policy file: refused with its place, or read within bounds
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "sched/mix.h"
#include "sched/policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a = {0};
    struct policy p;
    struct err err = {0};
    struct str text = {(const char *)data, size};
    int rc = policy_parse("policy", text, &a, &p, &err);
    if (rc < 0 && (!err.code || !err.text[0]))
        abort(); /* a refusal says why */
    if (rc == 0) {
        struct words words = {0};
        struct mix mix = {0};
        if (p.most_questions < 1 || p.launch_timeout_us <= 0 || !memchr(p.name, 0, sizeof p.name))
            abort();
        (void)mix_parse(&mix, p.mix_text, &words, &err);
        mix_done(&mix);
        words_done(&words);
    }
    arena_done(&a);
    return 0;
}
