#!/bin/sh
# The page that compares runs in a real browser (tests/web/modules.sh).
set -u
. tests/web/modules.sh
in_browser tests/web/compare_test.mjs
