#!/bin/sh
# trace.sh BUILD PAGE - every column that a trace has is explained in the man page; what is not a word in it, in the help too.
# A site as it is printed is one that a rule finds, C++ and all.
. "$(dirname "$0")/../cli/lib.sh"
page=$2
d=$(mktemp -d) || exit 7
trap 'rm -rf "$out" "$d"' EXIT
guest=$1/cases/guest_any
expect 1 "fired 1" sim --trace "$d/t" --faults 'cudaMalloc -> oom' -- "$guest" one
"$bin/oomproof" trace "$d/t" --csv >"$d/csv"
for column in $(head -1 "$d/csv" | tr ',' ' '); do
    sed -n '/^\.Ss oomproof trace/,/^\.Ss oomproof calls/p' "$page" | grep -q "^\.It .*\b$column\b" ||
        { echo "the man page has no column $column"; bad=1; }
done
"$bin/oomproof" trace --help >"$d/help"
for word in '#N' '#0' INJECTED mangled tN sN columns; do
    grep -qF "$word" "$d/help" || { echo "trace --help does not explain $word"; bad=1; }
done
for word in '#1' '#0' INJECTED mangled; do
    grep -qF "$word" "$page" || { echo "the man page does not explain $word"; bad=1; }
done
site=$(sed -n 's/.*,cudaMalloc,.*,//p' "$d/csv")
case $site in *:_ZL3onev#1) ;; *) echo "not a mangled name: $site"; bad=1 ;; esac
expect 1 "fired 1" sim --faults "cudaMalloc site=$site -> oom" -- "$guest" one
expect 1 "fired 1" sim --faults 'cudaMalloc site=*:*one*#1 -> oom' -- "$guest" one
expect 3 "fired 0" sim --faults 'cudaMalloc site=*:one()#1 -> oom' -- "$guest" one
# a launch is called what a rule calls it
expect 0 "calls intercepted" sim --trace "$d/l" -- "$guest" launch
"$bin/oomproof" trace "$d/l" --csv | grep -q ',cudaLaunchKernel,' || { echo "no launch in the trace"; bad=1; }
"$bin/oomproof" trace "$d/l" | grep '__cuda\|_pts' && { echo "a name that nobody wrote"; bad=1; }
exit $bad
