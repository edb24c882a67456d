# weights.sh BUILD - weights of classes: by a file as by the data, and what is wrong with a file.
. "$(dirname "$0")/lib.sh"
d=$(mktemp -d) || exit 7
trap 'rm -rf "$out" "$d"' EXIT
train() { sim -- "$bin/pointtrain-double" train --data "$d/f.ply" --class-map "$d/map" --voxel 1 --batch 1 --steps 2 "$@"; }
loss() { sed -n 's/.*"loss":\([^,]*\),.*/\1/p' "$1" | tr '\n' ' '; }
# five points with a label: one, one and three of them; class 3 has none, and one point is ignored
printf '0 0\n1 1\n2 2\n3 3\n9 ignore\n' >"$d/map"
{
    printf 'ply\nformat ascii 1.0\nelement vertex 6\nproperty float x\nproperty float y\nproperty float z\nproperty uchar label\n'
    printf 'end_header\n0 0 0 0\n3 0 1 1\n6 2 0 2\n9 0 0 2\n0 7 2 2\n4 4 4 9\n'
} >"$d/f.ply"
printf '# label weight\n0 1.6666666666666667\n1 1.6666666666666667 # rare\n2 0.55555555555555556\n\n' >"$d/w"
expect 0 "2 batches" train --log "$d/plain"
expect 0 "2 batches" train --class-weights none --log "$d/none"
expect 0 "2 batches" train --class-weights inverse --log "$d/inverse"
expect 0 "2 batches" train --class-weights "$d/w" --log "$d/file"
[ "$(loss "$d/plain")" = "$(loss "$d/none")" ] || { echo "none is not the default"; bad=1; }
[ "$(loss "$d/inverse")" = "$(loss "$d/file")" ] || { echo "inverse: $(loss "$d/inverse"), file: $(loss "$d/file")"; bad=1; }
[ "$(loss "$d/inverse")" != "$(loss "$d/plain")" ] || { echo "the weights do nothing"; bad=1; }
refused() { printf "$1" >"$d/bad"; expect 2 "$2" train --class-weights "$d/bad"; }
refused '0 1\n4 1\n' 'line 2: label "4" is none of 0..3'
refused '0\n' 'line 1: expected "label weight"'
refused '0 1 2\n' 'line 1: expected "label weight"'
refused '1 -1\n' 'weight "-1" is not a number'
refused '1 nan\n' 'weight "nan" is not a number'
refused '1 1\n# again\n1 2\n' 'line 3: label 1 has a weight already'
refused '0 0\n1 0\n2 0\n3 0\n' 'every class has the weight 0'
expect 2 "No such file" train --class-weights "$d/nowhere"
exit $bad
