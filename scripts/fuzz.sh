#!/bin/sh
# fuzz.sh [SECONDS [TARGET...]] - coverage-guided fuzzing (clang's libFuzzer, ASan, UBSan) of what reads others' bytes, for
# SECONDS each (60): rules (the rule parser), trace (the trace reader), ptx (the translator), fatbin (the reader of fat
# binaries), scenes (the readers of scenes), fixture (recordings, and the models of
# allocators). What it finds is left in build/fuzz; seeds are in cases/fuzz, or made here.
set -eu
cd "$(dirname "$0")/.."
seconds=${1:-60}
[ $# -gt 0 ] && shift
[ $# -gt 0 ] || set -- rules trace ptx fatbin scenes fixture
command -v clang >/dev/null || { echo "fuzz.sh needs clang: apt install clang"; exit 2; }
flags="-g -O1 -fsanitize=fuzzer,address,undefined"
zstd=
[ -e /usr/include/zstd.h ] && zstd="-DOOMPROOF_ZSTD -lzstd"

# fuzz NAME SEEDS LENGTH [OPTION...]: runs build/fuzz/fuzz_NAME
fuzz() {
    name=$1 seeds=$2 length=$3
    shift 3
    echo "fuzz_$name:"
    (cd build/fuzz && "./fuzz_$name" -max_total_time="$seconds" -max_len="$length" -timeout=20 "$@" "$name" "$seeds" 2>&1 | tail -2)
}

root=$(pwd)
for target in "$@"; do
    mkdir -p "build/fuzz/$target" "build/fuzz/seeds_$target"
    case $target in
    rules)
        clang $flags -Ishim -Ibuild/shim cases/fuzz/rules.c shim/parse.c shim/faults.c shim/nearest.c shim/rules.c shim/calls.c -o build/fuzz/fuzz_rules
        fuzz rules "$root/cases/fuzz/rules" 600 ;;
    trace)
        clang $flags -Ishim cases/fuzz/trace.c shim/trace/read.c -o build/fuzz/fuzz_trace
        build/bin/oomproof run --device sim --trace build/fuzz/whole -- build/cases/guest_any fork 2>/dev/null
        head -c 2048 build/fuzz/whole >build/fuzz/seeds_trace/seed
        # the same with a window of 4 records and blocks behind it, and as a ring of 8 after 16 names (shim/trace/format.h)
        cp build/fuzz/seeds_trace/seed build/fuzz/seeds_trace/blocks
        cp build/fuzz/seeds_trace/seed build/fuzz/seeds_trace/ring
        patch() { printf "$2" | dd of="build/fuzz/seeds_trace/$1" bs=1 seek="$3" conv=notrunc status=none; }
        patch blocks '\026' 32
        patch blocks '\004\000' 56
        patch ring '\020\000\000\000\010' 40
        patch ring '\000\000' 56
        fuzz trace seeds_trace 8192 ;;
    ptx)
        clang $flags -Isim -DSIM_PTX_VERSION='"fuzz"' -DSIM_SIMRT_H="\"$root/sim/simrt.h\"" \
            -DSIM_PRELUDE_H="\"$root/sim/ptx/prelude.h\"" -DSIM_HALF_H="\"$root/sim/ptx/half.h\"" -DSIM_LANES_H="\"$root/sim/ptx/lanes.h\"" \
            cases/fuzz/ptx.c $(ls sim/ptx/*.c | grep -v ptx2c.c) -o build/fuzz/fuzz_ptx
        fuzz ptx "$root/cases/fuzz/ptx" 6000 -dict="$root/cases/fuzz/ptx.dict" ;;
    fatbin)
        clang $flags -Isim/cudart cases/fuzz/fatbin.c sim/cudart/fatbin.c $zstd -o build/fuzz/fuzz_fatbin
        python3 scripts/fatbins.py build/cases/sim_probe* build/fuzz/seeds_fatbin
        fuzz fatbin seeds_fatbin 4096 ;;
    scenes)
        data=trainer/data
        clang $flags -Itrainer -I$data cases/fuzz/scenes.c $data/classmap.c $data/flat.c $data/formats.c $data/kitti.c \
            $data/las.c $data/lzf.c $data/npy.c $data/npyscene.c $data/pcd.c $data/ply.c $data/roles.c $data/scene.c -lm \
            -o build/fuzz/fuzz_scenes
        clang -g cases/fuzz/seeds.c cases/data/files.c -o build/fuzz/seeds
        build/fuzz/seeds build/fuzz/seeds_scenes
        # a header must not be able to ask for much more than the file: 4 KiB of LZF are at most 352 KiB, 10 MiB as points
        fuzz scenes seeds_scenes 4096 -malloc_limit_mb=16 ;;
    fixture)
        # the sum at the end would keep a mutation from ever coming through: the fuzzer's reader does not hold it
        clang $flags -DOP_FIXTURE_ANY_SUM -Ishim cases/fuzz/fixture.c shim/field/fixture.c shim/field/read.c \
            shim/field/models.c shim/field/stream.c shim/json.c -ljansson -o build/fuzz/fuzz_fixture
        for f in handle pinned-host to-the-floor fragmented; do cp "fixtures/field/$f.oomt" build/fuzz/seeds_fixture/; done
        fuzz fixture seeds_fixture 8192 ;;
    *)
        echo "fuzz.sh: no target $target; there are rules, trace, ptx, fatbin, scenes, fixture" >&2
        exit 2 ;;
    esac
done
