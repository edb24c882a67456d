#!/bin/sh
# swept-project.sh BUILD SOURCE NVCC - installs oomproof into an empty folder, and builds and tests a project that knows
# only what is installed.
set -eu
build=$1 source=$2 nvcc=$3
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
run() { "$@" >"$dir/log" 2>&1 || { cat "$dir/log"; echo "failed: $*"; exit 1; }; }
run cmake --install "$build" --prefix "$dir/prefix"
for library in cudart cublas cublasLt cudnn; do # one that lacks would be NVIDIA's, silently
    find "$dir/prefix/lib/oomproof/sim" -name "lib$library.so.*" | grep -q . || { echo "lib$library is not installed"; exit 1; }
done
mkdir "$dir/examples"
cp -r "$source/examples/swept-project" "$source/examples/bare-loop" "$dir/examples"
# the CUDA runtime to link with: the simulated one has the same soname and versions as NVIDIA's
ln -s libcudart.so.13 "$dir/prefix/lib/oomproof/sim/libcudart.so"
run cmake -S "$dir/examples/swept-project" -B "$dir/b" -DCMAKE_PREFIX_PATH="$dir/prefix" -DCMAKE_CUDA_COMPILER="$nvcc" \
    -DCMAKE_CUDA_FLAGS="-L$dir/prefix/lib/oomproof/sim"
run cmake --build "$dir/b"
run ctest --test-dir "$dir/b" --output-on-failure -V
grep -q "0 findings" "$dir/log" || { cat "$dir/log"; exit 1; }
# broken, it is found
sed -i '/batch(rows - half/d' "$dir/examples/bare-loop/loop.cu"
run cmake --build "$dir/b"
if ctest --test-dir "$dir/b" --output-on-failure >"$dir/log" 2>&1; then
    echo "a loop that forgets the second half was not found"
    cat "$dir/log"
    exit 1
fi
