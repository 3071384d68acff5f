/* bom_rules.c - the rules of bills of materials: versions, the default one, the graph without
 * loops (docs/spec/09-items-and-assembly.md sections 10, 10.1, 10.2 and 11). Leaves components of a
 * request to bom_parts.c, what is shown to bom_shown.c, builds to others. */
#include "bom_rules.h"

#include "bom_parts.h"
#include "items.gen.h"
#include "wharf/errors.h"

enum {
    ACTIVE_MAX = 50, /* active bills of an item */
    DEPTH_MAX = 50 /* levels of bills */
};

/* A write that these rules make by themselves. */
struct bom_change {
    const char *reason; /* why a bill becomes inactive; NULL: it does not */
    bool all; /* so do the others of its item: none of them becomes the default */
};
static const char change_kind;

struct bom_siblings { /* the other bills of the item */
    int64_t number, n_active; /* number: of the name that is free */
    wharf_str default_id, oldest; /* of the active ones, or empty */
};

static wharf_status bom_siblings_read(
    wharf_req *req, wharf_str item, wharf_str bom, struct bom_siblings *ret)
{
    static const char sql[] = QUERY_BOMS_OF_ITEM;
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql,
        (const wharf_val[]){val_text(item), val_text(W->req->organization(req)), val_text(bom)}, 3,
        &rows);

    if (s == WHARF_OK)
        *ret = (struct bom_siblings){
            row_int(rows, 0, 0), row_int(rows, 0, 1), row_text(rows, 0, 2), row_text(rows, 0, 3)};
    return s;
}

/* Changes one field of a bill by a write of its own, with its event and line. */
static wharf_status bom_write_field(
    wharf_req *req, wharf_str bom, const char *field, wharf_val value, struct bom_change why)
{
    struct bom_change *change = W->mem->alloc(req, sizeof(*change));
    wharf_out *out = W->json->builder(req);
    wharf_write w = {.head = WHARF_HEAD(wharf_write),
        .resource = "bom",
        .op = WHARF_UPDATE,
        .id = bom,
        .kind = &change_kind,
        .context = change};
    wharf_status s;

    *change = why;
    W->json->open(out, NULL, '{');
    W->json->put(out, field, value);
    W->json->close(out);
    s = W->json->result(req, out, &w.body);
    return s == WHARF_OK ? W->res->write(req, &w) : s;
}

static const struct bom_change *change_of(const wharf_rec *rec)
{
    return W->res->context(rec, &change_kind);
}

static int64_t bom_quantity(const wharf_rec *rec, wharf_field f)
{
    wharf_val v;

    return rec && W->res->get(rec, f, &v) && v.type == WHARF_V_DEC ? v.u.i : 0;
}

/* ---- normalize ---- */

/* Takes the lock of the graph, which comes before the row's: of two writes of bills the second one
 * sees what the first one left. */
static wharf_status bom_normalize(wharf_req *req, uint32_t op, wharf_rec *new_rec)
{
    static const struct {
        const char *name;
        wharf_field field;
    } quantities[] = {{"output_qty", BOM_OUTPUT_QTY}, {"min_build_qty", BOM_MIN_BUILD_QTY}};
    wharf_status s = W->db->lock(req, BOM_GRAPH_LOCK, W->req->organization(req));

    bom_shown_plain(req);
    for (size_t i = 0; s == WHARF_OK && i < sizeof(quantities) / sizeof(quantities[0]); i++) {
        const wharf_json *v = W->res->member(new_rec, quantities[i].name);
        int64_t quantity;

        if (json_is_null(v))
            continue;
        s = quantity_take(req, v, quantities[i].name, &quantity);
        if (s == WHARF_OK)
            W->res->set(new_rec, quantities[i].field, val_decimal(quantity, QUANTITY_SCALE));
    }
    return s;
}

/* ---- the graph ---- */

