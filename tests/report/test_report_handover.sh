#!/bin/sh
# The report page as something to hand over, in a real browser (tests/web/modules.sh).
set -u
. tests/web/modules.sh
in_browser tests/web/handover_test.mjs
