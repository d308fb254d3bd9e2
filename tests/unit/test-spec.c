/* test-spec.c - which job specs and shapes are sound, and how many gangs and slots they make
 * The trees are CORE.md's examples; the numbers beside them are counted by hand.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"

#include <errno.h>

#include "job/spec.h"

enum { MAX_GROUPS = 8 };

struct built {
    struct group_spec groups[MAX_GROUPS];
    struct shape shape;
    struct job_spec spec;
};

static void group(struct built *b, uint16_t parent, bool leaf, bool whole, uint32_t min,
                  uint32_t want, uint32_t max)
{
    struct group_spec *g = &b->groups[b->spec.ngroups++];
    g->parent = parent;
    g->depth = parent == GROUP_NONE ? 0 : (uint8_t)(b->groups[parent].depth + 1);
    g->shape = leaf ? 0 : GROUP_NONE;
    g->whole = whole;
    g->count = (struct count){min, want, max, 0};
}

static void begin(struct built *b)
{
    memset(b, 0, sizeof *b);
    b->shape.cpu_milli = 1000;
    b->shape.pod_slots = 1;
    b->spec.name = STR("job");
    b->spec.nshapes = 1;
    b->spec.shapes = &b->shape;
    b->spec.groups = b->groups;
}

/* training: root whole {workers x 16} */
static void training(struct built *b)
{
    begin(b);
    group(b, GROUP_NONE, false, true, 1, 1, 1);
    group(b, 0, true, false, 12, 16, 20);
}

/* LeaderWorkerSet: root {replica x 4, whole {leader x 1, workers x 7}} */
static void lws(struct built *b)
{
    begin(b);
    group(b, GROUP_NONE, false, false, 1, 1, 1);
    group(b, 0, false, true, 2, 4, 4);
    group(b, 1, true, false, 1, 1, 1);
    group(b, 1, true, false, 7, 7, 7);
    b->groups[3].start = START_AFTER_STARTED;
    b->groups[3].start_group = 2;
}

/* Deployment: root {pod x 5} */
static void deployment(struct built *b)
{
    begin(b);
    group(b, GROUP_NONE, false, false, 1, 1, 1);
    group(b, 0, true, false, 0, 5, 9);
}

/* A gang with inner groups: root whole {stage x 3 {pp x 2 {tp x 8}}, evaluator x 1} */
static void nested(struct built *b)
{
    begin(b);
    group(b, GROUP_NONE, false, true, 1, 1, 1);
    group(b, 0, false, false, 2, 3, 3);
    group(b, 1, false, false, 2, 2, 2);
    group(b, 2, true, false, 4, 8, 8);
    group(b, 0, true, false, 0, 1, 1);
}

static void test_sizes(void)
{
    struct built b;
    struct err err;
    training(&b);
    is_int(job_spec_check(&b.spec, &err), 0, "training is sound");
    is_int(job_spec_whole_of(&b.spec, 1), 0, "its workers belong to the root's gang");
    is_int(job_spec_gangs(&b.spec, 0), 1, "one gang");
    is_int(job_spec_slots(&b.spec, 0, 0), 16, "of 16 slots");
    is_int(job_spec_slots(&b.spec, 0, 1), 12, "12 at least");
    is_int(job_spec_slots(&b.spec, 0, 2), 20, "20 at most");

    lws(&b);
    is_int(job_spec_check(&b.spec, &err), 0, "a LeaderWorkerSet is sound");
    is_int(job_spec_whole_of(&b.spec, 0), GROUP_NONE, "its root is in no gang");
    is_int(job_spec_whole_of(&b.spec, 3), 1, "its workers belong to the replica");
    is_int(job_spec_gangs(&b.spec, 1), 4, "four gangs");
    is_int(job_spec_slots(&b.spec, 1, 0), 8, "of 8 slots each");

    deployment(&b);
    is_int(job_spec_check(&b.spec, &err), 0, "a Deployment is sound");
    is_int(job_spec_whole_of(&b.spec, 1), GROUP_NONE, "its pods are in no whole group");
    is_int(job_spec_gangs(&b.spec, 1), 5, "five gangs");
    is_int(job_spec_slots(&b.spec, 1, 0), 1, "of one slot");
    is_int(job_spec_slots(&b.spec, 1, 2), 1, "and never more");

    nested(&b);
    is_int(job_spec_check(&b.spec, &err), 0, "inner groups are sound");
    is_int(job_spec_whole_of(&b.spec, 3), 0, "the outermost whole group wins");
    is_int(job_spec_slots(&b.spec, 0, 0), 49, "3 x 2 x 8 + 1 slots");
    is_int(job_spec_slots(&b.spec, 0, 1), 16, "2 x 2 x 4 at least");
    b.groups[1].whole = 1;
    is_int(job_spec_whole_of(&b.spec, 3), 0, "also over a whole group inside");
    b.groups[0].whole = 0;
    is_int(job_spec_whole_of(&b.spec, 3), 1, "which counts when it is the outermost");
    is_int(job_spec_gangs(&b.spec, 1), 3, "then there are three gangs");
    is_int(job_spec_slots(&b.spec, 1, 0), 16, "of 2 x 8 slots");
}

