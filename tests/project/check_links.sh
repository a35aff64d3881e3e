#!/bin/sh
# Relative links in Markdown pages lead to files that exist, and anchors to headings that exist. Code blocks are not
# searched. The script first tests itself on pages with known faults. `check_links.sh FOLDER` checks another tree.
set -u
pages() {
    if git -C "$1" rev-parse --is-inside-work-tree >/dev/null 2>&1 && [ "$1" = . ]; then
        git ls-files --cached --others --exclude-standard '*.md' | sort -u |
            while read -r page; do [ -f "$page" ] && echo "$page"; done
    else
        (cd "$1" && find . -name '*.md' -not -path '*/build/*' -not -path '*/node_modules/*' | sed 's|^\./||' | sort)
    fi
}

# Prints one line per fault. Anchors are GitHub's: lower case, letters, digits, '-', '_' and spaces kept, spaces become
# '-', and a repeated heading gets -1, -2, ...
program='
function slug(text,   out, i, ch) {
    gsub(/\]\([^)]*\)/, "", text); gsub(/[`\[\]*]/, "", text)
    text = tolower(text); out = ""
    for (i = 1; i <= length(text); i++) {
        ch = substr(text, i, 1)
        if (ch == " ") out = out "-"
        else if (ch ~ /[a-z0-9_-]/ || ch > "~") out = out ch
    }
    return out
}
function normal(path,   parts, n, i, out, depth, kept) {
    n = split(path, parts, "/"); depth = 0
    for (i = 1; i <= n; i++) {
        if (parts[i] == "" || parts[i] == ".") continue
        if (parts[i] == ".." && depth > 0 && kept[depth] != "..") depth--
        else kept[++depth] = parts[i]
    }
    out = ""
    for (i = 1; i <= depth; i++) out = out (i > 1 ? "/" : "") kept[i]
    return out
}
function exists(path,   status) {
    if (!(path in seen)) seen[path] = system("test -e \"" path "\"") == 0
    return seen[path]
}
function note(target) {
    if (target ~ /^[a-z]+:/) return
    links++; from[links] = page; line[links] = FNR; to[links] = target
}
# Notes what each match of the pattern holds between its first `skip` characters and its last one.
function note_all(text, pattern, skip) {
    while (match(text, pattern)) {
        note(substr(text, RSTART + skip, RLENGTH - skip - 1))
        text = substr(text, RSTART + RLENGTH)
    }
}
FNR == 1 { page = FILENAME; sub(/^\.\//, "", page); fenced = 0; blank = 1; is_page[page] = 1 }
/^ *```/ { fenced = !fenced; next }
fenced { next }
/^    / && blank { next } # an indented code block goes on until a line that is neither indented nor empty
{ blank = ($0 ~ /^ *$/) || (blank && /^    /) }
/^#+ / {
    text = $0; sub(/^#+ +/, "", text); name = slug(text)
    count = headings[page, name]++
    anchors[page "#" name (count ? "-" count : "")] = 1
    next
}
{
    rest = $0; gsub(/`[^`]*`/, "", rest)
    note_all(rest, "\\]\\([^) ]*\\)", 2)
    if (match($0, /^\[[^]]*\]: +[^ ]+/)) { rest = $0; sub(/^\[[^]]*\]: +/, "", rest); sub(/ .*/, "", rest); note(rest) }
    note_all($0, "src=\"[^\"]*\"", 5)
}
END {
    for (i = 1; i <= links; i++) {
        folder = from[i]; if (!sub(/[^\/]*$/, "", folder)) folder = ""
        target = to[i]; anchor = ""
        if (hash = index(target, "#")) { anchor = substr(target, hash + 1); target = substr(target, 1, hash - 1) }
        path = target == "" ? from[i] : normal(folder target)
        if (path ~ /^\.\./ || !exists(path)) {
            printf "%s:%d: the link to %s leads nowhere\n", from[i], line[i], to[i]; bad = 1
        } else if (anchor != "" && path in is_page && !((path "#" anchor) in anchors)) {
            printf "%s:%d: %s has no heading for #%s\n", from[i], line[i], path, anchor; bad = 1
        }
    }
    exit bad
}'

check() {
    list=$(pages "$1")
    # Page names have no spaces.
    # shellcheck disable=SC2086
    (cd "$1" && LC_ALL=C awk "$program" $list)
}

self_test() {
    folder=$(mktemp -d) || exit 1
    trap 'rm -rf "$folder"' EXIT
    mkdir "$folder/sub"
    printf '# One `two`, three\n\n## Again\n\n## Again\n\n' >"$folder/a.md"
    printf '[a](sub/b.md#there) [b](#one-two-three) [c](#again-1)\n\n    [code](nowhere.md)\n' >>"$folder/a.md"
    printf '# There\n\n[up](../a.md) [web](https://example.org)\n\n[r]: ../a.md#again\n' >"$folder/sub/b.md"
    check "$folder" || { echo "good pages were refused" && exit 1; }
    printf '# There\n\n[x](none.md)\n[y](../a.md#none)\n[z]: gone.md\n<img src="no.svg">\n' >"$folder/sub/b.md"
    found=$(check "$folder" | wc -l)
    [ "$found" -eq 4 ] || { echo "4 faults expected, $found found" && exit 1; }
}

self_test
check "${1:-.}" || exit 1
echo "$(pages "${1:-.}" | wc -l) pages checked"
