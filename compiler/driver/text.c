// Numbers and texts as people and JSON want them.
#include "driver/command.h"

void text_count(Buf *buf, uint64_t n)
{
    char digits[24];
    int len = snprintf(digits, sizeof digits, "%llu", (unsigned long long)n);
    for (int i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0) {
            buf_char(buf, ',');
        }
        buf_char(buf, digits[i]);
    }
}

void text_plural(Buf *buf, uint64_t n, const char *what)
{
    text_count(buf, n);
    buf_format(buf, " %s%s", what, n == 1 ? "" : "s");
}

void text_pad(Buf *buf, size_t begin, size_t width)
{
    do {
        buf_char(buf, ' ');
    } while (buf->len - begin < width);
}

void text_bytes(Buf *buf, uint64_t n)
{
    static const char *const units[] = {"kB", "MB", "GB", "TB", "PB", "EB"};
    double value = (double)n / 1000;
    size_t unit = 0;
    if (n < 1000) {
        buf_format(buf, "%u bytes", (unsigned)n);
        return;
    }
    while (value >= 999.95) { // or it would be shown as 1000.0
        value /= 1000;
        unit++;
    }
    buf_format(buf, "%.1f %s", value, units[unit]);
}

void text_json(Buf *buf, Str s)
{
    buf_char(buf, '"');
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];
        if (c == '"' || c == '\\') {
            buf_char(buf, '\\');
        }
        if (c < 0x20) {
            buf_format(buf, "\\u%04x", c);
        } else {
            buf_char(buf, (char)c);
        }
    }
    buf_char(buf, '"');
}
