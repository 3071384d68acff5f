/* message.c - see message.h. */
#include "mail/message.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "util/id.h"
#include "util/str.h"
#include "util/time.h"

/* of an encoded word: 42 bytes are 56 characters of base64, 68 with its frame */
enum { LINE = 76, WORD_BYTES = 42 };

/* ---- checks ---- */

static bool atom(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("!#$%&'*+-/=?^_`{|}~", c) != NULL);
}

static bool host_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
}

/* Tells whether there are parts of at least one character between single dots. */
static bool dotted(const char *p, size_t n, bool (*allowed)(char c))
{
    size_t part = 0;

    for (size_t i = 0; i < n; i++) {
        if (p[i] == '.' ? !part : !allowed(p[i]))
            return false;
        part = p[i] == '.' ? 0 : part + 1;
    }
    return part > 0;
}

bool mail_address_valid(wharf_str a)
{
    const char *at = memchr(a.p, '@', a.n);
    size_t local = at ? (size_t)(at - a.p) : 0;

    return at && a.n <= 254 && local <= 64 && dotted(a.p, local, atom) &&
           dotted(at + 1, a.n - local - 1, host_char);
}

static bool type_valid(wharf_str t)
{
    const char *slash = memchr(t.p, '/', t.n);

    if (!slash || t.n > 100)
        return t.n == 0;
    for (size_t i = 0; i < t.n; i++) {
        if (t.p + i != slash && !host_char(t.p[i]) && !strchr("!#$&^_.+", t.p[i]))
            return false;
    }
    return slash > t.p && slash < t.p + t.n - 1;
}

static const char *message_problem_of(const struct mail *m)
{
    if (!m->n_to || m->n_to > MAIL_TO_MAX)
        return "a mail needs 1 to 100 recipients";
    for (size_t i = 0; i < m->n_to; i++) {
        if (!mail_address_valid(m->to[i]))
            return "a recipient is not a mail address";
    }
    if (!mail_address_valid(m->from))
        return "the sender is not a mail address; set mail.from";
    if (m->reply_to.n && !mail_address_valid(m->reply_to))
        return "the reply address is not a mail address";
    if (m->message_id.n && !mail_address_valid(m->message_id))
        return "the message id has not the form a@b";
    if (!m->text.n && !m->html.n)
        return "a mail needs a text";
    for (size_t i = 0; i < m->n_attachments; i++) {
        if (!type_valid(m->attachments[i].type))
            return "the type of an attachment is not a media type";
    }
    return NULL;
}

/* ---- encodings ---- */

static void base64(struct buf *out, const char *p, size_t n, size_t line)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t column = 0;

    for (size_t i = 0; i < n; i += 3) {
        size_t left = n - i;
        uint32_t v = (uint32_t)(unsigned char)p[i] << 16 |
                     (left > 1 ? (uint32_t)(unsigned char)p[i + 1] << 8 : 0) |
                     (left > 2 ? (unsigned char)p[i + 2] : 0u);
        char four[4] = {digits[v >> 18], digits[v >> 12 & 63], left > 1 ? digits[v >> 6 & 63] : '=',
            left > 2 ? digits[v & 63] : '='};

        if (line && column == line) {
            BUF_LIT(out, "\r\n");
            column = 0;
        }
        buf_add(out, four, 4);
        column += 4;
    }
}

static void message_hex(struct buf *out, char mark, unsigned char c)
{
    static const char digits[] = "0123456789ABCDEF";
    char three[3] = {mark, digits[c >> 4], digits[c & 15]};

    buf_add(out, three, 3);
}

/* Returns the length of the line end at p, 0: none. CR, LF and CRLF are all one. */
static size_t line_end(const char *p, size_t n)
{
    if (!n || (*p != '\r' && *p != '\n'))
        return 0;
    return *p == '\r' && n > 1 && p[1] == '\n' ? 2 : 1;
}

static void quoted_printable(struct buf *out, wharf_str s)
{
    size_t column = 0;

    for (size_t i = 0; i < s.n;) {
        unsigned char c = (unsigned char)s.p[i];
        size_t end = line_end(s.p + i, s.n - i), after;
        bool plain;

        if (end) {
            BUF_LIT(out, "\r\n");
            column = 0;
            i += end;
            continue;
        }
        after = line_end(s.p + i + 1, s.n - i - 1);
        plain = (c > ' ' && c < 0x7f && c != '=') ||
                ((c == ' ' || c == '\t') && !after && i + 1 < s.n);
        if (column + (plain ? 1 : 3) > LINE - 1) {
            BUF_LIT(out, "=\r\n");
            column = 0;
        }
        if (plain)
            buf_addc(out, (char)c);
        else
            message_hex(out, '=', c);
        column += plain ? 1 : 3;
        i++;
    }
    BUF_LIT(out, "\r\n");
}

