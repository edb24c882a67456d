#!/bin/sh
# demo.sh - trains on a budget that does not fit, then sweeps a step: every allocation fails, once and for good. What a sweep
# finds is on the page, and the exit code.
set -eu
cd "$(dirname "$0")/.."
mkdir -p build/demo
budget=build/demo/budget.jsonl sweep=build/demo/sweep.json
code=0
rm -f $budget $sweep build/demo/budgets.json build/demo/trace
echo "== 10 batches of generated rooms on a card of 64 MiB, which is too small for the largest"
build/bin/oomproof run --device sim --trace build/demo/trace --faults 'cudaMalloc budget=64MiB -> oom' -- \
    build/bin/pointtrain train --data rooms:12,max=80000 --seed 702 --steps 10 --allocator direct --log $budget
echo
echo "== every allocation of one training step fails, one after the other: once, and with all later ones"
build/bin/oomproof sweep --device sim --json $sweep -- \
    build/bin/pointtrain train --data rooms:4,max=60000 --seed 21 --batch 4 --steps 1 --allocator direct --quiet || code=$?
echo
echo "== the same step on 16 budgets, from where nothing more fits to where all fits"
build/bin/oomproof sweep --device sim --budgets 16 --json build/demo/budgets.json -- \
    build/bin/pointtrain train --data rooms:4,max=60000 --seed 21 --batch 4 --steps 1 --allocator direct --quiet || code=$?
sh scripts/report.sh || code=$?
echo "open build/reports/index.html"
exit $code
