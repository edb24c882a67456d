#!/bin/sh
# coverage.sh - lines and branches of trainer/recovery under the quick recovery cases.
set -eu
cd "$(dirname "$0")/.."
sh scripts/bootstrap.sh coverage
cmake --preset coverage >/dev/null
cmake --build build-coverage
find build-coverage -name '*.gcda' -delete
ctest --test-dir build-coverage -L recovery -LE mutant -j2 --output-on-failure | tail -4
lcov --quiet --rc lcov_branch_coverage=1 --capture --directory build-coverage/trainer --output-file build-coverage/all.info
lcov --quiet --rc lcov_branch_coverage=1 --extract build-coverage/all.info '*/trainer/recovery/*' \
    --output-file build-coverage/recovery.info
mkdir -p build/reports
genhtml --quiet --branch-coverage --output-directory build/reports/coverage build-coverage/recovery.info
lcov --rc lcov_branch_coverage=1 --summary build-coverage/recovery.info 2>&1 | tail -4
echo "open build/reports/coverage/index.html"
