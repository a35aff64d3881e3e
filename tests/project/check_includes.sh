#!/bin/sh
# Includes point one way: the build gives each module an include path that holds only what the module may see
# (cmake/ModuleOrder.cmake). This test checks what compiling cannot: that every command of the build uses these paths,
# that the files which this build does not compile (CUDA, another processor's) keep to them as well, that no include
# climbs out of its folder with "../", and that vendors' headers stay in the folder of their backend.
set -u
: "${VARGATE_BUILD:?is set by ctest}"
order=$VARGATE_BUILD/include-order root=$(pwd)
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT

# An include path that shows everything would make the order void. bench/kernels times single kernels of the backend.
if [ -e "$VARGATE_BUILD/compile_commands.json" ]; then
    grep '"command"' "$VARGATE_BUILD/compile_commands.json" | grep -v " -c $root/bench/kernels/" |
        grep " -c $root/\(src\|bench\|cli\|examples\)/" >"$folder/commands"
    [ -s "$folder/commands" ] || echo "compile_commands.json names no file of src/" >>"$folder/report"
    grep -e "-\(I\|isystem\)[ =]*$root/src " "$folder/commands" |
        sed 's/.* -c \([^ ",]*\).*/\1: compiled with all of src on its path/' >>"$folder/report"
    grep " -c $root/src/" "$folder/commands" | grep -e "-\(I\|isystem\)[ =]*$root/include " |
        sed 's/.* -c \([^ ",]*\).*/\1: compiled with all public headers on its path/' >>"$folder/report"
fi
# The path itself: what is above or beside a module is not on its path, what is below it is.
sees() { [ -e "$order/$1/src/$2" ]; }
for pair in base:measures measures:evaluate calibrate:evaluate formats:measures data:nn nn:data backend:nn \
    report:workflow; do
    sees "${pair%:*}" "${pair#*:}" && echo "include-order: ${pair%:*} sees ${pair#*:}" >>"$folder/report"
done
for pair in base:base measures:base report:evaluate data:formats nn:backend workflow:report; do
    sees "${pair%:*}" "${pair#*:}" || echo "include-order: ${pair%:*} does not see ${pair#*:}" >>"$folder/report"
done

find src cli examples bench \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' \) | sort >"$folder/files"
xargs grep -n '^[[:space:]]*#[[:space:]]*include[[:space:]]*["<]' /dev/null <"$folder/files" |
    sed 's/^\([^:]*:[0-9]*\):[^"<]*["<]\([^">]*\)[">].*/\1 \2/' >"$folder/includes"
[ -s "$folder/includes" ] || echo "no includes were found" >>"$folder/report"
while read -r place target; do
    module=${place#src/} && module=${module%%/*}
    case $target in
    *../*) echo "$place: include \"$target\" climbs out of its folder" ;;
    cuda* | cudnn* | cublas*)
        case $place in src/*/cuda/* | bench/*) ;; src/*) echo "$place: <$target> outside a folder cuda/" ;; esac ;;
    oneapi/* | dnnl*)
        case $place in src/backend/cpu/* | bench/*) ;; *) echo "$place: <$target> outside src/backend/cpu" ;; esac ;;
    vargate/*)
        case $place in
        src/*) [ -e "$order/$module/include/$target" ] || echo "$place: $module may not include $target" ;;
        esac ;;
    */*)
        [ -d "src/${target%%/*}" ] || continue # <sys/stat.h>
        case $place in
        src/*) [ -e "$order/$module/src/$target" ] || echo "$place: $module may not include $target" ;;
        bench/kernels/*) ;;
        *) echo "$place: only include/vargate may be included here, not $target" ;;
        esac ;;
    esac
done <"$folder/includes" >>"$folder/report"
[ ! -s "$folder/report" ] || { cat "$folder/report" && exit 1; }
echo "$(wc -l <"$folder/includes") includes of $(wc -l <"$folder/files") files checked"