/* Makes one line without control characters: what a header may hold. White space at its ends
 * goes. */
static wharf_str message_one_line(struct arena *a, wharf_str s)
{
    char *to = arena_alloc(a, s.n + 1);
    size_t n = 0;

    for (size_t i = 0; i < s.n; i++) {
        bool space = (unsigned char)s.p[i] <= ' ' || s.p[i] == 0x7f;

        if (!space)
            to[n++] = s.p[i];
        else if (n && to[n - 1] != ' ')
            to[n++] = ' ';
    }
    while (n && to[n - 1] == ' ')
        n--;
    to[n] = 0;
    return (wharf_str){to, n};
}

static bool needs_encoding(wharf_str s)
{
    size_t word = 0;

    for (size_t i = 0; i < s.n; i++) {
        if ((unsigned char)s.p[i] >= 0x80 || (s.p[i] == '=' && s.p[i + 1] == '?'))
            return true;
        word = s.p[i] == ' ' ? 0 : word + 1;
        if (word > 60)
            return true;
    }
    return false;
}

/* Writes encoded words, each a line of its own, cut between characters. */
static void encoded_words(struct buf *out, wharf_str s)
{
    for (size_t i = 0; i < s.n;) {
        size_t n = s.n - i < WORD_BYTES ? s.n - i : WORD_BYTES;

        while (n > 1 && i + n < s.n && ((unsigned char)s.p[i + n] & 0xc0) == 0x80)
            n--;
        if (i)
            BUF_LIT(out, "\r\n ");
        BUF_LIT(out, "=?UTF-8?B?");
        base64(out, s.p + i, n, 0);
        BUF_LIT(out, "?=");
        i += n;
    }
}

/* Writes words with single spaces between them, folded. column: where the line stands already. */
static void folded(struct buf *out, wharf_str s, size_t column)
{
    size_t from = 0;

    for (size_t i = 0; i <= s.n; i++) {
        if (i < s.n && s.p[i] != ' ')
            continue;
        if (from && column + 1 + (i - from) > LINE) {
            BUF_LIT(out, "\r\n ");
            column = 1;
        } else if (from) {
            buf_addc(out, ' ');
            column++;
        }
        buf_add(out, s.p + from, i - from);
        column += i - from;
        from = i + 1;
    }
}

/* ---- headers ---- */

static void text_header(struct arena *a, struct buf *out, const char *name, wharf_str value)
{
    wharf_str line = message_one_line(a, value);

    buf_addf(out, "%s: ", name);
    if (needs_encoding(line))
        encoded_words(out, line);
    else
        folded(out, line, strlen(name) + 2);
    BUF_LIT(out, "\r\n");
}

static void mailbox(struct arena *a, struct buf *out, wharf_str name, wharf_str address)
{
    wharf_str line = message_one_line(a, name);

    if (needs_encoding(line)) {
        encoded_words(out, line);
    } else if (line.n) {
        struct buf quoted;

        buf_init(&quoted, 2 * line.n + 3);
        buf_addc(&quoted, '"');
        for (size_t i = 0; i < line.n; i++) {
            if (line.p[i] == '"' || line.p[i] == '\\')
                buf_addc(&quoted, '\\');
            buf_addc(&quoted, line.p[i]);
        }
        buf_addc(&quoted, '"');
        folded(out, buf_str(&quoted), sizeof("From: ") - 1);
        buf_done(&quoted);
    }
    if (line.n)
        BUF_LIT(out, "\r\n ");
    buf_addf(out, line.n ? "<%.*s>" : "%.*s", STR_ARG(address));
}

static void date_header(struct buf *out, int64_t now_us)
{
    char text[HTTP_DATE_LEN + 1];

    time_format_http(now_us, text);
    /* RFC 5322 has a number in place of GMT */
    buf_addf(out, "Date: %.*s+0000\r\n", HTTP_DATE_LEN - 3, text);
}

static void id_header(struct buf *out, const struct mail *m)
{
    const char *at = memchr(m->from.p, '@', m->from.n);
    char random[25];

    random_base62(random, sizeof(random) - 1);
    if (m->message_id.n)
        buf_addf(out, "Message-ID: <%.*s>\r\n", STR_ARG(m->message_id));
    else
        buf_addf(out, "Message-ID: <%s%.*s>\r\n", random,
            (int)(m->from.n - (size_t)(at - m->from.p)), at);
}

