#!/bin/sh
# setup.sh [tests|checks] - installs the packages that the sources at hand need and the system lacks (Debian, Ubuntu;
# apt). Does nothing when nothing is missing, so it works offline once it has run. `tests` adds what only the tests
# need: cmocka, a C++ compiler, Python's venv and the browser of the report's tests. `checks` adds to that what `make
# check-all` uses. Required packages that cannot be installed are an error; optional ones a warning, tried once.
set -u
cd "$(dirname "$0")/.." || exit 1
required='' optional=''

have() { command -v "$1" >/dev/null 2>&1; }
library() { have pkg-config && pkg-config --exists "$1" 2>/dev/null; }
header() { [ -e "/usr/include/$1" ] || [ -e "/usr/local/include/$1" ]; }
compiles() { have cc && echo 'int main(void) { return 0; }' | cc -x c - -o /dev/null 2>/dev/null; }
need() { required="$required $1"; }
want() { optional="$optional $1"; }

compiles || { need gcc; need libc6-dev; }
have cmake || need cmake
have ninja || need ninja-build
have pkg-config || need pkg-config
library zlib || need zlib1g-dev
library jansson || need libjansson-dev
if [ -d src/nn ]; then library yaml-0.1 || need libyaml-dev; fi
if [ -d src/backend ]; then
    header dnnl.h || want libdnnl-dev
    have c++ || want g++ # catches what oneDNN throws
fi
if [ -d src/data ]; then
    library libpng || want libpng-dev
    library libjpeg || want libjpeg-dev
    library libwebp || want libwebp-dev
fi
if [ -d src/report ]; then have gnuplot || want gnuplot-nox; fi
if [ "${1:-}" = tests ] || [ "${1:-}" = checks ]; then
    library cmocka || need libcmocka-dev
    if [ -d python ]; then python3 -c 'import ensurepip, venv' 2>/dev/null || want python3-venv; fi
    if [ -d web ]; then
        have node || want nodejs
        have npm || want npm
        have chromium || have chromium-browser || have google-chrome || want chromium
    fi
fi
if [ "${1:-}" = checks ]; then
    have clang || want clang
    # its sanitizers and fuzzer, a package of their own
    echo 'int main(void) { return 0; }' | clang -fsanitize=thread -x c - -o /dev/null 2>/dev/null ||
        want libclang-rt-dev
    have clang-format || want clang-format
fi

tried=build/.setup-tried${1:+-$1} # the optional packages that were asked for before, in vain
if [ -n "$optional" ] && [ "$(cat "$tried" 2>/dev/null)" = "$optional" ]; then optional=''; fi
[ -n "$required$optional" ] || exit 0
not_installed() { # says so once: the next time these are not asked for again
    [ -n "$optional" ] || return
    echo "setup: optional packages not installed (Debian names):$optional" >&2
    mkdir -p build && echo "$optional" >"$tried"
}

if ! have apt-get; then
    not_installed
    [ -z "$required" ] && exit 0
    echo "setup: missing (Debian names):$required - install them with your system's package manager," \
        "then run make SETUP=no" >&2
    exit 1
fi
as_root=''
if [ "$(id -u)" != 0 ]; then
    if have sudo && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
        as_root=sudo
    else
        not_installed
        [ -z "$required" ] && exit 0
        echo "setup: packages are missing and this user may not install them. As root: apt-get install$required" >&2
        exit 1
    fi
fi

log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
install() {
    # shellcheck disable=SC2086
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $1 >"$log" 2>&1
}
echo "setup: installing$required$optional" >&2
$as_root apt-get update -qq >"$log" 2>&1 ||
    echo "setup: apt-get update failed, trying with the package lists at hand" >&2
if [ -n "$required" ] && ! install "$required"; then
    tail -n 5 "$log" >&2
    echo "setup: could not install$required (is there a network?)" >&2
    exit 1
fi
for package in $optional; do
    install "$package" || {
        echo "setup: could not install $package, continuing without it" >&2
        mkdir -p build && echo "$optional" >"$tried"
    }
done
exit 0
