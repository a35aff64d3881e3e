#!/bin/sh
# The examples in the documentation run. A block of README.md, docs/ or docs/design is run here when it is fenced as
# ```sh run, or indented after the line <!-- run -->: page by page, in a folder that holds the data that ship as data/,
# the files of doc_files.py, and the short runs runs/a, runs/b and runs/mnist-lle. A block's commands run one after
# another in one shell, which stops at the first that fails. <!-- compile: DECLARATIONS --> stands before C, which is
# compiled as the body of a function with these parameters. ```python run is run by python/tests/test_doc_python.py,
# "$ vargate" with its output by check_readme.sh, docs/your-images.md by check_your_images.sh.
# A block of commands or code that none of them runs has <!-- not run: REASON --> before it, or is a form with words in
# capitals to be filled in; any other fails this test.
set -u
[ -n "${VARGATE:-}" ] || { echo "the program is not built" && exit 77; }
command -v python3 >/dev/null || { echo "no python3 to make the files" && exit 77; }
root=$(pwd)
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/bin" "$folder/files"
case $VARGATE in
/*) ln -s "$VARGATE" "$folder/bin/vargate" ;;
*) ln -s "$root/$VARGATE" "$folder/bin/vargate" ;;
esac
cat >"$folder/bin/model-server" <<'END'
#!/bin/sh
echo '{"id": 1, "p": [[0.9, 0.05, 0.05], [0.8, 0.1, 0.1], [0.9, 0.1, 0], [0.7, 0.2, 0.1], [0.8, 0.2, 0]]}'
echo '{"id": 2, "p": [[0.9, 0.05, 0.05], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.2, 0.7, 0.1], [0.3, 0.3, 0.4]]}'
END
chmod +x "$folder/bin/model-server"
unset COLUMNS NO_COLOR VARGATE_SPOOL_BYTES
PATH=$folder/bin:$PATH
export PATH
python3 tests/project/doc_files.py "$folder/files" || exit 1
mkdir "$folder/files/runs"
vargate run -q --set epochs=1 --set train_limit=300 --set heads=3 --set network=cnn-4-8 --data data \
    -o "$folder/files/runs/a" >/dev/null 2>&1 || { echo "no run for the examples" && exit 1; }
vargate calibrate -q "$folder/files/logits.npz" -o "$folder/files/temps.json" >/dev/null 2>&1 ||
    { echo "no temperatures for the examples" && exit 1; }
cp -r "$folder/files/runs/a" "$folder/files/runs/b"
cp -r "$folder/files/runs/a" "$folder/files/runs/mnist-lle"
images=yes
vargate doctor | grep -q '^libraries .*libpng' || images=no

failed=0
blocks=0
commands=0
for page in README.md docs/*.md docs/design/*.md; do
    name=$(echo "${page%.md}" | tr / -)
    cp -r "$folder/files" "$folder/$name"
    ln -s "$root/data" "$folder/$name/data"
    # Writes the blocks that run to NAME-N, and prints "N LINE KIND"; blocks that no test runs are printed as "0 LINE".
    awk -v to="$folder/$name-" -v page="$page" '
        function open_block(kind) { n++; file = to n; print n, NR, kind; printf "" >file }
        function close_block() { if (file) close(file); file = ""; unmarked = 0 }
        /^```/ && !fence {
            close_block()
            fence = 1
            indented = 0
            if ($0 == "```sh run") open_block("sh")
            else if ($0 !~ /^```(python run|text|json|csv|yaml|c$)/ && page != "docs/your-images.md" && mark == "")
                print 0, NR
            mark = ""
            next
        }
        /^```/ { fence = 0; close_block(); next }
        fence { if (file) print >file; next }
        /^<!-- (run|not run: .*|compile: .*) -->$/ { mark = $0; next }
        /^    / && !list {
            if (!indented && !file) {
                indented = 1
                if (mark == "<!-- run -->") open_block("sh")
                else if (mark ~ /^<!-- compile/) {
                    open_block("c")
                    sub(/^<!-- compile: /, "", mark)
                    sub(/ -->$/, "", mark)
                    print "#include <vargate/vargate.h>\nvoid fragment(" mark ");\nvoid fragment(" mark ") {" >file
                    compiled = 1
                } else unmarked = mark == "" && $1 != "$"
            }
            mark = ""
            if (file) print substr($0, 5) >file
            code = /^    ([A-Z_]+=[^ ]* )*(vargate|python3?|pip|make|cmake|cc|sh|git|for|ctest|gcovr|import) /
            form = / (PRED|VAL|RECIPE|RUN|OOD|ID)( |$|\||:)/ || /^    vargate [a-z]+:/
            if (unmarked && (code && !form || /^    (vg_.*;|np\.)/)) { print 0, NR; unmarked = 0 }
            next
        }
        /^$/ { if (file && indented) print "" >file; next }
        { if (compiled) print "}" >file; compiled = indented = 0; close_block(); list = /^([-*]|[0-9]+\.) / }
        END { if (compiled) print "}" >file }' "$page" >"$folder/$name.blocks"
    while read -r number line kind; do
        if [ "$number" = 0 ]; then
            echo "FAILED: $page:$line: no test runs this block: mark it <!-- run --> or <!-- not run: REASON -->"
            failed=1
            continue
        fi
        blocks=$((blocks + 1))
        block=$folder/$name-$number
        [ "$images" = yes ] || ! grep -q photos "$block" || continue
        commands=$((commands + $(grep -c vargate "$block")))
        if [ "$kind" = c ]; then
            cp "$block" "$block.c"
            cc -std=c17 -fsyntax-only -I "$root/include" "$block.c" >"$folder/out" 2>"$folder/err"
        else
            (cd "$folder/$name" && sh -eu "$block" >"$folder/out" 2>"$folder/err" </dev/null)
        fi || {
            echo "FAILED: $page, block at line $line"
            cat "$block"
            tail -n 5 "$folder/err"
            failed=1
        }
    done <"$folder/$name.blocks"
done
echo "$blocks blocks with $commands commands"
[ "$commands" -ge 60 ] || { echo "too few examples are run" && failed=1; }
exit $failed
