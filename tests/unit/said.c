#include "said.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

char *said(Diag *dx)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    diag_flush(dx, out, false);
    fclose(out);
    return text;
}

void assert_says(Diag *dx, const char *part)
{
    char *text = said(dx);
    if (!strstr(text, part)) {
        fail_msg("expected \"%s\" in: %s", part, text);
    }
    free(text);
}