static wharf_status bom_graph_set(
    wharf_req *req, wharf_str bom, wharf_str assembly, const struct bom_part *parts, size_t n)
{
    static const char sql[] = "SELECT to_jsonb(items.bom_edges_set($1::text, $2::text,"
                              " $3::text[], $4::integer))";
    wharf_str *ids = W->mem->alloc(req, (n + 1) * sizeof(*ids));
    const wharf_json *loop;
    const wharf_rows *rows;
    wharf_status s;

    for (size_t i = 0; i < n; i++)
        ids[i] = parts[i].item_id;
    s = W->db->query(req, sql,
        (const wharf_val[]){
            val_text(bom), val_text(assembly), val_array(req, ids, n), val_int(DEPTH_MAX)},
        4, &rows);
    if (s != WHARF_OK)
        return s;
    loop = row_json(rows, 0, 0);
    if (json_is_null(loop))
        return WHARF_OK;
    if (!W->json->count(loop))
        return W->err->fail(req, ERR_BOM_TOO_DEEP, "components", NULL);
    for (const wharf_json *e = W->json->at(loop, 0); e; e = W->json->next(e)) {
        wharf_str id;

        if (W->json->text(e, &id))
            W->err->add(req, ERR_BOM_CYCLE, id.p, NULL);
    }
    return W->err->current(req);
}

static wharf_status bom_graph_drop(wharf_req *req, wharf_str bom)
{
    static const char sql[] =
        "DELETE FROM items.bom_edge WHERE organization_id = $2::text AND bom_id = $1::text";

    return query_about(req, sql, bom, NULL);
}

/* ---- versions ---- */

/* The check of a write. */
struct bom_check {
    wharf_req *req;
    const wharf_rec *old_rec;
    wharf_rec *rec;
    wharf_str id, item;
    bool active; /* after this write */
    struct bom_made now; /* on update: the newest version */
    struct bom_parts parts; /* those sent, else those of now */
};

static wharf_status bom_version_write(const struct bom_check *c, int64_t number)
{
    static const char sql[] =
        "SELECT items.bom_version_add($1::text, $2::integer, $3::numeric, $4::jsonb, $5::text,"
        " to_timestamp($6::bigint / 1000 / 1000.0), $7::text)";
    const wharf_rows *rows;
    wharf_status s = W->db->query(c->req, sql,
        (const wharf_val[]){val_text(c->id), val_int(number),
            val_decimal(bom_quantity(c->rec, BOM_OUTPUT_QTY), QUANTITY_SCALE),
            val_text(bom_parts_text(c->req, &c->parts)),
            val_text_or_null(field_text(c->rec, BOM_CHANGE_NOTE)), val_int(W->req->now_us(c->req)),
            val_text(W->req->actor(c->req))},
        7, &rows);
    if (s == WHARF_OK)
        W->res->set(c->rec, BOM_VERSION, val_int(number));
    return s;
}

static bool notes_equal(const struct bom_part *a, const struct bom_part *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!same(a[i].item_id, b[i].item_id) || a[i].position != b[i].position ||
            !same(a[i].reference, b[i].reference) || !same(a[i].notes, b[i].notes))
            return false;
    }
    return true;
}

/* Writes what was sent beside the items and quantities, which are those of the newest version. */
static wharf_status bom_notes_write(const struct bom_check *c)
{
    static const char sql[] = "SELECT items.bom_notes_set($1::text, $2::integer, $3::jsonb)";
    const wharf_rows *rows;
    wharf_status s;

    if (notes_equal(c->parts.list, c->now.parts, c->now.n))
        return WHARF_OK;
    s = W->db->query(c->req, sql,
        (const wharf_val[]){
            val_text(c->id), val_int(c->now.version), val_text(bom_parts_text(c->req, &c->parts))},
        3, &rows);
    /* so that the row changes: it is what versions and answers are about */
    if (s == WHARF_OK)
        W->res->set(
            c->rec, BOM_COMPONENT_CHANGES, val_int(field_int(c->rec, BOM_COMPONENT_CHANGES) + 1));
    return s;
}

/* ---- status, and which is the default ---- */

