#!/bin/sh
# unseen.sh BUILD NVCC - programs with CUDA code of which nothing is intercepted are told from those that have none.
. "$(dirname "$0")/../cli/lib.sh"
static=$1/cases/guest_static any=$1/cases/guest_any nvcc=$2
d=$(mktemp -d) || exit 7
trap 'rm -rf "$out" "$d"' EXIT
says="linked into the program statically"

# no CUDA at all
expect 0 "no program that ran carries CUDA code" sim -- true
expect 0 "no program that ran carries CUDA code" sim -- sh -c 'true; ls / >/dev/null'
expect 3 "no program that ran carries CUDA code" sim -- sh -c 'exit 3'

# a static runtime, whatever ends the program and whoever starts it
expect 4 "$says" sim -- sh -c "'$static' one; true"
expect 1 "$says" sim -- "$static" one
expect 2 "$says" sim -- "$static" nonsense
expect 5 "$says" sim -- sh -c "'$static' one; kill -9 \$\$"
expect 4 "nvcc -cudart shared" sim --faults 'cudaMalloc -> oom' -- sh -c "'$static' one; true"
cp "$static" "$d/stripped" && strip "$d/stripped"
expect 4 "$says" sim -- sh -c "'$d/stripped' one; true"
# a library that was loaded meanwhile, a program that has no kernels, one without an end of its own
printf '#include <cuda_runtime.h>\n#include <unistd.h>\nextern "C" int plugin(void) { void *p; return cudaMalloc(&p, 9); }\n' >"$d/p.cu"
printf 'int main(void) { plugin(); _exit(0); }\n' | cat "$d/p.cu" - >"$d/m.cu"
"$nvcc" -cudart static -arch=compute_75 -shared -Xcompiler -fPIC -o "$d/p.so" "$d/p.cu" || exit 7
"$nvcc" -cudart static -arch=compute_75 -o "$d/m" "$d/m.cu" || exit 7
expect 4 "$says" sim -- python3 -c "import ctypes; ctypes.CDLL('$d/p.so').plugin()"
expect 4 "$says" sim -- "$d/m"
# kernels and a shared runtime: nothing called, or nothing seen
expect 2 "before the command failed" sim -- "$any" nonsense
expect 5 "before the command failed" sim -- sh -c "'$any' early; kill -9 \$\$"
expect 4 "looked up by handle" sim -- "$any" handle
expect 0 "2 calls intercepted" sim -- "$any" one

# in a namespace of its own, where nothing of ours is; and a program that leaves the device alone
cat >"$d/far.c" <<'E'
#define _GNU_SOURCE
#include <dlfcn.h>
int main(int n, char **words) {
    void *p, *h = dlmopen(LM_ID_NEWLM, words[n - 1], RTLD_NOW);
    int (*get)(void **, unsigned long) = h ? (int (*)(void **, unsigned long))dlsym(h, "cudaMalloc") : 0;
    return !get || get(&p, 1 << 20);
}
E
cc -o "$d/far" "$d/far.c" || exit 7
expect 4 "RTLD_DEEPBIND or dlmopen" sim -- "$d/far" libcudart.so.13
expect 4 "RTLD_DEEPBIND or dlmopen" sim -- sh -c "'$any' one; '$d/far' libcudart.so.13"
expect 0 "there was nothing to intercept" sim -- "$bin/pointtrain" --help
expect 0 "2 calls intercepted" sim -- sh -c "'$any' one; '$bin/pointtrain' --help"

# what doctor can tell of the libraries: one with a runtime of its own, one that prefers its own functions
uses='int plugin(void);\nint main(void) { return plugin() != 35; }\n'
own='int cudaMalloc(void **p, unsigned long n) { return p && n == 9 ? 35 : 1; }
int plugin(void) { void *p; return cudaMalloc(&p, 9); }'
for flag in -Bsymbolic -Bdynamic; do
    echo "$own" | cc -x c - -fPIC -shared -o "$d/libown$flag.so" -Wl,$flag || exit 7
    printf "$uses" | cc -x c - -o "$d/own$flag" -L"$d" -lown$flag -Wl,-rpath,"$d" || exit 7
done
cp "$d/p.so" "$d/libp.so"
printf "$uses" | cc -x c - -o "$d/p" -L"$d" -lp -Wl,-rpath,"$d" || exit 7
doctor() { "$bin/oomproof" doctor --device sim -- "$1"; }
expect 1 "libp.so carries a CUDA runtime that is linked statically" doctor "$d/p"
expect 1 "libown-Bsymbolic.so is linked with -Bsymbolic and has CUDA functions of its own" doctor "$d/own-Bsymbolic"
expect 1 "does not need libcudart.so itself" doctor "$d/own-Bdynamic"
grep -q "is linked with -Bsymbolic" "$out" && { echo "-Bsymbolic is said where it is not"; bad=1; }
expect 0 "0 calls intercepted" sim -- "$d/own-Bsymbolic"
expect 0 "1 calls intercepted" sim -- "$d/own-Bdynamic"

# the calls are there for a program that has no CUDA, and each says so in its own code; one line for all of them
expect 0 "no CUDA library that is loaded has cudaMalloc" sim -- "$1/cases/guest_absent"
[ "$(grep -c "^oomproof: no CUDA library" "$out")" -eq 1 ] || { echo "not one line:"; cat "$out"; bad=1; }
expect 0 "has cudaMalloc" sim -- python3 -c 'import ctypes; assert ctypes.CDLL(None).cudaMalloc(None, 8) == 3'
exit $bad
