/* mail_outbox.c - see mail_outbox.h. */
#include "mail/mail_outbox.h"

#include "mail/mail.h"
#include "resource/engine.h"
#include "util/id.h"
#include "util/str.h"
#include "wharf/errors.h"

enum { LIST_TEXT = 1024 * 1024 };

bool outbox_wanted(const struct req_access *access)
{
    return access->who && access->who->test_mode;
}

static struct sql_arg mail_outbox_arg(wharf_str s)
{
    return (struct sql_arg){s.n ? s.p : NULL, s.n};
}

/* Returns the names of the files (files), or the recipients, as a JSON array. */
static wharf_str mail_outbox_list(struct arena *a, const struct mail *m, bool files)
{
    size_t n = files ? m->n_attachments : m->n_to;
    struct buf out;
    struct jw w;
    wharf_str s;

    buf_init(&out, LIST_TEXT);
    jw_init(&w, &out);
    jw_open(&w, NULL, '[');
    for (size_t i = 0; i < n; i++)
        jw_str(&w, NULL, files ? m->attachments[i].name : m->to[i]);
    jw_close(&w, ']');
    s = arena_dup_str(a, buf_str(&out));
    buf_done(&out);
    return s;
}

static wharf_status mail_outbox_check(
    struct wharf_req *req, const struct mail *given, const char *path)
{
    struct mail m = *given;
    const char *problem = "";
    struct buf text;
    bool good;

    mail_complete(req->engine->config, &m);
    if (!m.from.n) /* the server has no mail of its own */
        m.from = str_z("wharf@example.com");
    buf_init(&text, MESSAGE_MAX);
    good = message_build(req->arena, &m, req->now_us, &text, &problem);
    buf_done(&text);
    return good ? WHARF_OK : req_fail(req, ERR_MAIL_REFUSED, path, "%s", problem);
}

wharf_status outbox_keep(struct wharf_req *req, const struct mail *m, const char *path)
{
    static const char sql[] =
        "INSERT INTO wharf.mail_outbox (organization_id, id, kind, recipients, subject, text, "
        "html, reply_to, files, created_at, updated_at, created_by, updated_by) VALUES ($1, $2, "
        "'mail', $3::jsonb, $4, $5, $6, $7, $8::jsonb, wharf.now(), wharf.now(), $9, $9)";
    char id[ID_MAX];
    struct sql_arg args[9] = {mail_outbox_arg(req->access.who->organization),
        {id, id_new("msg", req->now_us, id)},
        mail_outbox_arg(mail_outbox_list(req->arena, m, false)), mail_outbox_arg(m->subject),
        mail_outbox_arg(m->text), mail_outbox_arg(m->html), mail_outbox_arg(m->reply_to),
        mail_outbox_arg(mail_outbox_list(req->arena, m, true)),
        mail_outbox_arg(req->access.who->actor_id)};
    wharf_status s = mail_outbox_check(req, m, path);

    if (s != WHARF_OK)
        return s;
    return req_query(req, sql, args, 9) ? WHARF_OK : WHARF_UNAVAILABLE;
}
