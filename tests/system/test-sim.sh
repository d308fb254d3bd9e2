#!/bin/sh
# test-sim.sh - the program as a user meets it: what it says, and what it says no to
# Everything runs in an empty folder, as after an installation.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/tap.sh"
cd "$T" || exit 1

t_exit 2 "sim alone explains itself" muster sim
example=$(grep -m 1 '^  muster sim ' "$T/stdout")
t_like "with an example" "$example" '--cluster .* --trace '
# Its words are split on purpose; the files are named from the source tree.
# shellcheck disable=SC2086
in_source() { (cd "$MUSTER_SRC" && muster ${1#  muster}); }
t_ok "that works" in_source "$example"
t_like "and prints a table with both policies" "$(cat "$T/stdout")" '^fifo .*[0-9]'
cluster=$MUSTER_SRC/clusters/demo-small.yaml
trace=$MUSTER_SRC/examples/small.jsonl

t_ok "several policies as JSON" muster sim -c "$cluster" -t "$trace" -p fifo,sjf,muster-pack \
    -o json --out "$T/r.json"
t_is "nothing else is printed" "$(cat "$T/stdout" "$T/stderr")" ""
t_is "each policy is one run" "$(grep -o '"policy":"[^"]*"' "$T/r.json" | cut -d '"' -f 4 |
    tr '\n' ' ')" "fifo sjf muster-pack "
# Whatever was done, every GPU-second has one cause and the causes sum to capacity x time.
ledger_rests() { # capacity x time less the causes, of each run; 64-bit arithmetic
    grep -o '"\(capacity_gpu_milli_us\|gpu_milli_us\)":"[0-9]*"' "$T/r.json" | tr -d '":' |
        sed 's/^\([a-z_]*\)/\1 /' | {
        rest=none
        while read -r what amount; do
            case $what in
            capacity*)
                echo "$rest"
                rest=$amount
                [ "$amount" -gt 0 ] || echo "no capacity"
                ;;
            *) rest=$((rest - amount)) ;;
            esac
        done
        echo "$rest"
    }
}
t_is "the ledger sums" "$(ledger_rests | tr '\n' ' ')" "none 0 0 0 "
t_ok "twice the same" muster sim -c "$cluster" -t "$trace" -p fifo,sjf,muster-pack \
    -o json --out "$T/again.json"
t_is "is the same but for the CPU time" "$(sed 's/"cpu_s":[^,]*//g' "$T/again.json" | cksum)" \
    "$(sed 's/"cpu_s":[^,]*//g' "$T/r.json" | cksum)"

t_ok "a page" muster sim -c "$cluster" -t "$trace" -p fifo,muster -o html --out "$T/r.html"
t_fails "that loads nothing from anywhere" \
    grep -Eiq '(src|href) *= *"?(https?:|//)|@import|url\( *.?https?:' "$T/r.html"

t_ok "every promise checked after every record" muster sim -c "$cluster" -t "$trace" \
    -p fifo,muster --faults 50 --check

# One node of 8 GPUs; `big` asks for 16, so under fifo the three behind it wait for good.
printf 'name: tiny\nnodes:\n- {count: 1, name: "a{0}", cpus: 64, memory: 512GiB, gpus: %s}\n' \
    '{type: H100, count: 8}' >"$T/tiny.yaml"
row() { # name submit gpus and more
    printf '{"name":"%s","submit_us":%s,"start_us":%s,"run_us":60000000,"gpus":%s}\n' \
        "$1" "$2" "$2" "$3"
}
{
    row ok 0 8
    row big 1000000 16
    row odd 2000000 '1,"types":["XYZ9"]'
    row b1 3000000 1
    row b2 4000000 1
    echo '{"name":"gone","submit_us":4000000,"state":"cancelled","gpus":1}'
} >"$T/tiny.jsonl"
t_ok "jobs that can never start" muster sim -c "$T/tiny.yaml" -t "$T/tiny.jsonl" \
    -p fifo,muster,recorded --jobs "$T/jobs.csv"
t_like "are told before the run" "$(cat "$T/stderr")" \
    '^warning: 1 of 6 jobs asks? for GPU types that no node has: XYZ9 \(the cluster has H100\)'
t_like "also those that are too big" "$(cat "$T/stderr")" \
    '^warning: 1 of 6 jobs asks? for more GPUs than the cluster has \(8\)'
t_like "rows left out are counted" "$(cat "$T/stdout")" \
    ': 5 jobs \(1 left out: 1 never ran and have no run time\)'
t_like "the replay says first who found no room" "$(cat "$T/stdout")" \
    '2 of 5 jobs found no room and never started: the record does not fit this cluster'
t_like "those behind the head are grouped" "$(cat "$T/stdout")" \
    '^ +2  waits behind the first of its queue, big, which asks for more GPUs than the 8 '
t_like "and each policy's are counted" "$(cat "$T/stdout")" '^fifo: never started: 4 jobs'
t_like "its waits are marked" "$(cat "$T/stdout")" '^fifo .* 0s\* '
t_is "the others' are not" "$(grep -c '^muster .*[0-9]s\*' "$T/stdout")" 0
t_is "each job's state is in the list" \
    "$(sed -n 's/^fifo,[0-9]*,\([a-z0-9]*\),.*,\(done\|never\),.*/\1 \2/p' "$T/jobs.csv" |
        sort | tr '\n' ' ')" "b1 never b2 never big never odd never ok done "
