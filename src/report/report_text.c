/* report_text.c - the comparison on a terminal: one row a policy, then each in detail
 *
 * The columns are a table: head, width, a function that gives the cell. Bars take what
 * the terminal's width leaves, from 2 cells at 80 columns up. Names come from outside:
 * control characters never reach the terminal (plain_cell). Colour only when asked, and
 * nothing is said by colour alone. SPDX-License-Identifier: Apache-2.0 */
#include "base/units.h"
#include "report/figures.h"
#include "report/summary.h"

enum { TEXT_MIN = 80, TEXT_MAX = 120, TEXT_QUEUES = 12, TEXT_NAME_MAX = 24, TEXT_DETAILED = 3 };

struct page {
    struct buf *out;
    struct summary **sums;
    uint32_t n, width;
    bool colour;
};

static void page_colour(const struct page *p, const char *code)
{
    if (p->colour)
        buf_fmt(p->out, "\033[%sm", code);
}

static void page_rule(const struct page *p, uint32_t from)
{
    for (; from < p->width; from++)
        buf_z(p->out, "─");
    buf_char(p->out, '\n');
}

static void page_title(const struct page *p, struct str s)
{
    uint32_t length = plain_length(s);

    length = length < 60 ? length : 60;
    buf_char(p->out, '\n');
    page_colour(p, "1");
    plain_cell(p->out, s, length);
    page_colour(p, "0");
    buf_char(p->out, ' ');
    page_rule(p, length + 1);
}

/* --- the comparison
 * ------------------------------------------------------------------- */

static void wait_text(const struct group_stat *g, int64_t us, figure out)
{
    if (g->n)
        secs_short((double)us / 1e6, out);
    else
        snprintf(out, sizeof(figure), "–");
}

static void mean_text(const struct group_stat *g, figure out)
{
    if (g->n)
        secs_short(group_mean_s(g), out);
    else
        snprintf(out, sizeof(figure), "–");
}

static void cell_useful(const struct summary *s, figure out)
{
    percent_text(s->useful, 1, out);
}
static void cell_allocated(const struct summary *s, figure out)
{
    percent_text(s->allocated, s->fills && s->allocated < 0.99995 ? 2 : 1, out);
}
static void cell_wait(const struct summary *s, figure out)
{
    mean_text(&s->all.wait, out);
}
static void cell_p95(const struct summary *s, figure out)
{
    wait_text(&s->all.wait, s->all.wait.at[QUANTILE_P95], out);
}
static void cell_span(const struct summary *s, figure out)
{
    mean_text(&s->all.span, out);
}
static void cell_frag(const struct summary *s, figure out)
{
    percent_text(s->frag, s->fills ? 2 : 1, out);
}
static void cell_cross(const struct summary *s, figure out)
{
    i128_text(s->r->cross_domain, out);
}
static void cell_lost(const struct summary *s, figure out)
{
    percent_text(s->lost, 2, out);
}
static void cell_days(const struct summary *s, figure out)
{
    double days = (double)s->r->series.total.len_us / (double)US_PER_DAY;

    if (s->fills || !s->r->series.total.len_us)
        snprintf(out, sizeof(figure), "–");
    else
        snprintf(out, sizeof(figure), days < 10 ? "%.2f" : days < 1000 ? "%.1f" : "%.0f", days);
}
static void cell_unplaced(const struct summary *s, figure out)
{
    i128_text(summary_unplaced(s), out);
}

static double bar_useful(const struct summary *s, const struct page *p)
{
    (void)p;
    return s->useful;
}
static double bar_wait(const struct summary *s, const struct page *p)
{
    double most = 0;
    uint32_t i;

    for (i = 0; i < p->n; i++)
        if (group_mean_s(&p->sums[i]->all.wait) > most)
            most = group_mean_s(&p->sums[i]->all.wait);
    return most > 0 ? group_mean_s(&s->all.wait) / most : 0;
}

struct text_column {
    const char *head, *unit;
    uint32_t width;
    void (*cell)(const struct summary *s, figure out);
    double (*bar)(const struct summary *s, const struct page *p); /* NULL: none */
    bool starred; /* not comparable when others started more jobs */
};

