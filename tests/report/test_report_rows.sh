#!/bin/sh
# Pages whose rows are labels of samples, or sites of images, and of more rows than a page holds, in a real browser
# (tests/web/modules.sh).
set -u
. tests/web/modules.sh
in_browser tests/web/rows_test.mjs
