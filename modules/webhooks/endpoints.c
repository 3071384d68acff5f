/* endpoints.c - the webhooks of an engine as they last were, so that what a request needs is
 * read and opened once for each version (spec 07 section 5).
 *
 * One that has changed is kept for the requests that run, and freed with the last of them. */
#include <stdio.h>
#include <stdlib.h>

#include "webhook_engine.h"
#include "wharf/hash.h"

void *engine_need(void *p)
{
    if (!p)
        abort();
    return p;
}

char *engine_keep(wharf_str *const *texts, size_t n)
{
    size_t bytes = 0;
    char *memory, *to;

    for (size_t i = 0; i < n; i++)
        bytes += texts[i]->n + 1;
    memory = to = engine_need(malloc(bytes));
    for (size_t i = 0; i < n; i++) {
        memcpy(to, texts[i]->p, texts[i]->n);
        to[texts[i]->n] = 0;
        texts[i]->p = to;
        to += texts[i]->n + 1;
    }
    return memory;
}

wharf_status engine_call(
    wharf_req *req, const char *sql, const wharf_val *args, size_t n, const wharf_rows **ret_rows)
{
    wharf_status s = W->db->begin(req);

    if (s != WHARF_OK)
        return s;
    s = W->db->query(req, sql, args, n, ret_rows);
    if (s == WHARF_OK)
        return W->db->commit(req);
    W->db->rollback(req);
    return s;
}

static void free_endpoint(struct endpoint *e)
{
    free(e->memory);
    free(e);
}

void endpoint_leave(struct endpoint *e)
{
    if (e && --e->users == 0 && e->stale)
        free_endpoint(e);
}

static struct endpoint **endpoints_bucket_of(struct endpoints *list, wharf_str id)
{
    uint32_t h = wharf_hash32(WHARF_HASH32_START, id.p, id.n);

    return &list->bucket[h % CACHE_BUCKETS];
}

struct endpoint *endpoints_find(struct endpoints *list, wharf_str organization, wharf_str id)
{
    for (struct endpoint *e = *endpoints_bucket_of(list, id); e; e = e->next) {
        if (is(id, e->id) && is(organization, e->organization))
            return e;
    }
    return NULL;
}

static void drop_endpoint(struct endpoints *list, struct endpoint *e)
{
    struct endpoint **at = endpoints_bucket_of(list, (wharf_str){e->id, strlen(e->id)});

    while (*at != e)
        at = &(*at)->next;
    *at = e->next;
    list->n--;
    e->stale = true;
    if (!e->users)
        free_endpoint(e);
}

void endpoints_empty(struct endpoints *list)
{
    for (size_t i = 0; i < CACHE_BUCKETS; i++) {
        struct endpoint *e = list->bucket[i], *next;

        for (list->bucket[i] = NULL; e; e = next) {
            next = e->next;
            e->stale = true;
            if (!e->users)
                free_endpoint(e);
        }
    }
    list->n = 0;
}

/* Adds an endpoint out of a row of webhooks.targets; a sealed text that does not open is logged. */
static void add_endpoint(wharf_req *req, struct endpoints *list, const wharf_rows *found, size_t i)
{
    wharf_str id = row_text(found, i, 1), headers = row_text(found, i, 4);
    struct endpoint *e = engine_need(calloc(1, sizeof(*e)));

    snprintf(e->organization, sizeof(e->organization), "%s", row_text(found, i, 0).p);
    snprintf(e->id, sizeof(e->id), "%s", id.p);
    e->version = row_integer(found, i, 2, 0);
    e->timeout_ms = row_integer(found, i, 6, 15000);
    e->url = row_text(found, i, 3);
    e->retry_mode = row_text(found, i, 7);
    e->headers = e->secrets = WHARF_S("");
    if (headers.n &&
        !hooks_crypto->open(req, "webhooks.webhook", "sealed_headers", id, headers, &e->headers))
        W->log->write(hooks_self, req, WHARF_LOG_ERROR, "webhooks.sealed",
            "headers of %s do not open with this machine's keys", e->id);
    if (!hooks_crypto->open(
            req, "webhooks.webhook", "secrets", id, row_text(found, i, 5), &e->secrets))
        W->log->write(hooks_self, req, WHARF_LOG_ERROR, "webhooks.sealed",
            "secrets of %s do not open with this machine's keys", e->id);
    e->memory = engine_keep(
        (wharf_str *const[]){&e->url, &e->headers, &e->secrets, &e->retry_mode}, 4);
    e->next = *endpoints_bucket_of(list, id);
    *endpoints_bucket_of(list, id) = e;
    list->n++;
}

wharf_status endpoints_learn(wharf_req *req, struct endpoints *list, const wharf_rows *rows)
{
    static const char sql[] =
        "SELECT organization_id, webhook_id, version, url, sealed_headers, secrets, timeout_ms, "
        "retry_mode"
        " FROM webhooks.targets(ARRAY(SELECT json_array_elements_text($1::json)),"
        " ARRAY(SELECT json_array_elements_text($2::json)))";
    wharf_out *orgs = W->json->writer(req), *ids = W->json->writer(req);
    const wharf_rows *found;
    size_t missing = 0;
    wharf_status s;

    W->json->open(orgs, NULL, '[');
    W->json->open(ids, NULL, '[');
    for (size_t i = 0; i < W->db->count(rows); i++) {
        wharf_str organization = row_text(rows, i, 0), id = row_text(rows, i, 1);
        struct endpoint *e = endpoints_find(list, organization, id);

        if (!id.n || (e && e->version == row_integer(rows, i, 2, 0)) ||
            (i && same(id, row_text(rows, i - 1, 1))))
            continue;
        W->json->put(orgs, NULL, val_text(organization));
        W->json->put(ids, NULL, val_text(id));
        missing++;
    }
    W->json->close(orgs);
    W->json->close(ids);
    if (!missing)
        return WHARF_OK;
    const wharf_val args[] = {
        val_text(W->json->result_text(orgs)), val_text(W->json->result_text(ids))};

    s = engine_call(req, sql, args, 2, &found);
    for (size_t i = 0; s == WHARF_OK && i < W->db->count(found); i++) {
        struct endpoint *e = endpoints_find(list, row_text(found, i, 0), row_text(found, i, 1));

        if (e && e->version == row_integer(found, i, 2, 0))
            continue;
        if (e)
            drop_endpoint(list, e);
        add_endpoint(req, list, found, i);
    }
    return s;
}
