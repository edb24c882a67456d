# lib.sh - expect CODE TEXT COMMAND...: the exit code and a piece of what is printed.
bin=$1/bin
out=$(mktemp) || exit 7
trap 'rm -f "$out"' EXIT
bad=0
expect() {
    code=$1 text=$2
    shift 2
    "$@" >"$out" 2>&1 </dev/null
    got=$?
    if [ $got -ne "$code" ] || ! grep -qF -- "$text" "$out"; then
        echo "expected exit code $code and \"$text\", got $got from: $*"
        cat "$out"
        bad=1
    fi
}
sim() { "$bin/oomproof" run --device sim "$@"; }
