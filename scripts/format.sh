#!/bin/sh
# format.sh - fails when a tracked source is not as clang-format would write it.
cd "$(dirname "$0")/.." || exit 7
command -v clang-format >/dev/null 2>&1 || { echo "format: clang-format is not installed, nothing was checked" >&2; exit 2; }
git ls-files '*.c' '*.h' '*.cu' '*.cuh' | xargs clang-format --dry-run -Werror
