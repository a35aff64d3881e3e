# web_modules: sets $modules to a folder that holds the packages of web/package-lock.json: web/ itself when they are
# installed there, else a folder of the build that npm fills once. False when they cannot be installed. Sourced by
# tests, which may run side by side: the folder is filled under another name and renamed.
web_modules() {
    modules=web
    [ -d web/node_modules/playwright-core ] && [ -d web/node_modules/esbuild ] && return 0
    modules=${VARGATE_BUILD:-build}/web
    [ -d "$modules/node_modules/playwright-core" ] && cmp -s web/package-lock.json "$modules/package-lock.json" &&
        return 0
    command -v npm >/dev/null 2>&1 || return 1
    filling=$modules.$$
    mkdir -p "$filling" && cp web/package.json web/package-lock.json "$filling/" || return 1
    if (cd "$filling" && timeout 120 npm ci --no-audit --no-fund --ignore-scripts >npm.log 2>&1); then
        rm -rf "$modules"
        mv "$filling" "$modules" 2>/dev/null
    fi
    rm -rf "$filling" "$modules/$(basename "$filling")" # another test was first
    [ -d "$modules/node_modules/playwright-core" ]
}

# in_browser SCRIPT: runs a test of tests/web with the program, Chromium (Debian's package, or $CHROMIUM), a folder of
# its own and the packages. Exit status 77, with the reason, where one of them is missing. SCREENSHOTS=DIR keeps
# pictures.
in_browser() {
    [ -n "${VARGATE:-}" ] || { echo "the program is not built" && exit 77; }
    command -v node >/dev/null 2>&1 || { echo "skipped: no node" && exit 77; }
    browser=${CHROMIUM:-}
    for name in chromium chromium-browser google-chrome; do
        [ -n "$browser" ] || browser=$(command -v "$name" 2>/dev/null)
    done
    [ -n "$browser" ] || { echo "skipped: no Chromium (apt-get install chromium)" && exit 77; }
    web_modules || { echo "skipped: npm cannot install playwright-core" && exit 77; }
    folder=$(mktemp -d) || exit 1
    trap 'rm -rf "$folder"' EXIT
    timeout 300 node "$1" "$VARGATE" "$browser" "$folder" "$modules" ${SCREENSHOTS:+"$SCREENSHOTS"}
}