static wharf_status bom_settle_default(const struct bom_check *c, const struct bom_siblings *others)
{
    bool was = c->old_rec && field_int(c->old_rec, BOM_IS_DEFAULT);
    bool sent = W->res->sent(c->rec, BOM_IS_DEFAULT);
    bool wants = sent && field_int(c->rec, BOM_IS_DEFAULT);

    if (!c->active && wants && !was)
        return W->err->fail(c->req, ERR_VALIDATION_FAILED, "is_default",
            "An inactive bill of materials can't be the default; send status active with it");
    if (c->active && was && sent && !wants && !change_of(c->rec))
        return W->err->fail(c->req, ERR_VALIDATION_FAILED, "is_default",
            "One active bill of materials is the default; set is_default of another one");
    if (!c->active)
        wants = false;
    else if (!change_of(c->rec))
        wants = wants || was || !others->default_id.n;
    W->res->set(c->rec, BOM_IS_DEFAULT, val_bool(wants));
    return wants && others->default_id.n && !change_of(c->rec)
               ? bom_write_field(c->req, others->default_id, "is_default", val_bool(false),
                     (struct bom_change){NULL, false})
               : WHARF_OK;
}

static wharf_status bom_settle_status(const struct bom_check *c, const struct bom_siblings *others)
{
    bool was = c->old_rec && is(field_text(c->old_rec, BOM_STATUS), "active");
    const struct bom_change *change = change_of(c->rec);

    if (c->active && !was && others->n_active >= ACTIVE_MAX)
        return W->err->fail(c->req, ERR_BOM_TOO_MANY_ACTIVE, "status", NULL);
    if (c->active && !was && c->parts.archived)
        return W->err->fail(c->req, ERR_ITEM_ARCHIVED, "status",
            "The item is archived; activate it before its bill of materials");
    if (c->active != was || !c->old_rec)
        W->res->set(c->rec, BOM_DEACTIVATED_REASON,
            c->active || !was          ? val_null()
            : change && change->reason ? val_text(z(change->reason))
                                       : val_text(WHARF_S("user")));
    return bom_settle_default(c, others);
}

/* ---- check ---- */

static wharf_status bom_whole(const struct bom_check *c, wharf_field f, const char *name)
{
    return c->parts.is_asset && !quantity_is_whole(bom_quantity(c->rec, f))
               ? W->err->add(c->req, ERR_ITEM_FRACTIONAL_QUANTITY, name, NULL)
               : WHARF_OK;
}

/* Checks the parts that the bill will have: new ones, or old ones in another light. */
static wharf_status bom_check_parts(struct bom_check *c, const wharf_json *sent, bool changed)
{
    wharf_status s = WHARF_OK;

    if (!c->parts.is_assembly && (!c->old_rec || c->active))
        return W->err->fail(c->req, ERR_BOM_ITEM_NOT_ASSEMBLY, NULL, NULL);
    bom_whole(c, BOM_OUTPUT_QTY, "output_qty");
    bom_whole(c, BOM_MIN_BUILD_QTY, "min_build_qty");
    for (size_t i = 0; sent && i < c->parts.n; i++) {
        if (!same(c->parts.list[i].item_id, c->item))
            continue;
        W->err->add(c->req, ERR_BOM_CYCLE, c->item.p, NULL);
    }
    s = W->err->current(c->req);
    return s == WHARF_OK && changed
               ? bom_parts_reckon(c->req, &c->parts, bom_quantity(c->rec, BOM_OUTPUT_QTY))
               : s;
}

static wharf_status check_expected(const struct bom_check *c)
{
    int64_t version = field_int(c->rec, BOM_EXPECTED_VERSION);

    return version && version != c->now.version
               ? W->err->fail(c->req, ERR_BOM_VERSION_CONFLICT, "expected_version",
                     "The bill of materials has version %lld; read it again, and send the change "
                     "on top of it",
                     (long long)c->now.version)
               : WHARF_OK;
}

