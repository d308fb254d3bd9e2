#!/bin/sh
# test-files.sh - files as users make and keep them: the pages' examples, and what is written
# The listings below are in the form that the manuals of sinfo and kubectl describe.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/tap.sh"
page=$MUSTER_SRC/docs/cluster-format.md
trace=$MUSTER_SRC/examples/small.jsonl

# Each YAML example of the page loads: alone, or completed where it is marked as a part.
mkdir "$T/yaml"
awk -v dir="$T/yaml" '/^```yaml/ { f = sprintf("%s/%02d%s.yaml", dir, ++n, $2 == "part" ? "-part" : ""); next }
    /^```/ { if (f) close(f); f = "" } f { print > f }' "$page"
t_is "examples in the page" "$(($(find "$T/yaml" -name '*.yaml' | wc -l) > 6))" 1
printf 'vc,node num\nabc,3\n' >"$T/yaml/philly_vc.csv"
for f in "$T"/yaml/*.yaml; do
    case $(head -n 1 "$f") in
    gpus:*) sed -i '1s/^/nodes:\n- name: a\n  /' "$f" ;;
    types:*) printf 'nodes:\n- name: a\n' >>"$f" ;;
    esac
    if grep -q MUSTER_SHARED "$f" && [ ! -d "$MUSTER_SHARED/data" ]; then
        t_skip "no shared data at $MUSTER_SHARED"
    else
        t_ok "example $(basename "$f" .yaml) loads" muster cluster show "$f"
    fi
done

# The recipes, run as they stand over listings instead of the real commands.
recipe() { awk -v mark="<!-- $1 -->" '$0 == mark { on = 1; next } on && /^```sh/ { in_code = 1; next }
    /^```/ { if (in_code) exit } in_code' "$page"; }
mkdir "$T/bin"
ln -s "$MUSTER" "$T/bin/muster"
cat >"$T/bin/sinfo" <<'EOF'
#!/bin/sh
[ "$*" = '-N -h -o %N|%c|%m|%G|%f|%P|%T' ] || exit 1
cat <<'END'
g001|128|2048000|gpu:h100:8(S:0-1)|ib,rack=r1|gpu*|mixed
g001|128|2048000|gpu:h100:8(S:0-1)|ib,rack=r1|debug|mixed
g002|128|2048000|gpu:h100:8(S:0-1),nvme:1|(null)|gpu*|drained$
g003|64|512000|gpu:4|(null)|old|down*
m001|64|512000|gpu:1g.10gb:7|(null)|mig|idle~
c001|64|256000|(null)|(null)|cpu|allocated
END
EOF
cat >"$T/bin/kubectl" <<'EOF'
#!/bin/sh
[ "$1 $2" = 'get nodes' ] || exit 1
cat <<'END'
gpu-a   127500m   1056270020Ki   8        NVIDIA-H100-80GB-HBM3   eu-1a    <none>
gpu-b   127500m   1056270020Ki   8        NVIDIA-H100-80GB-HBM3   eu-1b    true
cpu-a   64        263921348Ki    <none>   <none>                  <none>   <none>
END
EOF
chmod +x "$T/bin/sinfo" "$T/bin/kubectl"
cd "$T" || exit 1
for tool in sinfo kubectl; do
    recipe $tool >"$T/$tool.sh"
    t_ok "the page's recipe for $tool runs" env PATH="$T/bin:$PATH" sh "$T/$tool.sh"
    mv site.yaml "$tool.yaml"
    muster cluster show "$tool.yaml" -o json >"$tool.json"
done
t_like "sinfo: nodes, two of them not in use, and GPUs by the catalogue's names" \
    "$(head -n 1 sinfo.json)" \
    '"nodes":5,"nodes_not_in_use":2,"gpus":27,"gpus_by_type":.*"H100":16,"GPU":4,"1g.10gb":7'
t_like "sinfo: a node in two partitions has both tags" "$(grep g001 sinfo.yaml)" \
    'tags: \["partition=gpu", "ib", "rack=r1", "partition=debug"\]'
t_like "sinfo: drained" "$(grep g002 sinfo.yaml)" 'state: drained'
t_like "kubectl: nodes, one of them cordoned" "$(head -n 1 kubectl.json)" \
    '"nodes":3,"nodes_not_in_use":1,"gpus":16,"gpus_by_type":.*"H100":16'
t_like "kubectl: the level" "$(cat kubectl.json)" '"levels":\["zone"\]'

# What is written replaces a file only as a whole.
printf 'old\n' >"$T/kept"
chmod 640 "$T/kept"
full() { # a file may have 512 bytes: like a full disk
    (trap '' XFSZ && ulimit -f 1 && "$MUSTER" trace convert "$trace" -o "$1")
}
if [ "$(wc -c <"$trace")" -gt 1024 ]; then
    t_exit 2 "a full disk is an error" full "$T/kept"
    t_like "and named" "$(cat "$T/stderr")" 'cannot write .*/kept'
    t_is "what was there stays" "$(cat "$T/kept")" old
    t_is "and nothing is left beside it" "$(find "$T" -name 'kept.*')" ""
else
    t_fail "examples/small.jsonl is too small to fill a disk"
fi
t_ok "with room" muster trace convert "$trace" -o "$T/kept"
t_like "it is replaced" "$(head -n 1 "$T/kept")" muster_trace
t_is "with the rights it had" "$(stat -c %a "$T/kept")" 640
if [ "$(id -u)" = 0 ]; then
    t_skip "root may write everything"
else
    printf 'old\n' >"$T/locked"
    chmod 444 "$T/locked"
    t_fails "a file that may not be written" muster trace convert "$trace" -o "$T/locked"
    t_is "stays" "$(cat "$T/locked")" old
fi
printf 'old\n' >"$T/target"
ln -s target "$T/link"
t_ok "through a link" muster trace convert "$trace" -o "$T/link"
t_ok "the link stays one" test -L "$T/link"
t_ok "and its file is written" grep -q muster_trace "$T/target"
t_fails "a device that is full" muster trace convert "$trace" -o /dev/full
t_ok "stays a device" test -c /dev/full

# Partitions as tags.
printf 'JobIDRaw|Account|Partition|Submit|State\n1|phys|gpu|5|PENDING\n2|phys|a,b|6|PENDING\n' >"$T/p.sacct"
t_ok "partitions are kept" muster trace convert "$T/p.sacct"
t_like "beside the account" "$(cat "$T/stdout")" '"queue":"phys".*"partition":"gpu"'
t_is "not as tags" "$(grep -c need_tag "$T/stdout")" 0
t_ok "unless that is asked for" muster trace convert "$T/p.sacct" --need-tag partition
t_is "one partition is one tag" "$(grep -c '"need_tag":"partition=gpu"' "$T/stdout")" 1
t_is "several are none" "$(grep -c need_tag "$T/stdout")" 1
t_like "which is said" "$(cat "$T/stderr")" 'warning: 1 job may go to several partitions.*row 2'
t_done
