# replay.sh BUILD FIXTURE - runs a field failure again and holds the log's summary against what the fixture says.
bin=$1/bin
field=$2
get() { sed -n "s/^$1  *//p" "$field"; }
log=$(mktemp) || exit 7
trap 'rm -f "$log"' EXIT
"$bin/oomproof" run --device sim --faults "$(get rule)" -- "$bin/pointtrain" train --data "$(get data)" \
    --seed "$(get seed)" --steps "$(get steps)" --allocator direct --quiet --log "$log" || exit 1
bad=0
check() {
    want=$(get "$1")
    got=$(sed -n "s/.*\"summary\".*\"$2\":\([0-9]*\)[,}].*/\1/p" "$log")
    [ "$want" = "$got" ] && return
    echo "$field: $1 is $got, recorded $want"
    bad=1
}
check points points
check attempts attempts
check scene splits_scene
check space splits_space
check dropped dropped
exit $bad
