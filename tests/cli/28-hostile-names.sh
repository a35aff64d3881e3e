# Names from outside (files, classes, ids, columns, headers) reach a terminal, JSON, CSV and the page only as printable
# UTF-8: no escape sequence, no byte that is not UTF-8, no formula, no tag.
mkdir "$folder/hostile"
cd "$folder/hostile" || exit 1
escape=$(printf '\033')
printable() { # printable FILE: no control character but the end of a line, and valid UTF-8
    if iconv -f UTF-8 -t UTF-8 "$1" >/dev/null 2>&1 && ! LC_ALL=C grep -q "$(printf '[\001-\011\013-\037\177]')" "$1"
    then pass; else fail "$1 has bytes that are not printable: $(od -c "$1" | head -5)"; fi
}
shown() { # shown COMMAND...: both streams are printable
    "$vargate" "$@" >shown.out 2>shown.err
    printable shown.out
    printable shown.err
}
# A class named by an escape sequence and a byte that is not UTF-8, ids that are formulas.
printf 'id,label,ca\033[2Jt,d\330g\n=cmd(),ca\033[2Jt,0.9,0.1\n-5,d\330g,0.2,0.8\n@x,ca\033[2Jt,0.5,0.5\n' >names.csv
shown score names.csv
shown evaluate names.csv
shown evaluate names.csv --json
shown decide names.csv
shown score names.csv --json
shown decide names.csv -o decisions.csv --force
if cut -d, -f1 decisions.csv | tr '\n' ' ' | grep -q "^id '=cmd() -5 '@x $"; then pass; else
    fail "formulas in $(cat decisions.csv)"
fi
run decide names.csv -q -o decisions.jsonl
exits 0
printable decisions.jsonl
run report names.csv -o page -q --no-figures
exits 0
if grep -q "$escape" page/report.html; then fail "an escape sequence on the page"; else pass; fi
# Files whose names are sequences or tags, found and not found.
cp names.csv "a$escape[31mb.csv"
cp names.csv "$(printf 'x\330y.csv')"
cp names.csv '<img src=x onerror=alert(1)>.csv'
shown score "a$escape[31mb.csv"
shown score "$(printf 'x\330y.csv')" --json
shown score "missing$escape[31m.csv"
if grep -q 'missing\\x1b\[31m.csv' shown.err; then pass; else fail "$(cat shown.err)"; fi
run report '<img src=x onerror=alert(1)>.csv' -o tagged -q --no-figures
exits 0
if grep -q '<img src=x' tagged/report.html; then fail "a tag from a file's name on the page"; else pass; fi
# A header that holds other bytes than it should, and options.
printf "\223NUMPY\001\000\166\000{'descr': '<f4', %s 'sh\330pe\033]0;x': (1, 1, 2), }%40s\n" \
    "'fortran_order': False," "" >bad.npy
shown score bad.npy
shown score names.csv "--no$escape[1mthing"
shown "sc$escape[1more"
cd "$root" || exit 1
