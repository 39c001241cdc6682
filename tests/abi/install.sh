#!/bin/sh
# install.sh CMAKE BUILD PREFIX: what is installed is enough to compile, link and run a program that
# uses the library, by pkg-config, in either way.
set -eu
source=$(cd "$(dirname "$0")/../.." && pwd)
rm -rf "$3"
"$1" --install "$2" --prefix "$3" >/dev/null
PKG_CONFIG_PATH=$(dirname "$(find "$3" -name sluice.pc)")
export PKG_CONFIG_PATH
cd "$3"
printf 'model m { input x : f32[batch, 4] output y = x + x }\n' >m.slu
bin/sluice build m.slu -o m.so
cc -o shared "$source/dsl_examples/run_model.c" $(pkg-config --cflags --libs sluice) -lm
LD_LIBRARY_PATH=$(pkg-config --variable=libdir sluice) ./shared m.so 2
cc -o static "$source/dsl_examples/run_model.c" $(pkg-config --cflags sluice) \
    -Wl,-Bstatic $(pkg-config --libs sluice) -Wl,-Bdynamic -lpthread -ldl -lm
./static m.so 2
