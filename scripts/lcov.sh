#!/bin/sh
# lcov.sh COUNTERS FOLDER - lcov's pages of trainer/ into FOLDER, from the .gcda and .gcno files in COUNTERS.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
lcov --quiet --rc lcov_branch_coverage=1 --capture --directory "$1" --output-file "$1/all.info"
lcov --quiet --rc lcov_branch_coverage=1 --extract "$1/all.info" '*/trainer/*' --output-file "$1/recovery.info"
genhtml --quiet --branch-coverage --html-prolog "$here/reports/lcov/prolog.html" --output-directory "$2" "$1/recovery.info"
