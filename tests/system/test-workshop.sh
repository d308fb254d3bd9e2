#!/bin/sh
# test-workshop.sh - the tools that judge everything else must be able to say no
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/tap.sh"

# The shell library: a failed check, an early end and no check at all are failures.
mini() { # BODY
    mkdir -p "$T/sh" && cp "$MUSTER_SRC/tests/system/tap.sh" "$T/sh/"
    { echo '. "$(dirname "$0")/tap.sh"'; echo "$1"; } >"$T/sh/mini.sh"
    sh "$T/sh/mini.sh"
}
t_ok "a passing script passes" mini 't_is x 1 1; t_done'
t_fails "a failed check fails the script" mini 't_is x 1 2; t_is y 1 1; t_done'
t_fails "a script that ends early fails" mini 't_is x 1 1; exit 0'
t_fails "a script without checks fails" mini 't_done'
t_fails "t_fails does not take a crash for a refusal" \
    mini 't_fails crash sh -c "kill -SEGV \$\$"; t_done'

# The C header.
cat >"$T/mini.c" <<'END'
#include "tap.h"
int main(int argc, char **argv)
{
    if (argc > 1 && argv[1][0] == 'p')
        plan(2);
    if (argc > 1 && argv[1][0] == 'n')
        return done_testing();
    is_int(1 + (argc > 1 && argv[1][0] == 'f'), 1, "one");
    return done_testing();
}
END
if t_ok "tap.h compiles alone" ${CC:-cc} -std=gnu17 -Wall -Wextra -Werror \
    -I "$MUSTER_SRC/tests/unit" -o "$T/mini" "$T/mini.c"; then
    t_ok "a passing program passes" "$T/mini"
    t_fails "a failed check fails the program" "$T/mini" f
    t_fails "a missed plan fails the program" "$T/mini" p
    t_fails "a program without checks fails" "$T/mini" n
fi

# The order of rooms.
tree() { # FILE CONTENT
    rm -rf "$T/tree"
    mkdir -p "$T/tree/src/base" "$T/tree/src/job" "$T/tree/src/world/twin" \
        "$T/tree/src/world/local" "$T/tree/src/odd" "$T/tree/tests/unit"
    printf '| 1 | `base` | x |\n| 2 | `job` | x |\n| 8 | `world/twin`, `world/local` | x |\n' \
        >"$T/tree/ARCHITECTURE.md"
    for f in base/a job/b world/twin/c world/local/d; do
        echo '/* x */' >"$T/tree/src/$f.h"
    done
    [ -z "$1" ] || printf '%s\n' "$2" >"$T/tree/src/$1"
}
layers() {
    "$MUSTER_SRC/tools/check-layers" "$T/tree"
}
tree job/x.h '#include "base/a.h"'
t_ok "an earlier room may be included" layers
tree base/x.h '#include "job/b.h"'
t_fails "a later room may not" layers
t_like "the message names both" "$(cat "$T/stdout")" 'base/x.h.*base.*job/b.h'
tree world/local/x.h '#include "world/twin/c.h"'
t_fails "a world may not include a world before it" layers
tree odd/x.h '/* no room */'
t_fails "a source outside every room is refused" layers
tree job/x.h '#include "job/gone.h"'
t_fails "an include of no file is refused" layers
tree job/a.h '/* again */'
t_fails "two files of one name are refused" layers
tree job/x.c '/* in no meson.build */'
t_fails "a source that nobody builds is refused" layers
tree base/x.h '#include "job/b.h"'
rm "$T/tree/ARCHITECTURE.md"
echo '# no table' >"$T/tree/ARCHITECTURE.md"
t_fails "no table is no pass" layers

# Adding up: checks, not programs; a crash counts; skips keep their reasons.
mkdir -p "$T/fake/meson-logs" "$T/bin"
cat >"$T/bin/meson" <<'END'
#!/bin/sh
cp "$FAKE_LOG" "$3/meson-logs/testlog.json"
exit "${FAKE_CODE:-0}"
END
chmod +x "$T/bin/meson"
adds() { # LINE... of meson's log, last the exit code
    printf '%s\n' "$1" >"$T/log"
    PATH="$T/bin:$PATH" FAKE_LOG="$T/log" FAKE_CODE="$2" \
        "$MUSTER_SRC/tools/run-tests" "$T/fake"
}
t_ok "passes are added" adds \
    '{"name":"a","result":"OK","stdout":"ok 1 - x\nok 2 # SKIP no data\n1..2\n"}' 0
t_is "the last line says so" "$(tail -n 1 "$T/stdout")" "1 passed, 0 failed, 1 skipped"
t_like "a skip names its reason" "$(cat "$T/stdout")" '^  a: no data$'
t_fails "a failed check is a failure" adds \
    '{"name":"a","result":"FAIL","stdout":"not ok 1 - x\nok 2 - y\n1..2\n"}' 1