static const struct text_column text_columns[] = {
    {"useful", "%", 6, cell_useful, bar_useful, false},
    {"alloc", "%", 5, cell_allocated, NULL, false},
    {"wait", "mean", 6, cell_wait, bar_wait, true},
    {"wait", "p95", 6, cell_p95, NULL, true},
    {"compl.", "mean", 6, cell_span, NULL, true},
    {"frag", "%", 5, cell_frag, NULL, false},
    {"cross", "gangs", 5, cell_cross, NULL, false},
    {"lost", "%", 5, cell_lost, NULL, false},
    {"days", "run", 5, cell_days, NULL, false},
    {"never", "jobs", 6, cell_unplaced, NULL, false},
};
enum { TEXT_COLUMNS = sizeof text_columns / sizeof *text_columns, TEXT_BARS = 2 };

static void size_text_of(const struct summary *s, enum size_class c, figure out)
{
    mean_text(&s->sizes[c].wait, out);
}
static void cell_size_1(const struct summary *s, figure out)
{
    size_text_of(s, SIZE_1, out);
}
static void cell_size_8(const struct summary *s, figure out)
{
    size_text_of(s, SIZE_8, out);
}
static void cell_size_64(const struct summary *s, figure out)
{
    size_text_of(s, SIZE_64, out);
}
static void cell_size_512(const struct summary *s, figure out)
{
    size_text_of(s, SIZE_512, out);
}
static void cell_size_more(const struct summary *s, figure out)
{
    size_text_of(s, SIZE_MORE, out);
}
static void cell_weighted(const struct summary *s, figure out)
{
    if (s->merits.weighted_wait_s < 0)
        snprintf(out, sizeof(figure), "–");
    else
        secs_short(s->merits.weighted_wait_s, out);
}
static void cell_largest(const struct summary *s, figure out)
{
    wait_text(&s->merits.largest, s->merits.largest.at[QUANTILE_P95], out);
}
static void cell_slowdown(const struct summary *s, figure out)
{
    double v = s->merits.slowdown;

    snprintf(out, sizeof(figure), v < 0 ? "–" : v < 100 ? "%.1f" : "%.0f", v);
}

/* Mean waits by size, and what hides in their mean. */
static const struct text_column wait_columns[] = {
    {"1", "GPU", 6, cell_size_1, NULL, true},
    {"2-8", "GPUs", 6, cell_size_8, NULL, true},
    {"9-64", "GPUs", 6, cell_size_64, NULL, true},
    {"65-512", "GPUs", 6, cell_size_512, NULL, true},
    {">512", "GPUs", 6, cell_size_more, NULL, true},
    {"GPU-", "weight", 6, cell_weighted, NULL, true},
    {"largest", "p95", 7, cell_largest, NULL, true},
    {"slow", "down", 6, cell_slowdown, NULL, true},
};
enum { WAIT_COLUMNS = sizeof wait_columns / sizeof *wait_columns };

static void cell_offered(const struct summary *s, figure out)
{
    percent_text(s->merits.offered, 1, out);
}
static void cell_starting(const struct summary *s, figure out)
{
    percent_text(s->merits.starting, 2, out);
}
static void cell_lost_hours(const struct summary *s, figure out)
{
    if (s->merits.lost_gpu_h < 0)
        snprintf(out, sizeof(figure), "–");
    else
        hours_text(s->merits.lost_gpu_h, out);
}
static void cell_evicted(const struct summary *s, figure out)
{
    i128_text((__int128)s->r->merits.stops[REPORT_EVICTED], out);
}
static void cell_gangs_never(const struct summary *s, figure out)
{
    i128_text((__int128)s->r->merits.gangs_never, out);
}
static void cell_fair(const struct summary *s, figure out)
{
    snprintf(out, sizeof(figure), s->merits.fairness < 0 ? "–" : "%.3f", s->merits.fairness);
}
static void cell_kept(const struct summary *s, figure out)
{
    i128_text((__int128)s->r->merits.kept, out);
}
static void cell_broken(const struct summary *s, figure out)
{
    i128_text((__int128)s->r->merits.broken, out);
}
static void whole_text(const struct summary *s, uint32_t above, figure out)
{
    uint32_t n = s->r->merits.nlevels;

    if (n <= above || s->merits.whole[n - 1 - above] < 0)
        snprintf(out, sizeof(figure), "–");
    else
        snprintf(out, sizeof(figure), "%.2f", s->merits.whole[n - 1 - above]);
}
static void cell_whole_lowest(const struct summary *s, figure out)
{
    whole_text(s, 0, out);
}
static void cell_whole_above(const struct summary *s, figure out)
{
    whole_text(s, 1, out);
}

