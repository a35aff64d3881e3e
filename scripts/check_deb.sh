#!/bin/sh
# check_deb.sh - installs the packages of dist/ (make deb) in a bare Debian, uses them, and removes them: the command
# scores the example and shows its manual page's file, a C program builds with pkg-config, and nothing is left behind.
# Needs root and debootstrap (77 without).
set -eu
cd "$(dirname "$0")/.."
[ "$(id -u)" = 0 ] && command -v debootstrap >/dev/null || { echo "needs root and debootstrap" && exit 77; }
root=$(pwd)/build/deb-root
. /etc/os-release
[ -e "$root/.ready" ] || {
    rm -rf "$root"
    debootstrap --variant=minbase "$VERSION_CODENAME" "$root" http://deb.debian.org/debian >build/debootstrap.log 2>&1
    touch "$root/.ready"
}
cp /etc/resolv.conf "$root/etc/resolv.conf"
rm -rf "$root/packages" && mkdir "$root/packages"
cp dist/*.deb examples/score.c data/example-predictions.npz "$root/packages/"
chroot "$root" sh -eu <<'END'
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends gcc libc6-dev pkg-config >/dev/null
find / -xdev -path /proc -prune -o -path /packages -prune -o -iname '*vargate*' -print | sort >/packages/before
apt-get install -y -qq --no-install-recommends /packages/*.deb >/dev/null
cd /packages
vargate --version
vargate score example-predictions.npz --json -q >/dev/null
vargate doctor
dpkg -L vargate | grep -q man1/vargate-score
cc -std=c17 score.c $(pkg-config --cflags --libs vargate) -o score
./score
apt-get purge -y -qq vargate libvargate-dev libvargate0 >/dev/null
find / -xdev -path /proc -prune -o -path /packages -prune -o -iname '*vargate*' -print | grep -v '^/var/' | sort >after
diff before after
echo "installed, used and removed"
END
