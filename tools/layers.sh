#!/bin/sh
# layers.sh: what each folder may include, which words may stand where, how long a file may be.
# Prints FILE:LINE: what is wrong, one line each; exit status 1 if there is any.
set -eu
cd "$(dirname "$0")/.."
files=$(find compiler passes runtime -name '*.[chy]' -o -name '*.def' | sort)

# base → ir → {front, io, loop} → {passes, codegen} → driver; siblings do not see each other.
# codegen sees loop and base only, and shares two files with the runtime, which sees nothing.
includes='
function layer(path) { sub(/^compiler\//, "", path); sub(/\/.*/, "", path); return path }
BEGIN {
    sees["base"] = "base"
    sees["ir"] = "base ir"
    sees["front"] = "base ir front"
    sees["io"] = "base ir io"
    sees["loop"] = "base ir loop"
    sees["passes"] = "base ir front io loop passes"
    sees["codegen"] = "base loop codegen"
    sees["driver"] = "base ir front io loop passes codegen driver runtime"
    sees["runtime"] = "runtime"
}
/^[ \t]*#[ \t]*include[ \t]*"/ {
    split($0, part, "\""); path = part[2]; own = layer(FILENAME); other = layer(path)
    if (path ~ /^\.\.?\// || (path !~ /\// && own != "runtime"))
        problem = "include by path from compiler/"
    else if (own == "codegen" && path ~ /^(runtime\/(abi\.h|isa\.def)$|llvm-c\/)/)
        problem = ""
    else
        problem = (path !~ /\// || index(" " sees[own] " ", " " other " ")) ? "" : own " must not see " other
}
/^[ \t]*#[ \t]*include[ \t]*</ {
    own = layer(FILENAME)
    if (/<llvm/ && own != "codegen") problem = "only codegen/ includes LLVM"
    if (/<(jansson|yaml)/ && own != "io") problem = "only io/ reads JSON and YAML"
}
problem { print FILENAME ":" FNR ": " problem ": " $0; problem = "" }'

report() { sed "s|\$|  ($1)|"; }
problems=$({
    awk "$includes" $files
    for file in $files; do
        case $file in
        compiler/codegen/*) continue ;;
        runtime/isa.def | runtime/cpu*) words='LLVM[A-Z]' ;;
        *) words='LLVM[A-Z]|[aA][vV][xX]|[aA][mM][xX]|\<[nN][eE][oO][nN]' ;;
        esac
        grep -nHE "$words" "$file" | report 'this word belongs to codegen/'
    done
    # Calls that use LLVM'\''s global context.
    grep -nHE 'LLVM((Int([0-9]+)?|Half|BFloat|Float|Double|FP128|Void|Label|Struct)Type|ConstStri(ng|ct)|ConstStruct|MDNode|MDString|GetMDKindID|GetGlobalContext|ModuleCreateWithName|(Append|Insert)BasicBlock|CreateBuilder|ParseBitcode2?|GetTypeByName)[ ]*\(' \
        $files | report 'use the InContext form'
    wc -l $files $(find tests bench dsl_examples -name '*.[ch]') |
        awk '$2 != "total" && $1 > 900 { print $2 ":1: " $1 " lines, 900 are allowed" }'
} || true)
[ -z "$problems" ] && exit 0
printf '%s\n' "$problems"
exit 1