static const struct text_column merit_columns[] = {
    {"offer", "%", 5, cell_offered, NULL, false},
    {"start", "%", 5, cell_starting, NULL, false},
    {"lost", "GPU-h", 8, cell_lost_hours, NULL, false},
    {"evict", "gangs", 6, cell_evicted, NULL, false},
    {"never", "gangs", 6, cell_gangs_never, NULL, false},
    {"fair", "Jain", 5, cell_fair, NULL, false},
    {"kept", "prom.", 6, cell_kept, NULL, false},
    {"broken", "prom.", 6, cell_broken, NULL, false},
    {"whole", "lowest", 6, cell_whole_lowest, NULL, false},
    {"whole", "above", 6, cell_whole_above, NULL, false},
};
enum { MERIT_COLUMNS = sizeof merit_columns / sizeof *merit_columns };

static void right_cell(struct buf *b, const char *z, uint32_t width)
{
    uint32_t n = plain_length(str_of(z));

    if (n < width)
        buf_pad(b, ' ', width - n);
    buf_z(b, z);
}

static void compare_heads(const struct page *p, const struct text_column *columns, uint32_t n,
                          uint32_t name, uint32_t bar)
{
    int line;
    uint32_t c;

    for (line = 0; line < 2; line++) {
        plain_cell(p->out, line ? STR("") : STR("policy"), name);
        for (c = 0; c < n; c++) {
            const struct text_column *t = &columns[c];

            buf_char(p->out, ' ');
            right_cell(p->out, line ? t->unit : t->head, t->width);
            if (t->bar)
                buf_pad(p->out, ' ', bar + 1);
        }
        buf_char(p->out, '\n');
    }
}

static void compare_row(const struct page *p, const struct text_column *columns, uint32_t n,
                        const struct summary *s, uint32_t name, uint32_t bar)
{
    figure cell;
    uint32_t c;

    plain_cell(p->out, s->r->about.policy, name);
    for (c = 0; c < n; c++) {
        const struct text_column *t = &columns[c];

        t->cell(s, cell);
        if (t->starred && strlen(cell) + 1 < sizeof cell &&
            !summary_all_started(s, p->sums, p->n))
            memcpy(cell + strlen(cell), "*", 2);
        buf_char(p->out, ' ');
        right_cell(p->out, cell, t->width);
        if (t->bar) {
            buf_char(p->out, ' ');
            page_colour(p, c == 0 ? "32" : "33");
            bar_cells(p->out, t->bar(s, p), bar);
            page_colour(p, "0");
        }
    }
    buf_char(p->out, '\n');
}

static void compare_table(const struct page *p, const struct text_column *columns, uint32_t n,
                          uint32_t name, uint32_t bar)
{
    uint32_t i;

    buf_char(p->out, '\n');
    compare_heads(p, columns, n, name, bar);
    page_rule(p, 0);
    for (i = 0; i < p->n; i++)
        compare_row(p, columns, n, p->sums[i], name, bar);
    page_rule(p, 0);
}

/* What the columns of the second and third table mean, and whose waits the largest are. */
static void text_merit_notes(const struct page *p)
{
    const struct summary *s = p->sums[0];
    uint32_t n = s->r->merits.nlevels;

    buf_fmt(p->out,
            "by size: mean wait   GPU-weight: mean wait of a GPU   largest: %s\n",
            s->merits.largest_name);
    buf_z(p->out,
          "slowdown: (wait + run) / run, runs of at least 10 s\n"
          "offer: GPUs x run time of what was submitted / capacity\n"
          "start: GPU time of starting; lost: the same and work done twice\n"
          "fair: Jain's index over queues, used / guaranteed   prom.: promised times\n");
    if (!n)
        return;
    buf_z(p->out, "whole: domains with every GPU free, mean over time (");
    for (uint32_t i = 0; i < 2 && i < n; i++) {
        const struct merit_level *l = &s->r->merits.level[n - 1 - i];

        buf_fmt(p->out, i ? ", above: %.0f x " : "lowest: %.0f x ", s->merits.all[n - 1 - i]);
        plain_cell(p->out, l->name, plain_length(l->name));
    }
    buf_z(p->out, ")\n");
}

