#!/bin/sh
# guest.sh BUILD - the shim in the ways of nobody: other programs, other libraries, forks, threads, early and late calls.
. "$(dirname "$0")/../cli/lib.sh"
build=$1
guest=$build/cases/guest_any
shim=$build/lib/liboomproof.so

needed=$(readelf -d "$shim" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | tr '\n' ' ')
case $needed in
*cuda* | *cublas* | *cudnn* | '') echo "the shim needs: $needed"; bad=1 ;;
esac

# programs that have nothing to do with CUDA do not notice it
plain() {
    "$@" >"$out" 2>&1 </dev/null
    want="$? $(cat "$out")"
    LD_PRELOAD=$shim "$@" >"$out" 2>&1 </dev/null
    got="$? $(cat "$out")"
    [ "$want" = "$got" ] || { echo "not the same under the shim: $*: $got"; bad=1; }
}
plain true
plain sh -c 'echo $(echo a; false); exit 3'
plain python3 -c 'import ctypes, json, threading, subprocess; print(subprocess.run(["echo", "b"]).returncode)'
plain cmake --version
plain ls -l /proc/self/exe
plain mount --version # set-user-id: the loader leaves the shim out
unknown() { LD_PRELOAD=$shim "$@" 2>&1 | grep -i "cannot be preloaded\|undefined symbol" && bad=1; :; }
unknown true

# every way to call is seen
expect 0 "2 calls intercepted" sim -- "$guest" one
expect 0 "1 calls intercepted" env GUEST_EARLY=1 "$bin/oomproof" run --device sim -- "$guest" early
expect 1 "1 of 1 rules fired" env GUEST_EARLY=1 "$bin/oomproof" run --device sim --faults 'cudaMalloc -> oom' -- "$guest" early
expect 0 "2 calls intercepted" sim -- "$guest" threads
expect 0 "4 calls intercepted" sim -- "$guest" fork
expect 0 "4 calls intercepted" sim -- "$guest" exec
expect 0 "4 calls intercepted" sim -- "$guest" vfork
expect 0 "calls intercepted" sim -- "$guest" daemon
expect 1 "fired 1" sim --faults 'cudaLaunchKernel kernel=*nothing* -> status(cudaErrorLaunchOutOfResources)' -- \
    sh -c "$guest launch; test \$? -eq 0"
expect 0 "2 calls intercepted" sim -- "$build/cases/guest_host" "$build/cases/libguest_plugin.so" local

# what cannot be seen is said, with the remedy
expect 4 "looked up by handle" sim -- "$guest" handle
expect 4 "RTLD_DEEPBIND" sim -- "$build/cases/guest_host" "$build/cases/libguest_plugin.so" deepbind

# a hang ends (with its stacks: timeout.sh), a crash with its signal
expect 6 "did not end within 1 seconds" sim --timeout 1 --faults 'cudaMalloc -> hang' -- "$guest" one
expect 5 "signal 11" sim --faults 'cudaMalloc -> crash' -- "$guest" one
expect 0 "1 of 1 rules fired" sim --faults 'cudaMalloc -> delay(5)' -- "$guest" one

# what can be told before anything runs
expect 1 "loads libraries while it runs (dlopen); which, cannot be known" "$bin/oomproof" doctor --device sim -- "$guest" one
expect 1 "RTLD_DEEPBIND" "$bin/oomproof" doctor --device sim -- "$build/cases/guest_host" "$build/cases/libguest_plugin.so" deepbind
expect 1 "does not need libcudart.so itself" "$bin/oomproof" doctor --device sim -- true
expect 4 "linked statically" "$bin/oomproof" doctor --device sim -- "$build/cases/guest_static"
expect 1 "DT_RPATH is searched before" "$bin/oomproof" doctor --device sim -- "$build/cases/guest_rpath"
expect 1 "no PTX" "$bin/oomproof" doctor --device sim -- "$build/cases/guest_no_ptx"
expect 0 "it can be tested" "$bin/oomproof" doctor --device sim -- "$build/cases/sim_probe_default"
expect 1 "only stubs of some calls:" "$bin/oomproof" doctor --device sim -- "$build/cases/guest_stubs"
expect 1 "a script" "$bin/oomproof" doctor --device sim -- "$0"
expect 2 "not found" "$bin/oomproof" doctor -- no-such-program
exit $bad
