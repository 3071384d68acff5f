/* outbox.c - see outbox.h. */
#include "event/outbox.h"

#include <stdio.h>
#include <stdlib.h>

#include "util/str.h"
#include "wharf/errors.h"

enum { CHUNK_BYTES = 32 * 1024 * 1024 }; /* events that are taken at once */

/* ---- which row of the answer is whose ---- */

struct named {
    int organization; /* row of the answer that has what waits of it */
    wharf_str id, moment;
    int row;
};

/* A row of the outbox, and where its event and its line stand in the answer; -1: it has none, or
 * that expired before its turn. */
struct waiting {
    wharf_str place;
    int event, line;
    int organization; /* row of the answer */
};

struct answer {
    PGresult *r;
    struct waiting *waiting;
    struct named *events, *lines; /* by id */
    size_t n_waiting, n_events, n_lines;
};

/* Compares as the tables' keys do: the same id may be another row's of another organization, or of
 * another moment. */
static int outbox_by_key(const void *a, const void *b)
{
    const struct named *x = a, *y = b;
    int order = x->organization - y->organization;

    order = order ? order : str_order(x->id, y->id);
    return order ? order : str_order(x->moment, y->moment);
}

static int row_named(const struct named *key, const struct named *list, size_t n)
{
    const struct named *found = bsearch(key, list, n, sizeof(*key), outbox_by_key);

    return found ? found->row : -1;
}

/* Returns what stands before the end byte; *text is moved behind it. */
static wharf_str outbox_part(wharf_str *text, char end)
{
    const char *at = memchr(text->p, end, text->n);
    size_t n = at ? (size_t)(at - text->p) : text->n, all = at ? n + 1 : n;
    wharf_str s = {text->p, n};

    *text = (wharf_str){text->p + all, text->n - all};
    return s;
}

static void read_waiting(struct answer *a, int row, size_t most)
{
    wharf_str text = event_cell(a->r, row, E_DATA);

    while (text.n && a->n_waiting < most) {
        struct waiting *w = &a->waiting[a->n_waiting++];
        struct named event = {.organization = row}, line = event;

        w->place = outbox_part(&text, ' ');
        event.id = outbox_part(&text, ' ');
        line.id = outbox_part(&text, ' ');
        event.moment = line.moment = outbox_part(&text, '\n');
        w->event = row_named(&event, a->events, a->n_events);
        w->line = row_named(&line, a->lines, a->n_lines);
        w->organization = row;
    }
}

static void sort_out(struct wharf_req *req, PGresult *r, size_t most, struct answer *ret)
{
    size_t n = (size_t)PQntuples(r);
    int organization = 0;

    *ret = (struct answer){.r = r,
        .waiting = ARENA_ARRAY(req->arena, struct waiting, most),
        .events = ARENA_ARRAY(req->arena, struct named, n),
        .lines = ARENA_ARRAY(req->arena, struct named, n)};
    for (int i = 0; i < (int)n; i++) {
        struct named named = {
            organization, event_cell(r, i, E_ID), event_cell(r, i, E_CREATED_AT), i};
        char kind = PQgetvalue(r, i, O_KIND)[0];

        if (kind == 'o')
            organization = i;
        else if (kind == 'e')
            ret->events[ret->n_events++] = named;
        else
            ret->lines[ret->n_lines++] = named;
    }
    qsort(ret->events, ret->n_events, sizeof(struct named), outbox_by_key);
    qsort(ret->lines, ret->n_lines, sizeof(struct named), outbox_by_key);
    for (int i = 0; i < (int)n; i++) {
        if (PQgetvalue(r, i, O_KIND)[0] == 'o')
            read_waiting(ret, i, most);
    }
}

static size_t outbox_bytes_of(const PGresult *r, int row)
{
    static const int wide[] = {E_DATA, E_PREVIOUS, O_MESSAGE, O_PARTS};
    size_t bytes = 0;

    for (size_t i = 0; row >= 0 && i < sizeof(wide) / sizeof(wide[0]); i++)
        bytes += (size_t)PQgetlength(r, row, wide[i]);
    return bytes;
}

/* Tells how many of the rows fit into the memory for a chunk: at least one. */
static size_t rows_that_fit(const struct answer *a)
{
    size_t bytes = 0;

    for (size_t i = 0; i < a->n_waiting; i++) {
        bytes += outbox_bytes_of(a->r, a->waiting[i].event) +
                 outbox_bytes_of(a->r, a->waiting[i].line);
        if (i && bytes > CHUNK_BYTES)
            return i;
    }
    return a->n_waiting;
}

/* ---- numbers ---- */

/* The rows of one organization, and what has been counted before them. */
struct share {
    size_t first, end; /* of those that wait */
    wharf_str organization, live;
    int64_t events, lines, event_before, line_before;
    wharf_str chain_hash;
};

static size_t shares_of(
    struct wharf_req *req, const struct answer *a, size_t n, struct share *shares)
{
    size_t k = 0;