t_like "and its reason" "$(cat "$T/jobs.csv")" \
    '^muster,2,odd,.*,never,asks for GPU type XYZ9: no node has it$'
# 8 GPUs x 1 h in earlier attempts: 8 GPU-hours that a replay of the last ones does not lose.
row torn 0 '8,"lost_us":3600000000,"restarts":2' >"$T/torn.jsonl"
t_ok "a record with restarts" muster sim -c "$T/tiny.yaml" -t "$T/torn.jsonl" -p recorded
t_like "says what is not replayed" "$(cat "$T/stdout")" \
    'the record lost 8 GPU-hours in 2 restarts, which are not replayed'
printf 'speed_by_level: {rakc: 0.5}\n' >"$T/truth.yaml"
t_ok "a truth with a level that is not there" muster sim -c "$T/tiny.yaml" \
    -t "$T/tiny.jsonl" --truth "$T/truth.yaml"
t_like "is warned of" "$(cat "$T/stderr")" 'truth names levels .*: rakc$'

# What cannot be written is said before anything is simulated.
for option in --html --jobs --out --records; do
    t_exit 1 "$option into a folder that is not there" muster sim -c "$cluster" \
        -t "$T/nowhere.jsonl" $option "$T/none/x"
    t_like "is refused first" "$(cat "$T/stderr")" 'cannot write .*none/x: No such file'
done
echo keep >"$T/kept"
t_exit 2 "a run that fails" muster sim -c "$cluster" -t "$T/nowhere.jsonl" --html "$T/kept"
t_is "leaves the old file" "$(cat "$T/kept")" keep
t_exit 2 "a policy named twice is refused" muster sim -c "$cluster" -t "$trace" -p fifo,sjf,fifo
t_like "by its name" "$(cat "$T/stderr")" "'fifo' is named twice"
t_ok "recorded where the trace has no starts" muster sim -c "$cluster" -t "$trace" \
    -p recorded,fifo
t_like "is left out with a word" "$(cat "$T/stderr")" 'no recorded starts'
t_like "and the rest is run" "$(cat "$T/stdout")" '^fifo .*[0-9]'
t_exit 2 "recorded alone is refused there" muster sim -c "$cluster" -t "$trace" -p recorded
t_ok "the version" muster --version
t_like "is a number" "$(cat "$T/stdout")" '^muster [0-9]+\.[0-9]+'
t_exit 2 "help on what is not there" muster help nosuch
t_like "lists what is" "$(cat "$T/stderr")" "no command 'nosuch'; the commands are sim, trace"

# Bad input: exit 2, with file, line and column.
{ head -n 3 "$trace"; echo '{"name":"x","submit_us":"soon"}'; } >"$T/bad.jsonl"
t_exit 2 "a malformed trace is refused" muster sim -c "$cluster" -t "$T/bad.jsonl" -p fifo
t_like "with its place" "$(cat "$T/stderr")" 'bad\.jsonl:4:[0-9]+: '
printf 'name: x\nnodes:\n- {count: 2, name: n, cpus: many}\n' >"$T/bad.yaml"
t_exit 2 "a malformed cluster is refused" muster cluster show "$T/bad.yaml"
t_like "with its place" "$(cat "$T/stderr")" 'bad\.yaml:3:[0-9]+: '
printf 'order: backwards\n' >"$T/bad-policy.yaml"
t_exit 2 "a malformed policy is refused" muster sim -c "$cluster" -t "$trace" \
    -p "$T/bad-policy.yaml"
t_like "with its place" "$(cat "$T/stderr")" 'bad-policy\.yaml:1:[0-9]+: '
t_exit 2 "an unknown option is refused" muster sim --polcy fifo
t_like "with the nearest one" "$(cat "$T/stderr")" '--policy'
t_exit 2 "a missing file is named" muster trace info "$T/nowhere.csv"
t_like "by its name" "$(cat "$T/stderr")" 'nowhere\.csv'
t_exit 2 "an unknown policy is refused" muster sim -c "$cluster" -t "$trace" -p fifoo

