#!/bin/sh
# coverage.sh [BUILD] - every line, function and branch of the recovery path runs under the quick recovery cases;
# exit 1 with the list of those that do not. With BUILD (a test of ctest) nothing is installed or built.
set -eu
cd "$(dirname "$0")/.."
build=${1:-build}
if [ $# -eq 0 ]; then
    sh scripts/bootstrap.sh coverage
    cmake --preset dev >/dev/null
    cmake --build build
fi
at=$build/cases/coverage
objects=$at/CMakeFiles/covered.dir
find "$objects" -name '*.gcda' -delete
# A case that hangs gets SIGTERM first, which writes its counters (cases/coverage/dump.c).
export LD_LIBRARY_PATH="$build/sim" OOMPROOF_DEVICE=sim LD_BIND_NOW=1 OPENBLAS_NUM_THREADS=1 build
failed=0
xargs -P 2 -L 1 sh -c 'timeout -k 10 120 env LD_PRELOAD=$build/lib/liboomproof.so "$build/cases/$1" "$2" >/dev/null 2>&1 ||
    { echo "failed: $1 $2"; exit 1; }' run <"$at/runs" || failed=1
python3 scripts/coverage.py "$objects" || failed=1
if [ $# -eq 0 ] && command -v genhtml >/dev/null 2>&1; then
    mkdir -p "$build/reports"
    lcov --quiet --rc lcov_branch_coverage=1 --capture --directory "$objects" --output-file "$at/all.info" 2>/dev/null
    lcov --quiet --rc lcov_branch_coverage=1 --extract "$at/all.info" '*/trainer/*' --output-file "$at/recovery.info"
    genhtml --quiet --branch-coverage --output-directory "$build/reports/coverage" "$at/recovery.info"
    echo "open $build/reports/coverage/index.html"
fi
exit $failed
