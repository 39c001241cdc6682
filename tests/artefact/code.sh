#!/bin/sh
# The machine code: 64-byte vectors where the target has them, none where it does not, no leaf that
# touches the stack, and no licence to treat NaN as if there were none.
. "$(dirname "$0")/lib.sh"
objdump=$LLVM_BIN/llvm-objdump

for target in x86-64-v3 x86-64-v4; do
    status 0 build L2H64 --seq 21 --set vocab=50 --emit obj --target $target -o bert.o
    status 0 build B2-1x2-1H64 --seq 33 --set vocab=50 --emit obj --target $target -o funnel.o
    status 0 build M2H48F96 --set height=48 --set patch=8 --emit obj --target $target -o mixer.o
    for file in *.o; do
        "$objdump" -d --no-show-raw-insn $file >../code.txt || fail "$objdump $file"
        # For each function: its name, instructions, those that use the stack, 64-byte vectors,
        # prefetches.
        awk '/^[0-9a-f]+ <.*>:$/ { name = $2 }
             /^ /                { all[name]++ }
             /\(%r[sb]p/         { stack[name]++ }
             /%zmm/              { wide[name]++ }
             /prefetch/          { ahead[name]++ }
             END { for (n in all) print n, all[n], stack[n] + 0, wide[n] + 0, ahead[n] + 0 }' \
            ../code.txt \
            >../functions.txt
        grep -q '^<leaf_' ../functions.txt || fail "$file: has no leaf"
        awk '/^<leaf_/ && $3 > 0' ../functions.txt | grep . && fail "$file: leaves use the stack"
        awk '/^<contraction_/ && $5 == 0' ../functions.txt | grep . &&
            fail "$file: a product fetches nothing ahead of its results"
        if [ $target = x86-64-v3 ]; then
            awk '$4 > 0' ../functions.txt | grep . && fail "$file: vectors that $target lacks"
        else
            awk '/^<leaf_/ && $4 == 0' ../functions.txt | grep . &&
                fail "$file: leaves with narrow vectors"
        fi
        rm ../code.txt ../functions.txt
    done
    rm ./*.o
done

# Not even where a graph has no NaN: a masked softmax stands on comparisons with them.
status 0 build L2H64 --seq 21 --emit llvm -o bert.ll
status 0 build B2-1x2-1H64 --seq 33 --emit llvm -o funnel.ll
for file in *.ll; do
    grep -qE ' f(add|mul|cmp) ' $file || fail "$file: has no arithmetic"
    grep -nwE 'nnan|ninf|fast' $file && fail "$file: promises that there is no NaN"
done
finish
