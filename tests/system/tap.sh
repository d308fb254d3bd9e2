# tap.sh - TAP for shell tests: source it first, call t_done last
#
#   . "$(dirname "$0")/tap.sh"
#   t_ok    "it says hello"          grep -q hello "$T/out"
#   t_fails "it refuses x"           muster sim --x
#   t_exit  2 "bad input is 2"       muster trace info "$T/bad.csv"
#   t_is    "three rows" "$rows" 3
#   t_like  "names line and column" "$text" 'bad.csv:3:7: '
#   t_skip  "no shared data at $MUSTER_SHARED"        one check
#   t_skip_all "needs clang"                          the whole file, before any check
#   t_done
#
# $T is a fresh folder, removed at the end. $MUSTER, $MUSTER_SRC, $MUSTER_BUILD and
# $MUSTER_SHARED are set; stdout and stderr of the commands are in $T/stdout and $T/stderr and
# are shown when a check fails; each check returns whether it held. For POSIX sh.
# SPDX-License-Identifier: Apache-2.0
set -u
MUSTER_SRC=${MUSTER_SRC:-$(cd "$(dirname "$0")/../.." && pwd)}
MUSTER_BUILD=${MUSTER_BUILD:-$MUSTER_SRC/build}
MUSTER=${MUSTER:-$MUSTER_BUILD/muster}
MUSTER_SHARED=${MUSTER_SHARED:-$MUSTER_SRC/../shared}
MUSTER_DATADIR=${MUSTER_DATADIR:-$MUSTER_SRC}
LC_ALL=C
export MUSTER_SRC MUSTER_BUILD MUSTER MUSTER_SHARED MUSTER_DATADIR LC_ALL

T=$(mktemp -d "${TMPDIR:-/tmp}/muster-test.XXXXXX")
t_run=0
t_failed=0
t_ended=
trap 'code=$?; rm -rf "$T"; [ -n "$t_ended" ] || { echo "Bail out! ended early"; exit 1; }
    exit $code' EXIT
trap 'exit 130' INT TERM

muster() {
    "$MUSTER" "$@"
}

t_diag() {
    printf '%s\n' "$*" | sed 's/^/# /'
}

t_pass() { # WHAT
    t_run=$((t_run + 1))
    echo "ok $t_run - $1"
}

t_fail() { # WHAT [LINE...]
    t_run=$((t_run + 1))
    t_failed=$((t_failed + 1))
    echo "not ok $t_run - $1"
    shift
    for line; do
        t_diag "$line"
    done
    return 1
}

t_show() { # what the last command wrote
    for stream in stdout stderr; do
        [ ! -s "$T/$stream" ] || head -c 4000 "$T/$stream" | sed "s/^/# $stream: /"
    done
}

t_exit() { # CODE WHAT COMMAND...
    want=$1 what=$2
    shift 2
    code=0
    "$@" >"$T/stdout" 2>"$T/stderr" </dev/null || code=$?
    if [ "$code" = "$want" ]; then
        t_pass "$what"
    else
        t_fail "$what" "exit $code, want $want: $*"
        t_show
        return 1
    fi
}

t_ok() { # WHAT COMMAND...
    t_exit 0 "$@"
}

t_fails() { # WHAT COMMAND...: any exit but 0; a signal is never what was wanted
    what=$1
    shift
    code=0
    "$@" >"$T/stdout" 2>"$T/stderr" </dev/null || code=$?
    if [ "$code" != 0 ] && [ "$code" -lt 128 ]; then
        t_pass "$what"
    else
        t_fail "$what" "exit $code: $*"
        t_show
        return 1
    fi
}

t_is() { # WHAT GOT WANT
    if [ "$2" = "$3" ]; then
        t_pass "$1"
    else
        t_fail "$1" "got  $2" "want $3"
    fi
}

t_like() { # WHAT TEXT REGEX
    if printf '%s\n' "$2" | grep -Eq -e "$3"; then
        t_pass "$1"
    else
        t_fail "$1" "no match for /$3/ in:" "$2"
    fi
}

t_skip() { # REASON
    t_run=$((t_run + 1))
    echo "ok $t_run # SKIP $1"
}

t_skip_all() { # REASON
    echo "1..0 # SKIP $1"
    t_ended=1
    exit 0
}

t_done() {
    echo "1..$t_run"
    t_ended=1
    [ "$t_failed" = 0 ] && [ "$t_run" != 0 ]
    exit $?
}
