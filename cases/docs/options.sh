#!/bin/sh
# options.sh PAGE PROGRAM COMMAND... - every --option of the help text stands in the man page and the other way round,
# and so does every exit code that the help text names.
set -eu
page=$1 program=$2
shift 2
help=$(mktemp)
trap 'rm -f "$help"' EXIT
for command; do "$program" "$command" --help >>"$help" 2>&1 || :; done
in_help=$(grep -o -e '--[a-z][a-z-]*' "$help" | sort -u)
in_page=$(grep -o -e 'Fl -[a-z][a-z-]*' "$page" | sed 's/Fl -/--/' | sort -u | grep -v -x -e --help -e --version)
[ -n "$in_help" ] || { echo "no option in the help of: $*"; exit 1; }
if [ "$(echo "$in_help" | grep -v -x -e --help -e --version)" != "$in_page" ]; then
    printf '%s and the help of %s name different options:\n' "$page" "$*"
    printf 'help: %s\npage: %s\n' "$(echo $in_help)" "$(echo $in_page)"
    exit 1
fi
for code in $(sed -n '/^exit codes/,/^$/p' "$help" | grep -ow '[0-9]\{1,2\}'); do
    grep -q -x ".It $code" "$page" || { echo "$page does not document exit code $code"; exit 1; }
done
