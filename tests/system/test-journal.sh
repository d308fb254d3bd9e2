#!/bin/sh
# test-journal.sh - a run's journal: replayed, killed at every write, failing at every write
# Whatever the moment of death, what is on disk must fold without a difference, into the state
# that an undisturbed run had behind the same record.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/tap.sh"
cd "$T" || exit 1
cluster=$MUSTER_SRC/examples/small-cluster.yaml
trace=$MUSTER_SRC/examples/small.jsonl
hours=${JOURNAL_HOURS:-3}

sim() { # FOLDER OPTION...
    folder=$1
    shift
    muster sim -c "$cluster" -t "$trace" --journal "$folder" "$@"
}
field() { # NAME of the JSON in $T/stdout
    sed -n "s/.*\"$1\":\"\{0,1\}\([^,\"}]*\).*/\1/p" "$T/stdout"
}

# ---- record and replay

t_ok "a run is recorded" sim whole -p muster
t_ok "and replayed with the same decisions" muster replay whole --verify -o json
t_is "not one differs" "$(field differences)" 0
digest=$(field digest) seq=$(field seq) compared=$(field compared)
t_ok "many were compared" test "$compared" -gt 300
t_ok "the journal is not written over: another folder" sim other -p muster --journal-segment 8192 \
    --journal-snapshot 500 --journal-sync batch
t_ok "small segments and snapshots" muster replay other --verify -o json
t_is "give the same state" "$(field digest)" "$digest"
t_ok "also from the newest snapshot" muster replay other --snapshot --verify -o json
t_is "with the same digest" "$(field digest)" "$digest"
t_ok "which is not the beginning" test "$(field snapshot)" -gt 500
t_fails "a folder that holds a journal is refused" sim whole -p muster
t_like "in words" "$(cat "$T/stderr")" 'holds a journal already'
t_ok "several policies have a folder each" sim several -p fifo,muster -u 1h
t_ok "by their names" muster replay several/fifo --verify
t_ok "old segments go when they are not to be kept" sim kept -p muster --journal-segment 8192 \
    --journal-snapshot 500 --journal-keep 1
t_ok "the first one is gone" test ! -e kept/journal-00000001.seg
t_ok "and the rest is enough" muster replay kept --verify -o json
t_is "for the same state" "$(field digest)" "$digest"
t_ok "a replay may stop at a record" muster replay whole --until 100 -o json
t_is "at that one" "$(field seq)" 100
t_ok "or at a time" muster replay whole --until 2h -o json
at_2h=$(field seq)
t_ok "which is before the end" test "$at_2h" -gt 100 -a "$at_2h" -lt "$seq"
t_exit 2 "a time that is none" muster replay whole --until yesterday
t_exit 2 "a folder without a journal" muster replay "$T"

# ---- damage

t_ok "a damaged journal is refused" cp -r whole bad
size=$(wc -c <bad/journal-00000001.seg)
printf 'X' | dd of=bad/journal-00000001.seg bs=1 seek=$((size / 2)) conv=notrunc 2>/dev/null
t_exit 2 "in the middle" muster replay bad
t_like "with the record behind which it lies" "$(cat "$T/stderr")" 'give up all behind record [0-9]+'
record=$(sed -n 's/.*give up all behind record \([0-9]*\).*/\1/p' "$T/stderr")
t_ok "and read up to there when told so" muster replay bad --accept-loss "$record" --verify -o json
t_is "no further" "$(field seq)" "$record"
t_exit 2 "told another record, it still refuses" muster replay bad --accept-loss $((record - 1))

# ---- killed at every write

if ! ${CC:-cc} -O1 -fPIC -shared -o die-at.so "$MUSTER_SRC/tests/system/die-at.c" -ldl \
    2>"$T/stderr"; then
    t_skip "no compiler for the shim that kills"
    t_done
fi

# Frame by frame, with snapshots and short segments; DIE_AT counts the calls that write.
frames="-p muster -u ${hours}h --journal-sync each --journal-snapshot 60 --journal-segment 4096"
dying() { # N HOW FOLDER
    # shellcheck disable=SC2086
    DIE_AT=$1 DIE_HOW=$2 LD_PRELOAD=$T/die-at.so \
        ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0 sim "$3" $frames
}
dying 0 none clean >"$T/out" 2>"$T/calls" || t_fail "a run under the shim" "$(cat "$T/calls")"
calls=$(sed -n 's/^calls //p' "$T/calls")
t_ok "a clean run writes often: $calls calls" test "$calls" -gt 100
muster replay clean --digests >digests
t_ok "its state behind every frame is known" test "$(wc -l <digests)" -gt 40

# In one line: what is wrong with the journal in FOLDER, or nothing. Words are split on purpose.
wrong_with() { # FOLDER
    muster replay "$1" --verify -o json >"$T/stdout" 2>"$T/stderr"
    code=$?
    if [ $code = 2 ] && grep -q 'No such file\|holds no journal' "$T/stderr"; then
        return # not even the first segment was made
    fi
    [ $code = 0 ] || { echo "exit $code: $(cat "$T/stderr")"; return; }
    got="$(field seq) $(field digest)"
    [ "$(field differences)" = 0 ] || echo "differences"
    [ "$(field seq)" = 0 ] || grep -qx "$got" digests || echo "state $got is not the clean run's"
    muster replay "$1" --snapshot -o json >"$T/stdout" 2>"$T/stderr" ||
        { echo "from a snapshot: $(cat "$T/stderr")"; return; }
    [ "$got" = "$(field seq) $(field digest)" ] || echo "another state from a snapshot"
}

for how in before half after; do
    n=1 odd= last=-1
    while [ $n -le "$calls" ]; do
        rm -rf dead
        dying $n $how dead >"$T/out" 2>&1
        code=$?
        [ $code = 137 ] || odd="$odd; at $n: exit $code"
        w=$(wrong_with dead)
        [ -z "$w" ] || odd="$odd; at $n: $w"
        n=$((n + ${JOURNAL_STEP:-1}))
    done
    t_is "killed $how each of $calls writes, what is there folds as it should" "$odd" ""
done

n=1 odd= stopped=0
while [ $n -le "$calls" ]; do
    rm -rf dead
    dying $n eio dead >"$T/out" 2>"$T/err"
    code=$?
    if [ $code = 1 ]; then
        stopped=$((stopped + 1))
        grep -q 'Input/output error' "$T/err" || odd="$odd; at $n: $(cat "$T/err")"
    elif [ $code != 0 ]; then
        odd="$odd; at $n: exit $code"
    fi
    w=$(wrong_with dead)
    [ -z "$w" ] || odd="$odd; at $n: $w"
    n=$((n + ${JOURNAL_STEP:-1}))
done
t_is "failing at each of them, too" "$odd" ""
t_ok "a write or sync that fails stops the run" test $stopped -gt $((50 / ${JOURNAL_STEP:-1}))
t_done
