/* seal.c - see seal.h. */
#include "event/seal.h"

#include <stdlib.h>

#include "db/copy.h"
#include "event/outbox.h"
#include "query/filter.h"
#include "resource/engine.h"
#include "util/digest.h"
#include "util/str.h"
#include "util/time.h"
#include "wharf/errors.h"

enum { VERIFY_ROWS = 20000 }; /* lines that are read at once */

/* ---- the text of a line ---- */

/* A member of the text, by column of wharf.outbox_next; in the order that jsonb has: shorter
 * names first, then by their bytes. */
struct member {
    const char *name;
    int column;
    enum { A_TEXT, AN_ACTOR, A_MOMENT, SOME_JSON, A_CONSTANT } kind;
};
static const struct member members[] = {{"id", E_ID, A_TEXT}, {"actor", 0, AN_ACTOR},
    {"action", E_TYPE, A_TEXT}, {"images", E_PREVIOUS, SOME_JSON}, {"object", 0, A_CONSTANT},
    {"changes", E_DATA, SOME_JSON}, {"message", O_MESSAGE, A_TEXT}, {"batch_id", E_BATCH, A_TEXT},
    {"event_id", O_EVENT, A_TEXT}, {"resource", E_RESOURCE_TYPE, A_TEXT},
    {"parent_id", O_PARENT, A_TEXT}, {"created_at", E_CREATED_AT, A_MOMENT},
    {"request_id", E_REQUEST, A_TEXT}, {"visibility", O_VISIBILITY, A_TEXT},
    {"location_id", E_LOCATION, A_TEXT}, {"resource_id", E_RESOURCE_ID, A_TEXT}};
static const struct member actor_members[] = {
    {"id", E_ACTOR_ID, A_TEXT}, {"name", E_ACTOR_NAME, A_TEXT}, {"type", E_ACTOR_TYPE, A_TEXT}};

static void seal_put_moment(struct buf *b, int64_t us)
{
    char iso[ISO_MS_LEN + 1];

    time_format_iso(us, iso);
    json_quote(b, str_z(iso));
}

static void seal_put_members(struct buf *b, const PGresult *r, int row, int64_t created_at_us,
    const struct member *list, size_t n)
{
    buf_addc(b, '{');
    for (size_t i = 0; i < n; i++) {
        const struct member *m = &list[i];

        buf_addz(b, i ? ", \"" : "\"");
        buf_addz(b, m->name);
        BUF_LIT(b, "\": ");
        if (m->kind == AN_ACTOR)
            seal_put_members(b, r, row, created_at_us, actor_members,
                sizeof(actor_members) / sizeof(actor_members[0]));
        else if (m->kind == A_CONSTANT)
            BUF_LIT(b, "\"log\"");
        else if (m->kind == A_MOMENT)
            seal_put_moment(b, created_at_us);
        else if (PQgetisnull(r, row, m->column))
            buf_addz(b, m->kind == SOME_JSON ? "[]" : "null");
        else if (m->kind == SOME_JSON)
            buf_adds(b, event_cell(r, row, m->column));
        else
            json_quote(b, event_cell(r, row, m->column));
    }
    buf_addc(b, '}');
}

bool seal_line_read(struct wharf_req *req, const PGresult *r, int row, struct seal_line *ret)
{
    struct buf b;
    bool good;

    *ret = (struct seal_line){.id = arena_dup_str(req->arena, event_cell(r, row, E_ID))};
    good = time_parse_pg(event_cell(r, row, E_CREATED_AT), &ret->created_at_us);
    buf_init(&b, SIZE_MAX / 2);
    seal_put_members(&b, r, row, ret->created_at_us, members, sizeof(members) / sizeof(members[0]));
    ret->text = arena_dup_str(req->arena, buf_str(&b));
    good = good && !b.failed;
    buf_done(&b);
    return good ||
           req_fail(req, ERR_INTERNAL, NULL, "the text of %s can't be made", ret->id.p) == WHARF_OK;
}

/* ---- sealing ---- */

