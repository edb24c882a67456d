#!/bin/sh
# limits.sh PROGRAM - the harness ends a case that hangs by the processor's time that it took, tells it from one that is
# wrong, and lets one that works be.
program=$1
out=$(mktemp) || exit 7
trap 'rm -f "$out"' EXIT
failed=0
"$program" works >"$out" 2>&1 || { cat "$out"; echo "what works is stopped"; failed=1; }
"$program" spins >"$out" 2>&1 && { cat "$out"; echo "what never ends passes"; failed=1; }
# not by the clock: Check would say "Test timeout expired"
grep -q ':E:.*signal 24' "$out" || { cat "$out"; echo "what never ends is not stopped by its processor's seconds"; failed=1; }
"$program" fails >"$out" 2>&1 && { cat "$out"; echo "what is wrong passes"; failed=1; }
grep -q ':F:.*this one is wrong' "$out" || { cat "$out"; echo "what is wrong does not say so"; failed=1; }
"$program" nothing >"$out" 2>&1 && { echo "a case that is not there passes"; failed=1; }
exit $failed