static void text_compare(const struct page *p)
{
    uint32_t fixed = 0, name = 6, bar, i, c;

    for (c = 0; c < TEXT_COLUMNS; c++)
        fixed += 1 + text_columns[c].width + (text_columns[c].bar != NULL);
    for (i = 0; i < p->n; i++)
        if (plain_length(p->sums[i]->r->about.policy) > name)
            name = plain_length(p->sums[i]->r->about.policy);
    if (name > TEXT_NAME_MAX)
        name = TEXT_NAME_MAX;
    if (name + fixed + 2 * TEXT_BARS > p->width)
        name = p->width - fixed - 2 * TEXT_BARS;
    bar = (p->width - fixed - name) / TEXT_BARS;
    bar = bar < 10 ? bar : 10;
    compare_table(p, text_columns, TEXT_COLUMNS, name, bar);
    if (!summary_all_fill(p->sums, p->n)) {
        compare_table(p, wait_columns, WAIT_COLUMNS, name, 0);
        compare_table(p, merit_columns, MERIT_COLUMNS, name, 0);
    }
    for (i = 0; i < p->n; i++)
        if (!summary_all_started(p->sums[i], p->sums, p->n)) {
            buf_z(p->out, "* times only of those that started: not comparable\n");
            break;
        }
    page_colour(p, "2");
    if (summary_all_fill(p->sums, p->n))
        buf_z(p->out,
              "jobs only arrive, none ends: alloc and frag are the state at the "
              "end of the list\n");
    buf_z(p->out,
          "useful, alloc, frag, lost: share of GPU capacity x time (lost: done twice)\n"
          "days: each policy is measured over its own span, first arrival to last end\n"
          "wait: submit to first start, of jobs that started   compl.: submit to end\n"
          "p95: nearest rank   cross: gangs that no lower domain held   never: not "
          "started\n"
          "frag: free and of no use to the typical job, after FGD; fragmented among the\n"
          "causes: idle while jobs that wait ask for as much, whatever keeps them\n");
    if (!summary_all_fill(p->sums, p->n))
        text_merit_notes(p);
    page_colour(p, "0");
}

enum { REASON_INDENT = 12 };

/* Words into lines of the page's width; the first line begins at `indent` already. A word that
 * is longer than a line stays whole. */
static void wrapped(const struct page *p, struct str text, uint32_t indent)
{
    uint32_t at = indent;

    while (text.ptr) {
        struct str word = str_cut(&text, ' ');
        uint32_t length = plain_length(word);

        if (at > indent && at + 1 + length > p->width) {
            buf_char(p->out, '\n');
            buf_pad(p->out, ' ', indent);
            at = indent;
        }
        buf_char(p->out, ' ');
        plain_cell(p->out, word, length);
        at += 1 + length;
    }
    buf_char(p->out, '\n');
}

/* Below the comparison whatever the number of policies: a job that never starts is the first
 * thing to look into. */
static void text_reasons(const struct page *p, const struct summary *s)
{
    struct buf line = {0};
    char count[24];
    uint32_t i;

    if (!s->nreasons)
        return;
    buf_char(p->out, '\n');
    plain_cell(p->out, s->r->about.policy, plain_length(s->r->about.policy));
    buf_fmt(p->out, ": never started: %s %s\n", count_text(summary_unplaced(s), count),
            summary_unplaced(s) == 1 ? "job" : "jobs");
    for (i = 0; i < s->nreasons && i < REASONS_SHOWN; i++) {
        buf_z(p->out, "  ");
        right_cell(p->out, count_text(s->reasons[i].jobs, count), 9);
        buf_char(p->out, ' ');
        buf_clear(&line);
        buf_fmt(&line, STR_FMT " (%s" STR_FMT "%s" STR_FMT ")", STR_ARG(s->reasons[i].why),
                s->reasons[i].jobs > 1 ? "first: " : "", STR_ARG(s->reasons[i].example),
                s->reasons[i].more.len ? ": " : "", STR_ARG(s->reasons[i].more));
        wrapped(p, buf_as_str(&line), REASON_INDENT);
    }
    if (s->nreasons > REASONS_SHOWN) {
        buf_z(p->out, "  ");
        right_cell(p->out, count_text(summary_other_reasons(s), count), 9);
        buf_z(p->out, "  for other reasons (--jobs FILE has each)\n");
    }
    buf_done(&line);
}

/* --- one policy
 * ------------------------------------------------------------------------ */