t_is "both are counted" "$(tail -n 1 "$T/stdout")" "1 passed, 1 failed, 0 skipped"
t_fails "a crash without a failed check is a failure" adds \
    '{"name":"a","result":"ERROR","stdout":"ok 1 - x\n"}' 1
t_is "it counts once" "$(tail -n 1 "$T/stdout")" "1 passed, 1 failed, 0 skipped"
t_fails "no test at all is a failure" adds '' 0
t_ok "a program skipped whole" adds \
    '{"name":"a","result":"SKIP","stdout":"1..0 # SKIP no clang\n"}' 0
t_is "counts as one skip" "$(tail -n 1 "$T/stdout")" "0 passed, 0 failed, 1 skipped"
t_ok "a proof that is skipped" adds \
    '{"name":"p","result":"SKIP","stdout":"p: skipped: no data at x\n"}' 0
t_like "says why" "$(cat "$T/stdout")" '^  p: p: skipped: no data at x$'
t_ok "a number sign in a check's name" adds \
    '{"name":"a","result":"OK","stdout":"ok 1 - job #7 runs\n1..1\n"}' 0
t_is "does not hide it" "$(tail -n 1 "$T/stdout")" "1 passed, 0 failed, 0 skipped"
t_fails "a log whose strings look like its keys" adds \
    '{"name":"a","env":{"name":"b","result":"OK"},"stdout":"\"result\": \"OK\"\\nok\nnot ok 1 - \"stdout\": \\\"\n","result":"FAIL","command":["result","OK"]}' 1
t_is "misleads nobody" "$(tail -n 1 "$T/stdout")" "0 passed, 1 failed, 0 skipped"
t_like "nor about the name" "$(cat "$T/stdout")" '^  a: 1 failed \(FAIL\)$'

# Proofs: only a figure with exit 0 holds.
mkdir -p "$T/built/proofs" "$T/built/bench"
proves() { # NAME SHELL LINE
    rm -f "$T"/built/proofs/*
    printf '#!/bin/sh\n%s\n' "$2" >"$T/built/proofs/$1"
    chmod +x "$T/built/proofs/$1"
    MUSTER=/bin/true "$MUSTER_SRC/proofs/run" "$T/built"
}
t_ok "a proof that shows its figure" proves p 'echo a; echo "p: 1 (aim: 1)"'
t_like "holds" "$(cat "$T/stdout")" '^holds +p: 1 \(aim: 1\)$'
t_is "and is counted" "$(tail -n 1 "$T/stdout")" "1 hold, 0 fail, 0 skipped"
t_fails "a proof that fails is seen" proves p 'echo "p: 2 (aim: 1)"; exit 1'
t_is "and counted" "$(tail -n 1 "$T/stdout")" "0 hold, 1 fail, 0 skipped"
t_fails "a proof without a figure proves nothing" proves p 'echo hello'
t_fails "a proof that crashes neither" proves p 'echo "p: 1 (aim: 1)"; kill -SEGV $$'
t_ok "a skipped proof" proves p 'echo "p: skipped: no data"; exit 77'
t_is "holds nothing" "$(tail -n 1 "$T/stdout")" "0 hold, 0 fail, 1 skipped"
rm -f "$T"/built/proofs/*
t_fails "no proof at all is no pass" env MUSTER=/bin/true "$MUSTER_SRC/proofs/run" "$T/built"

# Benches: an aim that is missed, and a program that fails.
benches() { # NAME WHAT_TIMED_PRINTS WHAT_THE_PROGRAM_DOES
    printf '#!/bin/sh\n' | tee "$T/built/muster" >"$T/built/bench/timed"
    echo "echo $2" >>"$T/built/bench/timed"
    printf '#!/bin/sh\n%s\n' "$3" >"$T/built/bench/bench-x"
    chmod +x "$T/built/muster" "$T/built/bench/timed" "$T/built/bench/bench-x"
    "$MUSTER_SRC/bench/run" "$T/built" "$1"
}
t_ok "a time within its aim" benches million-jobs "9.5 1000" ""
t_like "is shown beside it" "$(cat "$T/stdout")" \
    '^million-jobs +9\.500 s, 1000 MiB +<= 10 s, <= 1024 MiB$'
t_fails "a time over it" benches million-jobs "10.5 1000" ""
t_like "is marked" "$(cat "$T/stdout")" '^million-jobs +10\.500 s, 1000 MiB MISSED '
t_fails "too much memory" benches million-jobs "9.5 1025" ""
t_ok "a program's own figures" benches bench-x "" 'echo "a-1: 2.50 us p50 (aim <= 3)"'
t_like "are taken over" "$(cat "$T/stdout")" '^a-1 +2\.50 us p50 +<= 3$'
t_fails "a program that misses its own aim" benches bench-x "" 'echo "a: 1 us"; exit 1'
t_fails "a program without figures" benches bench-x "" 'echo hello'
t_fails "a name that nobody has" benches nobody "" ""
t_done
