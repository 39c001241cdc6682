// For tests of sizes: sizes read from text by the arithmetic under test, and random numbers that
// repeat.
#ifndef SLUICE_TESTS_SIZE_KIT_H
#define SLUICE_TESTS_SIZE_KIT_H

#include "base/size.h"

// Of the running group of tests: size_set_up makes it, size_tear_down frees it. All below live in
// it.
extern Arena *arena;
int size_set_up(void **state);
int size_tear_down(void **state);

// sum := ["-"] product (("+" | "-") product)*;  product := atom (("*" | "/" | "%") atom)*, `/` and
// `%` by a number
const Size *size_of(const char *text);
const char *text_of(const Size *x);

// Values for the symbols of random expressions.
enum { SYMBOLS = 3 };
extern SizeBinding values[SYMBOLS];
extern uint64_t seed;
int64_t random_below(int64_t n); // the next of the numbers that `seed` begins

#endif
