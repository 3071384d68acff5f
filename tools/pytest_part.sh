#!/bin/bash
# Runs pytest on the given folders and says "N passed, N failed" at the end.
log=$(mktemp)
trap 'rm -f "$log"' EXIT
/usr/bin/python3 -m pytest -q -p no:cacheprovider "$@" 2>&1 | tee "$log"
code=${PIPESTATUS[0]}
p=$(tail -1 "$log" | grep -oE '[0-9]+ passed' | cut -d' ' -f1)
f=$(tail -1 "$log" | grep -oE '[0-9]+ failed' | cut -d' ' -f1)
e=$(tail -1 "$log" | grep -oE '[0-9]+ error' | cut -d' ' -f1)
f=$((${f:-0} + ${e:-0}))
[ "$code" = 0 ] || [ "$f" != 0 ] || f=1
echo "${p:-0} passed, $f failed"
[ "$f" = 0 ]
