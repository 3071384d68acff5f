#!/bin/bash
# Fuzzes with libFuzzer under the address and undefined-behaviour sanitizers:   tests/fuzz/run.sh [SECONDS [target...]]
#
# SECONDS per target (default 10), all targets when none is named. Builds build-fuzz with clang; what is found new is kept in
# build-fuzz/corpus, what fails in build-fuzz/found. The last line is "N passed, N failed".
set -u
cd "$(dirname "$(readlink -f "$0")")/../.." || exit 1
PATH=/usr/bin:/bin:/usr/sbin:/sbin:$PATH
seconds=${1:-10}
shift
if [ ! -f build-fuzz/build.ninja ]; then
    CC=clang meson setup build-fuzz -Db_sanitize=address,undefined -Db_lundef=false -Dc_args=-fsanitize=fuzzer-no-link \
        --buildtype=debugoptimized || exit 1
fi
targets=("$@")
[ ${#targets[@]} -gt 0 ] || mapfile -t targets < <(ls tests/fuzz/corpus)
programs=()
for t in "${targets[@]}"; do programs+=("tests/fuzz/fuzz_$t"); done
ninja -C build-fuzz "${programs[@]}" >build-fuzz/build.log || { cat build-fuzz/build.log >&2; exit 1; }

export WHARF_SOURCE=$PWD UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
passed=0 failed=0
for t in "${targets[@]}"; do
    mkdir -p "build-fuzz/corpus/$t" "build-fuzz/found/$t"
    log=build-fuzz/found/$t.log
    if "build-fuzz/tests/fuzz/fuzz_$t" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
        -artifact_prefix="build-fuzz/found/$t/" "build-fuzz/corpus/$t" "tests/fuzz/corpus/$t" >"$log" 2>&1; then
        passed=$((passed + 1))
        printf '%-12s %s runs\n' "$t" "$(sed -nE 's/^stat::number_of_executed_units: +//p' "$log")"
    else
        failed=$((failed + 1))
        printf '%-12s FAILED, see %s\n' "$t" "$log"
        grep -E 'ERROR|SUMMARY|not kept|differ' "$log" | head -5
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
