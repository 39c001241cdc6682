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

Graph *front_text_elaborate(FrontText *t, const char *text, const FrontOptions *options)
{
    FrontFile file = {.name = STR("t.slu"), .key = STR("t.slu"), .text = str_from(text)};
    FrontSpec spec = {.file = &file};
    return front_elaborate(t->arena, t->dx, &spec, options, NULL);
}

const char *front_text_show(FrontText *t, const Graph *graph)
{
    if (!graph)
        return front_text_messages(t);
    Buf buf = {.arena = t->arena};
    for (size_t i = 0; i < graph->outputs.n; i++) {
        const Output *output = &graph->outputs.items[i];
        buf_format(&buf, "%.*s: ", STR_ARG(output->name));
        type_print(&buf, &output->node->type);
        buf_char(&buf, '\n');
    }
    return buf.ptr;
}

const char *front_text_outputs(FrontText *t, const char *text, const FrontOptions *options)
{
    return front_text_show(t, front_text_elaborate(t, text, options));
}
