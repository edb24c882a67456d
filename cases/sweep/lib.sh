# lib.sh BUILD - sweep VERDICTS OPTIONS -- CMD: runs a sweep and wants these verdicts in its table, findings or not.
build=$1
dir=$(mktemp -d) || exit 7
trap 'rm -rf "$dir"' EXIT
bad=0
# swept CODE 'text' ... ++ OPTIONS -- CMD: the exit code and pieces of what is printed
swept() {
    code=$1
    shift
    : >"$dir/want"
    while [ "$1" != ++ ]; do
        printf '%s\n' "$1" >>"$dir/want"
        shift
    done
    shift
    "$build/bin/oomproof" sweep --device sim --json "$dir/json" "$@" >"$dir/out" 2>&1 </dev/null
    got=$?
    [ $got -eq "$code" ] || { echo "exit code $got, not $code: oomproof sweep $*"; cat "$dir/out"; bad=1; }
    while IFS= read -r text; do
        grep -qF -- "$text" "$dir/out" || { echo "no \"$text\" from: oomproof sweep $*"; cat "$dir/out"; bad=1; }
    done <"$dir/want"
}
# same A B: two JSON files say the same of every run
same() {
    for f in "$1" "$2"; do
        grep '^{"run"' "$f" | sed 's/"run":[0-9]*,//; s/"inherited_from":-*[0-9]*,//; s/,$//' | sort >"$f.sorted"
    done
    [ -s "$1.sorted" ] && diff "$1.sorted" "$2.sorted" >"$dir/diff" || { echo "$3"; head -20 "$dir/diff"; bad=1; }
}
