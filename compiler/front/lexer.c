// Text to tokens, one pass over the bytes. After `.` and after `as` a word is always a name, so
// that parameter paths may hold keywords and words that look like layouts.
#include "front/lexer.h"

#include "front/grammar.h"
#include "front/limits.h"

#include "base/vec.h"

static const struct {
    const char *word;
    int kind;
} keywords[] = {
    {"and", TK_AND},       {"as", TK_AS},       {"block", TK_BLOCK},   {"check", TK_CHECK},
    {"else", TK_ELSE},     {"false", TK_FALSE}, {"family", TK_FAMILY}, {"for", TK_FOR},
    {"if", TK_IF},         {"in", TK_IN},       {"input", TK_INPUT},   {"let", TK_LET},
    {"model", TK_MODEL},   {"new", TK_NEW},     {"not", TK_NOT},       {"or", TK_OR},
    {"output", TK_OUTPUT}, {"param", TK_PARAM}, {"return", TK_RETURN}, {"shared", TK_SHARED},
    {"then", TK_THEN},     {"true", TK_TRUE},   {"use", TK_USE},
};
#define NKEYWORDS (sizeof keywords / sizeof keywords[0])

// Longer ones first.
static const struct {
    const char *text;
    int kind;
} punctuation[] = {
    {"**", TK_POW},    {"==", TK_EQ},  {"!=", TK_NE},   {"<=", TK_LE},   {">=", TK_GE},
    {"..", TK_DOTDOT}, {"(", TK_LP},   {")", TK_RP},    {"[", TK_LB},    {"]", TK_RB},
    {"{", TK_LC},      {"}", TK_RC},   {",", TK_COMMA}, {":", TK_COLON}, {".", TK_DOT},
    {"=", TK_ASSIGN},  {"+", TK_PLUS}, {"-", TK_MINUS}, {"*", TK_STAR},  {"/", TK_SLASH},
    {"%", TK_PERCENT}, {"@", TK_AT},   {"<", TK_LT},    {">", TK_GT},
};
#define NPUNCTUATION (sizeof punctuation / sizeof punctuation[0])

#define SHOWN_BYTES 40 // of a token in a message

typedef struct Lexer {
    Arena *arena;
    Diag *dx;
    const Source *source;
    const char *text;
    size_t n;
    size_t pos;
    VEC(Token) tokens;
    bool ok;
} Lexer;

static Place place(const Lexer *lx, size_t begin, size_t end)
{
    return (Place){lx->source, (uint32_t)begin, (uint32_t)end};
}

static Str slice(const Lexer *lx, size_t begin, size_t end)
{
    return (Str){lx->text + begin, end - begin};
}

static unsigned char byte_at(const Lexer *lx, size_t pos)
{
    return pos < lx->n ? (unsigned char)lx->text[pos] : 0;
}

static bool is_digit(unsigned char c) { return c >= '0' && c <= '9'; }

