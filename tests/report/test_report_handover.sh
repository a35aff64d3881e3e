#!/bin/sh
# The report page as something to hand over, in Chromium (Debian's package, or $CHROMIUM) by playwright-core, which npm
# brings as web/package-lock.json names it. Skipped where one of them cannot be had. SCREENSHOTS=DIR keeps pictures of
# the page.
set -u
[ -n "${VARGATE:-}" ] || { echo "the program is not built" && exit 77; }
command -v node >/dev/null 2>&1 || { echo "skipped: no node" && exit 77; }
browser=${CHROMIUM:-}
for name in chromium chromium-browser google-chrome; do
    [ -n "$browser" ] || browser=$(command -v "$name" 2>/dev/null)
done
[ -n "$browser" ] || { echo "skipped: no Chromium (apt-get install chromium)" && exit 77; }
. tests/web/modules.sh
web_modules || { echo "skipped: npm cannot bring playwright-core" && exit 77; }
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
timeout 300 node tests/web/handover_test.mjs "$VARGATE" "$browser" "$folder" "$modules" ${SCREENSHOTS:+"$SCREENSHOTS"}