/* Computes the hash of the hash before, in hex, and the line; in hex. */
static void hash_line(const char *before, wharf_str text, char ret[SEAL_HEX + 1])
{
    static const char digits[] = "0123456789abcdef";
    const wharf_str parts[] = {{before, SEAL_HEX}, text};
    unsigned char hash[DIGEST_BYTES];

    digest_sha256(parts, 2, hash);
    for (size_t i = 0; i < sizeof(hash); i++) {
        ret[2 * i] = digits[hash[i] >> 4];
        ret[2 * i + 1] = digits[hash[i] & 15];
    }
    ret[SEAL_HEX] = 0;
}

/* Writes the new ends of the chains: of each organization its last line. */
static bool move_chains(struct wharf_req *req, const struct seal_line *lines, size_t n)
{
    wharf_str *ids = ARENA_ARRAY(req->arena, wharf_str, n),
              *hashes = ARENA_ARRAY(req->arena, wharf_str, n);
    size_t chains = 0;
    struct sql s;

    for (size_t i = 0; i < n; i++) {
        if (i + 1 < n && str_eq(lines[i].organization, lines[i + 1].organization))
            continue;
        ids[chains] = lines[i].organization;
        hashes[chains++] = str_z(lines[i].hash);
    }
    sql_init(&s, req->arena);
    sql_add(&s, "UPDATE wharf.log_chain k SET hash = decode(u.h, 'hex') FROM unnest(");
    sql_bind_set(&s, ids, chains, "text");
    sql_add(&s, ", ");
    sql_bind_set(&s, hashes, chains, "text");
    sql_add(&s, ") AS u(o, h) WHERE k.organization_id = u.o");
    return req_query_sql(req, &s) != NULL;
}

bool seal_chunk(struct wharf_req *req, struct seal_line *lines, size_t n)
{
    static const char sql[] =
        "COPY wharf.log_seal (organization_id, created_at, log_id, sequence, prev_hash, hash) "
        "FROM STDIN (FORMAT binary)";
    struct buf rows;
    bool good;

    if (!n)
        return true;
    buf_init(&rows, SIZE_MAX / 2);
    binary_begin(&rows);
    for (size_t i = 0; i < n; i++) {
        struct seal_line *l = &lines[i];
        bool same = i && str_eq(lines[i - 1].organization, l->organization);
        wharf_str before = same ? str_z(lines[i - 1].hash) : l->chain_hash;

        hash_line(before.p, l->text, l->hash);
        binary_row(&rows, 6);
        binary_text(&rows, l->organization);
        binary_moment(&rows, l->created_at_us);
        binary_text(&rows, l->id);
        binary_int8(&rows, l->sequence);
        binary_hex(&rows, before);
        binary_hex(&rows, str_z(l->hash));
    }
    binary_end(&rows);
    good = req_copy(req, sql, &rows) && move_chains(req, lines, n);
    buf_done(&rows);
    return good;
}

static void seal_problem(void *arg, const char *code, wharf_str param, wharf_str message)
{
    req_problem(arg, code, param, "format", message);
}

/* Finds the numbers of the first and the last row chosen; without a filter the whole chain
 * (*ret_last 0). Returns false when there is none, or after a problem. */
static bool range(
    struct wharf_req *req, const struct resource *shown, int64_t *ret_first, int64_t *ret_last)
{
    struct req_head *head = &req->head;
    struct query_pair *pairs = ARENA_ARRAY(req->arena, struct query_pair, head->n_pairs + 1);
    struct query_options o = {
        .organization = req->access.who->organization, .cursor_key = req->engine->cursor_key};
    const struct list_query *q;
    size_t n = 0;
    PGresult *r;
    struct sql s;

