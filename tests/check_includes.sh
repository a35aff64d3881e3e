#!/bin/sh
# Includes point one way. Modules (folders of src/) may include their own headers and those of the modules below them:
#     base <- measures <- calibrate, evaluate <- report;  base <- formats <- data;  base <- backend <- nn (which uses formats)
#     workflow stands on all of them.
# A public header belongs to the module that implements it. cli, examples and bench see only include/vargate; bench/kernels times
# single kernels of the backend and may include it.
set -u
awk_program='
function allow(module, list,   parts, n, i) {
    n = split(list, parts, " ")
    for (i = 1; i <= n; i++) allowed[module, parts[i]] = 1
}
# Commands of cli/ that still include internal headers of workflow; the list only gets shorter.
function in_transition(file) {
    return file ~ /^cli\/(score_bridge|json_print|prediction)/ ||
           file ~ /^cli\/cmd_(data|run)/
}
function complain(what) { printf "%s:%d: %s\n", FILENAME, FNR, what; bad = 1 }
BEGIN {
    allow("base", "base")
    allow("measures", "base measures")
    allow("formats", "base formats")
    allow("calibrate", "base measures calibrate")
    allow("evaluate", "base measures evaluate")
    allow("report", "base measures calibrate evaluate report")
    allow("data", "base formats data")
    allow("backend", "base backend")
    allow("nn", "base backend formats nn")
    allow("workflow", "base measures formats calibrate evaluate data nn report workflow")
    owner["status"] = "base"
    owner["temperatures"] = "calibrate"
    owner["device"] = "measures"
    # Predictions read from a file are handed over as the view that scoring takes: that header alone.
    public_too["formats", "measures"] = public_too["data", "measures"] = public_too["nn", "measures"] = 1
}
FNR == 1 { module = FILENAME; inside = sub(/^src\//, "", module); sub(/\/.*/, "", module) }
/^[ \t]*#[ \t]*include[ \t]*["<]/ {
    target = $0
    quoted = target ~ /include[ \t]*"/
    sub(/^[^"<]*["<]/, "", target); sub(/[">].*/, "", target)
    if (target ~ /\.\.\//) complain("include \"" target "\" climbs out of its folder")
    slash = index(target, "/")
    if (target ~ /^vargate\//) {
        if (!inside) next
        header = substr(target, 9); sub(/\.h$/, "", header)
        into = header in owner ? owner[header] : header
        if (header == "vargate") complain("src/ includes the headers it needs, not vargate.h")
        else if (!((module, into) in allowed) && !((module, header) in public_too))
            complain(module " may not include vargate/" header ".h of " into)
    } else if (quoted && slash > 0) {
        into = substr(target, 1, slash - 1)
        if (FILENAME ~ /^bench\/kernels\// || (into == "workflow" && in_transition(FILENAME))) next
        if (!inside) complain("only include/vargate may be included here, not \"" target "\"")
        else if (!((module, into) in allowed)) complain(module " may not include \"" target "\"")
    }
}
END { exit bad }'
files=$(find src cli examples bench -name '*.[ch]' 2>/dev/null | sort)
# shellcheck disable=SC2086
awk "$awk_program" $files || exit 1
echo "$(echo "$files" | wc -l) files checked"
