# setup.sh - shared by ./run and ./test: Debian packages and the build. Sourced, not run; expects the root as working directory.

BUILD_PACKAGES="build-essential meson ninja-build pkg-config python3 libmicrohttpd-dev libgnutls28-dev libpq-dev liblua5.4-dev libsodium-dev
    libssl-dev libseccomp-dev libutf8proc-dev libexpat1-dev zlib1g-dev libxxhash-dev postgresql postgresql-contrib libcurl4-openssl-dev libc-ares-dev
    libqpdf-dev libpng-dev libwebp-dev libtiff-dev libgif-dev libcups2-dev libcjson-dev poppler-utils cmark-gfm fonts-dejavu-core
    libpoppler-glib-dev libcairo2-dev libfontconfig-dev libfreetype-dev fonts-liberation2
    libpango1.0-dev librsvg2-dev libzint-dev libjpeg-dev fonts-inter fonts-jetbrains-mono libphonenumber-dev
    libtesseract-dev tesseract-ocr-eng libleptonica-dev libzbar-dev libzxing-dev"
TEST_PACKAGES="clang clang-format clang-tidy libclang-rt-14-dev pmccabe libcmocka-dev binutils abigail-tools json-schema-test-suite
    python3-pytest python3-pytest-xdist python3-requests python3-jsonschema python3-fastjsonschema python3-psycopg2 python3-pycparser
    python3-openpyxl python3-xlsxwriter lua5.4 curl git openssl prometheus wrk pgbouncer python3-aiosmtpd python3-botocore
    python3-pil python3-numpy cups-ipp-utils cups-daemon cups-client avahi-daemon dbus-daemon qpdf zstd clamav-daemon python3-hypothesis mypy jq
    zbar-tools zxing-cpp-tools zint fonts-noto-core fonts-noto-cjk fonts-noto-color-emoji"

# Everything this tree needs is from Debian: its programs come before others of the same name.
PATH=/usr/bin:/bin:/usr/sbin:/sbin:$PATH
export PATH

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        echo "This needs root once, to install packages. Run as root: $*" >&2
        return 1
    fi
}

# Installs what is missing; touches nothing when all is there.
need_packages() {
    (flock 9 && need_packages_alone "$@" 9>&-) 9>"${TMPDIR:-/tmp}/wharf-packages.lock" # parts of ./test run beside each other
}

need_packages_alone() {
    local missing="" package
    for package in "$@"; do
        dpkg-query -W -f='${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed || missing="$missing $package"
    done
    [ -z "$missing" ] && return 0
    echo "Installing Debian packages:$missing" >&2
    as_root apt-get update -q >&2 || return 1
    # shellcheck disable=SC2086
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing >&2
}

# build_tree DIR [meson options]: configures once, compiles what changed, says little when all is well.
build_tree() {
    (flock 9 && build_tree_alone "$@" 9>&-) 9>"${TMPDIR:-/tmp}/wharf-$(pwd | cksum | cut -d' ' -f1)-$1.lock" # parts that use the same tree run beside each other
}

build_tree_alone() {
    local dir=$1 log
    shift
    log=$(mktemp)
    if [ ! -f "$dir/build.ninja" ]; then
        if ! meson setup "$dir" "$@" >"$log" 2>&1; then
            cat "$log" >&2
            rm -f "$log" && return 1
        fi
    fi
    # What ./run configured has no tests and no static program; from the first ./test on it has.
    if [[ " $* " = *" -Dtests=true "* ]] && { [ ! -d "$dir/tests/unit" ] || ! grep -q wharf-static "$dir/build.ninja"; }; then
        meson setup --reconfigure "$dir" "$@" >"$log" 2>&1 || { cat "$log" >&2; rm -f "$log"; return 1; }
    fi
    # Folders of SQL are listed when the tree is configured: a file that came or went since is not known.
    if [ -n "$(find kernel services modules tool -type d -newer "$dir/build.ninja" -print -quit)" ]; then
        meson setup --reconfigure "$dir" >"$log" 2>&1 || { cat "$log" >&2; rm -f "$log"; return 1; }
    fi
    if ! ninja -C "$dir" >"$log" 2>&1; then
        grep -v '^\[' "$log" >&2
        rm -f "$log" && return 1
    fi
    rm -f "$log"
}

# npm_folder DIR: what its lock file names, installed there once. Only tests use npm.
npm_folder() {
    command -v npm >/dev/null || need_packages nodejs npm || return 1
    [ "$1/node_modules/.package-lock.json" -nt "$1/package-lock.json" ] && return 0
    (cd "$1" && npm ci --no-audit --no-fund --silent >&2)
}
