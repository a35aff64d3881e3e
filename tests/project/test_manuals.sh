#!/bin/sh
# Manual pages and completions are made from the program's help: every command has a page, every option of the help is
# in it and in the completions of bash, zsh and fish, pages have no error of roff, and bash completes.
set -u
[ -n "${VARGATE:-}" ] || { echo "the program is not built" && exit 77; }
command -v python3 >/dev/null 2>&1 || { echo "skipped: no python3" && exit 77; }
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
failed=0
python3 scripts/make_manuals.py "$VARGATE" "$folder" || exit 1
# The options of each command, read from its help by other code than that of the script.
"$VARGATE" --help | awk '/^Commands:/ { on = 1; next } /^$/ { on = 0 } on && $1 != "help" { print $1 }' |
    while read -r command; do
        "$VARGATE" help "$command" | sed -n "s/^  \\(-[a-zA-Z], \\|    \\)--\\([a-z][a-z-]*\\).*/$command \\2/p"
    done >"$folder/options"
[ "$(wc -l <"$folder/options")" -gt 100 ] || { echo "the help lists too few options" && failed=1; }
python3 - "$folder" <<'END' || failed=1
import sys
from pathlib import Path

folder, missing = Path(sys.argv[1]), 0
bash, zsh, fish = ((folder / "completions" / n).read_text() for n in ("vargate.bash", "_vargate", "vargate.fish"))
line = {c: {r.split(")")[0].strip(): r for r in t.splitlines() if ") " in r} for c, t in (("bash", bash), ("zsh", zsh))}
for command, option in (row.split() for row in (folder / "options").read_text().splitlines()):
    page = (folder / "man" / f"vargate-{command}.1").read_text()
    where = {
        "the manual page": "\\-\\-" + option.replace("-", "\\-") + "\\fR" in page,
        "bash": f"--{option} " in line["bash"][command].replace("'", " "),
        "zsh": any(f"'--{option}{end}" in line["zsh"][command] for end in "=["),
        "fish": f"from {command}' -l {option} " in fish,
    }
    for place in (p for p, there in where.items() if not there):
        print(f"{place}: no --{option} of {command}")
        missing = 1
sys.exit(missing)
END
if command -v man >/dev/null 2>&1; then
    for page in "$folder"/man/vargate.1 "$folder"/man/vargate-score.1; do
        man -l --warnings=w -Tutf8 "$page" 2>&1 >/dev/null | grep . && echo "$page: warnings of man" && failed=1
    done
fi
if command -v bash >/dev/null 2>&1; then
    words=$(bash -c '. "$1"; COMP_WORDS=(vargate score --dev) COMP_CWORD=2; _vargate; echo "${COMPREPLY[*]}"
        COMP_WORDS=(vargate sco) COMP_CWORD=1; _vargate; echo "${COMPREPLY[*]}"
        COMP_WORDS=(vargate score --color al) COMP_CWORD=3; _vargate; echo "${COMPREPLY[*]}"' \
        - "$folder/completions/vargate.bash" | tr '\n' ' ')
    [ "$words" = "--device score always " ] || { echo "bash completes: $words" && failed=1; }
fi
exit $failed
