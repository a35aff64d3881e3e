#!/bin/sh
# docs/cli.md has every option that `vargate help COMMAND` lists, and no other. An option is documented where a table
# row begins with it, in the command's own section or in one of the shared sections. docs/training.md likewise has every
# key of a recipe, in the tables of its section Recipes, and every recipe that ships.
set -u
[ -n "${VARGATE:-}" ] || { echo "the program is not built" && exit 77; }
page=docs/cli.md
failed=0
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT

# The option names in the first cells of the tables of a section.
documented() {
    awk -v heading="## $1" '
        /^## / { on = ($0 == heading) }
        on && /^\| `-/ { split($0, cell, " \\| "); print cell[1] }' "$page" |
        grep -o -- '--[a-z][a-z-]*' | sort -u
}
offered() { "$VARGATE" help "$1" | sed -n 's/^  \(-[a-zA-Z], \|    \)\(--[a-z][a-z-]*\).*/\2/p' | sort -u; }

{ documented "What all commands share" && documented "Scoring options"; } | sort -u >"$folder/shared"
commands=$("$VARGATE" --help | awk '/^Commands:/ { on = 1; next } /^$/ { on = 0 } on && $1 != "help" { print $1 }')
[ -n "$commands" ] || { echo "vargate --help lists no commands" && exit 1; }
: >"$folder/all"
# The table of commands lists every one, and no other.
awk '/^## / { exit } /^\| `|^\| \[`/ { gsub(/[][`|]/, " "); print $1 }' "$page" | sort >"$folder/listed"
{ echo "$commands" && echo help; } | sort >"$folder/commands"
for command in $(comm -23 "$folder/commands" "$folder/listed"); do
    echo "$page: the table of commands has no $command" && failed=1
done
for command in $(comm -13 "$folder/commands" "$folder/listed"); do
    echo "$page: the table of commands has $command, which is none" && failed=1
done
for command in $commands; do
    grep -q "^## $command\$" "$page" || { echo "$page has no section on $command" && failed=1; }
    documented "$command" >"$folder/own"
    offered "$command" >"$folder/offered"
    [ -s "$folder/offered" ] || { echo "vargate help $command lists no options" && failed=1; }
    cat "$folder/offered" >>"$folder/all"
    for option in $(sort -u "$folder/own" "$folder/shared" | comm -13 - "$folder/offered"); do
        echo "$page: $command: $option is not documented" && failed=1
    done
    for option in $(comm -23 "$folder/own" "$folder/offered"); do
        echo "$page: $command: $option is documented, but the command has no such option" && failed=1
    done
done
for option in $(sort -u "$folder/all" | comm -13 - "$folder/shared"); do
    echo "$page: no command has the shared option $option" && failed=1
done

"$VARGATE" train quickstart --show | sed -n 's/^\([a-z][a-z0-9_]*\):.*/\1/p' | sort -u >"$folder/keys"
[ -s "$folder/keys" ] || { echo "vargate train quickstart --show prints no keys" && failed=1; }
awk '/^## / { on = ($0 == "## Recipes") } on && /^\| `/ { split($0, cell, " \\| "); print cell[1] }' docs/training.md |
    grep -o '`[a-z][a-z0-9_]*`' | tr -d '`' | sort -u >"$folder/documented"
for key in $(comm -23 "$folder/keys" "$folder/documented"); do
    echo "docs/training.md: the recipe key $key is not documented" && failed=1
done
for key in $(comm -13 "$folder/keys" "$folder/documented"); do
    echo "docs/training.md: recipes have no key $key" && failed=1
done

awk '/^## / { on = ($0 == "## Recipes that ship") } on && /^\| `/ { split($0, cell, " \\| "); print cell[1] }' \
    docs/training.md | grep -o '`[^`]*`' | tr -d '`' | sort >"$folder/documented"
for recipe in recipes/*.yaml; do basename "$recipe" .yaml; done | sort | diff - "$folder/documented" || {
    echo "docs/training.md: its recipes that ship are not the files of recipes/" && failed=1
}
exit $failed
