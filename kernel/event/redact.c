/* redact.c - see redact.h. */
#include "event/redact.h"

#include <stdbool.h>

#include "util/str.h"

enum {
    /* tokens and signatures of 256 bits have 43 characters, keys 46; ids and UUIDs have fewer */
    RUN_MAX = 40,
    CONTENT_MIN = 256, /* a text of so many base 64 characters and nothing else is a file */
    NAME_MAX_BYTES = 64,
};

static const char *const MASK = "***";

/* ---- names ---- */

static char redact_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

bool redact_name(const struct redact_names *names, wharf_str name)
{
    static const char *const whole[] = {"key", "sig", "pin", "otp", "cvv"};
    static const char *const parts[] = {"password", "passwd", "passphrase", "secret", "token",
        "signature", "credential", "authorization", "apikey", "api_key", "api-key", "private_key",
        "signing_key", "access_key"};
    char text[NAME_MAX_BYTES];
    size_t n = 0;

    /* An escaped or overlong name could be any. */
    if (name.n >= sizeof(text) || memchr(name.p, '\\', name.n) || memchr(name.p, '%', name.n))
        return true;
    for (; n < name.n; n++)
        text[n] = redact_lower(name.p[n]);
    text[n] = 0;
    for (size_t i = 0; i < names->n; i++) {
        if (!strcmp(text, names->items[i]))
            return true;
    }
    for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++) {
        if (!strcmp(text, whole[i]))
            return true;
    }
    if (n > 3 && !strcmp(text + n - 3, "_id"))
        return false;
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (strstr(text, parts[i]))
            return true;
    }
    return false;
}

/* Tells whether texts under this name are contents of files. */
static bool content_name(wharf_str name)
{
    static const char *const names[] = {
        "data", "content", "contents", "base64", "raw", "body_base64", "zpl"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (str_eqz(name, names[i]))
            return true;
    }
    return false;
}

/* ---- texts ---- */

static bool run_char(char c)
{
    return (c >= '0' && c <= '9') || (redact_lower(c) >= 'a' && redact_lower(c) <= 'z') ||
           c == '_' || c == '-' || c == '+' || c == '=';
}

static bool redact_has(wharf_str s, const char *what)
{
    return memmem(s.p, s.n, what, strlen(what)) != NULL;
}

/* Finds "user:pass" of "https://user:pass@host/": what stands between "//", at whose end p is, and
 * the "@" of the same authority. Returns its length, or 0. */
static size_t user_of_url(wharf_str text, size_t p)
{
    size_t end = p;

    if (p < 3 || memcmp(text.p + p - 3, "://", 3) != 0)
        return 0;
    while (end < text.n && !strchr("/?#\"'<> \t\r\n", text.p[end]) && text.p[end])
        end++;
    for (size_t at = end; at-- > p;) {
        if (text.p[at] == '@')
            return at - p;
    }
    return 0;
}

/* Finds the value of a parameter of a URL that is a secret by its name ("token=" behind ? & or ;),
 * at p. Returns its length; 0 when it is none. */
static size_t secret_of_url(wharf_str text, size_t p)
{
    static const struct redact_names none = {NULL, 0};
    size_t from = p ? p - 1 : 0, end = p;

    if (!p || text.p[p - 1] != '=')
        return 0;
    while (from > 0 && (run_char(text.p[from - 1]) || strchr("[].%", text.p[from - 1])) &&
           text.p[from - 1] != '=')
        from--;
    if (!from || !strchr("?&;", text.p[from - 1]) ||
        !redact_name(&none, (wharf_str){text.p + from, p - 1 - from}))
        return 0;
    while (end < text.n && !strchr("&;#\"'<> \t\r\n\\", text.p[end]) && text.p[end])
        end++;
    return end - p;
}

static void mask_plain_runs(struct buf *out, wharf_str text, bool cut);

/* Writes a text with its secrets masked; what a URL says in secret is taken out first. cut: the
 * text goes on behind what is known of it. */
static void mask_runs(struct buf *out, wharf_str text, bool cut)
{
    size_t done = 0;

    for (size_t i = 0; i < text.n; i++) {
        size_t n = text.p[i ? i - 1 : 0] == '/' ? user_of_url(text, i)
                   : i && text.p[i - 1] == '='  ? secret_of_url(text, i)
                                                : 0;

        if (!n)
            continue;
        mask_plain_runs(out, (wharf_str){text.p + done, i - done}, false);
        buf_addz(out, MASK);
        done = i + n;
        i = done ? done - 1 : 0;
    }
    mask_plain_runs(out, (wharf_str){text.p + done, text.n - done}, cut);
}

static void mask_plain_runs(struct buf *out, wharf_str text, bool cut)
{
    for (size_t i = 0, end; i < text.n; i = end) {
        wharf_str run;

        for (end = i; end < text.n && run_char(text.p[end]); end++)
            ;
        run = (wharf_str){text.p + i, end - i};
        if (run.n >= RUN_MAX || redact_has(run, "wh_live_") || redact_has(run, "wh_test_") ||
            (cut && run.n && end == text.n))
            buf_addz(out, MASK);
        else if (run.n)
            buf_adds(out, run);
        else
            buf_addc(out, text.p[end++]);
    }
}

