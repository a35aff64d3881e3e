#!/bin/sh
# The version is that of CMakeLists.txt wherever it is written: the header, CITATION.cff and the program.
set -u
version=$(sed -n 's/^project(vargate VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
failed=0
expect() { # expect WHERE FOUND
    [ "$2" = "$version" ] || { echo "$1 says $2, CMakeLists.txt $version" && failed=1; }
}
[ -n "$version" ] || { echo "CMakeLists.txt has no version" && exit 1; }
expect include/vargate/version.h "$(sed -n 's/^#define VARGATE_VERSION_STRING "\(.*\)"/\1/p' include/vargate/version.h)"
expect version.h "$(sed -n 's/^#define VARGATE_VERSION_\(MAJOR\|MINOR\|PATCH\) //p' include/vargate/version.h |
    tr '\n' '.' | sed 's/\.$//')"
expect CITATION.cff "$(sed -n 's/^version: //p' CITATION.cff)"
if [ -n "${VARGATE:-}" ]; then
    expect "vargate --version" "$("$VARGATE" --version | sed -n '1s/vargate \([^ ]*\) .*/\1/p')"
fi
grep -q "^## $version" CHANGELOG.md || { echo "CHANGELOG.md has no section $version" && failed=1; }
exit $failed
