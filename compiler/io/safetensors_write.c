// Writing of safetensors.
#include "io/safetensors.h"

#include <jansson.h>
#include <stdlib.h>

enum { MOST_ELEMENT_BYTES = 8 };

// Reports what is wrong with an item; false.
static bool fail_item(Arena *arena, Diag *dx, const char *path, Str name, const char *what)
{
    Buf quoted = {.arena = arena};
    buf_quoted(&quoted, name);
    diag_error(dx, (Place){0}, "%s: tensor %.*s cannot be written: %s", path,
               STR_ARG(buf_str(&quoted)), what);
    return false;
}

// The bytes of its data; false if they overflow.
static bool item_bytes(const StItem *item, size_t *out)
{
    int64_t bytes = (int64_t)dtype_bytes(item->dtype);
    for (size_t i = 0; i < item->rank; i++) {
        if (item->shape[i] < 0 || __builtin_mul_overflow(bytes, item->shape[i], &bytes)) {
            return false;
        }
    }
    *out = (size_t)bytes;
    return true;
}

// Adds the name as JSON; false if it is no UTF-8.
static bool add_name(Buf *buf, Str name)
{
    json_t *string = json_stringn(name.ptr, name.len);
    char *text = string ? json_dumps(string, JSON_ENCODE_ANY) : NULL;
    if (text) {
        buf_add(buf, str_from(text));
    }
    free(text);
    json_decref(string);
    return text != NULL;
}

static bool check_items(Arena *arena, Diag *dx, const char *path, const StItem *items, size_t n)
{
    Map seen = {.arena = arena};
    int64_t total = 0;
    for (size_t i = 0; i < n; i++) {
        size_t bytes = 0;
        if (str_equal(items[i].name, STR("__metadata__"))) {
            return fail_item(arena, dx, path, items[i].name, "the format keeps that name");
        }
        if (map_has(&seen, items[i].name)) {
            return fail_item(arena, dx, path, items[i].name, "duplicate tensor name");
        }
        if (!item_bytes(&items[i], &bytes) ||
            __builtin_add_overflow(total, (int64_t)bytes, &total)) {
            return fail_item(arena, dx, path, items[i].name, "its size overflows 64 bits");
        }
        map_put(&seen, items[i].name, NULL);
    }
    return true;
}

// The items in the order of the file.
static const StItem **order_items(Arena *arena, const StItem *items, size_t n)
{
    const StItem **order = arena_new(arena, const StItem *, n);
    size_t at = 0;
    for (size_t width = MOST_ELEMENT_BYTES; width > 0; width /= 2) {
        for (size_t i = 0; i < n; i++) {
            if (dtype_bytes(items[i].dtype) == width) {
                order[at++] = &items[i];
            }
        }
    }
    return order;
}

static bool build_header(Arena *arena, Diag *dx, const char *path, const StItem **order, size_t n,
                         Buf *buf)
{
    size_t begin = 0;
    buf_char(buf, '{');
    for (size_t i = 0; i < n; i++) {
        const StItem *item = order[i];
        size_t bytes = 0;
        item_bytes(item, &bytes);
        if (i > 0) {
            buf_char(buf, ',');
        }
        if (!add_name(buf, item->name)) {
            return fail_item(arena, dx, path, item->name, "its name is no UTF-8");
        }
        buf_format(buf, ":{\"dtype\":\"%s\",\"shape\":[", dtype_file_name(item->dtype));
        for (size_t axis = 0; axis < item->rank; axis++) {
            buf_format(buf, axis > 0 ? ",%lld" : "%lld", (long long)item->shape[axis]);
        }
        buf_format(buf, "],\"data_offsets\":[%zu,%zu]}", begin, begin + bytes);
        begin += bytes;
    }
    buf_char(buf, '}');
    while (buf->len % MOST_ELEMENT_BYTES != 0) {
        buf_char(buf, ' ');
    }
    return true;
}

bool st_write(Arena *arena, Diag *dx, const char *path, const StItem *items, size_t n)
{
    Buf header = {.arena = arena};
    const StItem **order = order_items(arena, items, n);
    if (!check_items(arena, dx, path, items, n) ||
        !build_header(arena, dx, path, order, n, &header)) {
        return false;
    }
    FileWriter *writer = file_create(dx, path);
    if (!writer) {
        return false;
    }
    uint64_t length = header.len;
    file_write(writer, &length, sizeof length);
    file_write(writer, header.ptr, header.len);
    for (size_t i = 0; i < n; i++) {
        size_t bytes = 0;
        item_bytes(order[i], &bytes);
        file_write(writer, order[i]->data, bytes);
    }
    return file_commit(writer);
}