# The generator and back.
t_ok "a trace is made" muster trace generate --like philly --jobs 500 --seed 3 --out "$T"
t_ok "and described" muster trace info "$T/trace.jsonl" --cluster "$T/cluster.yaml"
t_like "with its rows" "$(cat "$T/stdout")" 'jobs +500'
t_ok "and its cluster drawn" muster cluster show "$T/cluster.yaml"
cp "$T/trace.jsonl" "$T/first.jsonl"
t_ok "made again" muster trace generate --like philly --jobs 500 --seed 3 --out "$T"
t_ok "it is the same" cmp "$T/first.jsonl" "$T/trace.jsonl"

# The manual comes out of the tables: one page a command, every option in it.
t_ok "man pages are written" "$MUSTER_SRC/tools/man" "$MUSTER" "$T/man"
for command in sim 'trace generate' 'cluster show'; do
    page=$T/man/muster-$(echo "$command" | tr ' ' '-').1
    # shellcheck disable=SC2086
    muster help $command | grep -Eo '^ +(-., )?--[a-z-]+' | grep -Eo -- '--[a-z-]+' |
        grep -v -- --help | sort -u >"$T/options"
    sed 's/\\f[BRI]/ /g; s/\\//g' "$page" | grep -Eo -- '--[a-z-]+' | sort -u >"$T/in-page"
    t_ok "muster $command has options" test -s "$T/options"
    t_is "its page has all of them" "$(comm -23 "$T/options" "$T/in-page")" ""
done

# A trace that brings its cluster, its queues and its window along. Two queues of one node each on
# two nodes: within a static quota b runs one job after the other, from 0, 100 and 150 s.
cat >"$T/site.csv" <<'EOF'
# nodes=2 queues a=8 b=8 window=10..110
submit_s,run_s,limit_s,gpus,queue,need
0,100,200,8,b,
20,50,200,8,b,
30,10,200,1,b,rack
110,10,200,1,a,
EOF
t_ok "a trace may bring cluster, queues and window" muster sim -c trace -t "$T/site.csv" \
    -p volcano-like,fifo --check -o json --out "$T/r.json"
figures() { grep -o "\"$1\":[0-9.]*" "$T/r.json" | cut -d : -f 2 | tr '\n' ' '; }
t_is "two nodes of eight" "$(figures nodes)" "2 2 "
t_is "two of four jobs came inside the window" "$(figures total)" "2 2 "
# Inside [10, 110), of 16 x 100: 8 x 90 of the first and 8 x 10 of the second; without quotas all
# of the second from 20 s on and, when its node is free at 70 s, of the third: 720 + 400 + 10.
t_is "GPU time inside it" "$(figures allocated_fraction)" "0.5 0.70625 "
t_is "offered inside it" "$(figures offered_fraction)" "0.25625 0.25625 "
t_is "waits of those two" "$(grep -o '"wait":{"jobs":2,"sum_s":[0-9]*' "$T/r.json" |
    sort -u | cut -d : -f 4 | tr '\n' ' ')" "200 40 "
t_ok "the whole, if asked for" muster sim -c trace -t "$T/site.csv" -p fifo -w all -o json \
    --out "$T/r.json"
t_is "is all four" "$(figures total)" "4 "
t_exit 2 "a window must end after it begins" muster sim -c trace -t "$T/site.csv" -w 5..5
t_exit 2 "JSON Lines say nothing of a cluster" muster sim -c trace -t "$trace"

# An installation brings all that the program needs. (It looks for its files below the
# prefix it was built for, which is not where this one stands: so it is told.)
install_there() {
    DESTDIR=$T/root meson install -C "$MUSTER_BUILD" --no-rebuild --quiet
}
t_ok "it installs" install_there
bin=$(find "$T/root" -name muster -type f -path '*bin*')
t_ok "the program is there" test -x "$bin"
share=$(dirname "$(dirname "$(find "$T/root" -path '*/policies/fgd.yaml')")")
t_ok "the policies too" test -s "$share/policies/fgd.yaml"
t_ok "the manual too" test -s "$(find "$T/root" -name muster-sim.1)"
installed() {
    MUSTER_DATADIR=$share "$bin" sim -c "$T/cluster.yaml" \
        -t "$T/trace.jsonl" -p fgd
}
t_ok "it runs there, with a policy by name" installed
echo 'order: backwards' >"$share/policies/fgd.yaml"
t_exit 2 "and that policy is the installed one" installed
t_done
