#!/bin/sh
# caught.sh CASE... - runs cases of a mutated trainer: `-p PROGRAM CASE` must still pass, `-f PROGRAM CASE`
# must fail by a check (not by a signal or a time-out). Exit 0: the mutant is caught.
# The result goes to FOLDER/MUTANT.json, for the report.
# usage: caught.sh MUTANT INVARIANT FOLDER [-p PROGRAM CASE]... [-f PROGRAM CASE]...
mutant=$1 invariant=$2 folder=$3
shift 3
mkdir -p "$folder"
rm -f "$folder/$mutant.json" # of an earlier run
said="" # "CASE":"passed|noticed|wrong" of each case so far
note() {
    said="$said${said:+,}\"$1\":\"$2\""
}
result() {
    printf '{"mutant":"%s","invariant":%s,"case":"%s","caught":%s,"what":"%s","cases":{%s}}\n' "$mutant" "$invariant" "$1" "$2" \
        "${OOMPROOF_MUTANT:-}" "$said" >"$folder/$mutant.json"
}
out=$(mktemp) || exit 7
trap 'rm -f "$out"' EXIT
while [ $# -ge 3 ]; do
    how=$1 program=$2 name=$3
    shift 3
    "$program" "$name" >"$out" 2>&1
    code=$?
    case $how in
    -p)
        if [ $code -ne 0 ]; then
            cat "$out"
            echo "mutant $mutant: $name injects no fault and must pass; it ended with $code"
            note "$name" wrong
            result "$name" false
            exit 1
        fi
        echo "mutant $mutant: passes $name, as it should"
        note "$name" passed
        ;;
    -f)
        if [ $code -eq 0 ]; then
            echo "mutant $mutant is NOT caught: $name passes"
            note "$name" wrong
            result "$name" false
            exit 1
        fi
        if ! grep -q ':F:' "$out" || grep -q ':E:' "$out"; then
            cat "$out"
            echo "mutant $mutant: $name ended with $code, but not by a failed check"
            note "$name" wrong
            result "$name" false
            exit 1
        fi
        grep ':F:' "$out"
        echo "mutant $mutant: caught by $name"
        note "$name" noticed
        result "$name" true
        ;;
    esac
done
