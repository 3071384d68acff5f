/* json_write.c - JSON text from values, see json.h. Leaves to others: where the text goes. */
#include "util/json.h"
#include "util/str.h"

void jw_init(struct jw *w, struct buf *out)
{
    *w = (struct jw){.out = out};
}

static void add_escape(struct buf *out, unsigned char c)
{
    static const char hex[] = "0123456789abcdef";
    char text[6] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};
    char name = 0;

    switch (c) {
    case '"':
    case '\\':
        name = (char)c;
        break;
    case '\b':
        name = 'b';
        break;
    case '\f':
        name = 'f';
        break;
    case '\n':
        name = 'n';
        break;
    case '\r':
        name = 'r';
        break;
    case '\t':
        name = 't';
        break;
    default:
        break;
    }
    if (name)
        text[1] = name;
    buf_add(out, text, name ? 2 : 6);
}

void json_quote(struct buf *out, wharf_str s)
{
    size_t run = str_plain_run(s.p, s.n, '\"');
    char *to;

    if (run == s.n) {
        to = buf_room(out, s.n + 2);
        if (!to)
            return;
        to[0] = '"';
        if (s.n) /* an empty text of zeroed memory has no p, which memcpy() may not get */
            memcpy(to + 1, s.p, s.n);
        to[s.n + 1] = '"';
        to[s.n + 2] = 0;
        out->n += s.n + 2;
        return;
    }
    buf_addc(out, '"');
    for (;;) {
        buf_add(out, s.p, run);
        s.p += run;
        s.n -= run;
        if (!s.n)
            break;
        add_escape(out, (unsigned char)*s.p);
        s.p++;
        s.n--;
        run = str_plain_run(s.p, s.n, '\"');
    }
    buf_addc(out, '"');
}

/* Writes comma, key and colon in one go: the hot path of every response. */
static void json_write_before(struct jw *w, const char *key)
{
    uint64_t bit = 1ull << (w->depth & 63);
    bool comma = w->comma & bit;
    size_t n = key ? strlen(key) : 0;
    char *to;

    w->comma |= bit;
    if (key && str_plain_run(key, n, '\"') < n) {
        if (comma)
            buf_addc(w->out, ',');
        json_quote(w->out, str_z(key));
        buf_addc(w->out, ':');
        return;
    }
    to = buf_room(w->out, n + 4);
    if (!to)
        return;
    if (comma)
        *to++ = ',';
    if (key) {
        *to++ = '"';
        memcpy(to, key, n);
        to += n;
        *to++ = '"';
        *to++ = ':';
    }
    *to = 0;
    w->out->n = (size_t)(to - w->out->p);
}

void jw_open(struct jw *w, const char *key, char bracket)
{
    json_write_before(w, key);
    buf_addc(w->out, bracket);
    w->depth++;
    w->comma &= ~(1ull << (w->depth & 63));
}

void jw_close(struct jw *w, char bracket)
{
    w->depth--;
    buf_addc(w->out, bracket);
}

void jw_key(struct jw *w, wharf_str key)
{
    json_write_before(w, NULL);
    json_quote(w->out, key);
    buf_addc(w->out, ':');
    w->comma &= ~(1ull << (w->depth & 63)); /* the value that follows writes none */
}

void jw_quoted(struct jw *w, wharf_str key)
{
    uint64_t bit = 1ull << (w->depth & 63);
    char *to = buf_room(w->out, key.n + 1);

    if (!to)
        return;
    if (w->comma & bit)
        *to++ = ',';
    memcpy(to, key.p, key.n);
    to += key.n;
    *to = 0;
    w->out->n = (size_t)(to - w->out->p);
    w->comma &= ~bit; /* as above */
}

void jw_str(struct jw *w, const char *key, wharf_str v)
{
    json_write_before(w, key);
    json_quote(w->out, v);
}

void jw_z(struct jw *w, const char *key, const char *z)
{
    if (z)
        jw_str(w, key, str_z(z));
    else
        jw_null(w, key);
}

void jw_int(struct jw *w, const char *key, int64_t v)
{
    json_write_before(w, key);
    buf_addi(w->out, v);
}

void jw_bool(struct jw *w, const char *key, bool v)
{
    json_write_before(w, key);
    buf_addz(w->out, v ? "true" : "false");
}

void jw_null(struct jw *w, const char *key)
{
    json_write_before(w, key);
    BUF_LIT(w->out, "null");
}

void jw_raw(struct jw *w, const char *key, wharf_str json)
{
    json_write_before(w, key);
    buf_adds(w->out, json);
}

static void json_write_add_value(struct buf *out, const struct wharf_json *v)
{
    switch ((enum json_type)v->type) {
    case JSON_NULL:
        BUF_LIT(out, "null");
        break;
    case JSON_BOOL:
        buf_addz(out, v->truth ? "true" : "false");
        break;
    case JSON_NUMBER:
        buf_adds(out, v->text);
        break;
    case JSON_STRING:
        json_quote(out, v->text);
        break;
    case JSON_ARRAY:
    case JSON_OBJECT:
        buf_addc(out, v->type == JSON_ARRAY ? '[' : '{');
        for (const struct wharf_json *c = v->child; c; c = c->next) {
            if (c != v->child)
                buf_addc(out, ',');
            if (v->type == JSON_OBJECT) {
                json_quote(out, c->key);
                buf_addc(out, ':');
            }
            json_write_add_value(out, c);
        }
        buf_addc(out, v->type == JSON_ARRAY ? ']' : '}');
        break;
    }
}

void jw_value(struct jw *w, const char *key, const struct wharf_json *v)
{
    json_write_before(w, key);
    json_write_add_value(w->out, v);
}

wharf_str jw_text(struct arena *a, const struct wharf_json *v)
{
    struct buf text;
    wharf_str s;

    if (!v)
        return str_z("null");
    buf_init(&text, SIZE_MAX / 2);
    json_write_add_value(&text, v);
    s = arena_dup_str(a, buf_str(&text));
    buf_done(&text);
    return s;
}