    for (size_t i = 0; i < n; i++) {
        const struct waiting *w = &a->waiting[i];

        if (!i || w->organization != w[-1].organization)
            shares[k++] = (struct share){.first = i,
                .organization = arena_dup_str(
                    req->arena, event_cell(a->r, w->organization, E_ORGANIZATION)),
                .live = arena_dup_str(req->arena, event_cell(a->r, w->organization, O_LIVE))};
        shares[k - 1].end = i + 1;
        shares[k - 1].events += w->event >= 0;
        shares[k - 1].lines += w->line >= 0;
    }
    return k;
}

/* Takes the rows out of the outbox and gets the numbers of their organizations. */
static bool outbox_take_rows(
    struct wharf_req *req, const struct answer *a, size_t n, struct share *shares, size_t n_shares)
{
    wharf_str *places = ARENA_ARRAY(req->arena, wharf_str, n),
              *ids = ARENA_ARRAY(req->arena, wharf_str, n_shares);
    wharf_str *events = ARENA_ARRAY(req->arena, wharf_str, n_shares);
    wharf_str *lines = ARENA_ARRAY(req->arena, wharf_str, n_shares);
    PGresult *numbers;
    struct sql s;

    for (size_t i = 0; i < n; i++)
        places[i] = a->waiting[i].place;
    for (size_t i = 0; i < n_shares; i++) {
        ids[i] = shares[i].organization;
        events[i] = arena_printf(req->arena, "%lld", (long long)shares[i].events);
        lines[i] = arena_printf(req->arena, "%lld", (long long)shares[i].lines);
    }
    sql_init(&s, req->arena);
    sql_add(&s, "SELECT * FROM wharf.outbox_take(");
    sql_bind_array(&s, places, n);
    sql_add(&s, "::tid[], ");
    sql_bind_array(&s, ids, n_shares);
    sql_add(&s, "::text[], ");
    sql_bind_array(&s, events, n_shares);
    sql_add(&s, "::bigint[], ");
    sql_bind_array(&s, lines, n_shares);
    sql_add(&s, "::bigint[])");
    numbers = req_query_sql(req, &s);
    for (size_t i = 0; numbers && i < n_shares; i++) {
        shares[i].event_before = strtoll(PQgetvalue(numbers, (int)i, 0), NULL, 10);
        shares[i].line_before = strtoll(PQgetvalue(numbers, (int)i, 1), NULL, 10);
        shares[i].chain_hash = arena_dup_str(req->arena, event_cell(numbers, (int)i, 2));
    }
    return numbers != NULL;
}

/* ---- the chunk ---- */

static void note_age(int64_t *oldest_us, int64_t at_us)
{
    if (!*oldest_us || at_us < *oldest_us)
        *oldest_us = at_us;
}

static bool read_share(
    struct wharf_req *req, const struct answer *a, const struct share *s, struct outbox_chunk *k)
{
    int64_t event = s->event_before, line = s->line_before;

    for (size_t i = s->first; i < s->end; i++) {
        const struct waiting *w = &a->waiting[i];
        struct event *e;

        if (w->line >= 0) {
            struct seal_line *l = &k->lines[k->n_lines++];

            if (!seal_line_read(req, a->r, w->line, l))
                return false;
            l->organization = s->organization;
            l->chain_hash = s->chain_hash;
            l->sequence = ++line;
        }
        if (w->event < 0)
            continue;
        e = event_from_new_row(req, a->r, w->event, ++event, O_PARTS);
        if (!e->pub.created_at_us) /* its mark would be where nobody looks for it */
            return req_fail(req, ERR_INTERNAL, NULL, "the moment of %s can't be read",
                       e->pub.id.p) == WHARF_OK;
        e->live_organization = s->live;
        k->of_batches += e->pub.batch_id.n != 0;
        note_age(
            e->pub.batch_id.n ? &k->oldest_of_batches_us : &k->oldest_us, e->pub.created_at_us);
        k->events[k->n_events++] = e;
    }
    k->last = s->organization;
    return true;
}

bool outbox_claim(struct wharf_req *req, const char *after, int most, struct outbox_chunk *ret)
{
    static const char sql[] = "SELECT * FROM wharf.outbox_waiting($1, $2::integer)";
    struct sql_arg args[2] = {{after, strlen(after)}};
    struct share *shares;
    struct answer a;
    size_t n_shares;
    char limit[16];
    PGresult *r;

    args[1] = (struct sql_arg){limit, (size_t)snprintf(limit, sizeof(limit), "%d", most)};
    *ret = (struct outbox_chunk){.last = str_z("")};
    r = req_query(req, sql, args, 2);
    if (!r || !PQntuples(r))
        return r != NULL;
    sort_out(req, r, (size_t)most, &a);
    ret->n = rows_that_fit(&a);
    ret->events = ARENA_ARRAY(req->arena, struct event *, ret->n);
    ret->lines = ARENA_ARRAY(req->arena, struct seal_line, ret->n);
    shares = ARENA_ARRAY(req->arena, struct share, ret->n);
    n_shares = shares_of(req, &a, ret->n, shares);
    if (!outbox_take_rows(req, &a, ret->n, shares, n_shares))
        return false;
    for (size_t i = 0; i < n_shares; i++) {
        if (!read_share(req, &a, &shares[i], ret))
            return false;
    }
    return true;
}