static wharf_status bom_create_check(struct bom_check *c)
{
    struct bom_siblings others;
    const wharf_json *sent = W->res->input(c->rec, BOM_COMPONENTS);
    wharf_status s = bom_parts_take(c->req, c->item, sent, &c->parts);

    if (s == WHARF_OK && c->parts.archived)
        return W->err->fail(c->req, ERR_ITEM_ARCHIVED, NULL,
            "The item is archived; activate it before it gets a bill of materials");
    if (s == WHARF_OK)
        s = bom_check_parts(c, sent, true);
    if (s == WHARF_OK)
        s = bom_siblings_read(c->req, c->item, WHARF_S(""), &others);
    if (s == WHARF_OK && !field_text(c->rec, BOM_NAME).n)
        W->res->set(c->rec, BOM_NAME,
            val_text(W->mem->format(c->req, "BOM %lld", (long long)others.number)));
    if (s == WHARF_OK)
        s = bom_settle_status(c, &others);
    if (s == WHARF_OK && c->active)
        s = bom_graph_set(c->req, c->id, c->item, c->parts.list, c->parts.n);
    W->res->set(c->rec, BOM_HAS_BUILD_HISTORY, val_bool(false));
    W->res->set(c->rec, BOM_COMPONENT_CHANGES, val_int(0));
    return s == WHARF_OK ? bom_version_write(c, 1) : s;
}

/* Reads what the bill is now and what it will be made of, and holds the items that matter. */
static wharf_status bom_update_read(struct bom_check *c, const wharf_json *sent)
{
    wharf_status s = bom_read(c->req, c->id, 0, &c->now);

    if (s == WHARF_OK)
        s = check_expected(c);
    if (s == WHARF_OK)
        s = bom_parts_take(c->req, c->item, sent, &c->parts);
    if (s == WHARF_OK && !sent) {
        c->parts.list = c->now.parts;
        c->parts.n = c->now.n;
    }
    return s;
}

static wharf_status bom_update_check(struct bom_check *c)
{
    const wharf_json *sent = W->res->input(c->rec, BOM_COMPONENTS);
    bool was = is(field_text(c->old_rec, BOM_STATUS), "active");
    struct bom_siblings others;
    wharf_status s = change_of(c->rec) ? WHARF_OK : bom_update_read(c, sent);
    bool changed;

    if (s == WHARF_OK)
        s = bom_siblings_read(c->req, c->item, c->id, &others);
    if (s != WHARF_OK)
        return s;
    changed = !change_of(c->rec) &&
              (bom_quantity(c->rec, BOM_OUTPUT_QTY) != c->now.output_qty ||
                  !bom_parts_equal(c->parts.list, c->parts.n, c->now.parts, c->now.n));
    if (!change_of(c->rec))
        s = bom_check_parts(c, sent, changed);
    if (s == WHARF_OK)
        s = bom_settle_status(c, &others);
    if (s == WHARF_OK && was && !c->active)
        s = bom_graph_drop(c->req, c->id);
    else if (s == WHARF_OK && c->active && (changed || !was))
        s = bom_graph_set(c->req, c->id, c->item, c->parts.list, c->parts.n);
    if (s == WHARF_OK && changed)
        return bom_version_write(c, c->now.version + 1);
    return s == WHARF_OK && sent ? bom_notes_write(c) : s;
}

static wharf_status bom_check(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    struct bom_check c = {.req = req,
        .old_rec = old_rec,
        .rec = new_rec,
        .id = W->res->id(new_rec ? new_rec : old_rec),
        .item = field_text(new_rec ? new_rec : old_rec, BOM_ITEM_ID)};

    if (op == WHARF_DELETE)
        return bom_graph_drop(req, c.id);
    c.active = is(field_text(new_rec, BOM_STATUS), "active");
    return op == WHARF_CREATE ? bom_create_check(&c) : bom_update_check(&c);
}

/* ---- written ---- */

/* Makes the oldest other active bill the default one. */
static wharf_status bom_pass_default(wharf_req *req, const wharf_rec *rec)
{
    struct bom_siblings others;
    wharf_status s = bom_siblings_read(req, field_text(rec, BOM_ITEM_ID), W->res->id(rec), &others);

    return s == WHARF_OK && others.oldest.n && !others.default_id.n
               ? bom_write_field(req, others.oldest, "is_default", val_bool(true),
                     (struct bom_change){NULL, false})
               : s;
}

