#!/bin/sh
# bootstrap.sh - finds what the build needs and installs what is missing: Debian packages where there are the
# rights to, the CUDA compiler and headers from pip wheels into build/cuda where no nvcc is found. Exit 2:
# something is missing and cannot be installed; it is listed. A second run installs nothing.
set -eu
cd "$(dirname "$0")/.."
missing=""
need() { # command-or-file package
    command -v "$1" >/dev/null 2>&1 || [ -e "$1" ] || missing="$missing $2"
}
need cc gcc
need c++ g++
need cmake cmake
need ninja ninja-build
need pkg-config pkg-config
need patch patch
need python3 python3
need pgrep procps
command -v eu-stack >/dev/null 2>&1 || need gdb elfutils # stacks of a command that hangs: either does
pkg-config --exists check 2>/dev/null || missing="$missing check"
pkg-config --exists jansson 2>/dev/null || missing="$missing libjansson-dev"
pkg-config --exists openblas 2>/dev/null || missing="$missing libopenblas-dev"
pkg-config --exists mpfr 2>/dev/null || missing="$missing libmpfr-dev"
[ "${1:-}" = coverage ] && need lcov lcov
if [ "${1:-}" = bisector ]; then # the page's WebAssembly
    need clang clang
    need wasm-ld lld
    need /usr/include/wasm32-wasi/stdlib.h wasi-libc
    set -- /usr/lib/llvm-*/lib/clang/*/lib/wasi/libclang_rt.builtins-wasm32.a
    need "$1" libclang-rt-dev-wasm32
fi
if [ -n "$missing" ]; then
    if [ "$(id -u)" = 0 ]; then as=""; elif sudo -n true 2>/dev/null; then as="sudo -n"; else as="none"; fi
    if [ "$as" = none ] || ! command -v apt-get >/dev/null 2>&1; then
        echo "missing packages:$missing" >&2
        echo "install them: apt-get install$missing" >&2
        exit 2
    fi
    echo "installing:$missing"
    $as apt-get update -qq
    # shellcheck disable=SC2086
    $as env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $missing >/dev/null
fi
# Useful, and done without where they cannot be had: zstd unpacks the PTX of programs built with nvcc's defaults,
# Hypothesis makes up the batches of cases/properties.
useful() { # package, what is not done without it
    command -v apt-get >/dev/null 2>&1 || return 0
    if [ "$(id -u)" = 0 ]; then as=""; else as="sudo -n"; fi
    $as env DEBIAN_FRONTEND=noninteractive timeout 60 apt-get install -y -qq "$1" >/dev/null 2>&1 ||
        { timeout 60 $as apt-get update -qq && $as env DEBIAN_FRONTEND=noninteractive timeout 60 apt-get install -y -qq "$1"; } \
            >/dev/null 2>&1 || echo "without $1: $2"
}
[ -e /usr/include/zstd.h ] || useful libzstd-dev "the simulated device refuses fat binaries that are packed with zstd"
python3 -c "import hypothesis" 2>/dev/null || /usr/bin/python3 -c "import hypothesis" 2>/dev/null ||
    useful python3-hypothesis "the cases properties.* are skipped"
python3 -c "import jsonschema" 2>/dev/null || /usr/bin/python3 -c "import jsonschema" 2>/dev/null ||
    useful python3-jsonschema "the tests of what programs read (reports/schema) are skipped"
# other libraries that are preloaded beside the shim
for l in libjemalloc2:libjemalloc.so.2 libtcmalloc-minimal4:libtcmalloc_minimal.so.4; do
    PATH=$PATH:/sbin:/usr/sbin ldconfig -p 2>/dev/null | grep -q "${l#*:}" || useful "${l%%:*}" "the case guest.beside_${l#*:} is skipped"
done

# ---- CUDA ----
[ -x build/cuda/bin/nvcc ] && exit 0
if [ -z "${OOMPROOF_IGNORE_SYSTEM_CUDA:-}" ]; then
    command -v nvcc >/dev/null 2>&1 && exit 0
    [ -x "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc" ] && exit 0
fi
echo "no nvcc: taking the CUDA 13.0 compiler and headers from pip wheels into build/cuda"
command -v python3 >/dev/null 2>&1 || { echo "missing: python3 with pip" >&2; exit 2; }
mkdir -p build/wheels
for w in nvidia-cuda-nvcc==13.0.88 nvidia-nvvm==13.0.88 nvidia-cuda-crt==13.0.88 nvidia-cuda-runtime==13.0.96 \
    nvidia-cuda-cccl==13.0.85 nvidia-curand==10.4.0.35 nvidia-cublas==13.1.0.3 nvidia-cudnn-cu13==9.19.0.56; do
    python3 -m pip download -q --no-deps -d build/wheels "$w"
done
python3 - <<'P'
# Unpacks only what a build needs: of cuBLAS and cuDNN the headers.
import glob, os, shutil, stat, zipfile
to = "build/cuda.tmp"
shutil.rmtree(to, ignore_errors=True)
for wheel in glob.glob("build/wheels/*.whl"):
    small = any(k in wheel for k in ("cublas", "cudnn", "curand"))
    with zipfile.ZipFile(wheel) as z:
        for n in z.namelist():
            p = n.split("/")
            if p[0] != "nvidia" or len(p) < 3 or n.endswith("/"):
                continue
            rest = "/".join(p[2:])
            if small and not rest.startswith("include/"):
                continue
            out = os.path.join(to, rest)
            os.makedirs(os.path.dirname(out), exist_ok=True)
            with z.open(n) as f, open(out, "wb") as g:
                shutil.copyfileobj(f, g)
            if "/bin/" in "/" + rest:
                os.chmod(out, 0o755)
for name, target in (("lib64", "lib"),):
    if not os.path.exists(f"{to}/{name}"):
        os.symlink(target, f"{to}/{name}")
os.makedirs(f"{to}/targets/x86_64-linux", exist_ok=True)
for d in ("include", "lib"):
    link = f"{to}/targets/x86_64-linux/{d}"
    if not os.path.exists(link):
        os.symlink(f"../../{d}", link)
shutil.rmtree("build/cuda", ignore_errors=True)
os.rename(to, "build/cuda")
P
rm -rf build/wheels
build/cuda/bin/nvcc --version | tail -1
