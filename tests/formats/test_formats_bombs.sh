# test_formats_bombs.sh - small files that ask for much (tests/formats/bombs.py), with 1 GiB of address space.
# Sanitizers reserve terabytes of it, so that they cannot run this.
[ -n "$VARGATE" ] && command -v python3 >/dev/null 2>&1 || exit 77
if grep -q 'VG_SANITIZE:STRING=.' "$VARGATE_BUILD/CMakeCache.txt"; then
    exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 tests/formats/bombs.py "$VARGATE" "$folder"
