# Compares standard input (the output) with `file` (what is expected), word by word; numbers may differ by 0.1 %.
function number(text) { return text ~ /^-?[0-9]+(\.[0-9]+)?(e[-+]?[0-9]+)?$/ }
function close_to(a, b) {
    d = a - b
    size = (a < 0 ? -a : a) + (b < 0 ? -b : b)
    return (d < 0 ? -d : d) <= 1e-3 * size
}
{
    if ((getline expected < file) <= 0) {
        print "line " NR ": more lines than expected"
        wrong = 1
        exit
    }
    gsub(/[][,*]/, " & ")
    gsub(/[][,*]/, " & ", expected)
    count = split(expected, words, " ")
    if (count != NF) wrong = NR
    for (i = 1; i <= NF && !wrong; i++)
        if ($i != words[i] && !(number($i) && number(words[i]) && close_to($i, words[i]))) wrong = NR
    if (wrong) {
        print "line " NR ": " $0 "\n  expected: " expected
        exit
    }
}
END {
    if (!wrong && (getline expected < file) > 0) {
        print "fewer lines than expected, the next is: " expected
        wrong = 1
    }
    exit wrong != 0
}