static void group_head(const struct page *p, const char *what, uint32_t name)
{
    static const char *const heads[] = {"jobs", "mean", "p50", "p95", "p99",
                                        "mean", "p50",  "p95", "p99"};
    uint32_t i;

    page_colour(p, "2");
    buf_pad(p->out, ' ', name + 2 + 9 + 2);
    plain_cell(p->out, STR("wait"), 24);
    buf_z(p->out, "  completion\n  ");
    plain_cell(p->out, str_of(what), name);
    for (i = 0; i < 9; i++) {
        buf_z(p->out, i == 1 || i == 5 ? "  " : "");
        right_cell(p->out, heads[i], i == 0 ? 9 : 6);
    }
    buf_char(p->out, '\n');
    page_colour(p, "0");
}

static void stat_cells(const struct page *p, const struct group_stat *g, bool quantiles)
{
    figure f;
    int q;

    buf_z(p->out, "  ");
    mean_text(g, f);
    right_cell(p->out, f, 6);
    for (q = QUANTILE_P50; q <= QUANTILE_P99; q++) {
        wait_text(g, g->at[q], f);
        right_cell(p->out, quantiles ? f : "", 6);
    }
}

static void group_row(const struct page *p, const struct group_summary *g,
                      uint32_t name, bool quantiles)
{
    char count[24];

    buf_z(p->out, "  ");
    plain_cell(p->out, g->name.len ? g->name : STR("(none)"), name);
    right_cell(p->out, count_text(g->jobs, count), 9);
    stat_cells(p, &g->wait, quantiles);
    stat_cells(p, &g->span, quantiles);
    buf_char(p->out, '\n');
}

static void text_groups(const struct page *p, const struct summary *s)
{
    uint32_t name = p->width >= 100 ? 28 : 16, i;
    struct group_summary rest = {0};
    char label[40];

    group_head(p, "size", name);
    for (i = 0; i < SIZE_CLASSES; i++)
        if (s->sizes[i].jobs)
            group_row(p, &s->sizes[i], name, true);
    group_row(p, &s->all, name, true);
    if (s->nqueues < 2)
        return;
    group_head(p, "queue", name);
    for (i = 0; i < s->nqueues; i++) {
        const struct group_summary *g = &s->queues[i];

        if (i < TEXT_QUEUES || s->nqueues == TEXT_QUEUES + 1) {
            group_row(p, g, name, true);
            continue;
        }
        rest.jobs += g->jobs;
        rest.wait.n += g->wait.n;
        rest.wait.sum += g->wait.sum;
        rest.span.n += g->span.n;
        rest.span.sum += g->span.sum;
    }
    if (rest.jobs) {
        snprintf(label, sizeof label, "%u others", s->nqueues - TEXT_QUEUES);
        rest.name = str_of(label);
        group_row(p, &rest, name, false);
    }
}

static const struct {
    const char *glyph, *colour;
} ledger_marks[LEDGER_CAUSES] = {
    [LEDGER_USEFUL] = {"█", "32"},       [LEDGER_STARTING] = {"s", "36"},
    [LEDGER_SAVING] = {"v", "36"},       [LEDGER_RECOMPUTED] = {"x", "31"},
    [LEDGER_HUNG] = {"!", "31"},         [LEDGER_FROZEN] = {"z", "34"},
    [LEDGER_HELD] = {"h", "35"},         [LEDGER_FRAGMENTED] = {"▒", "33"},
    [LEDGER_QUOTA_IDLE] = {"q", "35"},   [LEDGER_FAULTY] = {"#", "31"},
    [LEDGER_DRAINED] = {"d", "34"},      [LEDGER_NO_DEMAND] = {"·", "2"},
    [LEDGER_UNATTRIBUTED] = {"?", "31"},
};

/* Cells go to the causes by rounding the running sum, so that the bar is always full.
 */
static void ledger_bar(const struct page *p, const struct ledger *l)
{
    uint32_t width = p->width - 4, done = 0;
    u128 sum = 0;
    int i;

    buf_z(p->out, "  ▕");
    for (i = 0; i < LEDGER_CAUSES; i++) {
        uint32_t upto;

        sum += l->sum[i];
        upto = (uint32_t)(u128_ratio(sum, l->capacity) * width + 0.5);
        page_colour(p, ledger_marks[i].colour);
        for (; done < upto && done < width; done++)
            buf_z(p->out, ledger_marks[i].glyph);
        page_colour(p, "0");
    }
    buf_pad(p->out, ' ', width - done);
    buf_z(p->out, "▏\n");
}

