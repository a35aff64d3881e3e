#!/bin/sh
# File names are unique across src/: a name says which file is meant.
twice=$(find src -name '*.[ch]' -o -name '*.cu' | sed 's|.*/||' | sort | uniq -d)
[ -z "$twice" ] && exit 0
echo "names that occur more than once under src/:" $twice
exit 1
