#!/bin/sh
# The public headers stand alone, as C99 and as C++11, without warnings.
set -eu
cd "$(dirname "$0")/../.."
for header in runtime/sluice.h runtime/abi.h; do
    cc -x c -std=c99 -pedantic-errors -Wall -Wextra -Wconversion -Werror -fsyntax-only -include "$header" /dev/null
    c++ -x c++ -std=c++11 -pedantic-errors -Wall -Wextra -Werror -fsyntax-only -include "$header" /dev/null
done
