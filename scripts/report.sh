#!/bin/sh
# report.sh - build/reports/index.html from the logs of the demo: what ran, was injected, was recovered.
set -eu
cd "$(dirname "$0")/.."
python3 reports/report.py build/demo/budget.jsonl build/demo/sweep.json build/reports/coverage/index.html \
    > build/demo/index.html
mkdir -p build/reports
mv build/demo/index.html build/reports/index.html
