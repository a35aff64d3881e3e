#!/bin/sh
# The page of maps in a real browser (tests/web/modules.sh).
set -u
. tests/web/modules.sh
in_browser tests/web/maps_test.mjs
