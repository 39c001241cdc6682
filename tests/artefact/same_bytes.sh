#!/bin/sh
# The same input gives the same bytes: in another folder, under another locale, with fewer
# processors, and a second time.
. "$(dirname "$0")/lib.sh"
build_all .so
mkdir sub
for name in bert funnel mixer tiny; do
    mv $name.so sub/
done

build_all .so
same_as_before() {
    for name in bert funnel mixer tiny; do
        same $name.so sub/$name.so
    done
}
same_as_before

# One with commas in its numbers, made here, since few machines have it.
if localedef -i de_DE -f UTF-8 "$PWD/../de_DE.UTF-8" 2>/dev/null; then
    LOCPATH=$PWD/.. LC_ALL=de_DE.UTF-8
    export LOCPATH LC_ALL
    [ "$(locale decimal_point)" = , ] || fail 'the locale does not take effect'
    build_all .so
    same_as_before
    unset LOCPATH LC_ALL
    rm -r ../de_DE.UTF-8
else
    echo 'without another locale: localedef cannot make de_DE'
fi

if command -v taskset >/dev/null && taskset -c 0 true 2>/dev/null; then
    taskset -c 0 "$sluice" build L2H64 --seq 21 --set vocab=50 --random 1 -o bert.so >/dev/null ||
        fail 'bert on one processor'
    taskset -c 0 "$sluice" build B2-1x2-1H64 --seq 33 --set vocab=50 --random 1 -o funnel.so \
        >/dev/null || fail 'funnel on one processor'
    same_as_before
fi
(cd sub && cp ../tiny.slu . && "$sluice" build tiny.slu --seq 5 --random 1 -o ../tiny.so >/dev/null)
same_as_before
finish
