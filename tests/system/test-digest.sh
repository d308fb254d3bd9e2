#!/bin/sh
# test-digest.sh - the same records give the same state, whatever made the program
# Builds the property tester by hand with gcc -O0 and with clang -O2, runs one history
# through both, with another hash seed, another malloc fill and with the state saved and
# loaded on the way, and compares every digest that they print. DIGEST_RECORDS: how long.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/tap.sh"

records=${DIGEST_RECORDS:-50000}
seed=${DIGEST_SEED:-7}
command -v clang-14 >/dev/null 2>&1 || t_skip_all "clang-14 is not installed"
command -v gcc >/dev/null 2>&1 || t_skip_all "gcc is not installed"

build() { # COMPILER LEVEL OUT
    cd "$MUSTER_SRC" || return 1
    # shellcheck disable=SC2046,SC2086
    nice $1 -std=gnu17 $2 -D_GNU_SOURCE -ffp-contract=off -Isrc \
        -DMUSTER_VERSION='"test"' -DMUSTER_DATADIR='"/nowhere"' \
        -DMUSTER_SOURCE_DIR="\"$MUSTER_SRC\"" \
        $(pkg-config --cflags jansson yaml-0.1 libzstd zlib libxxhash) \
        $(find src -name '*.c' ! -path 'src/cmd/*' | sort) tests/sim/prop*.c -o "$3" \
        $(pkg-config --libs jansson yaml-0.1 libzstd zlib) -lm
}

digests() { # PROGRAM OPTION...: a line with the running digest every 10,000 records
    program=$1
    shift
    "$program" --records "$records" --seed "$seed" --save-every 0 --digest-only "$@" \
        2>"$T/stderr" || { t_show >&2; return 1; }
}

t_ok "gcc -O0 builds it" build gcc -O0 "$T/gcc" || t_done
t_ok "clang -O2 builds it" build clang-14 -O2 "$T/clang" || t_done
digests "$T/gcc" >"$T/base"
t_is "the gcc -O0 run passes" "$?" 0 || t_done
t_ok "it prints digests" test "$(wc -l <"$T/base")" -ge "$((records / 10000))"
seed=$((seed + 1))
digests "$T/gcc" >"$T/other"
t_is "a run with another seed passes" "$?" 0
t_fails "and has other digests" cmp -s "$T/base" "$T/other"
seed=$((seed - 1))

same() { # WHAT PROGRAM OPTION...
    what=$1
    shift
    digests "$@" >"$T/other" || { t_fail "$what" "the run failed"; return; }
    t_ok "$what" diff "$T/base" "$T/other"
}
same "clang -O2 gives the same" "$T/clang"
same "another hash seed gives the same" "$T/clang" --hash-seed 12345
same "saving and loading every 97 records gives the same" "$T/clang" --save-every 97
MUSTER_MALLOC_FILL=165
export MUSTER_MALLOC_FILL
same "another malloc fill gives the same" "$T/clang"
same "all of it at once gives the same" "$T/gcc" --hash-seed 99 --save-every 31
t_done
