/* contact_import.c - POST /v1/contacts: one contact, or with csv_url a whole file of them (spec
 * 02 section 5).
 *
 * All of a file is one transaction, its rows are written in sets of at most AT_ONCE (wharf.many).
 * Leaves to others: what is wrong with the file or its rows (import_file.c), the rules of a
 * contact (contact_rules.c). */
#include <stdlib.h>

#include "contacts.gen.h"
#include "contact_import.h"

enum {
    AT_ONCE = 1000, /* rows of one set */
    BYTES_AT_ONCE = 1 << 20,
    ID_ROOM = 48
};

/* ---- writing ---- */

/* Rows that wait to be written together. */
struct chunk {
    const char *resource;
    const wharf_json *bodies[AT_ONCE];
    size_t rows[AT_ONCE]; /* of the file */
    size_t n;
};

struct writing {
    struct reading *r;
    char (*ids)[ID_ROOM]; /* by row; "": was not written */
    struct chunk contacts, groups;
    size_t bytes; /* of the rows that wait: memory is a multiple of it */
    size_t n_written;
};

/* Fields beside email, phone and address, for the other columns of their kind. */
struct beside {
    const char *name, *keys[6];
};
static const struct beside beside[] = {
    {"alternate_emails", {"education", "personal", "other", "work", "social"}},
    {"alternate_phones", {"education", "home", "mobile", "work", "other"}},
    {"alternate_addresses", {"secondary", "home", "other", "work", "education"}}};

static void put_beside(struct reading *r, wharf_import *in, wharf_out *out, const struct beside *b)
{
    bool any = false;

    for (size_t i = 0; i < sizeof(b->keys) / sizeof(b->keys[0]) && b->keys[i]; i++) {
        size_t column;
        wharf_str text = contacts_files->text(
            in, wharf_z(W->mem->format(r->req, "%s.%s", b->name, b->keys[i]).p), &column);

        if (!text.n)
            continue;
        if (!any)
            W->json->open(out, b->name, '{');
        any = true;
        W->json->put(out, b->keys[i], wharf_text(text));
    }
    if (any)
        W->json->close(out);
}

static wharf_status row_body(
    struct reading *r, wharf_import *in, bool group, const wharf_json **ret)
{
    static const struct {
        enum use use;
        const char *key;
    } texts[] = {{USE_EMAIL, "email"}, {USE_PHONE, "phone"}, {USE_ADDRESS, "address"}};
    wharf_out *out = W->json->builder(r->req);
    wharf_str groups = file_cell(r, in, USE_GROUPS);

    W->json->open(out, NULL, '{');
    W->json->put(out, "name", wharf_text(file_name(r, in)));
    if (group)
        W->json->put(out, "resource", wharf_text(WHARF_S("contact")));
    for (size_t i = 0; !group && i < sizeof(texts) / sizeof(texts[0]); i++) {
        wharf_str cell = file_cell(r, in, texts[i].use);
        const wharf_json *whole = texts[i].use == USE_ADDRESS && cell.n && cell.p[0] == '{'
                                      ? file_json(r, cell)
                                      : NULL;

        if (cell.n)
            W->json->put(out, texts[i].key, whole ? wharf_value(whole) : wharf_text(cell));
    }
    for (size_t i = 0; !group && i < sizeof(beside) / sizeof(beside[0]); i++)
        put_beside(r, in, out, &beside[i]);
    if (!group && groups.n) {
        W->json->open(out, "groups", '[');
        file_groups(r, groups, out);
        W->json->close(out);
    }
    W->json->open(out, "metadata", '{');
    for (size_t i = 0; i < r->n_columns; i++) {
        wharf_str cell = r->columns[i].use == USE_METADATA ? contacts_files->cell(in, i)
                                                           : WHARF_S("");

        if (cell.n)
            W->json->put(out, r->columns[i].key.p, wharf_text(cell));
    }
    W->json->close(out);
    W->json->close(out);
    return W->json->result(r->req, out, ret);
}

/* Tells whether the column is what a field's path stands for: "metadata.color", "groups.0",
 * "name". */
static bool is_about(const struct column *c, wharf_str path)
{
    static const char *const fields[USES] = {[USE_NAME] = "name",
        [USE_FIRST] = "name",
        [USE_LAST] = "name",
        [USE_EMAIL] = "email",
        [USE_PHONE] = "phone",
        [USE_GROUPS] = "groups",
        [USE_ADDRESS] = "address"};
    const char *dot = memchr(path.p, '.', path.n);
    size_t n = dot ? (size_t)(dot - path.p) : path.n;

    if (c->use == USE_METADATA)
        return n == 8 && !memcmp(path.p, "metadata", 8) &&
               (!dot || wharf_same(c->key, (wharf_str){dot + 1, path.n - n - 1}));
    return fields[c->use] && strlen(fields[c->use]) == n && !memcmp(path.p, fields[c->use], n);
}

