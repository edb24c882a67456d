# exit_codes.sh - what ends a run, by exit code and cause; and that an OOM does not end it.
. "$(dirname "$0")/lib.sh"
train() { sim --faults "$1" -- "$bin/pointtrain" train --data rooms:4,max=900 --steps 2 --allocator direct; }
expect 0 "1 of 1 rules fired" train 'cudaMalloc nth=40 -> oom'
expect 3 "fired 0" train 'cudaMalloc nth=999999 -> oom'
expect 11 "CUBLAS_STATUS_INVALID_VALUE" train 'cublas*gemm* nth=3 -> shape(ldc=m-1)'
expect 11 "CUDNN_STATUS_NOT_SUPPORTED" train 'cudnn*Forward nth=2 -> status(CUDNN_STATUS_NOT_SUPPORTED)'
expect 11 "cudaErrorIllegalAddress" train 'cudaLaunchKernel nth=40 -> error(cudaErrorIllegalAddress)'
expect 12 "the loss is nan" train 'cudaMemcpyAsync kind=d2h phase=loss nth=1 -> poison(nan, type=f64)'
expect 12 "the loss is nan" train 'cudaLaunchKernel kernel=*cross_entropy* nth=1 -> poison(nan, arg=7, type=f64)'
expect 13 "more than --max-dropped" train 'cudaMalloc phase=forward -> oom'
expect 10 "cudaMalloc of" train 'cudaMalloc nth=2 -> oom'
for nth in 2 5 8 9; do # each array before the first batch, of net and optimiser
    expect 10 "the model does not fit: 1027590 parameters, their gradients and the optimiser's state take 20.6 MiB" \
        train "cudaMalloc nth=$nth -> oom"
done
expect 10 "the model does not fit" train 'cudaMalloc budget=16MiB -> oom'
expect 3 "nothing was poisoned" train 'cudaLaunchKernel nth=5 -> poison(nan, arg=999)'
expect 3 "nothing was poisoned" train 'cudaLaunchKernel nth=5 -> poison(nan, arg=0)'
# a command that fails by itself is not the failure that was injected
end() { sim "$@" -- "$bin/pointtrain" train --data rooms:2,max=700 --steps 1 --checkpoint /nowhere/x; }
expect 3 "the command itself ended with 14, and a rule never fired" end --faults 'cudaMalloc nth=99999 -> oom'
expect 14 "0 of 1 rules fired" end --faults 'cudaMalloc nth=99999 -> oom' --allow-unfired
expect 14 "1 of 1 rules fired" end --faults 'cudaMalloc nth=1 -> delay(0)'
expect 14 "0 of 0 rules fired" end
expect 4 "the command itself ended with 9, and no rule can have fired" sim --faults 'cudaMalloc -> oom' -- sh -c 'exit 9'
expect 9 "nothing to intercept" sim -- sh -c 'exit 9'
expect 127 "cannot be started" sim --faults 'cudaMalloc -> oom' -- /nowhere/x

# files that cannot be written or read
train_here() { sim -- "$bin/pointtrain" train --data rooms:2,max=700 --steps 1 "$@"; }
d=$(mktemp -d) || exit 7
expect 2 "the run goes on without its log" train_here --log /dev/full
expect 14 "cannot be written there" train_here --checkpoint "$d/no/such/folder"
expect 0 "1 batches" train_here --checkpoint "$d/c"
expect 14 "of another net or norm" train_here --norm batch --checkpoint "$d/c"
head -c 1000 "$d/c" >"$d/short"
expect 14 "a whole checkpoint of this net has" train_here --checkpoint "$d/short"
cp "$d/c" "$d/flipped"
printf X | dd of="$d/flipped" bs=1 seek=5000 conv=notrunc 2>/dev/null
expect 14 "damaged: the checksum does not fit" train_here --checkpoint "$d/flipped"
# a run that cannot start leaves the old log alone; one that goes on goes on in it; a file that is no log is not touched
echo '{"batch":0}' >"$d/old.log"
expect 14 "a whole checkpoint of this net has" train_here --checkpoint "$d/short" --log "$d/old.log"
[ "$(cat "$d/old.log")" = '{"batch":0}' ] || { echo "a run that did not start destroyed the log"; bad=1; }
expect 2 "is there and is no log" train_here --log "$d/c"
expect 0 "resumed from" train_here --steps 2 --checkpoint "$d/c" --log "$d/old.log"
[ "$(grep -c '"batch"' "$d/old.log")" -eq 2 ] || { echo "a resumed run lost the log before it"; bad=1; }
expect 14 "of a run with --seed" train_here --steps 3 --seed 9 --checkpoint "$d/c"
mkfifo "$d/fifo"
expect 14 "not a regular file" train_here --checkpoint "$d/fifo"
# runs that share a checkpoint do not take each other's
for i in 1 2 3 4; do train_here --checkpoint "$d/shared" --quiet >"$d/out$i" 2>&1 || echo "run $i: $?" >>"$d/failed" & done
wait
[ ! -e "$d/failed" ] || { cat "$d/failed" "$d"/out*; bad=1; }
ls "$d" | grep -q 'tmp$' && { echo "temporary files are left: $(ls "$d")"; bad=1; }
# batches that failed have trained nothing
skip() { sim --faults 'cudaLaunchKernel phase=step -> status(cudaErrorInvalidValue)' -- "$bin/pointtrain" train --data rooms:2,max=900 \
    --batch 2 --steps 2 --on-error skip "$@"; }
expect 13 "0 trained once" skip
expect 0 "0 trained once" skip --max-dropped 100
# files that say more or less than they seem to
ply() { printf 'ply\nformat ascii 1.0\nelement vertex %s\nproperty float x\nproperty float y\nproperty float z\nproperty uchar label\nend_header\n' "$1"; }
echo '0 0' >"$d/map"
from() { sim -- "$bin/pointtrain" train --data "$d/f.ply" --class-map "${2:-$d/map}" --steps 1; }
{ ply 2; printf '0 0 0 0\n1 1 1 0\n'; } >"$d/f.ply"
expect 0 "8 trained once" from
{ ply 2; printf '0 0 0 0\n1 1 1 0\n2 2 2 0\n'; } >"$d/f.ply"
expect 2 "follow the 2 points that the header promises" from
{ ply 1e3; printf '0 0 0 0\n'; } >"$d/f.ply"
expect 2 "without a whole number" from
{ ply 1; printf '0.1%070d 5 3 1\n' 0; } >"$d/f.ply"
expect 2 "not a number" from
{ ply 1; printf '0 0 0 0\n'; } >"$d/f.ply"
printf '200 0\n' >"$d/other"
expect 0 "no point has a label" from "" "$d/other"
printf '0 0\n\0001 1\n' >"$d/nul"
expect 2 "a NUL byte" from "" "$d/nul"
echo "f.ply voxel=1e-300" >"$d/l.list"
expect 2 "not a size from 1e-9" sim -- "$bin/pointtrain" train --data "$d/l.list" --class-map "$d/map" --steps 1
rm -r "$d"
exit $bad
