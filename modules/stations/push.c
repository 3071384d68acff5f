/* push.c - which stations are pushed to, and by whom: settings, the queue, what a job's history
 * says of it (spec 04 section 9.2). */
#include "push.h"
#include "stations.gen.h"
#include "wharf/errors.h"

enum { UNCLAIMED_S = 5 }; /* then a job that no session claimed is pushed */

static const char *const drivers[] = {"fcm", "pushy", "webhook"};
enum { DRIVERS = sizeof(drivers) / sizeof(drivers[0]) };

static wharf_str enabled[DRIVERS]; /* in the order of stations.push.drivers */
static size_t n_enabled;

/* ---- settings ---- */

wharf_str push_setting(const char *name, const char *fallback)
{
    char whole[64] = "push.";
    wharf_str text;

    memcpy(whole + 5, name, strlen(name) + 1);
    return print_config->text(print_self, whole, &text) ? text : z(fallback);
}

wharf_push_account push_account(void)
{
    return (wharf_push_account){.head = WHARF_HEAD(wharf_push_account),
        .file = push_setting("fcm.service_account", ""),
        .project = push_setting("fcm.project", ""),
        .token_uri = push_setting("fcm.token_uri", ""),
        .endpoint = push_setting("fcm.endpoint", "")};
}

static wharf_status lacking(wharf_req *req, const char *setting, const char *what)
{
    return W->err->fail(req, ERR_VALIDATION_FAILED, NULL, "stations.push.%s %s", setting, what);
}

static wharf_status push_check_driver(wharf_req *req, const char *driver)
{
    wharf_push_account account = push_account();
    const char *problem;

    if (!strcmp(driver, "fcm")) {
        problem = print_push->problem(req, &account);
        return problem ? lacking(req, "fcm.service_account", problem) : WHARF_OK;
    }
    if (!strcmp(driver, "pushy"))
        return push_setting("pushy.api_key", "").n
                   ? WHARF_OK
                   : lacking(req, "pushy.api_key", "is needed by pushy");
    if (!push_setting("webhook.url", "").n)
        return lacking(req, "webhook.url", "is needed by the driver webhook");
    return print_crypto->secret_valid(push_setting("webhook.secret", ""))
               ? WHARF_OK
               : lacking(
                     req, "webhook.secret", "must be \"whsec_\" and the base64 of 24 to 64 bytes");
}

wharf_status push_start(wharf_req *req)
{
    wharf_status s = WHARF_OK;
    wharf_str name;

    n_enabled = 0;
    for (size_t i = 0; s == WHARF_OK && print_config->item(print_self, "push.drivers", i, &name);
         i++) {
        size_t k = 0;

        while (k < DRIVERS && !is(name, drivers[k]))
            k++;
        if (is(name, "stream") || (k < DRIVERS && push_has(name)))
            continue; /* the stream is always on */
        if (k == DRIVERS)
            return lacking(req, "drivers", "is a list of fcm, pushy and webhook");
        enabled[n_enabled++] = z(drivers[k]);
        s = push_check_driver(req, drivers[k]);
    }
    return s;
}

bool push_has(wharf_str driver)
{
    for (size_t i = 0; i < n_enabled; i++) {
        if (same(enabled[i], driver))
            return true;
    }
    return false;
}

wharf_str push_first(void)
{
    return n_enabled ? enabled[0] : WHARF_S("stream");
}

/* ---- the queue ---- */

/* Queues a push. Whoever has a session hears of the signal by the stream; pushed is only what
 * nobody acts on. */
wharf_status push_signal(
    wharf_req *req, wharf_str station_id, const char *type, wharf_str job, int64_t seq)
{
    static const char sql[] = QUERY_PUSH_ADD;
    wharf_val args[9];
    uint64_t queued = 0;
    wharf_status s;

    if (!n_enabled)
        return WHARF_OK;
    args[0] = val_text(station_id);
    args[1] = val_text(W->req->organization(req));
    args[2] = val_text(W->req->new_id(req, "prnt_psh"));
    args[3] = val_text_or_null(job);
    args[4] = val_int(seq);
    args[5] = val_text(z(type));
    args[6] = val_time(W->req->now_us(req));
    args[7] = val_array(req, enabled, n_enabled);
    args[8] = val_int(UNCLAIMED_S);
    s = W->db->exec(req, sql, args, 9, &queued);
    if (s == WHARF_OK && queued)
        print_events->wake(req);
    return s;
}

/* ---- what was pushed for jobs ---- */

static void put_delivery(wharf_out *out, const wharf_rows *rows, size_t r)
{
    wharf_val v;

    W->json->open(out, NULL, '{');
    W->json->put(out, "id", val_text(row_text(rows, r, 1)));
    W->json->put(out, "type", val_text(row_text(rows, r, 2)));
    W->json->put(out, "driver", val_text(row_text(rows, r, 3)));
    W->json->put(out, "status", val_text(row_text(rows, r, 4)));
    W->json->put(out, "attempts", val_int(row_int(rows, r, 5)));
    W->json->put(out, "http_status", W->db->value(rows, r, 6, WHARF_V_INT, &v) ? v : val_null());
    W->json->put(out, "error", val_text_or_null(row_text(rows, r, 7)));
    W->json->put(out, "at", W->db->value(rows, r, 8, WHARF_V_TIME_US, &v) ? v : val_null());
    W->json->put(out, "ended_at", W->db->value(rows, r, 9, WHARF_V_TIME_US, &v) ? v : val_null());
    W->json->close(out);
}

wharf_status push_compute(
    wharf_req *req, const wharf_rec *const *recs, size_t n, wharf_out *const *outs)
{
    static const char sql[] = "SELECT job_id, id, type, driver, status, attempts, http_status, "
                              "error, created_at, ended_at"
                              " FROM stations.print_push_delivery WHERE organization_id = $2::text "
                              "AND job_id = ANY ((SELECT $1::text[])::text[])"
                              " ORDER BY job_id, seq LIMIT 10000";
    const wharf_rows *rows;
    wharf_status s = query_about(req, sql, val_rec_ids(req, recs, n).u.s, &rows);

    for (size_t i = 0; s == WHARF_OK && i < n; i++) {
        W->json->open(outs[i], NULL, '[');
        for (size_t r = 0; r < W->db->count(rows); r++) {
            if (same(row_text(rows, r, 0), W->res->id(recs[i])))
                put_delivery(outs[i], rows, r);
        }
        W->json->close(outs[i]);
    }
    return s;
}
