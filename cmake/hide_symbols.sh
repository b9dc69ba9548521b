#!/bin/sh
# hide_symbols.sh NM OBJCOPY OBJECT: makes everything in OBJECT local but the functions of foretrain.h. Symbols of which
# the whole process has one (STB_GNU_UNIQUE: variables inside inline functions) cannot be made local; they are
# renamed, so that they meet none of another copy of YAML's or fmt's code.
set -eu
"$1" "$3" | awk '$2 == "u" { print $3, "foretrain_private_" $3 }' >"$3.renamed"
"$2" --strip-debug --wildcard --keep-global-symbol='foretrain_*' --redefine-syms="$3.renamed" "$3"
rm -f "$3.renamed"
