# api_test NAME...: prints the paths of the API tests test_NAME.py, wherever below tests/api they stand. Fails when one is not there, or twice.
api_test() {
    local name
    local -a found
    for name in "$@"; do
        mapfile -t found < <(find tests/api -name "test_$name.py")
        if [ ${#found[@]} != 1 ]; then
            echo "tests/api has ${#found[@]} files test_$name.py, not one" >&2
            return 1
        fi
        echo "${found[0]}"
    done
}
