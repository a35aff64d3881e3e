#!/bin/sh
# No tracked file names a path of one machine.
git rev-parse --is-inside-work-tree >/dev/null 2>&1 || { echo "not a git checkout" && exit 77; }
machine='(^|[^A-Za-z0-9_.$}>-])/(work|root|home|Users)/'
shared='(^|[^A-Za-z0-9_])shared/(data|spec|kernels|conventions)'
found=$(git grep -I -n -E "$machine|$shared" -- . ':!LICENSE')
[ -z "$found" ] && exit 0
echo "$found"
exit 1
