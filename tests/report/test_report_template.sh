#!/bin/sh
# src/report/report_template.html is what web/ builds: it records a digest of its sources; where npm's packages are
# available the page is built again and compared byte by byte.
set -u
digest() { if command -v sha256sum >/dev/null 2>&1; then sha256sum "$@"; else shasum -a 256 "$@"; fi; }
names=$(cd web && ls build.mjs index.html package-lock.json style.css src/* | LC_ALL=C sort)
# shellcheck disable=SC2086
expected=$(cd web && digest $names | sed 's/ \*/  /' | digest | cut -c1-64)
found=$(sed -n 's/.*name="vargate-source" content="\([0-9a-f]*\)".*/\1/p' src/report/report_template.html)
[ "$found" = "$expected" ] || {
    echo "report_template.html is older than web/: run 'npm ci && npm run build' in web/"
    exit 1
}
grep -q '<!--VARGATE-DATA-->' src/report/report_template.html || { echo "no place for data" && exit 1; }
# Nothing in the page asks for anything outside it.
if grep -oE '(src|href)="?(https?:)?//[^" >]*|@import|url\((https?:)?//' src/report/report_template.html | grep .; then
    echo "the page refers to the network" && exit 1
fi
command -v node >/dev/null 2>&1 || { echo "digest compared; not built again: no node" && exit 0; }
. tests/web/modules.sh
web_modules || { echo "digest compared; not built again: npm cannot install its packages" && exit 0; }
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/src/report" "$folder/web"
cp src/report/report_template.html "$folder/src/report/"
cp -r web/build.mjs web/index.html web/package.json web/package-lock.json web/style.css web/tsconfig.json \
    web/src "$folder/web/"
ln -s "$(cd "$modules" && pwd)/node_modules" "$folder/web/node_modules"
cd "$folder/web" || exit 1
node node_modules/typescript/bin/tsc --noEmit -p . || exit 1
node build.mjs --check
