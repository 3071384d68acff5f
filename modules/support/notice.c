/* notice.c - the one mail that tells the operator's desk of a support request, with links to
 * its attachments (spec 01 section 16).
 *
 * Asked for when the request is made, and each time a file has come; sent once: as soon as all
 * files are there, or when the time to bring
 * them is over. A job: what fails is tried again, and nobody waits for it. Its links are
 * committed before it goes out: who opens one at once finds it. */
#include <string.h>

#include "support.h"

struct mail_text {
    wharf_str id, subject, message, email, category, priority, request_id;
    wharf_str links;
};

/* Finds the request. *ret_last: asked for by the request itself, which is the end of waiting; else
 * by a file that has come. */
static wharf_status find_request(wharf_req *req, wharf_str *ret_id, bool *ret_last)
{
    static const char sql[] = "SELECT request_id FROM support.attachment"
                              " WHERE organization_id = $2::text AND file_id = $1::text";
    const wharf_json *args;
    const wharf_rows *rows;
    wharf_str file;
    wharf_status s = W->req->body(req, &args);

    *ret_id = WHARF_S("");
    *ret_last = s == WHARF_OK && W->json->text(W->json->get(args, "request"), ret_id);
    if (s != WHARF_OK || *ret_last || !W->json->text(W->json->get(args, "file"), &file))
        return s;
    s = query_about(req, sql, file, &rows);
    if (s == WHARF_OK && W->db->count(rows))
        *ret_id = row_text(rows, 0, 0);
    return s;
}

/* Reads the request, locked, so that two runs do not both send. *ret_due: it is still to be
 * sent. */
static wharf_status notice_read_request(wharf_req *req, struct mail_text *m, bool *ret_due)
{
    static const char sql[] =
        "SELECT subject, message, email, category, priority, request_id FROM support.request"
        " WHERE organization_id = $2::text AND id = $1::text AND mailed_at IS NULL"
        " AND deleted_at IS NULL FOR UPDATE";
    const wharf_rows *rows;
    wharf_status s = query_about(req, sql, m->id, &rows);

    *ret_due = s == WHARF_OK && W->db->count(rows);
    if (!*ret_due)
        return s;
    m->subject = row_text(rows, 0, 0);
    m->message = row_text(rows, 0, 1);
    m->email = row_text(rows, 0, 2);
    m->category = row_text(rows, 0, 3);
    m->priority = row_text(rows, 0, 4);
    m->request_id = row_text(rows, 0, 5);
    return WHARF_OK;
}

static wharf_status notice_add_link(
    wharf_req *req, struct mail_text *m, wharf_str attachment, wharf_str name, int64_t size)
{
    int64_t until = W->req->now_us(req) + LINK_DAYS * 86400LL * 1000000;
    wharf_str token, url;
    wharf_status s;

    if (!support_config->url(req, WHARF_S("")).n) { /* a path is no link in a mail */
        m->links = W->mem->format(req,
            "%.*s\n%.*s (%lld bytes)\nNo link: this server does not know its own address. Its "
            "operator sets base_url.\n",
            (int)m->links.n, m->links.p, (int)name.n, name.p, (long long)size);
        return WHARF_OK;
    }
    s = support_token->make(req, TOKEN_KIND, attachment, until, &token);
    if (s != WHARF_OK)
        return s;
    url = support_config->url(
        req, W->mem->format(req, "/v1/support/attachments/%.*s", (int)token.n, token.p));
    m->links = W->mem->format(req, "%.*s\n%.*s (%lld bytes)\n%.*s\n", (int)m->links.n, m->links.p,
        (int)name.n, name.p, (long long)size, (int)url.n, url.p);
    return WHARF_OK;
}

/* Looks for what has come, and makes links to it when they are wanted. *ret_missing: something
 * can still come. */
static wharf_status notice_collect(
    wharf_req *req, struct mail_text *m, bool links, bool *ret_missing)
{
    static const char sql[] = "SELECT id, file_id, name FROM support.attachment"
                              " WHERE organization_id = $2::text AND request_id = $1::text"
                              " ORDER BY created_at, position";
    const wharf_rows *rows;
    wharf_status s = query_about(req, sql, m->id, &rows);

    *ret_missing = false;
    for (size_t i = 0; s == WHARF_OK && i < W->db->count(rows); i++) {
        wharf_blob_info info = {.head = WHARF_HEAD(wharf_blob_info)};

        s = support_blob->info(req, row_text(rows, i, 1), &info);
        if (s == WHARF_NOT_FOUND) {
            W->err->clear(req); /* nobody brought it in time */
            s = WHARF_OK;
        } else if (s == WHARF_OK && info.size < 0) {
            *ret_missing = true;
        } else if (s == WHARF_OK && links) {
            s = notice_add_link(req, m, row_text(rows, i, 0), row_text(rows, i, 2), info.size);
        }
    }
    return s;
}