static bool redact_is_file(wharf_str s)
{
    if (s.n >= 5 && !memcmp(s.p, "data:", 5))
        return true;
    for (size_t i = 0; i < s.n; i++) {
        if (!run_char(s.p[i]) && s.p[i] != '/' && s.p[i] != '\\' && s.p[i] != 'n')
            return false;
    }
    return s.n >= CONTENT_MIN;
}

void redact_text(struct buf *out, wharf_str text)
{
    mask_runs(out, text, false);
}

/* Returns "created_at" of "created_at[gte]", the bracket written as it is or as clients escape
 * it. */
static wharf_str before_bracket(wharf_str name)
{
    for (size_t i = 0; i < name.n; i++) {
        if (name.p[i] == '[' || (name.n - i >= 3 && name.p[i] == '%' && name.p[i + 1] == '5' &&
                                    redact_lower(name.p[i + 2]) == 'b'))
            return (wharf_str){name.p, i};
    }
    return name;
}

void redact_query(struct buf *out, const struct redact_names *names, wharf_str query)
{
    for (size_t i = 0; i <= query.n;) {
        const char *amp = memchr(query.p + i, '&', query.n - i), *equal;
        wharf_str pair = {query.p + i, amp ? (size_t)(amp - query.p) - i : query.n - i},
                  name = pair;

        equal = memchr(pair.p, '=', pair.n);
        if (equal)
            name.n = (size_t)(equal - pair.p);
        mask_runs(out, name, false);
        if (equal) {
            buf_addc(out, '=');
            if (redact_name(names, before_bracket(name)) || redact_has(pair, "wh_live_"))
                buf_addz(out, MASK);
            else
                mask_runs(out, (wharf_str){equal + 1, pair.n - name.n - 1}, false);
        }
        i += pair.n + 1;
        if (amp)
            buf_addc(out, '&');
    }
}

/* ---- JSON ---- */

struct scan {
    wharf_str in;
    size_t at;
};

/* Takes the characters between the quotes; `at` stands behind the second one. ret_cut: there was
 * none. */
static wharf_str take_string(struct scan *s, bool *ret_cut)
{
    size_t start = ++s->at;

    while (s->at < s->in.n && s->in.p[s->at] != '"')
        s->at += s->in.p[s->at] == '\\' && s->at + 1 < s->in.n ? 2 : 1;
    *ret_cut = s->at >= s->in.n;
    return (wharf_str){s->in.p + start, (*ret_cut ? s->in.n : s->at++) - start};
}

static void redact_skip_space(struct scan *s)
{
    while (s->at < s->in.n && strchr(" \t\r\n", s->in.p[s->at]) && s->in.p[s->at])
        s->at++;
}

/* Skips one value of any kind. */
static void skip_value(struct scan *s)
{
    size_t depth = 0;
    bool cut;

    while (s->at < s->in.n) {
        char c = s->in.p[s->at];

        if (!depth && (c == ',' || c == '}' || c == ']'))
            return;
        if (c == '"') {
            take_string(s, &cut);
        } else {
            depth += c == '{' || c == '[';
            depth -= c == '}' || c == ']';
            s->at++;
        }
        if (!depth && (c == '"' || c == '}' || c == ']'))
            return;
    }
}

static void quoted(struct buf *out, wharf_str text, bool cut)
{
    buf_addc(out, '"');
    if (redact_is_file(text))
        buf_addz(out, MASK);
    else
        mask_runs(out, text, cut);
    if (!cut)
        buf_addc(out, '"');
}

static void redact_member(
    struct buf *out, const struct redact_names *names, struct scan *s, wharf_str name)
{
    bool secret = redact_name(names, name);

    quoted(out, name, false);
    buf_addc(out, ':');
    s->at++;
    redact_skip_space(s);
    if (s->at + 4 <= s->in.n && !memcmp(s->in.p + s->at, "null", 4))
        return;
    if (secret || (content_name(name) && s->at < s->in.n && s->in.p[s->at] == '"')) {
        skip_value(s);
        buf_addz(out, "\"***\"");
    }
}

static void cut_at(struct buf *out, size_t start, size_t max)
{
    size_t n = start + max;

    if (out->n <= n)
        return;
    while (n > start && ((unsigned char)out->p[n] & 0xC0) == 0x80)
        n--;
    out->p[n] = 0;
    out->n = n;
}

void redact_json(struct buf *out, const struct redact_names *names, wharf_str json, size_t max)
{
    struct scan s = {json, 0};
    size_t start = out->n;

    while (s.at < json.n && out->n - start < max) {
        wharf_str text;
        bool cut;

        if (json.p[s.at] != '"') {
            buf_addc(out, json.p[s.at++]);
            continue;
        }
        text = take_string(&s, &cut);
        redact_skip_space(&s);
        if (!cut && s.at < json.n && json.p[s.at] == ':')
            redact_member(out, names, &s, text);
        else
            quoted(out, text, cut);
    }
    cut_at(out, start, max);
}