/* Each row breaks one thing in a LeaderWorkerSet. */
static void set_name_empty(struct built *b) { b->spec.name = STR(""); }
static void set_name_utf8(struct built *b) { b->spec.name = STR("a\xc0\x80"); }
static void set_name_bell(struct built *b) { b->spec.name = STR("a\x07"); }
static void set_name_c1(struct built *b) { b->spec.name = STR("a\xc2\x9b"); }
static void set_kind(struct built *b) { b->spec.kind = 2; }
static void set_time(struct built *b) { b->spec.time_limit_us = -1; }
static void set_queue(struct built *b) { b->spec.queue = 70000; }
static void set_no_groups(struct built *b) { b->spec.ngroups = 0; }
static void set_root_parent(struct built *b) { b->groups[0].parent = 0; }
static void set_parent_later(struct built *b) { b->groups[2].parent = 3; }
static void set_depth(struct built *b) { b->groups[2].depth = 1; }
static void set_leaf_parent(struct built *b) { b->groups[3].parent = 2; b->groups[3].depth = 3; }
static void set_no_child(struct built *b) { b->spec.ngroups = 2; }
static void set_shape(struct built *b) { b->groups[2].shape = 1; }
static void set_whole_leaf(struct built *b) { b->groups[2].whole = 1; }
static void set_order(struct built *b) { b->groups[3].count.min = 8; }
static void set_zero_max(struct built *b) { b->groups[2].count = (struct count){0, 0, 0, 0}; }
static void set_step(struct built *b) { b->groups[3].count = (struct count){1, 4, 8, 3}; }
static void set_sum(struct built *b) { b->groups[3].count = (struct count){1, 1, 20000, 0}; }
static void set_empty_gang(struct built *b)
{
    b->groups[2].count.min = b->groups[3].count.min = 0;
}
static void set_start_self(struct built *b) { b->groups[3].start_group = 3; }
static void set_start_far(struct built *b) { b->groups[3].start_group = 1; }
static void set_start_circle(struct built *b)
{
    b->groups[2].start = START_AFTER_READY;
    b->groups[2].start_group = 3;
}
static void set_segment(struct built *b) { b->groups[3].segment_size = 2; }
static void set_spread(struct built *b) { b->groups[3].spread_kind = 4; }
static void set_balanced(struct built *b) { b->groups[3].balanced = 2; }
static void set_shape_cpu(struct built *b) { b->shape.cpu_milli = -1; }

