#!/bin/sh
# test-replay.sh - every shipped policy decides again what it decided, also behind a snapshot;
# and a resimulation of an undisturbed run is that run
# With node faults, checkpoints and delays, on a made-up site.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/tap.sh"
cd "$T" || exit 1
field() { # NAME of the JSON in $T/stdout
    sed -n "s/.*\"$1\":\"\{0,1\}\([^,\"}]*\).*/\1/p" "$T/stdout"
}

t_ok "a site is made up" muster trace generate --like kalos --load 95 --jobs "${REPLAY_JOBS:-1200}" \
    -n 20 --out "$T" || t_done
for file in "$MUSTER_SRC"/policies/*.yaml; do
    policy=$(basename "$file" .yaml)
    [ "$policy" != recorded ] || continue
    rm -rf run
    t_ok "$policy is recorded" muster sim -c cluster.yaml -t trace.jsonl -p "$policy" \
        --faults 300 --truth rough --belief checkpoints -u 6d --journal run \
        --journal-snapshot 1500 --journal-segment 262144 || continue
    t_ok "$policy decides the same again" muster replay run --verify -o json || continue
    digest=$(field digest)
    t_ok "$policy, behind a snapshot" muster replay run --verify --snapshot -o json || continue
    t_is "$policy, with the same state" "$(field digest)" "$digest"
done

# Why, and what if: of the first job that waited half an hour or more.
t_ok "a run with its jobs" muster sim -c cluster.yaml -t trace.jsonl -p fifo --journal asked \
    --jobs jobs.csv
name=$(awk -F, 'NR > 1 && $8 - $7 >= 1800000000 { printf "%08d", NR - 2; exit }' jobs.csv)
muster replay asked --digests >digests
for moment in $(awk 'NR % 400 == 0 { print $1 }' digests); do
    muster why "$name" --journal asked --at "$moment" -o json >"$T/stdout" 2>"$T/stderr" || continue
    t_is "why $name, record $moment" "$(grep -o '"seq":[0-9]*' "$T/stdout" | head -n 1)" \
        "\"seq\":$moment"
    muster whatif new --journal asked --at "$moment" --gpus 8 --limit 1h -o json >"$T/stdout"
    t_is "what if, record $moment: the state is untouched" "$(field digest_after)" \
        "$(awk -v r="$moment" '$1 == r { print $2 }' digests)"
done
t_exit 2 "why of nobody" muster why nobody --journal asked
t_exit 2 "what if of nobody" muster whatif nobody --journal asked
t_exit 2 "why without a journal" muster why "$name"

# What the reports of two runs must share, a line each: all waits and completions, by size and
# queue too, and where the GPU time went.
figures() {
    tr '{' '\n' | grep -E '^"(jobs|cause|total|useful)' | grep -v '"replayed"' |
        sed 's/"recorded_jobs.*//; s/,"fairness".*//'
}
common="-c cluster.yaml -t trace.jsonl"
# shellcheck disable=SC2086
t_ok "an undisturbed run is recorded" muster sim $common -p fifo --journal calm
# shellcheck disable=SC2086
muster sim $common -p fifo,muster,sjf -o json | figures >direct
t_ok "and simulated again, under its own policy and two others" muster resim calm \
    -p muster,sjf -o json
t_like "every job starts as recorded" "$(cat "$T/stdout")" "${REPLAY_JOBS:-1200} of ${REPLAY_JOBS:-1200} jobs start at the recorded"
figures <"$T/stdout" >again
t_ok "figures are compared" test "$(wc -l <direct)" -gt 60
t_ok "each policy has the figures of a run on the trace itself" diff direct again
t_ok "with faults it is near the record" muster resim run --check
t_exit 2 "no journal, no simulation" muster resim "$T"
t_done
