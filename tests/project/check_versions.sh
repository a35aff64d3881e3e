#!/bin/sh
# The version is that of include/vargate/version.h wherever it is shown: its parts, CITATION.cff, the program. CMake,
# the Python package and the Debian packages read the header.
set -u
version=$(sed -n 's/^#define VARGATE_VERSION_STRING "\(.*\)"/\1/p' include/vargate/version.h)
failed=0
expect() { # expect WHERE FOUND
    [ "$2" = "$version" ] || { echo "$1 says $2, version.h $version" && failed=1; }
}
[ -n "$version" ] || { echo "version.h has no version" && exit 1; }
expect version.h "$(sed -n 's/^#define VARGATE_VERSION_\(MAJOR\|MINOR\|PATCH\) //p' include/vargate/version.h |
    tr '\n' '.' | sed 's/\.$//')"
expect CITATION.cff "$(sed -n 's/^version: //p' CITATION.cff)"
if [ -n "${VARGATE:-}" ]; then
    expect "vargate --version" "$("$VARGATE" --version | sed -n '1s/vargate \([^ ]*\) .*/\1/p')"
fi
grep -q "^## $version" CHANGELOG.md || { echo "CHANGELOG.md has no section $version" && failed=1; }
exit $failed
