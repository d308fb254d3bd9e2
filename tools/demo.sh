#!/bin/sh
# demo.sh - the first thing to see: real jobs under several policies, side by side
# usage: tools/demo.sh BUILD
# Replays the openb trace (8,152 pods of an Alibaba cluster with 1,213 GPU nodes, in the
# arrival order of the FGD paper's experiment) where ../shared has it, else a trace that the
# built-in generator makes from published statistics. Prints a table, writes report.html.
# SPDX-License-Identifier: Apache-2.0
set -eu
cd "$(dirname "$0")/.."
muster=$1/muster
shared=${MUSTER_SHARED:-../shared}
openb=$shared/data/traces/openb-fgd

if [ -r "$openb/csv/openb_pod_list_default.csv.zst" ]; then
    echo "The openb trace on its 6,212 GPUs, arrivals up to 130 % of the cluster, no departures:"
    set -- --cluster "$openb/csv/openb_node_list_gpu_node.csv" \
        --trace "$openb/csv/openb_pod_list_default.csv.zst" \
        --order "$openb/orders/openb_pod_list_default.orders.zst" --seed 42 --forever \
        --policy random,dotprod,gpu-clustering,gpu-packing,bestfit,fgd,muster-pack
else
    echo "No ../shared here: a week of an LLM cluster, made from the published statistics of"
    echo "Acme's Kalos (2,416 GPUs), seed 1, asking for 80 % of its GPU time:"
    mkdir -p "$1/demo"
    "$muster" trace generate --like kalos --load 80 --seed 1 --out "$1/demo"
    set -- --cluster "$1/demo/cluster.yaml" --trace "$1/demo/trace.jsonl" \
        --policy fifo,sjf,kube-default,kube-binpack,fgd,muster
fi
echo "+ $muster sim $* --html report.html"
"$muster" sim "$@" --html report.html
echo "The same as a page with plots: $(pwd)/report.html"