/* Notes what the rules of contacts refuse: it is an issue of the row like any other. */
static void late_issue(struct reading *r, const wharf_many *many, size_t i, size_t row)
{
    bool bad[COLUMNS_MAX] = {false};
    wharf_str code, path, message;

    for (size_t k = 0; contacts_many->problem(many, i, k, &code, &path, &message); k++) {
        for (size_t c = 0; c < r->n_columns; c++)
            bad[c] |= is_about(&r->columns[c], path);
    }
    file_issue(r, row, bad);
}

static wharf_status write_chunk(struct writing *w, struct chunk *c)
{
    const wharf_many *many;
    wharf_status s;

    if (!c->n)
        return WHARF_OK;
    s = contacts_many->create(w->r->req, c->resource, c->bodies, c->n, 0, &many);
    for (size_t i = 0; s == WHARF_OK && i < c->n; i++) {
        wharf_str id = contacts_many->id(many, i);

        if (id.n && id.n < ID_ROOM) {
            memcpy(w->ids[c->rows[i]], id.p, id.n);
            w->n_written++;
            continue;
        }
        late_issue(w->r, many, i, c->rows[i]);
    }
    c->n = 0;
    return s;
}

static wharf_status contact_import_take_row(struct writing *w, wharf_import *in, size_t row)
{
    bool group = file_group_row(w->r, in);
    struct chunk *c = group ? &w->groups : &w->contacts;
    wharf_status s = row_body(w->r, in, group, &c->bodies[c->n]);

    c->rows[c->n++] = row;
    for (size_t i = 0; i < w->r->n_columns; i++)
        w->bytes += contacts_files->cell(in, i).n;
    return s;
}

static wharf_status contact_import_write_rows(struct writing *w)
{
    struct reading *r = w->r;
    wharf_import *in = file_rows(r);
    wharf_status s = WHARF_OK;
    size_t row = 0;
    bool more = true;

    while (s == WHARF_OK && more) {
        wharf_scope *scope = W->mem->scope_begin(r->req);

        w->bytes = 0;
        while (s == WHARF_OK && w->contacts.n < AT_ONCE && w->groups.n < AT_ONCE &&
               w->bytes < BYTES_AT_ONCE &&
               (more = contacts_files->next(in) == WHARF_IMPORT_ROW && row < r->n_rows)) {
            if (r->good[row])
                s = contact_import_take_row(w, in, row);
            row++;
        }
        if (s == WHARF_OK)
            s = write_chunk(w, &w->groups);
        if (s == WHARF_OK)
            s = write_chunk(w, &w->contacts);
        W->mem->scope_end(r->req, scope);
    }
    file_keep_warnings(r, in);
    contacts_files->close(in);
    return s;
}

static wharf_status delete_chunk(wharf_req *req, wharf_str *after, size_t *ret_n)
{
    static const char sql[] =
        "SELECT id FROM contacts.contact WHERE organization_id = $1::text AND id > $2::text AND"
        " deleted_at IS NULL ORDER BY id LIMIT $3::integer";
    wharf_val args[3] = {wharf_text(W->req->organization(req)), wharf_text(*after),
        wharf_integer(AT_ONCE)},
              v;
    struct ids ids = {W->mem->alloc(req, AT_ONCE * sizeof(*ids.p)), 0};
    const wharf_many *many;
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql, args, 3, &rows);

    for (size_t i = 0; s == WHARF_OK && i < W->db->count(rows); i++) {
        if (W->db->value(rows, i, 0, WHARF_V_TEXT, &v))
            ids.p[ids.n++] = v.u.s;
    }
    *ret_n = ids.n;
    if (s != WHARF_OK || !ids.n)
        return s;
    memcpy((char *)after->p, ids.p[ids.n - 1].p, ids.p[ids.n - 1].n); /* all ids are equally long */
    after->n = ids.p[ids.n - 1].n;
    s = contacts_many->remove(req, "contact", ids.p, ids.n, WHARF_MANY_ALL, &many);
    return s == WHARF_OK && contacts_many->refused(many)
               ? W->err->fail(req, ERR_CONFLICT, NULL,
                     "Contacts were changed meanwhile; send the file again")
               : s;
}

