#!/bin/sh
# report.sh - build/reports/index.html from what the demo, the tests and the mutants left: what ran, was injected, was
# recovered. Exit code 0 where nothing was found wrong, even if a part is missing: the page says which.
set -eu
cd "$(dirname "$0")/.."
ctest --test-dir build -R '^field\.' -j2 --output-junit "$PWD/build/demo/field.xml" >/dev/null || :
set -- build/demo/budget.jsonl build/demo/sweep.json build/demo/budgets.json build/demo/trace build/demo/field.xml \
    fixtures/field
[ -d build/reports/mutants ] && set -- "$@" build/reports/mutants
for file in coverage faults; do
    [ -e build/reports/coverage/$file.json ] && set -- "$@" build/reports/coverage/$file.json
done
rm -f build/reports/summary.json
code=0
build/bin/oomproof report -o build/reports "$@" || code=$?
# 2: something could not be read, which the page says at its top. Nothing was found wrong: no failure of the demo.
[ $code -eq 2 ] && grep -q '"verdict": "incomplete"' build/reports/summary.json && code=0
exit $code
