#!/bin/sh
# test-why.sh - docs/why.md word for word: its files, its commands, what they print
# Its figures are worked out by hand there. And asking leaves a journal and its state alone.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/tap.sh"
cd "$T" || exit 1
page=$MUSTER_SRC/docs/why.md

# ```yaml site.yaml: a file; ```console: commands behind $, and what they print.
awk '/^```[a-z]+ / { file = $2; next } /^```console/ { n++; next } /^```/ { file = ""; open = 0; next }
     file { print >file }' "$page"
t_ok "the page's files make a run" muster sim -c site.yaml -t jobs.jsonl -p keep.yaml --journal run
muster replay run --digests >digests
awk '/^```console/ { n++; on = 1; next } /^```/ { on = 0 }
     on && /^\$ / { print substr($0, 3) >("cmd." n); next } on { print >("want." n) }' "$page"
n=1
while [ -f "cmd.$n" ]; do
    read -r line <"cmd.$n"
    # shellcheck disable=SC2086
    set -- $line
    shift
    t_ok "$line" muster "$@"
    # the state's digest and the record's number are not for people to know beforehand
    sed 's/digest  *[0-9a-f.]*,/digest .../; s/(record [0-9]*)/(record)/' "$T/stdout" >"got.$n"
    sed 's/digest  *[0-9a-f.]*,/digest .../; s/(record [0-9]*)/(record)/' "want.$n" >wanted
    t_ok "... prints what the page says" diff wanted "got.$n"
    n=$((n + 1))
done
t_is "commands on the page" "$n" 5
muster replay run --digests >after
t_ok "the journal is as it was" cmp digests after

# A run that is cut off at ten minutes tells the same of those that never started.
muster sim -c site.yaml -t jobs.jsonl -p keep.yaml -u 10m -o json >cut
awk "/^  because/" "want.2" | sed "s/^  because *//" >because
t_is "the report tells what why tells" "$(grep -cF "\"example_says\":\"$(cat because)\"" cut)" 1

# In numbers: 4 GPUs of b0 are small's, until its limit of 2 h; promised a minute later.
muster why 00000002 --journal run --at 10m -o json >json
t_is "the best block" "$(grep -cF '"level":"block","best":"b0","best_tasks":3,"starts_now_with":3,' json)" 1
t_is "who holds it" "$(grep -cF '"holders":[{"job":"00000000","gpus":4,"nodes":1,"until":"limit","until_us":7200000000}]' json)" 1
t_is "its promise" "$(grep -cF '"by_us":7260000000' json)" 1
t_done
