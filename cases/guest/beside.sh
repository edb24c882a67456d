#!/bin/sh
# beside.sh BUILD LIBRARY - the shim beside another preloaded library, in both orders. 77: it is not installed.
shim=$1/lib/liboomproof.so
lib=$(cc -print-file-name="$2")
[ -e "$lib" ] || lib=$(ls /usr/lib/*/"$2" 2>/dev/null | head -1)
[ -e "$lib" ] || { echo "$2 is not installed: skipped"; exit 77; }
for order in "$shim:$lib" "$lib:$shim"; do
    LD_PRELOAD=$order LD_LIBRARY_PATH=$1/sim OOMPROOF_DEVICE=sim ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0 \
        timeout 60 "$1/cases/guest_any" one || { echo "with LD_PRELOAD=$order: exit code $?"; exit 1; }
done