static void test_unsound(void)
{
    static const struct {
        const char *what;
        void (*set)(struct built *b);
        int rc;
    } cases[] = {
        {"an empty name", set_name_empty, -ERANGE},
        {"a name with an overlong NUL", set_name_utf8, -EINVAL},
        {"a name with a bell", set_name_bell, -EINVAL},
        {"a name with the C1 code CSI", set_name_c1, -EINVAL},
        {"an unknown kind", set_kind, -EINVAL},
        {"a negative time limit", set_time, -ERANGE},
        {"a queue that is no word", set_queue, -EINVAL},
        {"no groups", set_no_groups, -ERANGE},
        {"a root with a parent", set_root_parent, -EINVAL},
        {"a parent behind its child", set_parent_later, -EINVAL},
        {"a wrong depth", set_depth, -EINVAL},
        {"a leaf with a child", set_leaf_parent, -EINVAL},
        {"an inner group without children", set_no_child, -EINVAL},
        {"a shape that is not there", set_shape, -EINVAL},
        {"a whole leaf", set_whole_leaf, -EINVAL},
        {"min above want", set_order, -EINVAL},
        {"max 0", set_zero_max, -ERANGE},
        {"a want that no step reaches", set_step, -EINVAL},
        {"4 x 20,001 tasks", set_sum, -ERANGE},
        {"a gang that may be empty", set_empty_gang, -EINVAL},
        {"a group that waits for itself", set_start_self, -EINVAL},
        {"a group that waits for its parent", set_start_far, -EINVAL},
        {"two groups that wait for each other", set_start_circle, -EINVAL},
        {"a segment without a level", set_segment, -EINVAL},
        {"a spread without a most", set_spread, -EINVAL},
        {"balanced 2", set_balanced, -EINVAL},
        {"a shape with negative cpu", set_shape_cpu, -ERANGE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct built b;
        struct err err = {0};
        lws(&b);
        cases[i].set(&b);
        is_int(job_spec_check(&b.spec, &err), cases[i].rc, "%s is refused", cases[i].what);
        ok(err.text[0], "   with a reason");
    }
}

static void test_depth(void)
{
    struct built b;
    begin(&b);
    for (uint16_t g = 0; g < 5; g++)
        group(&b, g ? (uint16_t)(g - 1) : GROUP_NONE, g == 4, false, 1, 1, 1);
    is_int(job_spec_check(&b.spec, NULL), 0, "a leaf at depth 4 is sound");
    b.groups[4].shape = GROUP_NONE;
    group(&b, 4, true, false, 1, 1, 1);
    is_int(job_spec_check(&b.spec, NULL), -ERANGE, "one at depth 5 is not");
}

static void test_shapes(void)
{
    static const struct {
        const char *what;
        struct shape shape;
        int rc;
    } cases[] = {
        {"only CPU", {.cpu_milli = 500, .pod_slots = 1}, 0},
        {"8 whole GPUs", {.gpu_mode = GPU_WHOLE, .gpu_count = 8, .gpu_milli = 1000}, 0},
        {"half a GPU", {.gpu_mode = GPU_SHARE, .gpu_count = 1, .gpu_milli = 500}, 0},
        {"a MIG slice", {.gpu_mode = GPU_MIG, .gpu_count = 1, .profile = 3}, 0},
        {"of two types",
         {.gpu_mode = GPU_WHOLE, .gpu_count = 1, .gpu_milli = 1000, .ntypes = 2,
          .types = {{1, 0}, {2, 500}}}, 0},
        {"spread by zone",
         {.pod_slots = 1, .nconstraints = 1,
          .constraints = {{CONSTRAINT_SPREAD, 1, 0, 5, 6, 1}}}, 0},
        {"a whole GPU of 500", {.gpu_mode = GPU_WHOLE, .gpu_count = 1, .gpu_milli = 500},
         -EINVAL},
        {"a share of 1000", {.gpu_mode = GPU_SHARE, .gpu_count = 1, .gpu_milli = 1000},
         -ERANGE},
        {"a share of 0", {.gpu_mode = GPU_SHARE, .gpu_count = 1}, -ERANGE},
        {"no GPU of whole", {.gpu_mode = GPU_WHOLE, .gpu_milli = 1000}, -ERANGE},
        {"65 GPUs", {.gpu_mode = GPU_WHOLE, .gpu_count = 65, .gpu_milli = 1000}, -ERANGE},
        {"MIG on two devices", {.gpu_mode = GPU_MIG, .gpu_count = 2, .profile = 3}, -ERANGE},
        {"a whole GPU or a half",
         {.gpu_mode = GPU_WHOLE, .gpu_count = 1, .gpu_milli = 1000, .nalts = 1,
          .alts = {{.mode = GPU_SHARE, .count = 1, .milli = 500}}}, 0},
        {"five ways to ask for GPUs",
         {.gpu_mode = GPU_WHOLE, .gpu_count = 1, .gpu_milli = 1000, .nalts = 4}, -ERANGE},
        {"an alternative without a GPU",
         {.gpu_mode = GPU_WHOLE, .gpu_count = 1, .gpu_milli = 1000, .nalts = 1}, -EINVAL},
        {"an alternative to no GPU",
         {.nalts = 1, .alts = {{.mode = GPU_SHARE, .count = 1, .milli = 500}}}, -EINVAL},
        {"an alternative share of 1000",
         {.gpu_mode = GPU_WHOLE, .gpu_count = 1, .gpu_milli = 1000, .nalts = 1,
          .alts = {{.mode = GPU_SHARE, .count = 1, .milli = 1000}}}, -ERANGE},
        {"an alternative behind those in use",
         {.gpu_mode = GPU_WHOLE, .gpu_count = 1, .gpu_milli = 1000,
          .alts = {{.mode = GPU_SHARE, .count = 1, .milli = 500}}}, -EINVAL},
        {"MIG without a profile", {.gpu_mode = GPU_MIG, .gpu_count = 1}, -EINVAL},
        {"a GPU without a mode", {.gpu_count = 1}, -EINVAL},
        {"mode 4", {.gpu_mode = 4}, -EINVAL},
        {"one type twice",
         {.gpu_mode = GPU_WHOLE, .gpu_count = 1, .gpu_milli = 1000, .ntypes = 2,
          .types = {{1, 0}, {1, 500}}}, -EINVAL},
        {"a type without a GPU", {.ntypes = 1, .types = {{1, 0}}}, -EINVAL},
        {"seven tags", {.ntags = 7}, -ERANGE},
        {"tag 0", {.ntags = 1}, -EINVAL},
        {"a tag behind the last", {.tags = {1}}, -EINVAL},
        {"a constraint of no kind", {.nconstraints = 1}, -EINVAL},
        {"a spread of skew 0",
         {.nconstraints = 1, .constraints = {{CONSTRAINT_SPREAD, 1, 0, 5, 6, 0}}}, -ERANGE},
        {"negative memory", {.mem_bytes = -1}, -ERANGE},
        {"2 million cores", {.cpu_milli = INT64_C(2000000000)}, -ERANGE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        is_int(shape_check(&cases[i].shape, NULL), cases[i].rc, "shape: %s is %s",
               cases[i].what, cases[i].rc ? "refused" : "sound");
}

int main(void)
{
    test_sizes();
    test_unsound();
    test_depth();
    test_shapes();
    return done_testing();
}
