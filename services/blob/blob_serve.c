/* blob_serve.c - see blob_serve.h. */
#include "blob/blob_serve.h"

#include <ctype.h>
#include <sodium.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#include "util/str.h"

/* ---- ranges ---- */

/* Reads digits, no sign, no overflow. Returns false when there are none. */
static bool blob_serve_digits(const char **p, uint64_t *ret)
{
    uint64_t v = 0;
    size_t n = strspn(*p, "0123456789");

    if (!n || n > 18)
        return false;
    for (size_t i = 0; i < n; i++)
        v = v * 10 + (uint64_t)((*p)[i] - '0');
    *p += n;
    *ret = v;
    return true;
}

enum range_kind range_read(
    const char *range, uint64_t size, uint64_t *ret_first, uint64_t *ret_length)
{
    uint64_t first = 0, last = 0;
    bool has_first, has_last;

    *ret_first = 0;
    *ret_length = size;
    if (!range || strncasecmp(range, "bytes=", 6) != 0)
        return RANGE_ALL;
    range += 6;
    has_first = blob_serve_digits(&range, &first);
    if (*range++ != '-')
        return RANGE_ALL;
    has_last = blob_serve_digits(&range, &last);
    if (*range || (!has_first && !has_last) || (has_first && has_last && last < first))
        return RANGE_ALL;
    if (!has_first) { /* the last so many bytes */
        if (!last || !size)
            return RANGE_NONE;
        *ret_length = last < size ? last : size;
        *ret_first = size - *ret_length;
        return RANGE_PART;
    }
    if (first >= size)
        return RANGE_NONE;
    if (!has_last || last >= size)
        last = size - 1;
    *ret_first = first;
    *ret_length = last - first + 1;
    return RANGE_PART;
}

/* ---- headers ---- */

static bool token_type(wharf_str t)
{
    const char *slash = memchr(t.p, '/', t.n);

    if (!slash || slash == t.p || slash + 1 == t.p + t.n || t.n > 120)
        return false;
    for (size_t i = 0; i < t.n; i++) {
        if (!isalnum((unsigned char)t.p[i]) && !strchr("!#$&-^_.+/", t.p[i]))
            return false;
    }
    return true;
}

wharf_str served_type(struct arena *a, wharf_str type, bool *ret_active)
{
    static const char *const active[] = {"text/html", "text/xml", "text/javascript",
        "text/ecmascript", "text/xsl", "application/xml", "application/javascript",
        "application/x-javascript", "application/ecmascript", "application/x-executable",
        "application/x-sharedlib", "application/x-pie-executable", "application/x-msdownload",
        "application/x-dosexec", "application/vnd.microsoft.portable-executable",
        "application/x-sh", "application/x-shellscript", "application/x-msdos-program",
        "application/java-archive", "application/x-httpd-php", "application/x-shockwave-flash",
        "text/x-shellscript", "text/x-python", "text/cache-manifest"};
    wharf_str plain = {type.p, 0}, lower;

    while (plain.n < type.n && !strchr("; \t", plain.p[plain.n]))
        plain.n++;
    lower = utf8_lower(a, arena_dup(a, plain.p, plain.n));
    *ret_active = !token_type(lower) || str_ends(lower, "+xml") || str_starts(lower, "multipart/");
    for (size_t i = 0; i < sizeof(active) / sizeof(active[0]); i++)
        *ret_active |= str_eqz(lower, active[i]);
    if (*ret_active)
        return str_z("application/octet-stream");
    return str_starts(lower, "text/") ? arena_printf(a, "%s; charset=utf-8", lower.p) : lower;
}

static bool shown_inline(wharf_str type)
{
    static const char *const shown[] = {
        "application/pdf", "image/png", "image/jpeg", "image/gif", "image/webp"};

    for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++) {
        if (str_eqz(type, shown[i]))
            return true;
    }
    return str_starts(type, "text/plain;");
}

/* Writes the name twice: in ASCII with '_' for what is not, and as it is. Path parts are
 * dropped. */
