// Statuses in words, and the texts of errors.
#include "runtime/internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define TEXT_OF(number)  #number
#define VERSION(a, b, c) TEXT_OF(a) "." TEXT_OF(b) "." TEXT_OF(c)

const char *sl_version(void)
{
    return VERSION(SL_VERSION_MAJOR, SL_VERSION_MINOR, SL_VERSION_PATCH);
}

const char *sl_status_text(SlStatus status)
{
    static const char *const texts[] = {
        [SL_OK] = "done",
        [SL_E_MEMORY] = "out of memory",
        [SL_E_FILE] = "a file cannot be read",
        [SL_E_THREAD] = "a thread cannot be started",
        [SL_E_NOT_MODEL] = "not a compiled model",
        [SL_E_VERSION] = "the model is made for a newer runtime",
        [SL_E_CPU] = "the processor lacks what the model needs",
        [SL_E_TABLE] = "the model's table contradicts itself",
        [SL_E_TRUNCATED] = "the file ends early",
        [SL_E_WEIGHTS_MISSING] = "the weights are not there",
        [SL_E_WEIGHTS_FOREIGN] = "the weights are another model's",
        [SL_E_WEIGHTS_FLIPPED] = "the weights are damaged",
        [SL_E_ARGUMENT] = "an argument is missing",
        [SL_E_OPTION] = "an option is not allowed",
        [SL_E_INDEX] = "a number is out of range",
        [SL_E_BUSY] = "in use",
        [SL_E_ARENA] = "the arena is too small",
        [SL_E_OVERFLOW] = "a size overflows",
        [SL_E_HOOK] = "parallel_for returned early",
        [SL_E_UNSUPPORTED] = "not supported",
        [SL_E_COUNT] = "wrong number of tensors or symbols",
        [SL_E_DTYPE] = "wrong element type",
        [SL_E_RANK] = "wrong number of axes",
        [SL_E_SHAPE] = "wrong shape",
        [SL_E_STRIDE] = "not contiguous",
        [SL_E_ALIGN] = "misaligned",
        [SL_E_NULL] = "no data",
        [SL_E_BYTES] = "the buffer is too small",
        [SL_E_OVERLAP] = "tensors share memory",
        [SL_E_SYMBOL] = "a size is out of its bounds, or unknown",
        [SL_E_CHECK] = "a check of the model failed",
        [SL_E_RANGE] = "an element is out of its range",
        [SL_E_FAULT] = "an index lay outside its table",
    };
    size_t number = (size_t)status;
    const char *text = number < sizeof texts / sizeof texts[0] ? texts[number] : NULL;
    return text ? text : "unknown status";
}

SliText sli_text(char *buffer, size_t bytes)
{
    buffer[0] = '\0';
    return (SliText){buffer, bytes, 0};
}

static void add_list(SliText *text, const char *format, va_list arguments)
{
    size_t room = text->bytes - text->used;
    int n = vsnprintf(text->at + text->used, room, format, arguments);
    if (n < 0)
        return;
    if ((size_t)n < room) {
        text->used += (size_t)n;
        return;
    }
    text->used = text->bytes - 1;
    if (text->bytes > 4)
        memcpy(text->at + text->bytes - 4, "...", 4);
}

void sli_add(SliText *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    add_list(text, format, arguments);
    va_end(arguments);
}

void sli_add_sizes(SliText *text, const int64_t *sizes, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        sli_add(text, "%s%lld", i ? ", " : "[", (long long)sizes[i]);
    sli_add(text, n ? "]" : "[]");
}

void sli_fail(SlError *error, SlStatus status, const char *format, ...)
{
    if (!error)
        return;
    error->status = status;
    SliText text = sli_text(error->text, sizeof error->text);
    va_list arguments;
    va_start(arguments, format);
    add_list(&text, format, arguments);
    va_end(arguments);
}

SlStatus sli_ok(SlError *error)
{
    if (error) {
        error->status = SL_OK;
        error->text[0] = '\0';
    }
    return SL_OK;
}
