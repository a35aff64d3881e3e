# Bad input and bad output: one line, exit code 1, nothing half-written left behind.
mkdir "$folder/errors"
cd "$folder/errors" || exit 1
npy good.npy '<f4' '2, 2, 2'
floats32 1 0 0 1 .75 .25 .75 .25 >>good.npy
mkdir out
refused_as() { # refused_as CODE FILE TEXT [OPTIONS...]: by score with and without -o, and nothing is left
    expected=$1
    file=$2
    text=$3
    shift 3
    run score "$file" "$@"
    fails_with "$expected" "$text"
    run score "$file" "$@" -o out/scores.npz
    fails_with "$expected" "$text"
    leaves out ""
}
refused() { refused_as 1 "$@"; }
refused missing.npy "missing.npy"
refused . "."
: >empty.npy
refused empty.npy "empty.npy"
head -c 100 good.npy >header.npy
refused header.npy "header.npy"
head -c 140 good.npy >truncated.npy
refused truncated.npy "truncated.npy"
printf 'these are no predictions' >text.npy
refused text.npy "text.npy"
printf 'PK\003\004 broken' >broken.npz
refused broken.npz "broken.npz"
head -c 20000 "$root/$example" >half.npz
refused half.npz "half.npz"
npy rank1.npy '<f4' '4,'
floats32 1 0 0 1 >>rank1.npy
refused rank1.npy "rank1.npy"
npy rank4.npy '<f4' '1, 1, 2, 2'
floats32 1 0 0 1 >>rank4.npy
refused rank4.npy "rank4.npy"
npy nan.npy '<f4' '2, 2, 2'
floats32 1 0 0 1 .75 .25 nan .25 >>nan.npy
refused nan.npy "sample 1, member 1"
npy negative.npy '<f4' '2, 2, 2'
floats32 1 0 0 1 -1 1 .5 .5 >>negative.npy
refused negative.npy "sample 1, member 0"
npy sum.npy '<f4' '2, 2, 2'
floats32 1 0 .75 .75 1 0 1 0 >>sum.npy
refused sum.npy "sample 0, member 1"
npy class.npy '<f4' '2, 2, 1'
floats32 1 1 1 1 >>class.npy
refused class.npy "C = 1"
npy none.npy '<f4' '0, 2, 2'
refused none.npy "none.npy"
refused_as 2 good.npy "-k: 0 is not a positive number" -k 0
refused_as 2 good.npy "-k: -1 is not a positive number" -k 1,-1
refused_as 2 good.npy "not a list of numbers" -k nan
refused_as 2 good.npy "given twice" -k 1,2,1
printf '0\n' >short.csv
refused good.npy "short.csv: 1 labels for 2 samples" --labels short.csv
printf '0\n2\n' >range.csv
refused good.npy "range.csv: label 2 of sample 1 is outside 0..1" --labels range.csv
printf '0\n-1\n' >negative.csv
refused good.npy "label -1 of sample 1" --labels negative.csv
refused good.npy "absent.csv" --labels absent.csv
printf '0,1\n1,1\n' >wide.csv
refused good.npy "row 1 has 2 ones (is this a --multilabel problem?)" --labels wide.csv
printf '0\n1\n' >narrow.csv
refused good.npy "one column" --labels narrow.csv --multilabel

# A file name cannot forge a second line.
run score "$(printf 'a\nb.npy')"
fails_with 1 "a\\x0ab.npy"

# Outputs that cannot be written.
run score good.npy -o missing/scores.npz
fails_with 1 "missing/scores.npz"
if [ "$(id -u)" -ne 0 ]; then
    mkdir closed
    chmod 500 closed
    run score good.npy -o closed/scores.npz
    fails_with 1 "closed/scores.npz"
    chmod 700 closed
fi
# (sh counts `ulimit -f` in blocks of 512 bytes, bash in kilobytes: either is less than any of these files)
for kind in npz csv jsonl; do
    command="ulimit -f 8; vargate score -o out/scores.$kind"
    (ulimit -f 8 && exec "$vargate" score "$root/$example" -o out/scores.$kind) >"$folder/out" 2>"$folder/err"
    code=$?
    fails_with 1 "File too large"
    leaves out ""
    printf 'kept' >out/scores.$kind
    (ulimit -f 8 && exec "$vargate" score "$root/$example" --force -o out/scores.$kind) >"$folder/out" 2>"$folder/err"
    code=$?
    fails_with 1 "File too large"
    if [ "$(cat out/scores.$kind)" = kept ]; then pass; else fail "the file that was there is gone"; fi
    rm out/scores.$kind
done
command="VARGATE_SPOOL_BYTES=0 vargate score -o out/scores.npz"
(ulimit -f 8 && VARGATE_SPOOL_BYTES=0 exec "$vargate" score "$root/$example" -o out/scores.npz) \
    >"$folder/out" 2>"$folder/err"
code=$?
fails_with 1 "temporary file"
leaves out ""
if [ -w /dev/full ]; then
    for how in "score" "score --json" "evaluate" "decide" "--help"; do
        command="vargate $how > /dev/full"
        case $how in
        --*) "$vargate" $how >/dev/full 2>"$folder/err" ;;
        *) "$vargate" $how "$root/$example" >/dev/full 2>"$folder/err" ;;
        esac
        code=$?
        : >"$folder/out"
        fails_with 1 "standard output: No space left on device"
    done
fi

# A closed pipe ends the program without a message.
command="vargate score --json | true"
{
    "$vargate" score "$root/$example" --json 2>"$folder/err"
    echo $? >status
} | sleep 0
code=$(cat status)
: >"$folder/out"
if [ "$code" -le 1 ]; then pass; else fail "exit code $code"; fi
quiet

# Interrupted while it writes: dies of the signal, leaves nothing. (A trap in the shell makes background jobs ignore
# SIGINT, so SIGTERM is used.)
npy long.npy '<f4' '400000, 4, 4'
{ floats32 1 0 0 0 0 1 0 0 0 0 1 0 .25 .25 .25 .25; } >row
i=0
while [ $i -lt 4 ]; do # 64 bytes per row, by tens
    cat row row row row row row row row row row >rows
    mv rows row
    i=$((i + 1))
done
head -c 640000 row >rows
i=0
while [ $i -lt 40 ]; do
    cat rows
    i=$((i + 1))
done >>long.npy
command="vargate score long.npy -o out/scores.csv, killed"
"$vargate" score long.npy -q -o out/scores.csv >"$folder/out" 2>"$folder/err" &
job=$!
sleep 0.5 # eighteen million numbers of text take longer
kill -TERM $job
wait $job 2>/dev/null
code=$?
exits 143
quiet
leaves out ""
cd "$root" || exit 1
