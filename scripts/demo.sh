#!/bin/sh
# demo.sh - trains on a budget that does not fit, then fails every allocation of a step, once each.
set -eu
cd "$(dirname "$0")/.."
mkdir -p build/demo
log=build/demo/budget.jsonl
rm -f build/demo/loop.jsonl
echo "== 10 batches of generated rooms on a card of 64 MiB, which is too small for the largest"
build/bin/oomproof run --device sim --faults 'cudaMalloc budget=64MiB -> oom' -- \
    build/bin/pointtrain train --data rooms:12,max=80000 --seed 702 --steps 10 --allocator direct --log $log
echo
echo "== every allocation of one training step fails, one after the other"
OOMPROOF_LOOP_LOG=build/demo/loop.jsonl ctest --test-dir build -R '^everyalloc\.' --output-on-failure | tail -6
sh scripts/report.sh
echo "open build/reports/index.html"
