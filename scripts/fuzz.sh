#!/bin/sh
# fuzz.sh [SECONDS] - coverage-guided fuzzing (clang's libFuzzer, ASan, UBSan) of the rule parser, the trace reader and the
# readers of scenes, for SECONDS each (60). What it finds is left in build/fuzz; seeds are cases/fuzz/rules, a trace and
# scenes that are made here.
set -eu
cd "$(dirname "$0")/.."
seconds=${1:-60}
command -v clang >/dev/null || { echo "fuzz.sh needs clang: apt install clang"; exit 2; }
mkdir -p build/fuzz/rules build/fuzz/traces build/fuzz/scenes
flags="-g -O1 -fsanitize=fuzzer,address,undefined -Ishim -Ibuild/shim"
clang $flags cases/fuzz/rules.c shim/parse.c shim/rules.c shim/calls.c -o build/fuzz/fuzz_rules
clang $flags cases/fuzz/trace.c shim/trace/read.c -o build/fuzz/fuzz_trace
data=trainer/data
clang $flags -Itrainer -I$data cases/fuzz/scenes.c $data/classmap.c $data/flat.c $data/formats.c $data/kitti.c $data/las.c \
    $data/lzf.c $data/npy.c $data/npyscene.c $data/pcd.c $data/ply.c $data/roles.c $data/scene.c -lm -o build/fuzz/fuzz_scenes
clang -g cases/fuzz/seeds.c cases/data/files.c -o build/fuzz/seeds
build/fuzz/seeds build/fuzz/scenes
build/bin/oomproof run --device sim --trace build/fuzz/whole -- build/cases/guest_any fork 2>/dev/null
head -c 2048 build/fuzz/whole >build/fuzz/traces/seed
cd build/fuzz
./fuzz_rules -max_total_time="$seconds" -max_len=600 rules ../../cases/fuzz/rules 2>&1 | tail -2
./fuzz_trace -max_total_time="$seconds" -max_len=8192 traces 2>&1 | tail -2
# a header must not be able to ask for much more than the file: 4 KiB of LZF are at most 352 KiB, 10 MiB as points
./fuzz_scenes -max_total_time="$seconds" -max_len=4096 -malloc_limit_mb=16 scenes 2>&1 | tail -2
