#!/bin/sh
# deb.sh - Debian packages of this tree in dist/: libvargate0, libvargate-dev and vargate (packaging/debian). The build
# runs in a copy of the tracked files, and lintian, where it is installed, must find no error. Needs debhelper and the
# packages of Build-Depends; SETUP=no does not install them.
set -eu
cd "$(dirname "$0")/.."
folder=build/deb/vargate version=$(sed -n 's/.*VERSION_STRING "\(.*\)"/\1/p' include/vargate/version.h)
if [ "${SETUP:-yes}" != no ] && [ "$(id -u)" = 0 ] && ! command -v dh >/dev/null 2>&1; then
    apt-get install -y --no-install-recommends debhelper lintian fakeroot >/dev/null
fi
rm -rf build/deb
mkdir -p "$folder" dist
git ls-files -z -c -o --exclude-standard | tar --null -T - -cf - | tar -xf - -C "$folder"
cp -r packaging/debian "$folder/debian"
cat >"$folder/debian/changelog" <<END
vargate ($version) unstable; urgency=medium

  * See CHANGELOG.md.

 -- The vargate authors <vargate@users.noreply.github.com>  $(date -R -u -d "@$(git log -1 --format=%ct)")
END
(cd "$folder" && dpkg-buildpackage -b -us -uc -d ${JOBS:+-j"$JOBS"}) >build/deb.log 2>&1 || {
    tail -n 30 build/deb.log
    echo "the packages do not build: build/deb.log"
    exit 1
}
rm -f dist/*.deb
mv build/deb/*.deb dist/
rm -f dist/*-dbgsym_*.deb
if command -v lintian >/dev/null 2>&1; then
    lintian --allow-root --fail-on error dist/*.deb >build/lintian.log 2>&1 || {
        cat build/lintian.log
        exit 1
    }
fi
ls -l dist/*.deb | awk '{ print $5, $9 }'