static void text_ledger(const struct page *p, const struct summary *s)
{
    const struct ledger *l = &s->r->ledger;
    figure f;
    int i;

    if (!s->r->has_ledger)
        return;
    buf_fmt(p->out, "\n  where %s GPU-hours went\n",
            hours_text(gpu_hours(l->capacity), f));
    ledger_bar(p, l);
    for (i = 0; i < LEDGER_CAUSES; i++) {
        double part = u128_ratio(l->sum[i], l->capacity);

        if (l->sum[i] == 0)
            continue;
        buf_fmt(p->out, "  %s ", ledger_marks[i].glyph);
        plain_cell(p->out, str_of(ledger_cause_name(i)), 14);
        right_cell(p->out, percent_text(part, 2, f), 7);
        right_cell(p->out, hours_text(gpu_hours(l->sum[i]), f), 14);
        buf_z(p->out, " GPU-h\n");
    }
    if (!s->ledger_sums) {
        page_colour(p, "31");
        buf_fmt(
            p->out,
            "  THE LEDGER DOES NOT SUM: causes less capacity x time = %s milli-GPU us. "
            "This is a bug.\n",
            i128_text(s->ledger_gap, f));
        page_colour(p, "0");
    }
}

static void text_counts(const struct page *p, const struct summary *s)
{
    const struct report *r = s->r;
    const struct report_totals *t = &r->totals;
    char a[24], b[24], c[24], d[24];
    figure f, g;

    buf_fmt(p->out, "\n  waits sum to %s, completions to %s\n",
            exact_secs(s->all.wait.sum, f), exact_secs(s->all.span.sum, g));
    buf_fmt(p->out, "  failed %s · restarts %s · unfinished %s · never started %s\n",
            count_text(r->failed, a), count_text(r->restarts, b),
            count_text(s->unfinished, c), count_text(s->never_started, d));
    if (r->recorded_jobs)
        buf_fmt(p->out, "  the site's own record: mean wait %s over %s jobs\n",
                secs_short((double)r->recorded_wait_us / (double)r->recorded_jobs / 1e6,
                           f),
                count_text(r->recorded_jobs, a));
    if (!r->has_totals)
        return;
    buf_fmt(p->out, "  records %s · decisions %s · launches %s · stops %s",
            count_text(t->records, a), count_text(t->decisions, b),
            count_text(t->launches, c), count_text(t->stops, d));
    buf_fmt(p->out, "\n  faults %s · %s simulated in %s of CPU",
            count_text(t->faults, a), secs_short((double)t->sim_us / 1e6, f),
            secs_short(t->cpu_s, g));
    if (t->journal_bytes)
        buf_fmt(p->out, " · journal %s", size_text(t->journal_bytes, a));
    buf_char(p->out, '\n');
}

/* A difference: "-3.25h". */
static char *secs_signed(double s, figure out)
{
    figure bare;

    snprintf(out, sizeof(figure), "%s%.40s", s < 0 ? "-" : "", secs_short(s < 0 ? -s : s, bare));
    return out;
}

/* Promised against actual start, as a histogram. */
static void text_promises(const struct page *p, const struct summary *s)
{
    const struct merit_figures *m = &s->merits;
    const struct merits *kept = &s->r->merits;
    char a[24], b[24];
    figure f, g;
    int i;

    if (!m->early.n && !m->error.n)
        return;
    buf_fmt(p->out, "\n  promises kept %s, broken %s; started before the promised time\n",
            count_text(kept->kept, a), count_text(kept->broken, b));
    for (i = 0; i < PROMISE_BINS; i++) {
        if (!m->early_bins[i])
            continue;
        buf_z(p->out, "  ");
        plain_cell(p->out, str_of(promise_bin_name(i)), 20);
        right_cell(p->out, count_text(m->early_bins[i], a), 9);
        buf_char(p->out, ' ');
        bar_cells(p->out, (double)m->early_bins[i] / (double)m->early.n, 24);
        buf_char(p->out, '\n');
    }
    if (m->error.n)
        buf_fmt(p->out, "  after the forecast: mean %s, p95 %s, over %s gangs\n",
                secs_signed(group_mean_s(&m->error), f),
                secs_signed((double)m->error.at[QUANTILE_P95] / 1e6, g),
                count_text(m->error.n, a));
}

/* --- the page
 * -------------------------------------------------------------------------- */

