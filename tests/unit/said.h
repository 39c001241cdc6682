// What diagnostics say, for tests.
#ifndef SLUICE_TESTS_SAID_H
#define SLUICE_TESTS_SAID_H

#include "base/diag.h"

// All messages since the last flush, as they would be printed. The caller frees the text.
char *said(Diag *dx);
// They must hold `part`; else the test fails and shows them.
void assert_says(Diag *dx, const char *part);

#endif
