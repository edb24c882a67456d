#!/bin/sh
# fuzz.sh [SECONDS] - coverage-guided fuzzing (clang's libFuzzer, ASan, UBSan) of the rule parser and the trace reader, for
# SECONDS each (60). What it finds is left in build/fuzz; seeds are cases/fuzz/rules and a trace that is made here.
set -eu
cd "$(dirname "$0")/.."
seconds=${1:-60}
command -v clang >/dev/null || { echo "fuzz.sh needs clang: apt install clang"; exit 2; }
mkdir -p build/fuzz/rules build/fuzz/traces
flags="-g -O1 -fsanitize=fuzzer,address,undefined -Ishim -Ibuild/shim"
clang $flags cases/fuzz/rules.c shim/parse.c shim/rules.c shim/calls.c -o build/fuzz/fuzz_rules
clang $flags cases/fuzz/trace.c shim/trace/read.c -o build/fuzz/fuzz_trace
build/bin/oomproof run --device sim --trace build/fuzz/whole -- build/cases/guest_any fork 2>/dev/null
head -c 2048 build/fuzz/whole >build/fuzz/traces/seed
cd build/fuzz
./fuzz_rules -max_total_time="$seconds" -max_len=600 rules ../../cases/fuzz/rules 2>&1 | tail -2
./fuzz_trace -max_total_time="$seconds" -max_len=8192 traces 2>&1 | tail -2