wharf_str content_disposition(struct arena *a, wharf_str name, bool inline_shown)
{
    static const char hex[] = "0123456789ABCDEF";
    struct buf b;
    wharf_str s;

    for (size_t i = 0; i < name.n; i++) {
        if (name.p[i] == '/' || name.p[i] == '\\') {
            name = (wharf_str){name.p + i + 1, name.n - i - 1};
            i = (size_t)-1;
        }
    }
    buf_init(&b, 4 * name.n + 200);
    buf_addz(&b, inline_shown ? "inline" : "attachment");
    if (name.n) {
        buf_addz(&b, "; filename=\"");
        for (size_t i = 0; i < name.n; i++) {
            unsigned char c = (unsigned char)name.p[i];

            if ((c & 0xc0) != 0x80)
                buf_addc(&b, c < ' ' || c > '~' || strchr("\"\\%;", c) ? '_' : (char)c);
        }
        buf_addz(&b, "\"; filename*=UTF-8''");
        for (size_t i = 0; i < name.n; i++) {
            unsigned char c = (unsigned char)name.p[i];

            if (isalnum(c) || (c && strchr("!#$&+-.^_`|~", c))) {
                buf_addc(&b, (char)c);
            } else {
                buf_addc(&b, '%');
                buf_addc(&b, hex[c >> 4]);
                buf_addc(&b, hex[c & 15]);
            }
        }
    }
    s = arena_dup_str(a, buf_str(&b));
    buf_done(&b);
    return s;
}

bool file_said(struct arena *a, const struct file_row *row, bool attachment, wharf_str *ret_type,
    wharf_str *ret_disposition)
{
    bool active;

    *ret_type = served_type(a, row->type, &active);
    *ret_disposition = content_disposition(
        a, row->name, !attachment && !active && shown_inline(*ret_type));
    return active;
}

/* ---- conditions ---- */

/* Tells whether If-None-Match lists the tag: a list of tags, weak ones too, or '*'. */
static bool blob_serve_listed(const char *header, wharf_str etag)
{
    for (const char *p = header; p && *p;) {
        size_t n;

        p += strspn(p, ", \t");
        n = strcspn(p, ", \t");
        if ((n == 1 && *p == '*') || str_eq((wharf_str){p, n}, etag) ||
            (n > 2 && p[0] == 'W' && str_eq((wharf_str){p + 2, n - 2}, etag)))
            return true;
        p += n;
    }
    return false;
}

static void close_served(void *arg)
{
    struct served *s = arg;

    if (s->fd >= 0)
        close(s->fd);
}

/* Makes "sha-256=:base64:" of a hash in hexadecimal digits. */
static wharf_str digest_of(struct arena *a, wharf_str hex)
{
    unsigned char hash[crypto_hash_sha256_BYTES];
    char text[sodium_base64_ENCODED_LEN(sizeof(hash), sodium_base64_VARIANT_ORIGINAL)];
    size_t n;

    if (sodium_hex2bin(hash, sizeof(hash), hex.p, hex.n, NULL, &n, NULL) != 0 || n != sizeof(hash))
        return str_z("");
    return arena_printf(a, "sha-256=:%s:",
        sodium_bin2base64(text, sizeof(text), hash, n, sodium_base64_VARIANT_ORIGINAL));
}

wharf_status file_serve(
    struct wharf_req *req, const struct file_row *row, wharf_str cache, bool attachment)
{
    struct served *s = ARENA_NEW(req->arena, struct served);
    const struct file_wish *wish = &req->head.wish;
    wharf_str type, disposition, etag;
    uint64_t length;
    bool same;

    *s = (struct served){
        .fd = -1, .size = (uint64_t)row->size, .cache = cache, .modified_us = row->stored_us};
    s->sandbox = file_said(req->arena, row, attachment, &type, &disposition);
    s->type = type;
    s->disposition = disposition;
    etag = arena_printf(req->arena, "\"%s\"", row->hash.p);
    s->etag = etag;
    s->digest = digest_of(req->arena, row->hash);
    /* An If-Range that is not our tag (dates too) asks for the whole. */
    same = !wish->if_range.p || str_eq(wish->if_range, etag);
    switch (range_read(same ? wish->range.p : NULL, s->size, &s->first, &length)) {
    case RANGE_ALL:
        s->status = 200;
        break;
    case RANGE_PART:
        s->status = 206;
        break;
    case RANGE_NONE:
        s->status = 416;
        length = 0;
        break;
    }
    if (wish->if_none_match.p && blob_serve_listed(wish->if_none_match.p, s->etag))
        s->status = 304;
    s->length = length;
    if (s->status < 300 && file_open(req, row, s->first, length, &s->fd, &s->at) != WHARF_OK)
        return WHARF_UNAVAILABLE;
    arena_on_release(req->arena, close_served, s);
    req->reply.status = s->status;
    req->reply.served = s;
    return WHARF_OK;
}
