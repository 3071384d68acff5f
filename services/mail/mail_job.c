/* mail_job.c - see mail_job.h.
 *
 * The message is written once, with its Message-ID, and kept as a file until the mail server has
 * it: a second delivery after a crash is the same message, which mail programs show once. */
#include "mail/mail_job.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <unistd.h>

#include "blob/blob_file.h"
#include "job/job.h"
#include "mail/mail.h"
#include "mail/mail_outbox.h"
#include "resource/engine.h"
#include "process/board.h"
#include "util/log.h"
#include "util/str.h"
#include "util/time.h"
#include "wharf/errors.h"
#include "wharf/service/mail.h"

const char mail_job_policy[] =
    "{" WHARF_MAIL_TRIES
    ", \"timeout\": \"3m\", \"keep_parked\": \"30d\", \"transaction\": \"own\"}";
enum {
    TOTAL_MS = 120000, /* one mail */
    KEPT_DAYS = 40, /* mails are kept after they were sent */
    MINUTE_US = 60000000,
    MAIL_BUCKET = 1
};

static wharf_status mail_job_store(
    struct wharf_req *req, wharf_str message, struct file_row *ret_row)
{
    struct blob_put *put;
    enum blob_status status = blob_put_begin(req->engine->blobs, 0, &put);
    int64_t until_us = req->now_us + (int64_t)KEPT_DAYS * 86400 * 1000000;

    if (status != BLOB_OK)
        return file_problem(req, status);
    blob_put_write(put, message.p, message.n);
    return file_store(req, put, str_z("message.eml"), str_z("message/rfc822"), until_us, ret_row);
}

static wharf_status mail_job_enqueue(struct wharf_req *req, const struct mail *m, wharf_str file)
{
    struct job_order order = {.job = "wharf.mail", .key = str_z("")};
    wharf_status s;
    struct buf b;
    struct jw w;

    buf_init(&b, JOB_ARGS_MAX);
    jw_init(&w, &b);
    jw_open(&w, NULL, '{');
    jw_str(&w, "file", file);
    jw_str(&w, "from", m->from);
    jw_open(&w, "to", '[');
    for (size_t i = 0; i < m->n_to; i++)
        jw_str(&w, NULL, m->to[i]);
    jw_close(&w, ']');
    jw_close(&w, '}');
    order.args = buf_str(&b);
    s = job_enqueue(req, &order);
    buf_done(&b);
    return s;
}

wharf_status mail_queue(struct wharf_req *req, const struct mail *given, const char *path)
{
    struct mail m = *given;
    struct file_row row = {.id = {"", 0}};
    const char *problem = "";
    struct buf text;
    wharf_status s;

    if (outbox_wanted(&req->access))
        return outbox_keep(req, given, path);
    mail_complete(req->engine->config, &m);
    buf_init(&text, MESSAGE_MAX);
    if (!message_build(req->arena, &m, req->now_us, &text, &problem))
        s = req_fail(req, ERR_MAIL_REFUSED, path, "%s", problem);
    else if (req_begin(req) != WHARF_OK)
        s = WHARF_UNAVAILABLE;
    else {
        s = mail_job_store(req, buf_str(&text), &row);
        if (s == WHARF_OK)
            s = mail_job_enqueue(req, &m, row.id);
        if (s == WHARF_OK)
            s = req_commit(req);
        else
            req_rollback(req);
    }
    buf_done(&text);
    return s;
}

/* ---- the job ---- */

static bool mail_job_read_all(int fd, uint64_t at, uint64_t size, struct buf *out)
{
    char *room = buf_room(out, size);

    while (room && out->n < size) {
        ssize_t n = pread(fd, room + out->n, size - out->n, (off_t)(at + out->n));

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        out->n += (size_t)n;
    }
    return room != NULL;
}

static struct mail_result mail_job_send_file(
    struct wharf_req *req, const struct file_row *row, int fd, uint64_t at)
{
    const struct wharf_json *list = json_get(req->body, "to");
    wharf_str *to = ARENA_ARRAY(req->arena, wharf_str, list ? list->count + 1 : 1);
    struct mail_result result = {.outcome = MAIL_LATER, .trouble = "the message can't be read"};
    struct buf text;
    size_t n = 0;

    for (const struct wharf_json *v = json_at(list, 0); v; v = v->next)
        to[n++] = v->text;
    buf_init(&text, MESSAGE_MAX);
    if (mail_job_read_all(fd, at, (uint64_t)row->size, &text))
        result = mail_send_built(req->engine->config, json_text_or(req->body, "from", ""), to, n,
            buf_str(&text), TOTAL_MS);
    buf_done(&text);
    return result;
}

/* Ends a mail: the server's word on this message is final; it is told in the log, and the message
 * goes. */
static wharf_status mail_job_over(
    struct wharf_req *req, const struct file_row *row, const struct mail_result *result)
{
    wharf_status s;

    if (result->outcome == MAIL_REFUSED)
        log_write(WHARF_LOG_WARN, NULL, req->request_id, "mail.refused", "%d %s", result->code,
            result->trouble);
    s = file_remove(req, row->id);
    return s == WHARF_NOT_FOUND ? WHARF_OK : s;
}

bool mail_turn(struct wharf_req *req, int64_t *ret_wait_us)
{
    const struct limit_rate rate = {.rate = req->engine->config->mail_per_minute,
        .burst = req->engine->config->mail_per_minute,
        .period_us = MINUTE_US};

    return !rate.rate || !req->engine->board ||
           limit_take(&req->engine->board->limits, MAIL_BUCKET, &rate, clock_monotonic_us(),
               ret_wait_us) >= 0;
}

/* Puts the mail off. Returns true when this minute's mails are sent; the job was asked for again,
 * at a moment of the next. */
static bool mail_job_put_off(struct wharf_req *req, wharf_status *ret)
{
    struct job_order order = {.job = "wharf.mail", .key = str_z("")};
    int64_t wait_us;
    struct buf args;
    struct jw w;

    if (mail_turn(req, &wait_us))
        return false;
    order.run_at_us = req->now_us + wait_us + (int64_t)randombytes_uniform(MINUTE_US);
    buf_init(&args, JOB_ARGS_MAX);
    jw_init(&w, &args);
    jw_value(&w, NULL, req->body);
    order.args = buf_str(&args);
    *ret = job_enqueue(req, &order);
    buf_done(&args);
    return true;
}

wharf_status mail_job(struct wharf_req *req, void *arg)
{
    wharf_status later;
    struct file_row row;
    struct mail_result result;
    uint64_t at;
    int fd;

    (void)arg;
    if (file_find(req, json_text_or(req->body, "file", ""), &row) != WHARF_OK) {
        if (strcmp(req->problems.list[0].code, ERR_NOT_FOUND) != 0)
            return WHARF_UNAVAILABLE;
        req_clear_problems(&req->problems); /* sent by a run whose end nobody noted */
        return WHARF_OK;
    }
    if (!req->engine->config->mail_url[0])
        return req_fail(req, ERR_MAIL_UNAVAILABLE, NULL, "mail.url is not set");
    if (mail_job_put_off(req, &later))
        return later;
    if (file_open(req, &row, 0, (uint64_t)row.size, &fd, &at) != WHARF_OK)
        return WHARF_UNAVAILABLE;
    result = mail_job_send_file(req, &row, fd, at);
    close(fd);
    if (result.outcome == MAIL_SENT || result.outcome == MAIL_REFUSED)
        return mail_job_over(req, &row, &result);
    return req_fail(req, ERR_MAIL_UNAVAILABLE, NULL, "%d %s", result.code, result.trouble);
}