static wharf_status delete_all(wharf_req *req, size_t *ret_n)
{
    wharf_str after = {W->mem->alloc(req, ID_ROOM), 0};
    wharf_status s = WHARF_OK;

    *ret_n = 0;
    for (size_t n = AT_ONCE; s == WHARF_OK && n == AT_ONCE; *ret_n += n) {
        wharf_scope *scope = W->mem->scope_begin(req);

        s = delete_chunk(req, &after, &n);
        W->mem->scope_end(req, scope);
    }
    return s;
}

static wharf_status contact_import_tell(
    const struct writing *w, wharf_str import_id, size_t deleted)
{
    wharf_req *req = w->r->req;
    wharf_out *out = W->json->builder(req);
    const wharf_json *extra;
    wharf_status s;

    W->json->open(out, NULL, '{');
    W->json->put(out, "created", wharf_integer((int64_t)w->n_written));
    W->json->put(out, "skipped", wharf_integer((int64_t)(w->r->n_rows - w->n_written)));
    W->json->put(out, "deleted", wharf_integer((int64_t)deleted));
    W->json->close(out);
    s = W->json->result(req, out, &extra);
    return s == WHARF_OK
               ? W->event->emit(req, "contact.import_completed", "contact", import_id, extra)
               : s;
}

/* ---- the request ---- */

static int contact_import_by_row(const void *x, const void *y)
{
    const struct issue *a = x, *b = y;

    return (a->row > b->row) - (a->row < b->row);
}

static void put_issues(struct reading *r, wharf_out *out)
{
    qsort(r->issues, r->n_issues, sizeof(*r->issues), contact_import_by_row);
    W->json->open(out, "issues", '[');
    for (size_t i = 0; i < r->n_issues; i++) {
        W->json->open(out, NULL, '{');
        W->json->put(out, "index", wharf_integer((int64_t)r->issues[i].row));
        W->json->open(out, "errors", '[');
        for (size_t k = 0; k < r->issues[i].n_columns; k++)
            W->json->put(out, NULL, wharf_text(r->columns[r->issues[i].columns[k]].header));
        W->json->close(out);
        W->json->close(out);
    }
    W->json->close(out);
}

/* Writes what is told of the file as a whole: columns that are ignored, an encoding that was
 * guessed. */
static void put_warnings(struct reading *r, wharf_out *out)
{
    W->json->open(out, "warnings", '[');
    for (size_t i = 0; i < r->n_warnings; i++) {
        W->json->open(out, NULL, '{');
        W->json->put(out, "code", wharf_text(r->warnings[i].code));
        W->json->put(out, "message", wharf_text(r->warnings[i].message));
        W->json->close(out);
    }
    W->json->close(out);
}

static void contact_import_answer(const struct writing *w, size_t deleted)
{
    wharf_req *req = w->r->req;
    size_t skipped = w->r->n_rows - w->n_written;
    wharf_out *out = W->req->respond(req, 200,
        W->mem
            ->format(req, "%zu contact%s created, %zu row%s skipped", w->n_written,
                w->n_written == 1 ? "" : "s", skipped, skipped == 1 ? "" : "s")
            .p);

    W->json->open(out, NULL, '{');
    W->json->open(out, "ids", '[');
    for (size_t i = 0; i < w->r->n_rows; i++) {
        if (w->ids[i][0])
            W->json->put(out, NULL, wharf_text(wharf_z(w->ids[i])));
    }
    W->json->close(out);
    put_issues(w->r, out);
    put_warnings(w->r, out);
    W->json->put(out, "deleted", wharf_integer((int64_t)deleted));
    W->json->close(out);
}

/* Reads csv_url and overwrite, and nothing else. */
static wharf_status contact_import_read_request(
    wharf_req *req, const wharf_json *body, wharf_str *ret_url, bool *ret_overwrite)
{
    const wharf_json *overwrite = W->json->get(body, "overwrite");

    for (const wharf_json *m = W->json->at(body, 0); m; m = W->json->next(m)) {
        wharf_str key = W->json->key(m);

        if (!wharf_same(key, WHARF_S("csv_url")) && !wharf_same(key, WHARF_S("overwrite")))
            W->err->add(
                req, ERR_VALIDATION_FAILED, key.p, "%s does not go together with csv_url", key.p);
    }
    *ret_overwrite = false;
    if (overwrite && !W->json->truth(overwrite, ret_overwrite))
        W->err->add(req, ERR_VALIDATION_FAILED, "overwrite", "overwrite must be true or false");
    if (!W->json->text(W->json->get(body, "csv_url"), ret_url) || !ret_url->n)
        W->err->add(req, ERR_VALIDATION_FAILED, "csv_url",
            "csv_url must be a data URL or a public https URL");
    return W->err->current(req);
}

