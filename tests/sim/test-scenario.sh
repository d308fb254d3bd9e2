#!/bin/sh
# test-scenario.sh - the runner itself: what it says about malformed files, that it can fail,
# and that every file here is a test and in the docs. SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/../system/tap.sh"
SCENARIO=${SCENARIO:-$MUSTER_BUILD/tests/sim/scenario}

base() { # the lines 1 to 6 of each file below
    cat <<'END'
about: a test
source: none
cluster:
  levels: [rack]
  nodes:
    - {name: n0, cpus: 8, gpus: {type: H100, count: 2}, place: {rack: r0}}
END
}

refuses() { # WHAT PLACE-AND-REASON, the rest of the file on stdin
    { base; cat; } >"$T/s.yaml"
    t_exit 2 "refuses $1" "$SCENARIO" "$T/s.yaml" &&
        t_like "and says where: $2" "$(cat "$T/stderr")" "s.yaml:$2"
}

refuses "a scenario that expects nothing" '8:3: ' <<'END'
steps:
  - submit: {name: j, gang: {shape: {cpus: 1}}}
END
refuses "an unknown verb" '8:5: unknown key "submitt", did you mean "submit"' <<'END'
steps:
  - submitt: {name: j, gang: {shape: {cpus: 1}}}
END
refuses "an unknown key of a shape" '8:38: unknown key "gpu"' <<'END'
steps:
  - submit: {name: j, gang: {shape: {gpu: 1}}}
END
refuses "a leaf without a shape" '8:29: a leaf needs a shape' <<'END'
steps:
  - submit: {name: j, gang: {tasks: 2}}
END
refuses "counts out of order" '8:13: group 1: min 5, want 2' <<'END'
steps:
  - submit: {name: j, gang: {tasks: {min: 5, want: 2}, shape: {cpus: 1}}}
END
refuses "two things in one step" '8:5: two things in one step' <<'END'
steps:
  - {restart: true, mark: true}
END
refuses "time that goes back" '9:5: time goes back here' <<'END'
steps:
  - {at: 10s, mark: true}
  - {at: 9s, mark: true}
END
refuses "an unknown node" '8:11: no node "n7"' <<'END'
steps:
  - node: {name: n7, state: down}
END
refuses "an unknown level" '9:25: "row" is no level of the cluster' <<'END'
steps:
  - expect:
      - {job: j, level: row, domains: 1}
END
refuses "an expectation about nothing" '9:9: nothing is expected of the job' <<'END'
steps:
  - expect:
      - {job: j}
END
refuses "an unknown state" '9:25: state: "runing" is none of pending' <<'END'
steps:
  - expect:
      - {job: j, state: runing}
END
refuses "a policy's mistake, at its line and column" '8:10: order' <<'END'
policy:
  order: lifo
steps:
  - mark: true
END

refuses "an unknown key of a job" '8:42: unknown key "preemptable", did you mean "preemptible"' <<'END'
steps:
  - submit: {name: j, preemptible: true, preemptable: true, gang: {shape: {cpus: 1}}}
END
refuses "room kept on an unknown node" '9:32: no node "n7"' <<'END'
steps:
  - expect:
      - {job: j, held_on: [n0, n7]}
END
refuses "a promise that is no time" '9:28: ' <<'END'
steps:
  - expect:
      - {job: j, promised: soon}
END
refuses "a budget without a number" '8:31: ' <<'END'
steps:
  - budget: {job: j, allowed: all}
END

printf 'about: x\nsource: y\ncluster:\n  nodes:\n    - {name: n0, cpu: 8}\nsteps: []\n' >"$T/c.yaml"
t_exit 2 "refuses a cluster's mistake" "$SCENARIO" "$T/c.yaml"
t_like "at its line and column" "$(cat "$T/stderr")" 'c.yaml:5:18: unknown key "cpu"'
t_exit 2 "refuses a file that is not there" "$SCENARIO" "$T/none.yaml"

# It can fail: a launch where none is expected, a wrong count, a wrong reason.
fails() { # WHAT, an expectation that does not hold
    { base; printf 'steps:\n  - submit: {name: j, gang: {tasks: 2, shape: {gpus: 1}}}\n'
      printf '  - submit: {name: k, gang: {shape: {gpus: 1}}}\n  - expect:\n      - %s\n' "$2"
    } >"$T/f.yaml"
    t_exit 1 "fails: $1" "$SCENARIO" "$T/f.yaml"
}
fails "a running job is not pending" '{job: j, state: pending}'
fails "two tasks are not three" '{job: j, running: 3}'
fails "another reason" '{job: k, because: quota}'
fails "another device" '{job: j, devices: {n0: [0]}}'
fails "not quiet" '{quiet: true}'
fails "no such job" '{job: nobody, tasks: 0}'
fails "free GPUs that are taken" '{free: {gpus: 1}}'
fails "nobody was evicted" '{job: j, evictions: 1}'
fails "no room is kept" '{job: k, holds: 1}'
fails "nor on a node" '{job: k, held_on: [n0]}'
fails "nothing was promised" '{job: k, promised: 1h}'
fails "no plan was made" '{counts: {plans: 1}}'
fails "three things were decided" '{counts: {decisions: 0}}'
fails "a count out of bounds" '{counts: {launches: {most: 0}}}'

for f in "$MUSTER_SRC"/tests/sim/*.yaml; do
    name=$(basename "$f" .yaml)
    grep -q "'$name'" "$MUSTER_SRC/tests/sim/meson.build" || missing="${missing:-} $name"
    grep -q "\`$name\`" "$MUSTER_SRC/docs/scenarios.md" || undocumented="${undocumented:-} $name"
done
t_is "every scenario is a test" "${missing:-none missing}" "none missing"
t_is "every scenario is in docs/scenarios.md" "${undocumented:-none missing}" "none missing"
t_done
