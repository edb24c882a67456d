#!/bin/sh
# coverage.sh [BUILD] - every line, function and branch of the recovery path runs under the quick recovery cases;
# exit 1 with the list of those that do not. With BUILD (a test of ctest) nothing is installed or built. What it found also
# goes to BUILD/reports/coverage/coverage.json, for the report.
set -eu
cd "$(dirname "$0")/.."
build=${1:-$PWD/build}
if [ $# -eq 0 ]; then
    sh scripts/bootstrap.sh coverage
    cmake --preset dev >/dev/null
    cmake --build build
fi
# Each run has a folder of its own for the counters: two at a time do not mix.
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
find "$build/cases/coverage/CMakeFiles/covered.dir" -name '*.gcno' -exec cp {} "$dir" \;
failed=0
# A case that hangs gets SIGTERM first, which writes its counters (cases/coverage/dump.c); one that only SIGKILL ends, 137,
# has lost them.
# shellcheck disable=SC2016
build=$build said=$dir/said GCOV_PREFIX=$dir GCOV_PREFIX_STRIP=99 LD_LIBRARY_PATH=$build/sim OOMPROOF_DEVICE=sim LD_BIND_NOW=1 \
    OPENBLAS_NUM_THREADS=1 LD_PRELOAD='' xargs -P 2 -L 1 sh -c 'timeout -k 60 "${OOMPROOF_COVERAGE_SECONDS:-600}" \
    env LD_PRELOAD="$build/lib/liboomproof.so" "$build/cases/$1" "$2" >/dev/null 2>&1
    code=$?
    echo ran 1 >>"$said"
    [ $code -eq 0 ] && exit 0
    echo "failed $1 $2" >>"$said"
    [ $code -eq 137 ] && echo "lost $1 $2" >>"$said"
    echo "failed: $1 $2"
    exit 1' run <"${OOMPROOF_COVERAGE_RUNS:-$build/cases/coverage/runs}" || failed=1
touch "$dir/said"
python3 scripts/coverage.py --json "${OOMPROOF_COVERAGE_OUT:-$build/reports/coverage/coverage.json}" --said "$dir/said" "$dir" || failed=1
if [ $# -eq 0 ]; then
    mkdir -p build/reports
    sh scripts/lcov.sh "$dir" build/reports/coverage
    echo "lcov's pages, line by line: build/reports/coverage/index.html"
    sh scripts/faultlines.sh "$build" build/reports/coverage/faults.json || failed=1
    build/bin/oomproof report --html build/reports/coverage/faults.html build/reports/coverage/faults.json &&
        echo "which fault reached which line: build/reports/coverage/faults.html, and the page of make demo"
fi
exit $failed
