# web_modules: sets $modules to a folder that holds the packages of web/package-lock.json: web/ itself when they are
# installed there, else a folder of the build that npm fills once. False when they cannot be had. Sourced by tests,
# which may run side by side: the folder is filled under another name and renamed.
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