static void text_about(const struct page *p, const struct report_about *a,
                       uint64_t jobs)
{
    char nodes[24], gpus[24], count[24];
    figure window;

    buf_z(p->out, "cluster ");
    plain_cell(p->out, a->cluster, plain_length(a->cluster));
    buf_fmt(p->out, ": %s %s, %s %s\ntrace ", count_text(a->nodes, nodes),
            a->nodes == 1 ? "node" : "nodes",
            a->capacity_milli % 1000 ? milli_text((int64_t)a->capacity_milli, gpus)
                                     : count_text(a->capacity_milli / 1000, gpus),
            a->capacity_milli == 1000 ? "GPU" : "GPUs");
    plain_cell(p->out, a->trace, plain_length(a->trace));
    buf_fmt(p->out, ": %s %s", count_text(jobs, count), jobs == 1 ? "job" : "jobs");
    if (a->left_out.len) {
        buf_z(p->out, " (");
        plain_cell(p->out, a->left_out, plain_length(a->left_out));
        buf_char(p->out, ')');
    }
    buf_fmt(p->out, ", seed %llu\n", (unsigned long long)a->seed);
    if (a->window_until_us)
        buf_fmt(p->out, "measured inside a window of %s: jobs by their submit time\n",
                secs_long((double)(a->window_until_us - a->window_from_us) / 1e6, window));
}

static void text_note(const struct page *p, const struct summary *s)
{
    if (!s->r->about.note.len)
        return;
    buf_z(p->out, "note: ");
    plain_cell(p->out, s->r->about.note, plain_length(s->r->about.note));
    buf_char(p->out, '\n');
}

static void text_error(const struct page *p, const struct summary *s)
{
    const struct report_error *e = &s->r->error;
    char count[24], of[24];
    figure a, b, c;

    if (!s->r->has_error)
        return;
    page_title(p, STR("How far the twin is from the record"));
    if (e->never)
        buf_fmt(p->out, "  %s of %s %s found no room and never started%s\n",
                count_text(e->never, of), count_text(e->replayed, count),
                e->replayed == 1 ? "job" : "jobs",
                e->again ? "" : ": the record does not fit this cluster");
    buf_fmt(p->out, e->again ? "  the recorded policy again, %s %s that started in both\n"
                             : "  replay of the site's own starts, %s %s that ended\n",
            count_text(e->jobs, count), e->jobs == 1 ? "job" : "jobs");
    buf_fmt(p->out, "  mean wait     recorded %s, twin %s; p95 of the difference %s\n",
            secs_short(e->wait_mean_recorded_s, a), secs_short(e->wait_mean_twin_s, b),
            secs_short(e->wait_p95_abs_err_s, c));
    buf_fmt(p->out, "  utilisation   recorded %s %%, twin %s %%\n",
            percent_text(e->util_recorded, 2, a), percent_text(e->util_twin, 2, b));
    if (e->remark.len) {
        buf_z(p->out, "  ");
        plain_cell(p->out, e->remark, plain_length(e->remark));
        buf_char(p->out, '\n');
    }
}

static void text_policy(const struct page *p, const struct summary *s)
{
    page_title(p, s->r->about.policy);
    text_note(p, s);
    text_groups(p, s);
    text_ledger(p, s);
    text_promises(p, s);
    text_counts(p, s);
}

void report_text(struct report *const *rs, uint32_t n, uint32_t width, bool colour,
                 struct buf *out)
{
    struct summary **sums = summary_all(rs, n);
    struct page p = {out, sums, n,
                     width < TEXT_MIN   ? TEXT_MIN
                     : width > TEXT_MAX ? TEXT_MAX
                                        : width,
                     colour};
    uint32_t i;

    if (n == 0)
        buf_z(out, "nothing was run\n");
    for (i = 0; i < n; i++)
        if (i == 0 || !summary_same_setting(sums[0], sums[i]))
            text_about(&p, &rs[i]->about, rs[i]->jobs.n);
    for (i = 0; i < n; i++)
        text_error(&p, sums[i]);
    if (n)
        text_compare(&p);
    for (i = 0; i < n; i++)
        text_reasons(&p, sums[i]);
    for (i = 0; i < n && n <= TEXT_DETAILED; i++)
        text_policy(&p, sums[i]);
    if (n > TEXT_DETAILED)
        buf_fmt(out, "\nthe details of more than %d policies are left to --html FILE and -o json\n",
                TEXT_DETAILED);
    summary_all_destroy(sums, n);
}
