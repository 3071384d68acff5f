/* host_mail.c - the service wharf.mail (plugin-api/wharf/service/mail.h) on top of
 * services/mail/mail.h. */
#include "mail/mail.h"
#include "mail/mail_job.h"
#include "mail/mail_outbox.h"
#include "host/host.h"
#include "util/log.h"
#include "util/str.h"
#include "util/time.h"
#include "wharf/errors.h"
#include "wharf/service/mail.h"

enum {
    TOTAL_MS = 60000, /* one mail */
    MINUTE_US = 60000000
};

static bool m_enabled(wharf_plugin *self)
{
    return self->engine->config->mail_url[0] != 0;
}

static wharf_str host_mail_or_empty(wharf_str s)
{
    return s.p ? s : str_z("");
}

static uint32_t time_left_ms(const struct wharf_req *req)
{
    int64_t left = req->deadline_us ? (req->deadline_us - clock_monotonic_us()) / 1000 : TOTAL_MS;

    return left < 1 ? 1 : left > TOTAL_MS ? TOTAL_MS : (uint32_t)left;
}

/* Reads a message of a plugin of another age: what it did not know is zero. */
static struct mail read_message(wharf_req *req, const wharf_mail_message *given)
{
    size_t known = given->head.size < sizeof(*given) ? given->head.size : sizeof(*given);
    struct mail_attachment *files;
    wharf_mail_message m = {0};

    memcpy(&m, given, known);
    files = ARENA_ARRAY(req->arena, struct mail_attachment, m.n_files + 1);
    for (size_t i = 0; i < m.n_files; i++)
        files[i] = (struct mail_attachment){host_mail_or_empty(m.file_names[i]),
            host_mail_or_empty(m.file_types[i]), host_mail_or_empty(m.file_data[i])};
    return (struct mail){.from = str_z(""),
        .from_name = str_z(""),
        .to = m.to,
        .n_to = m.n_to,
        .reply_to = host_mail_or_empty(m.reply_to),
        .subject = host_mail_or_empty(m.subject),
        .text = host_mail_or_empty(m.text),
        .html = host_mail_or_empty(m.html),
        .message_id = host_mail_or_empty(m.message_id),
        .unsubscribe = host_mail_or_empty(m.unsubscribe),
        .attachments = files,
        .n_attachments = m.n_files};
}

static wharf_status m_send(wharf_req *req, const wharf_mail_message *given, const char *path)
{
    struct mail mail = read_message(req, given);
    struct mail_result result;

    if (outbox_wanted(&req->access))
        return outbox_keep(req, &mail, path);
    result = mail_send(req->engine->config, req->arena, &mail, req->now_us, time_left_ms(req));
    switch (result.outcome) {
    case MAIL_SENT:
        return WHARF_OK;
    case MAIL_REFUSED:
        log_write(WHARF_LOG_WARN, NULL, req->request_id, "mail.refused", "%d %s", result.code,
            result.trouble);
        return req_fail(req, ERR_MAIL_REFUSED, path, NULL);
    case MAIL_LATER:
    case MAIL_OFF:
        break;
    }
    log_write(WHARF_LOG_WARN, NULL, req->request_id, "mail.unavailable", "%d %s", result.code,
        result.trouble);
    return req_fail(req, ERR_MAIL_UNAVAILABLE, NULL, NULL);
}

static bool m_turn(wharf_req *req, int64_t *ret_wait_us, int64_t *ret_pace_us)
{
    int64_t rate = req->engine->config->mail_per_minute;

    *ret_pace_us = rate > 0 ? MINUTE_US / rate : 0;
    return outbox_wanted(&req->access) || mail_turn(req, ret_wait_us);
}

/* Returns the server's words, without what a text may not have. */
static wharf_str host_mail_words_of(wharf_req *req, const struct mail_result *r)
{
    wharf_str s = arena_dupz(req->arena, r->words[0] ? r->words : r->trouble);

    return utf8_valid(s.p, s.n) ? s : str_z("the server's words are no text");
}

static wharf_status m_deliver(
    wharf_req *req, const wharf_mail_message *given, wharf_mail_answer *ret_answer)
{
    wharf_mail_answer answer = {.head = ret_answer->head, .words = str_z("")};
    struct mail mail = read_message(req, given);
    struct mail_result result = {.outcome = MAIL_SENT};
    wharf_status s = WHARF_OK;

    if (outbox_wanted(&req->access))
        s = outbox_keep(req, &mail, NULL);
    else
        result = mail_send(req->engine->config, req->arena, &mail, req->now_us, time_left_ms(req));
    if (s == WHARF_INVALID) { /* the message itself */
        answer.outcome = WHARF_MAIL_REFUSED;
        answer.words = arena_dup_str(req->arena, req->problems.list[0].text);
        req_clear_problems(&req->problems);
        s = WHARF_OK;
    } else if (result.outcome != MAIL_SENT) {
        answer.outcome = result.outcome == MAIL_REFUSED ? WHARF_MAIL_REFUSED : WHARF_MAIL_LATER;
        answer.address = result.address;
        answer.words = host_mail_words_of(req, &result);
    }
    memcpy(
        ret_answer, &answer, answer.head.size < sizeof(answer) ? answer.head.size : sizeof(answer));
    return s;
}

static wharf_status m_queue(wharf_req *req, const wharf_mail_message *given, const char *path)
{
    struct mail mail = read_message(req, given);

    return mail_queue(req, &mail, path);
}

const wharf_mail_api host_mail = {
    WHARF_HEAD(wharf_mail_api), m_enabled, m_send, m_queue, m_turn, m_deliver};