static bool is_letter(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static void add(Lexer *lx, size_t begin, Token token)
{
    token.at = place(lx, begin, lx->pos);
    vec_push(lx->arena, &lx->tokens, token);
}

// Length of the UTF-8 character at `pos`, 0 if the bytes there are none.
static size_t utf8_length(const Lexer *lx, size_t pos)
{
    static const struct {
        unsigned char mask, lead;
        uint32_t least;
    } forms[] = {{0x80, 0x00, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};
    unsigned char c = byte_at(lx, pos);
    for (size_t form = 0; form < 4; form++) {
        if ((c & forms[form].mask) != forms[form].lead)
            continue;
        uint32_t code = c & (unsigned char)~forms[form].mask;
        for (size_t i = 1; i <= form; i++) {
            unsigned char next = byte_at(lx, pos + i);
            if ((next & 0xc0) != 0x80)
                return 0;
            code = code << 6 | (next & 0x3f);
        }
        bool legal =
            code >= forms[form].least && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
        return legal ? form + 1 : 0;
    }
    return 0;
}

// The file's bytes as a whole: not too many, and UTF-8.
static bool check_bytes(Lexer *lx)
{
    if (lx->n > LIMIT_FILE_BYTES) {
        diag_error(lx->dx, place(lx, 0, 0), "this file has %zu bytes, more than %d", lx->n,
                   LIMIT_FILE_BYTES);
        return false;
    }
    for (size_t pos = 0; pos < lx->n;) {
        size_t length = utf8_length(lx, pos);
        if (length == 0) {
            diag_error(lx->dx, place(lx, pos, pos + 1), "this byte, 0x%02x, is not UTF-8",
                       byte_at(lx, pos));
            return false;
        }
        pos += length;
    }
    return true;
}

static void lex_unexpected(Lexer *lx)
{
    size_t begin = lx->pos;
    size_t length = utf8_length(lx, begin);
    unsigned char c = byte_at(lx, begin);
    lx->pos += length;
    lx->ok = false;
    if (c < ' ' || c == 0x7f)
        diag_error(lx->dx, place(lx, begin, lx->pos), "unexpected control character 0x%02x", c);
    else
        diag_error(lx->dx, place(lx, begin, lx->pos), "unexpected character `%.*s`",
                   STR_ARG(slice(lx, begin, lx->pos)));
}

// Whether the word that begins now is a piece of a path or a field.
static bool after_path(const Lexer *lx)
{
    if (lx->tokens.n == 0)
        return false;
    int before = lx->tokens.items[lx->tokens.n - 1].kind;
    return before == TK_DOT || before == TK_AS;
}

static bool too_long(Lexer *lx, size_t begin, const char *what)
{
    if (lx->pos - begin <= LIMIT_NAME)
        return false;
    diag_error(lx->dx, place(lx, begin, lx->pos), "%s of %zu characters, more than %d", what,
               lx->pos - begin, LIMIT_NAME);
    lx->ok = false;
    return true;
}

static void lex_layout(Lexer *lx)
{
    size_t begin = lx->pos;
    while (is_letter(byte_at(lx, lx->pos)) || is_digit(byte_at(lx, lx->pos)) ||
           byte_at(lx, lx->pos) == '-')
        lx->pos++;
    if (too_long(lx, begin, "a layout"))
        return;
    Token token = {.kind = TK_LAYOUT};
    token.layout = layout_parse(lx->arena, lx->dx, place(lx, begin, lx->pos));
    if (token.layout)
        add(lx, begin, token);
    else
        lx->ok = false;
}

static void lex_word(Lexer *lx)
{
    size_t begin = lx->pos;
    bool is_path = after_path(lx);
    if (!is_path && layout_starts(slice(lx, begin, lx->n))) {
        lex_layout(lx);
        return;
    }
    while (is_letter(byte_at(lx, lx->pos)) || is_digit(byte_at(lx, lx->pos)))
        lx->pos++;
    if (too_long(lx, begin, "a name"))
        return;
    Token token = {.kind = TK_NAME, .text = slice(lx, begin, lx->pos)};
    for (size_t i = 0; !is_path && i < NKEYWORDS; i++) {
        if (keywords[i].word[0] == token.text.ptr[0] &&
            str_equal(token.text, str_from(keywords[i].word)))
            token.kind = keywords[i].kind;
    }
    add(lx, begin, token);
}

static void skip_digits(Lexer *lx)
{
    while (is_digit(byte_at(lx, lx->pos)))
        lx->pos++;
}

// 12   1.   .5   1.5e-3   1e5; the dot of `1..5` is not its own.
static void lex_number(Lexer *lx)
{
    size_t begin = lx->pos;
    Token token = {.kind = TK_INT};
    skip_digits(lx);
    if (byte_at(lx, lx->pos) == '.' && byte_at(lx, lx->pos + 1) != '.') {
        token.kind = TK_FLOAT;
        lx->pos++;
        skip_digits(lx);
    }
    if ((byte_at(lx, lx->pos) | 0x20) == 'e') {
        size_t digits = lx->pos + 1;
        if (byte_at(lx, digits) == '+' || byte_at(lx, digits) == '-')
            digits++;
        if (is_digit(byte_at(lx, digits))) {
            token.kind = TK_FLOAT;
            lx->pos = digits;
            skip_digits(lx);
        }
    }
    bool joined = is_letter(byte_at(lx, lx->pos));
    while (is_letter(byte_at(lx, lx->pos)) || is_digit(byte_at(lx, lx->pos)))
        lx->pos++;
    if (too_long(lx, begin, "a number"))
        return;
    Place at = place(lx, begin, lx->pos);
    Str text = slice(lx, begin, lx->pos);
    if (joined)
        diag_error(lx->dx, at, "`%.*s` is not a number", STR_ARG(text));
    else if (token.kind == TK_INT && !str_to_int(text, &token.integer))
        diag_error(lx->dx, at, "integer %.*s does not fit in 64 bits", STR_ARG(text));
    else if (token.kind == TK_FLOAT && !str_to_double(text, &token.real))
        diag_error(lx->dx, at, "number %.*s is too large", STR_ARG(text));
    else {
        add(lx, begin, token);
        return;
    }
    lx->ok = false;
}

// A text stands on one line; a backslash comes before a quote or a backslash that is meant.
static void lex_string(Lexer *lx)
{
    size_t begin = lx->pos++;
    Buf text = {.arena = lx->arena};
    bool ok = true;
    while (lx->pos < lx->n && byte_at(lx, lx->pos) != '"' && byte_at(lx, lx->pos) != '\n') {
        size_t at = lx->pos++;
        if (lx->text[at] == '\\') {
            char next = (char)byte_at(lx, lx->pos);
            if (next != '"' && next != '\\') {
                diag_error(lx->dx, place(lx, at, at + 1),
                           "a backslash in a text stands before `\"` or `\\` only");
                ok = false;
                continue;
            }
            at = lx->pos++;
        } else if (byte_at(lx, at) < ' ') {
            diag_error(lx->dx, place(lx, at, at + 1), "unexpected control character 0x%02x",
                       byte_at(lx, at));
            ok = false;
        }
        buf_char(&text, lx->text[at]);
    }
    if (byte_at(lx, lx->pos) != '"') {
        diag_error(lx->dx, place(lx, begin, lx->pos), "this text has no closing quote on its line");
        lx->ok = false;
        return;
    }
    lx->pos++;
    if (text.len > LIMIT_TEXT) {
        diag_error(lx->dx, place(lx, begin, begin + 1), "a text of more than %d bytes", LIMIT_TEXT);
        ok = false;
    }
    if (ok)
        add(lx, begin, (Token){.kind = TK_STRING, .text = buf_str(&text)});
    else
        lx->ok = false;
}

static void lex_punctuation(Lexer *lx)
{
    Str rest = slice(lx, lx->pos, lx->n);
    for (size_t i = 0; i < NPUNCTUATION; i++) {
        if (punctuation[i].text[0] != lx->text[lx->pos])
            continue;
        Str text = str_from(punctuation[i].text);
        if (str_starts(rest, text)) {
            size_t begin = lx->pos;
            lx->pos += text.len;
            add(lx, begin, (Token){.kind = punctuation[i].kind});
            return;
        }
    }
    lex_unexpected(lx);
}

static bool skip_blanks(Lexer *lx)
{
    unsigned char c = byte_at(lx, lx->pos);
    if (lx->pos < lx->n && c == '#') {
        while (lx->pos < lx->n && lx->text[lx->pos] != '\n')
            lx->pos++;
        return true;
    }
    if (c != ' ' && c != '\t' && c != '\r' && c != '\n')
        return false;
    lx->pos++;
    return true;
}

static void lex_token(Lexer *lx)
{
    unsigned char c = byte_at(lx, lx->pos);
    bool is_fraction = c == '.' && is_digit(byte_at(lx, lx->pos + 1)) &&
                       !(lx->tokens.n && lx->tokens.items[lx->tokens.n - 1].kind == TK_DOT);
    if (is_letter(c))
        lex_word(lx);
    else if (is_digit(c) || is_fraction)
        lex_number(lx);
    else if (c == '"')
        lex_string(lx);
    else
        lex_punctuation(lx);
}

bool lex_source(Arena *arena, Diag *dx, const Source *source, Tokens *out)
{
    Lexer lx = {.arena = arena,
                .dx = dx,
                .source = source,
                .text = source->text.ptr,
                .n = source->text.len,
                .ok = true};
    if (!check_bytes(&lx))
        return false;
    if (str_starts(source->text, STR("\xef\xbb\xbf"))) // a byte order mark
        lx.pos = 3;
    while (lx.pos < lx.n && !diag_full(dx)) {
        if (!skip_blanks(&lx))
            lex_token(&lx);
    }
    add(&lx, lx.pos, (Token){.kind = 0});
    out->items = lx.tokens.items;
    out->n = lx.tokens.n;
    return lx.ok;
}

Str token_text(Arena *arena, const Token *token)
{
    if (token->kind == 0)
        return STR("the end of the file");
    Str text = {token->at.source->text.ptr + token->at.begin, token->at.end - token->at.begin};
    if (text.len <= SHOWN_BYTES)
        return str_format(arena, "`%.*s`", STR_ARG(text));
    text.len = SHOWN_BYTES;
    while ((text.ptr[text.len] & 0xc0) == 0x80) // not inside a character
        text.len--;
    return str_format(arena, "`%.*s…`", STR_ARG(text));
}

bool token_is_keyword(int kind)
{
    for (size_t i = 0; i < NKEYWORDS; i++) {
        if (keywords[i].kind == kind)
            return true;
    }
    return false;
}
