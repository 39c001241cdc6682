#include "io/json_text.h"

#include <string.h>

json_t *json_text_parse(Str text, size_t flags, json_error_t *error)
{
    const char *nul = text.len > 0 ? memchr(text.ptr, '\0', text.len) : NULL;
    if (!nul) {
        return json_loadb(text.ptr, text.len, flags, error);
    }
    static const char fault[] = "a NUL byte";
    *error = (json_error_t){.line = -1, .column = -1, .position = (int)(nul - text.ptr) + 1};
    memcpy(error->text, fault, sizeof fault);
    error->text[JSON_ERROR_TEXT_LENGTH - 1] = (char)json_error_invalid_syntax; // where it is kept
    return NULL;
}