/* Reads the list of addresses in support.email_to. Returns how many. */
static size_t notice_recipients(wharf_req *req, wharf_str list, wharf_str *to, size_t most)
{
    size_t n = 0;

    for (size_t i = 0; i < list.n && n < most;) {
        size_t end = i;

        while (end < list.n && list.p[end] != ',' && list.p[end] != ' ')
            end++;
        if (end > i)
            to[n++] = W->mem->dup(req, list.p + i, end - i);
        i = end + 1;
    }
    return n;
}

static wharf_status notice_send_mail(wharf_req *req, const struct mail_text *m, wharf_str list)
{
    wharf_str to[10];
    wharf_mail_message mail = {.head = WHARF_HEAD(wharf_mail_message), .to = to};

    mail.n_to = notice_recipients(req, list, to, sizeof(to) / sizeof(to[0]));
    mail.reply_to = m->email;
    mail.subject = W->mem->format(
        req, "[%.*s] %.*s", (int)m->id.n, m->id.p, (int)m->subject.n, m->subject.p);
    mail.text = W->mem->format(req,
        "%.*s\n\nFrom: %.*s\nCategory: %.*s, priority: %.*s\n%s%.*s%s%.*s", (int)m->message.n,
        m->message.p, (int)m->email.n, m->email.p, (int)m->category.n, m->category.p,
        (int)m->priority.n, m->priority.p, m->request_id.n ? "Request: " : "", (int)m->request_id.n,
        m->request_id.p, m->request_id.n ? "\n" : "", (int)m->links.n, m->links.p);
    mail.message_id = W->mem->format(req, "%.*s@wharf", (int)m->id.n, m->id.p);
    mail.html = mail.text;
    mail.html.n = 0;
    mail.html.p = "";
    return support_mail->send(req, &mail, "email");
}

static wharf_status mark_sent(wharf_req *req, wharf_str id)
{
    static const char sql[] = "UPDATE support.request SET mailed_at = $2::timestamptz"
                              " WHERE organization_id = $3::text AND id = $1::text";
    const wharf_val args[] = {
        val_text(id), val_time(W->req->now_us(req)), val_text(W->req->organization(req))};

    return W->db->exec(req, sql, args, 3, NULL);
}

/* Prepares the text with its links, if it is time. */
static wharf_status notice_prepare(wharf_req *req, struct mail_text *m, bool *ret_due)
{
    bool last, missing = false;
    wharf_status s = W->db->begin(req);

    *ret_due = false;
    if (s != WHARF_OK)
        return s;
    s = find_request(req, &m->id, &last);
    if (s == WHARF_OK)
        s = notice_read_request(req, m, ret_due);
    if (s == WHARF_OK && *ret_due)
        s = notice_collect(req, m, false, &missing);
    *ret_due = s == WHARF_OK && *ret_due && (!missing || last);
    if (*ret_due)
        s = notice_collect(req, m, true, &missing);
    return end_with(req, s);
}

/* Sends the mail with the request locked: of two runs that prepared it one sends. */
static wharf_status send_once(wharf_req *req, struct mail_text *m, wharf_str list)
{
    bool due;
    wharf_status s = W->db->begin(req);

    if (s != WHARF_OK)
        return s;
    s = notice_read_request(req, m, &due);
    if (s == WHARF_OK && due)
        s = notice_send_mail(req, m, list);
    if (s == WHARF_OK && due)
        s = mark_sent(req, m->id);
    return end_with(req, s);
}

wharf_status notice_send(wharf_req *req, void *arg)
{
    struct mail_text m = {.links = WHARF_S("")};
    wharf_str list;
    bool due;
    wharf_status s;

    if (!support_config->text(support_self, "email_to", &list) || !list.n ||
        !support_mail->enabled(support_self))
        return WHARF_OK; /* there is nobody to tell */
    s = notice_prepare(req, &m, &due);
    return s == WHARF_OK && due ? send_once(req, &m, list) : s;
}