    for (size_t i = 0; i < head->n_pairs; i++) {
        if (str_eqz(query_base(head->pairs[i].key), "created_at"))
            pairs[n++] = head->pairs[i];
    }
    *ret_first = 1;
    *ret_last = 0;
    if (!n)
        return true;
    q = query_parse(req->arena, shown->def, pairs, n, &o, seal_problem, req);
    if (!q)
        return false;
    sql_init(&s, req->arena);
    sql_addf(
        &s, "SELECT min(t.sequence), max(t.sequence) FROM %s t WHERE ", shown->def->storage.table);
    query_visible(&s, shown->def, &req->access.who->access, false);
    for (size_t i = 0; i < q->n_conditions; i++) {
        sql_add(&s, " AND ");
        condition_sql(&s, q, &q->conditions[i], NULL);
    }
    r = req_query_sql(req, &s);
    if (!r || PQgetisnull(r, 0, 0))
        return false;
    *ret_first = strtoll(PQgetvalue(r, 0, 0), NULL, 10);
    *ret_last = strtoll(PQgetvalue(r, 0, 1), NULL, 10);
    return true;
}

/* Checks one statement's share. *ret_checked: how many lines of it were checked. */
static wharf_status check_share(struct wharf_req *req, int64_t first, int64_t last,
    struct seal_report *ret, int64_t *ret_checked)
{
    static const char sql[] =
        "SELECT checked, bad, bad_id FROM wharf.verify_log($1, $2::bigint, $3::bigint)";
    struct sql_arg args[3] = {{req->access.who->organization.p, req->access.who->organization.n}};
    wharf_str from = arena_printf(req->arena, "%lld", (long long)first);
    wharf_str to = arena_printf(req->arena, "%lld", (long long)last);
    PGresult *r;

    args[1] = (struct sql_arg){from.p, from.n};
    args[2] = last ? (struct sql_arg){to.p, to.n} : (struct sql_arg){NULL, 0};
    r = req_query(req, sql, args, 3);
    if (!r)
        return WHARF_UNAVAILABLE;
    *ret_checked = strtoll(PQgetvalue(r, 0, 0), NULL, 10);
    ret->checked += *ret_checked;
    ret->valid = PQgetvalue(r, 0, 1)[0] == 'f';
    /* a row of any place: who does not reach all is told that something is wrong, not where */
    if (req->access.who->access.all_locations)
        ret->first_bad_id = arena_dup(
            req->arena, PQgetvalue(r, 0, 2), (size_t)PQgetlength(r, 0, 2));
    return WHARF_OK;
}

/* Checks in shares, so that no statement takes long; the last one has no end when none was asked
 * for. */
static wharf_status seal_walk(
    struct wharf_req *req, int64_t first, int64_t last, int64_t end, struct seal_report *ret)
{
    int64_t checked = 0;
    wharf_status s = WHARF_OK;

    for (; s == WHARF_OK && ret->valid; first += VERIFY_ROWS) {
        bool final = first + VERIFY_ROWS > (last ? last : end);

        s = check_share(req, first, final ? last : first + VERIFY_ROWS - 1, ret, &checked);
        if (final)
            break;
    }
    return s;
}

wharf_status seal_verify(
    struct wharf_req *req, const struct resource *shown, struct seal_report *ret)
{
    static const char sql[] = "SELECT sequence, encode(hash, 'hex'), base_sequence FROM "
                              "wharf.log_chain WHERE organization_id = $1";
    struct sql_arg organization = {
        req->access.who->organization.p, req->access.who->organization.n};
    int64_t first, last, end = 0, base = 0;
    PGresult *r = req_query(req, sql, &organization, 1);

    *ret = (struct seal_report){.valid = true, .first_bad_id = str_z(""), .head_hash = str_z("")};
    if (!r)
        return WHARF_UNAVAILABLE;
    if (PQntuples(r)) {
        end = strtoll(PQgetvalue(r, 0, 0), NULL, 10);
        base = strtoll(PQgetvalue(r, 0, 2), NULL, 10);
        ret->head_hash = end ? arena_dupz(req->arena, PQgetvalue(r, 0, 1)) : str_z("");
    }
    if (!range(req, shown, &first, &last))
        return req->problems.n ? WHARF_INVALID : WHARF_OK;
    return seal_walk(req, first > base ? first : base + 1, last, end, ret);
}
