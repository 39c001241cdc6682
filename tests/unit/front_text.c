#include "front_text.h"

#include <stdio.h>
#include <stdlib.h>

FrontText front_text_open(void)
{
    Arena *arena = arena_create();
    return (FrontText){arena, diag_create(arena)};
}

void front_text_close(FrontText *t) { arena_destroy(t->arena); }

const Source *front_text_source(FrontText *t, const char *text)
{
    return diag_source(t->arena, STR("t.slu"), str_from(text), false);
}

const char *front_text_messages(FrontText *t)
{
    char *text = NULL;
    size_t n = 0;
    FILE *file = open_memstream(&text, &n);
    if (!file)
        die("no memory");
    diag_flush(t->dx, file, false);
    fclose(file);
    Buf heads = {.arena = t->arena};
    for (size_t i = 0; i < n;) {
        size_t end = i;
        while (end < n && text[end] != '\n')
            end++;
        if (text[i] != ' ') // what a place shows is indented
            buf_format(&heads, "%.*s\n", (int)(end - i), text + i);
        i = end + 1;
    }
    free(text);
    return heads.len ? heads.ptr : "";
}
