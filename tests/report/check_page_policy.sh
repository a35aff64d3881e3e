#!/bin/sh
# Every page that vargate writes has a strict content security policy, and no inline event handlers.
command -v python3 >/dev/null 2>&1 || { echo "no python3" && exit 77; }
exec python3 scripts/page_policy.py --check
