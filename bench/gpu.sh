#!/bin/sh
# gpu.sh - for a machine with a GPU, nvcc, CMake and nothing else: builds for sm_90 with PTX against NVIDIA's libraries
# and runs the tests labelled gpu: the trainer's, and the cases that the simulated device and a card share. Without a device it
# builds and says what it skipped.
set -eu
cd "$(dirname "$0")/.."
command -v nvcc >/dev/null 2>&1 || PATH=$PATH:${CUDA_HOME:-/usr/local/cuda}/bin
lib=$(dirname "$(dirname "$(command -v nvcc)")")/lib64
cmake -S . -B build-gpu -DOOMPROOF_GPU=ON -DOOMPROOF_CUDA_LIB="$lib" -DCMAKE_BUILD_TYPE=RelWithDebInfo >/dev/null
cmake --build build-gpu -j"$(nproc)"
if [ -e /dev/nvidiactl ]; then
    LD_LIBRARY_PATH=$lib ctest --test-dir build-gpu -L gpu --output-on-failure
else
    echo "built; skipped for want of a device:"
    ctest --test-dir build-gpu -N -L gpu | sed -n 's/.*Test *#[0-9]*: /  /p'
fi