static wharf_status bom_written(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    const struct bom_change *change = change_of(new_rec ? new_rec : old_rec);
    bool stops = op == WHARF_UPDATE && W->res->changed(old_rec, new_rec, BOM_STATUS) &&
                 is(field_text(new_rec, BOM_STATUS), "inactive");
    wharf_status s = WHARF_OK;

    if (stops)
        s = W->event->emit(req, "bom.deactivated", "bom", W->res->id(new_rec), NULL);
    if (s == WHARF_OK && op == WHARF_UPDATE && W->res->changed(old_rec, new_rec, BOM_VERSION))
        s = W->event->emit(req, "bom.version_created", "bom", W->res->id(new_rec), NULL);
    if (s == WHARF_OK && (stops || op == WHARF_DELETE) && field_int(old_rec, BOM_IS_DEFAULT) &&
        !(change && change->all))
        s = bom_pass_default(req, old_rec);
    return s;
}

const wharf_hooks items_bom_hooks = {.head = WHARF_HEAD(wharf_hooks),
    .normalize = bom_normalize,
    .check = bom_check,
    .written = bom_written,
    .restrict_rows = bom_rows,
    .compute = bom_compute};

/* ---- the item that is built ---- */

wharf_status boms_deactivate(
    wharf_req *req, const wharf_rec *const *items, size_t n, const char *reason, bool together)
{
    static const char sql[] =
        "SELECT x.i, b.id FROM unnest((SELECT $1::text[])) WITH ORDINALITY x(id, i) JOIN items.bom "
        "b"
        " ON b.organization_id = $2::text AND b.item_id = x.id AND b.status = 'active'"
        " AND b.deleted_at IS NULL ORDER BY x.i, b.id";
    const wharf_rows *rows;
    wharf_status s = query_about(req, sql, val_rec_ids(req, items, n).u.s, &rows);

    for (size_t r = 0; s == WHARF_OK && r < W->db->count(rows); r++) {
        if (together)
            items_many->at(req, (size_t)row_int(rows, r, 0) - 1);
        s = bom_write_field(req, row_text(rows, r, 1), "status", val_text(WHARF_S("inactive")),
            (struct bom_change){reason, true});
    }
    return s;
}

/* ---- DELETE ---- */

/* Answers what became of the bill. */
static wharf_status bom_delete_answer(wharf_req *req, wharf_str id, bool kept)
{
    const wharf_rec *rec;
    wharf_out *out;
    wharf_status s;

    if (kept) {
        s = W->res->fetch(req, "bom", id, WHARF_SHOWN, &rec);
        if (s == WHARF_OK)
            W->res->encode(req,
                W->req->respond(
                    req, 200, "Bill of materials deactivated: it was built, and stays to be seen"),
                NULL, rec);
        return s;
    }
    out = W->req->respond(req, 200, "Bill of materials deleted");
    W->json->open(out, NULL, '{');
    W->json->put(out, "id", val_text(id));
    W->json->put(out, "object", val_text(WHARF_S("bom")));
    W->json->put(out, "deleted", val_bool(true));
    W->json->close(out);
    return WHARF_OK;
}

wharf_status bom_delete_handler(wharf_req *req, void *arg)
{
    wharf_str id = WHARF_S(""), item = WHARF_S("");
    const wharf_rec *rec;
    bool built = false;
    wharf_status s = W->db->lock(req, BOM_GRAPH_LOCK, W->req->organization(req));

    W->req->param(req, "bom", &id);
    W->req->param(req, "item", &item);
    if (s == WHARF_OK)
        s = W->res->fetch(req, "bom", id, WHARF_FOR_UPDATE, &rec);
    if (s == WHARF_OK && !same(field_text(rec, BOM_ITEM_ID), item))
        s = W->err->fail(req, ERR_NOT_FOUND, NULL, NULL);
    if (s != WHARF_OK)
        return s;
    built = field_int(rec, BOM_HAS_BUILD_HISTORY);
    if (!built)
        s = W->res->remove(req, "bom", id);
    else if (is(field_text(rec, BOM_STATUS), "active"))
        s = bom_write_field(req, id, "status", val_text(WHARF_S("inactive")),
            (struct bom_change){"deleted", false});
    return s == WHARF_OK ? bom_delete_answer(req, id, built) : s;
}
