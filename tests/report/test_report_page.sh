#!/bin/sh
# The report page in a real browser (tests/web/modules.sh).
set -u
. tests/web/modules.sh
in_browser tests/web/browser_test.mjs