static void message_write_headers(
    struct arena *a, const struct mail *m, int64_t now_us, struct buf *out)
{
    date_header(out, now_us);
    BUF_LIT(out, "From: ");
    mailbox(a, out, m->from_name, m->from);
    BUF_LIT(out, "\r\nTo: ");
    for (size_t i = 0; i < m->n_to; i++) {
        if (i)
            BUF_LIT(out, ",\r\n ");
        mailbox(a, out, str_z(""), m->to[i]);
    }
    BUF_LIT(out, "\r\n");
    if (m->reply_to.n)
        buf_addf(out, "Reply-To: %.*s\r\n", STR_ARG(m->reply_to));
    text_header(a, out, "Subject", m->subject);
    id_header(out, m);
    if (m->unsubscribe.n)
        buf_addf(out,
            "List-Unsubscribe: <%.*s>\r\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n",
            STR_ARG(m->unsubscribe));
    BUF_LIT(out, "MIME-Version: 1.0\r\nAuto-Submitted: auto-generated\r\n");
}

/* ---- parts ---- */

static bool name_plain(wharf_str name)
{
    for (size_t i = 0; i < name.n; i++) {
        if (!atom(name.p[i]) && name.p[i] != '.' && name.p[i] != ' ' && name.p[i] != '(' &&
            name.p[i] != ')')
            return false;
    }
    return name.n <= 50 && !needs_encoding(name);
}

/* Writes a long name (RFC 2231) in pieces that fit their lines. */
static void long_name(struct buf *out, wharf_str name)
{
    unsigned piece = 0;
    size_t column = 0;

    for (size_t i = 0; i < name.n; i++) {
        if (!i || column > 50) {
            buf_addf(out, "%s\r\n filename*%u*=%s", i ? ";" : "", piece, i ? "" : "UTF-8''");
            piece++;
            column = 0;
        }
        if (host_char(name.p[i]) || name.p[i] == '.' || name.p[i] == '_') {
            buf_addc(out, name.p[i]);
            column++;
        } else {
            message_hex(out, '%', (unsigned char)name.p[i]);
            column += 3;
        }
    }
}

static void attachment(struct arena *a, struct buf *out, const struct mail_attachment *f)
{
    wharf_str name = message_one_line(a, f->name),
              type = f->type.n ? f->type : WHARF_S("application/octet-stream");

    buf_addf(out,
        "Content-Type: %.*s\r\nContent-Transfer-Encoding: base64\r\nContent-Disposition: "
        "attachment;",
        STR_ARG(type));
    if (!name.n)
        name = WHARF_S("attachment");
    if (name_plain(name))
        buf_addf(out, "\r\n filename=\"%.*s\"", STR_ARG(name));
    else
        long_name(out, name);
    BUF_LIT(out, "\r\n\r\n");
    base64(out, f->data.p, f->data.n, LINE);
    BUF_LIT(out, "\r\n");
}

static void text_part(struct buf *out, const char *type, wharf_str text)
{
    buf_addf(out,
        "Content-Type: %s; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n",
        type);
    quoted_printable(out, text);
}

/* Makes a boundary: "=_" stands in no quoted-printable and no base64 text. */
static void new_boundary(char out[32])
{
    out[0] = '=';
    out[1] = '_';
    random_base62(out + 2, 24);
}

static void bodies(struct buf *out, const struct mail *m)
{
    char boundary[32];

    if (!m->html.n || !m->text.n) {
        text_part(out, m->html.n ? "text/html" : "text/plain", m->html.n ? m->html : m->text);
        return;
    }
    new_boundary(boundary);
    buf_addf(out, "Content-Type: multipart/alternative; boundary=\"%s\"\r\n\r\n--%s\r\n", boundary,
        boundary);
    text_part(out, "text/plain", m->text);
    buf_addf(out, "--%s\r\n", boundary);
    text_part(out, "text/html", m->html);
    buf_addf(out, "--%s--\r\n", boundary);
}

bool message_build(struct arena *a, const struct mail *m, int64_t now_us, struct buf *out,
    const char **ret_problem)
{
    const char *problem = message_problem_of(m);
    char boundary[32];

    if (problem) {
        *ret_problem = problem;
        return false;
    }
    message_write_headers(a, m, now_us, out);
    if (!m->n_attachments) {
        bodies(out, m);
    } else {
        new_boundary(boundary);
        buf_addf(out, "Content-Type: multipart/mixed; boundary=\"%s\"\r\n\r\n--%s\r\n", boundary,
            boundary);
        bodies(out, m);
        for (size_t i = 0; i < m->n_attachments; i++) {
            buf_addf(out, "--%s\r\n", boundary);
            attachment(a, out, &m->attachments[i]);
        }
        buf_addf(out, "--%s--\r\n", boundary);
    }
    if (out->failed)
        *ret_problem = "the mail is larger than 64 MiB";
    return !out->failed;
}
