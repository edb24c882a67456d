#!/bin/sh
# cache.sh BUILD - the folder of compiled kernels: shared by processes that start at once, read-only, full, damaged, hostile.
. "$(dirname "$0")/../cli/lib.sh"
guest=$1/cases/guest_any
d=$(mktemp -d) || exit 7
trap 'chmod -R u+w "$d"; rm -rf "$out" "$d"' EXIT
launch() { env OOMPROOF_SIM_CACHE="$1" TMPDIR="$d" "$bin/oomproof" run --device sim -- "$guest" launch; }
fail() { echo "$*"; bad=1; }

# four at once on an empty folder
for i in 1 2 3 4; do launch "$d/c" >"$d/out$i" 2>&1 || fail "process $i: $(cat "$d/out$i")" & done
wait
[ "$(ls "$d/c" | wc -l)" -eq 1 ] || fail "left in the folder: $(ls "$d/c")"
[ "$(stat -c %a "$d/c")" = 700 ] || fail "the folder is open to others"
object=$(ls "$d"/c/*.so)

# damaged, cut short, replaced: compiled again, never loaded
for how in 'printf X | dd of="$object" bs=1 seek=4000 conv=notrunc' ': >"$object"' 'cp /bin/true "$object"' \
    'rm "$object"; mkfifo "$object"'; do
    eval "$how" 2>/dev/null
    expect 0 "2 calls" timeout 60 env OOMPROOF_SIM_CACHE="$d/c" "$bin/oomproof" run --device sim -- "$guest" launch
    rm -f "$object"
    expect 0 "2 calls" launch "$d/c"
done

# a folder in the object's place, and one that others can write to: for this process alone
rm -f "$object"
mkdir "$object"
expect 0 "compiles its kernels for itself" launch "$d/c"
rmdir "$object"
mkdir "$d/open"
chmod 777 "$d/open"
expect 0 "not a folder of ours" launch "$d/open"
[ -z "$(ls "$d/open")" ] || fail "an open folder was used"
ln -s "$d/c" "$d/link"
expect 0 "not a folder of ours" launch "$d/link"
expect 0 "the cache folder /proc/nope/cache: " launch /proc/nope/cache
ls -d "$d"/oomproof-* 2>/dev/null && fail "temporary folders are left"

# read-only: what is there is used. Root writes anywhere, so this is tried as nobody.
launch "$d/c" >"$out" 2>&1
as=
if [ "$(id -u)" = 0 ]; then
    as="setpriv --reuid 65534 --regid 65534 --clear-groups"
    chmod 711 "$d"
    chown -R 65534 "$d/c"
fi
if $as test -x "$guest"; then
    chmod 500 "$d/c"
    $as env OOMPROOF_SIM_CACHE="$d/c" "$bin/oomproof" run --device sim -- "$guest" launch >"$out" 2>&1 || fail "read-only: $(cat "$out")"
    grep -q "for itself" "$out" && fail "what a read-only folder has was not used: $(cat "$out")"
    chmod 700 "$d/c"
else
    echo "skipped: nobody cannot run $guest, so the read-only folder was not tried"
fi

# no room (a limit on file sizes stands in for a full disk): an error that says so, no crash
(
    trap '' XFSZ
    ulimit -f 8
    launch "$d/small" 2>&1
    echo "exit code $?"
) | cat >"$out"
grep -q "exit code \(0\|1\|2\|7\)$" "$out" || fail "no room: $(cat "$out")"
exit $bad