/* Replaces all contacts. Without a row that stands in the end nothing was deleted either. */
static wharf_status replace_all(struct writing *w, bool overwrite, size_t *ret_deleted)
{
    wharf_req *req = w->r->req;
    wharf_status s = W->db->begin(req);

    *ret_deleted = 0;
    if (s == WHARF_OK && overwrite)
        s = delete_all(req, ret_deleted);
    if (s == WHARF_OK)
        s = contact_import_write_rows(w);
    if (s == WHARF_OK && w->n_written)
        return W->db->commit(req);
    W->db->rollback(req);
    *ret_deleted = 0;
    return s;
}

static wharf_status contact_import_write_file(struct reading *r, bool overwrite)
{
    wharf_str import_id = W->req->new_id(r->req, "import");
    struct writing *w = W->mem->alloc(r->req, sizeof(*w));
    size_t deleted = 0;
    wharf_status s = WHARF_OK;

    w->r = r;
    w->contacts.resource = "contact";
    w->groups.resource = "group";
    w->ids = W->mem->alloc(r->req, (r->n_rows + 1) * sizeof(*w->ids));
    contacts_events->cause(r->req, import_id, 0, false);
    if (r->n_good)
        s = replace_all(w, overwrite, &deleted);
    if (s == WHARF_OK)
        s = contact_import_tell(w, import_id, deleted);
    if (s == WHARF_OK)
        contact_import_answer(w, deleted);
    return s;
}

static wharf_status import_file(wharf_req *req, const wharf_json *body)
{
    struct reading *r = W->mem->alloc(req, sizeof(*r));
    wharf_str url;
    bool overwrite;
    wharf_status s = contact_import_read_request(req, body, &url, &overwrite);

    if (s == WHARF_OK && overwrite && !contacts_keys->caller(req)->all_locations)
        s = W->err->fail(req, ERR_LOCATION_ACCESS, NULL,
            "Only who reaches all locations may replace all contacts");
    if (s != WHARF_OK)
        return s;
    r->req = req;
    s = contact_file_open(r, url);
    if (s == WHARF_OK)
        s = file_judge(r);
    if (s == WHARF_OK)
        s = contact_import_write_file(r, overwrite);
    file_close(r);
    return s;
}

static bool is_group(const wharf_json *body)
{
    const wharf_json *type = W->json->get(body, "type");
    wharf_str s;

    return type && W->json->text(type, &s) && wharf_same(s, WHARF_S("group"));
}

/* Makes a group of contacts of {"type": "group"} of older clients. */
static wharf_status as_group(wharf_req *req, const wharf_json *body, const wharf_json **ret)
{
    wharf_out *out = W->json->builder(req);

    W->json->open(out, NULL, '{');
    for (const wharf_json *m = W->json->at(body, 0); m; m = W->json->next(m)) {
        if (!wharf_same(W->json->key(m), WHARF_S("type")) &&
            !wharf_same(W->json->key(m), WHARF_S("resource")))
            W->json->put(out, W->json->key(m).p, wharf_value(m));
    }
    W->json->put(out, "resource", wharf_text(WHARF_S("contact")));
    W->json->close(out);
    return W->json->result(req, out, ret);
}

wharf_status contacts_create(wharf_req *req, void *arg)
{
    const wharf_json *body;
    const wharf_rec *rec;
    bool group;
    wharf_out *out;
    wharf_status s = W->req->body(req, &body);

    (void)arg;
    if (s == WHARF_OK && W->json->get(body, "csv_url"))
        return import_file(req, body);
    group = s == WHARF_OK && is_group(body);
    if (group && (s = W->req->need_scope(req, "groups:write")) == WHARF_OK)
        s = as_group(req, body, &body);
    if (s == WHARF_OK)
        s = W->res->create(req, group ? "group" : "contact", body, &rec);
    if (s != WHARF_OK)
        return s;
    W->req->created(
        req, W->mem->format(req, "/v1/%s/%s", group ? "groups" : "contacts", W->res->id(rec).p));
    out = W->req->respond(req, 201, group ? "Group created" : "Contact created");
    W->res->encode(req, out, NULL, rec);
    return WHARF_OK;
}
