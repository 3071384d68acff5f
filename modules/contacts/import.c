/* import.c - POST /v1/contacts: one contact, or with csv_url a whole file of them (spec 02 section 5).
 *
 * The file is read twice: first every row is judged, then, when the file is sound, the good ones are written, all in the request's transaction.
 * Leaves to others: reading files (wharf.import), fetching them (wharf.fetch), the rules of a contact (contact_rules.c).
 */
#include <stdlib.h>
#include <unistd.h>

#include "contacts.gen.h"
#include "contacts.h"

enum {
    ROWS_MAX = 25000,
    FILE_MAX = 25 * 1000 * 1000,
    COLUMNS_MAX = 512,
    NAME_MAX_LENGTH = 191,
    EMAIL_MAX = 254,
    ADDRESS_MAX = 512,
    KEY_MAX = 100,
    VALUE_MAX = 500
};

/* What a column is for. */
enum use {
    USE_NONE,
    USE_NAME,
    USE_FIRST,
    USE_LAST,
    USE_EMAIL,
    USE_PHONE,
    USE_TYPE,
    USE_GROUPS,
    USE_ADDRESS,
    USE_METADATA,
    USES
};

struct column {
    wharf_str header; /* as written */
    enum use use;
    wharf_str key; /* of metadata */
};

struct group_name {
    wharf_str id, name; /* name in lower case */
    size_t same; /* groups of that name */
};

/* E-mails and phones that were met in the file. */
struct seen {
    wharf_str *slots;
    size_t cap;
};

struct reading {
    wharf_req *req;
    wharf_str bytes; /* of the file, or */
    int fd;
    struct column columns[COLUMNS_MAX];
    size_t n_columns;
    struct group_name *groups;
    size_t n_groups;
    struct seen emails, phones;
    char *room; /* for what is kept of them; outlives the scope of a row */
    size_t room_left;
    bool *good; /* by row */
    size_t n_rows, n_good;
    wharf_out *issues;
};

/* ---- the file ---- */

static wharf_status close_at_end(struct reading *r, int fd)
{
    r->fd = dup(fd);
    return r->fd < 0 ? W->err->fail(r->req, "file.not_available", "csv_url", NULL) : WHARF_OK;
}

static wharf_status too_large(wharf_req *req)
{
    return W->err->fail(req, "body.too_large", "csv_url",
        "A file has at most 25,000 rows and 25 MB; send larger ones to POST /v1/batches");
}

static wharf_status open_file(struct reading *r, wharf_str url)
{
    const wharf_fetch_request ask = {.head = WHARF_HEAD(wharf_fetch_request),
        .url = url,
        .flags = WHARF_FETCH_TO_FILE,
        .redirects = 3,
        .max_bytes = FILE_MAX,
        .total_ms = 60000};
    wharf_fetch *f;
    wharf_str type;
    wharf_status s;

    r->fd = -1;
    if (url.n > 5 && (!memcmp(url.p, "data:", 5) || !memcmp(url.p, "DATA:", 5))) {
        if (!contacts_forms->data_url(r->req, url, &type, &r->bytes))
            return W->err->fail(r->req, "batch.base64_invalid", "csv_url", NULL);
        return r->bytes.n > FILE_MAX ? too_large(r->req) : WHARF_OK;
    }
    s = contacts_web->get(r->req, &ask, "csv_url", &f);
    return s == WHARF_OK ? close_at_end(r, contacts_web->file(f)) : s;
}

static wharf_import *open_rows(struct reading *r)
{
    return contacts_files->open(r->req, "contact", r->fd, r->bytes, NULL);
}

/* What is wrong with the file as a whole. */
static wharf_status file_problem(struct reading *r, wharf_import *in)
{
    wharf_str code, message;

    if (!contacts_files->problem(in, &code, &message))
        return W->err->fail(r->req, "file.unsupported_type", "csv_url", NULL);
    if (wharf_same(code, WHARF_S("batch.header_missing")))
        return W->err->fail(r->req, code.p, "Name", "%s", message.p);
    return W->err->fail(r->req, code.p, "csv_url", "%s", message.p);
}

/* ---- columns ---- */

/* Letters and digits only, in lower case. */
static size_t bare(wharf_str s, char *out, size_t room)
{
    size_t n = 0;

    for (size_t i = 0; i < s.n && n + 1 < room; i++) {
        char c = s.p[i];

        if (c == ' ' || c == '_' || c == '-')
            continue;
        out[n++] = (char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
    }
    out[n] = 0;
    return n;
}

static enum use use_of(wharf_str header, wharf_str *ret_key)
{
    static const char *const names[USES] = {[USE_NAME] = "name",
        [USE_FIRST] = "firstname",
        [USE_LAST] = "lastname",
        [USE_EMAIL] = "email",
        [USE_PHONE] = "phone",
        [USE_TYPE] = "type",
        [USE_GROUPS] = "groups",
        [USE_ADDRESS] = "address"};
    char text[64];

    bare(header, text, sizeof(text));
    for (int u = USE_NAME; u < USE_METADATA; u++) {
        if (!strcmp(text, names[u]))
            return (enum use)u;
    }
    if (!strncmp(text, "metadata.", 9) && header.n > 9) {
        const char *dot = memchr(header.p, '.', header.n);

        *ret_key = (wharf_str){dot + 1, header.n - (size_t)(dot + 1 - header.p)};
        return USE_METADATA;
    }
    return USE_NONE;
}

static wharf_status read_columns(struct reading *r, wharf_import *in)
{
    bool has[USES] = {false};
    wharf_str header, path;

    for (r->n_columns = 0; r->n_columns < COLUMNS_MAX && contacts_files->column(in, r->n_columns, &header, &path);
         r->n_columns++) {
        struct column *c = &r->columns[r->n_columns];

        c->header = W->mem->dup(r->req, header.p, header.n);
        c->use = use_of(c->header, &c->key);
        if (c->use != USE_NONE && c->use != USE_METADATA && has[c->use])
            return W->err->fail(r->req, "batch.header_duplicate", c->header.p, NULL);
        has[c->use] = true;
    }
    if (!has[USE_NAME] && !(has[USE_FIRST] && has[USE_LAST]))
        return W->err->fail(r->req, "batch.header_missing", "Name", NULL);
    return WHARF_OK;
}

/* ---- groups by id or name ---- */

static wharf_str lowered(wharf_req *req, wharf_str s)
{
    char *p = W->mem->alloc(req, s.n + 1);

    for (size_t i = 0; i < s.n; i++)
        p[i] = (char)(s.p[i] >= 'A' && s.p[i] <= 'Z' ? s.p[i] + ('a' - 'A') : s.p[i]);
    return (wharf_str){p, s.n};
}

static wharf_status read_groups(struct reading *r)
{
    static const char sql[] = "SELECT id, name, count(*) OVER (PARTITION BY lower(name)) FROM contacts.contact_group"
                              " WHERE organization_id = $1::text AND resource = 'contact' AND deleted_at IS NULL";
    wharf_val organization = wharf_text(W->req->organization(r->req)), v;
    const wharf_rows *rows;
    wharf_status s = W->db->query(r->req, sql, &organization, 1, &rows);

    if (s != WHARF_OK)
        return s;
    r->n_groups = W->db->count(rows);
    r->groups = W->mem->alloc(r->req, (r->n_groups + 1) * sizeof(*r->groups));
    for (size_t i = 0; i < r->n_groups; i++) {
        W->db->value(rows, i, 0, WHARF_V_TEXT, &v);
        r->groups[i].id = v.u.s;
        W->db->value(rows, i, 1, WHARF_V_TEXT, &v);
        r->groups[i].name = lowered(r->req, v.u.s);
        W->db->value(rows, i, 2, WHARF_V_INT, &v);
        r->groups[i].same = (size_t)v.u.i;
    }
    return WHARF_OK;
}

static const struct group_name *find_group(const struct reading *r, wharf_str text)
{
    wharf_str low = lowered(r->req, text);

    for (size_t i = 0; i < r->n_groups; i++) {
        if (wharf_same(r->groups[i].id, text) || (wharf_same(r->groups[i].name, low) && r->groups[i].same == 1))
            return &r->groups[i];
    }
    return NULL;
}

/* Ids of a cell "Crew; Drivers"; false: one of them is nobody's, or several's. out may be NULL. */
static bool read_group_cell(const struct reading *r, wharf_str cell, wharf_out *out)
{
    const char *p = cell.p, *end = cell.p + cell.n;
    struct ids ids = {W->mem->alloc(r->req, (cell.n / 2 + 2) * sizeof(*ids.p)), 0};

    while (p < end) {
        const char *stop = p;
        const struct group_name *g;
        wharf_str one;

        while (stop < end && *stop != ';' && *stop != ',')
            stop++;
        one = (wharf_str){p, (size_t)(stop - p)};
        while (one.n && *one.p == ' ')
            one = (wharf_str){one.p + 1, one.n - 1};
        while (one.n && one.p[one.n - 1] == ' ')
            one.n--;
        p = stop + 1;
        if (!one.n)
            continue;
        g = find_group(r, one);
        if (!g)
            return false;
        if (!ids_have(&ids, g->id))
            ids.p[ids.n++] = g->id;
    }
    for (size_t i = 0; out && i < ids.n; i++)
        W->json->put(out, NULL, wharf_text(ids.p[i]));
    return ids.n <= GROUPS_MAX;
}

/* ---- judging a row ---- */

static uint32_t hash_of(wharf_str s)
{
    uint32_t h = 2166136261u;

    for (size_t i = 0; i < s.n; i++)
        h = (h ^ (unsigned char)s.p[i]) * 16777619u;
    return h;
}

enum { SEEN_SLOTS = 65536 /* twice ROWS_MAX and more */, ROOM = 65536, ROW_ROOM = 2048 };

/* Before the scope of a row. */
static void make_room(struct reading *r)
{
    if (!r->emails.slots) {
        r->emails = (struct seen){W->mem->alloc(r->req, SEEN_SLOTS * sizeof(wharf_str)), SEEN_SLOTS};
        r->phones = (struct seen){W->mem->alloc(r->req, SEEN_SLOTS * sizeof(wharf_str)), SEEN_SLOTS};
    }
    if (r->room_left < ROW_ROOM) {
        r->room = W->mem->alloc(r->req, ROOM);
        r->room_left = ROOM;
    }
}

static wharf_str keep(struct reading *r, wharf_str s)
{
    char *p = r->room;

    memcpy(p, s.p, s.n);
    r->room += s.n;
    r->room_left -= s.n;
    return (wharf_str){p, s.n};
}

/* True: it was there before. An e-mail or phone that is good is short. */
static bool met_before(struct reading *r, struct seen *seen, wharf_str s)
{
    for (size_t i = hash_of(s) & (seen->cap - 1);; i = (i + 1) & (seen->cap - 1)) {
        if (!seen->slots[i].p) {
            seen->slots[i] = keep(r, s);
            return false;
        }
        if (wharf_same(seen->slots[i], s))
            return true;
    }
}

static size_t length(wharf_str s)
{
    size_t n = 0;

    for (size_t i = 0; i < s.n; i++)
        n += ((unsigned char)s.p[i] & 0xC0) != 0x80;
    return n;
}

/* What the row says for a use; "" when there is no such column. */
static wharf_str cell_of(const struct reading *r, wharf_import *in, enum use use)
{
    for (size_t i = 0; i < r->n_columns; i++) {
        if (r->columns[i].use == use)
            return contacts_files->cell(in, i);
    }
    return WHARF_S("");
}

static wharf_str full_name(const struct reading *r, wharf_import *in)
{
    wharf_str name = cell_of(r, in, USE_NAME), first = cell_of(r, in, USE_FIRST), last = cell_of(r, in, USE_LAST);

    if (name.n || !(first.n + last.n))
        return name;
    return W->mem->format(
        r->req, "%.*s%s%.*s", (int)first.n, first.p, first.n && last.n ? " " : "", (int)last.n, last.p);
}

static bool type_is(wharf_str s, const char *word)
{
    char text[16];

    return s.n < sizeof(text) && bare(s, text, sizeof(text)) == strlen(word) && !strcmp(text, word);
}

/* Columns whose cell is bad, in their order; of a missing name both of its halves. */
static void judge(struct reading *r, wharf_import *in, bool bad[COLUMNS_MAX])
{
    wharf_str name = full_name(r, in), phone;
    bool no_name = !name.n || length(name) > NAME_MAX_LENGTH, whole = false;

    for (size_t i = 0; i < r->n_columns; i++)
        whole |= r->columns[i].use == USE_NAME;
    for (size_t i = 0; i < r->n_columns; i++) {
        wharf_str cell = contacts_files->cell(in, i);

        switch (r->columns[i].use) {
        case USE_NAME:
            bad[i] = no_name;
            break;
        case USE_FIRST:
        case USE_LAST:
            bad[i] = no_name && !whole;
            break;
        case USE_EMAIL:
            bad[i] = cell.n && (length(cell) > EMAIL_MAX || !contacts_org->email(cell));
            break;
        case USE_PHONE:
            bad[i] = cell.n && !contacts_org->phone(r->req, cell, &phone);
            break;
        case USE_TYPE:
            bad[i] = cell.n && !type_is(cell, "person") && !type_is(cell, "group");
            break;
        case USE_GROUPS:
            bad[i] = cell.n && !read_group_cell(r, cell, NULL);
            break;
        case USE_ADDRESS:
            bad[i] = length(cell) > ADDRESS_MAX;
            break;
        case USE_METADATA:
            bad[i] = cell.n && (length(cell) > VALUE_MAX || length(r->columns[i].key) > KEY_MAX);
            break;
        case USE_NONE:
        case USES:
            break;
        }
    }
}

static void repeated(struct reading *r, wharf_import *in, bool bad[COLUMNS_MAX])
{
    for (size_t i = 0; i < r->n_columns; i++) {
        wharf_str cell = contacts_files->cell(in, i), form;

        if (r->columns[i].use == USE_EMAIL && cell.n)
            bad[i] = met_before(r, &r->emails, lowered(r->req, cell));
        else if (r->columns[i].use == USE_PHONE && cell.n && contacts_org->phone(r->req, cell, &form))
            bad[i] = met_before(r, &r->phones, form);
    }
}

static bool any(const bool bad[COLUMNS_MAX], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (bad[i])
            return true;
    }
    return false;
}

static void put_issue(struct reading *r, size_t row, const bool bad[COLUMNS_MAX])
{
    W->json->open(r->issues, NULL, '{');
    W->json->put(r->issues, "index", wharf_integer((int64_t)row));
    W->json->open(r->issues, "errors", '[');
    for (size_t i = 0; i < r->n_columns; i++) {
        if (bad[i])
            W->json->put(r->issues, NULL, wharf_text(r->columns[i].header));
    }
    W->json->close(r->issues);
    W->json->close(r->issues);
}

static void judge_row(struct reading *r, wharf_import *in)
{
    bool bad[COLUMNS_MAX] = {false}, broken;
    wharf_str code, path, message;
    wharf_scope *scope;

    make_room(r);
    scope = W->mem->scope_begin(r->req);
    broken = contacts_files->row_error(in, 0, &code, &path, &message);
    judge(r, in, bad);
    if (!broken && !any(bad, r->n_columns))
        repeated(r, in, bad); /* only rows that are good count as the first */
    r->good[r->n_rows] = !broken && !any(bad, r->n_columns);
    if (r->good[r->n_rows])
        r->n_good++;
    else
        put_issue(r, r->n_rows, bad);
    r->n_rows++;
    W->mem->scope_end(r->req, scope);
}

static wharf_status judge_file(struct reading *r)
{
    wharf_import *in = open_rows(r);
    uint32_t event;
    wharf_status s = WHARF_OK;

    r->good = W->mem->alloc(r->req, ROWS_MAX * sizeof(*r->good));
    W->json->open(r->issues, NULL, '[');
    for (bool first = true; (event = contacts_files->next(in)) == WHARF_IMPORT_ROW; first = false) {
        if (first) {
            if (wharf_same(contacts_files->info(in, "format"), WHARF_S("json")))
                return W->err->fail(r->req, "file.unsupported_type", "csv_url", NULL);
            s = read_columns(r, in);
        }
        if (s != WHARF_OK)
            return s;
        if (r->n_rows == ROWS_MAX)
            return too_large(r->req);
        judge_row(r, in);
    }
    W->json->close(r->issues);
    if (event == WHARF_IMPORT_FAILED)
        s = file_problem(r, in);
    else if (!r->n_rows)
        s = W->err->fail(r->req, "batch.data_empty", "csv_url", NULL);
    contacts_files->close(in);
    return s;
}

/* ---- writing ---- */

static wharf_status row_body(struct reading *r, wharf_import *in, bool group, const wharf_json **ret)
{
    static const struct {
        enum use use;
        const char *key;
    } texts[] = {{USE_EMAIL, "email"}, {USE_PHONE, "phone"}, {USE_ADDRESS, "address"}};
    wharf_out *out = W->json->writer(r->req);
    wharf_str groups = cell_of(r, in, USE_GROUPS);

    W->json->open(out, NULL, '{');
    W->json->put(out, "name", wharf_text(full_name(r, in)));
    if (group)
        W->json->put(out, "resource", wharf_text(WHARF_S("contact")));
    for (size_t i = 0; !group && i < sizeof(texts) / sizeof(texts[0]); i++) {
        wharf_str cell = cell_of(r, in, texts[i].use);

        if (cell.n)
            W->json->put(out, texts[i].key, wharf_text(cell));
    }
    if (!group && groups.n) {
        W->json->open(out, "groups", '[');
        read_group_cell(r, groups, out);
        W->json->close(out);
    }
    W->json->open(out, "metadata", '{');
    for (size_t i = 0; i < r->n_columns; i++) {
        wharf_str cell = r->columns[i].use == USE_METADATA ? contacts_files->cell(in, i) : WHARF_S("");

        if (cell.n)
            W->json->put(out, r->columns[i].key.p, wharf_text(cell));
    }
    W->json->close(out);
    W->json->close(out);
    return W->json->result(r->req, out, ret);
}

static wharf_status write_rows(struct reading *r, wharf_out *ids)
{
    wharf_import *in = open_rows(r);
    wharf_status s = WHARF_OK;

    W->json->open(ids, NULL, '[');
    for (size_t row = 0; s == WHARF_OK && contacts_files->next(in) == WHARF_IMPORT_ROW; row++) {
        const wharf_json *body;
        const wharf_rec *rec;
        wharf_scope *scope;
        bool group;

        if (row >= r->n_rows || !r->good[row])
            continue;
        scope = W->mem->scope_begin(r->req);
        group = type_is(cell_of(r, in, USE_TYPE), "group");
        s = row_body(r, in, group, &body);
        if (s == WHARF_OK)
            s = W->res->create(r->req, group ? "group" : "contact", body, &rec);
        if (s == WHARF_OK)
            W->json->put(ids, NULL, wharf_text(W->res->id(rec)));
        W->mem->scope_end(r->req, scope);
    }
    W->json->close(ids);
    contacts_files->close(in);
    return s;
}

static wharf_status delete_all(wharf_req *req, size_t *ret_n)
{
    static const char sql[] =
        "SELECT id FROM contacts.contact WHERE organization_id = $1::text AND deleted_at IS NULL ORDER BY id";
    wharf_val organization = wharf_text(W->req->organization(req)), v;
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql, &organization, 1, &rows);

    *ret_n = s == WHARF_OK ? W->db->count(rows) : 0;
    for (size_t i = 0; s == WHARF_OK && i < *ret_n; i++) {
        wharf_scope *scope = W->mem->scope_begin(req);

        W->db->value(rows, i, 0, WHARF_V_TEXT, &v);
        s = W->res->remove(req, "contact", v.u.s);
        W->mem->scope_end(req, scope);
    }
    return s;
}

static wharf_status tell(struct reading *r, wharf_str import_id, size_t deleted)
{
    wharf_out *out = W->json->writer(r->req);
    const wharf_json *extra;
    wharf_status s;

    W->json->open(out, NULL, '{');
    W->json->put(out, "created", wharf_integer((int64_t)r->n_good));
    W->json->put(out, "skipped", wharf_integer((int64_t)(r->n_rows - r->n_good)));
    W->json->put(out, "deleted", wharf_integer((int64_t)deleted));
    W->json->close(out);
    s = W->json->result(r->req, out, &extra);
    return s == WHARF_OK ? W->event->emit(r->req, "contact.import_completed", "contact", import_id, extra) : s;
}

/* ---- the request ---- */

static wharf_status answer(struct reading *r, wharf_out *ids, size_t deleted)
{
    size_t skipped = r->n_rows - r->n_good;
    const wharf_json *list, *issues;
    wharf_out *out;

    if (W->json->result(r->req, ids, &list) != WHARF_OK || W->json->result(r->req, r->issues, &issues) != WHARF_OK)
        return W->err->current(r->req);
    out = W->req->respond(r->req, 200,
        W->mem
            ->format(r->req, "%zu contact%s created, %zu row%s skipped", r->n_good, r->n_good == 1 ? "" : "s", skipped,
                skipped == 1 ? "" : "s")
            .p);
    W->json->open(out, NULL, '{');
    W->json->put(out, "ids", wharf_value(list));
    W->json->put(out, "issues", wharf_value(issues));
    W->json->put(out, "deleted", wharf_integer((int64_t)deleted));
    W->json->close(out);
    return WHARF_OK;
}

/* csv_url and overwrite, and nothing else. */
static wharf_status read_request(wharf_req *req, const wharf_json *body, wharf_str *ret_url, bool *ret_overwrite)
{
    const wharf_json *overwrite = W->json->get(body, "overwrite");

    for (const wharf_json *m = W->json->at(body, 0); m; m = W->json->next(m)) {
        wharf_str key = W->json->key(m);

        if (!wharf_same(key, WHARF_S("csv_url")) && !wharf_same(key, WHARF_S("overwrite")))
            W->err->add(req, "validation.failed", key.p, "%s does not go together with csv_url", key.p);
    }
    *ret_overwrite = false;
    if (overwrite && !W->json->truth(overwrite, ret_overwrite))
        W->err->add(req, "validation.failed", "overwrite", "overwrite must be true or false");
    if (!W->json->text(W->json->get(body, "csv_url"), ret_url) || !ret_url->n)
        W->err->add(req, "validation.failed", "csv_url", "csv_url must be a data URL or a public https URL");
    return W->err->current(req);
}

static wharf_status import_file(wharf_req *req, const wharf_json *body)
{
    struct reading *r = W->mem->alloc(req, sizeof(*r));
    wharf_out *ids = W->json->writer(req);
    wharf_str url, import_id = W->req->new_id(req, "import");
    size_t deleted = 0;
    bool overwrite;
    wharf_status s = read_request(req, body, &url, &overwrite);

    if (s == WHARF_OK && overwrite && !contacts_keys->caller(req)->all_locations)
        s = W->err->fail(req, "location_access", NULL, "Only who reaches all locations may replace all contacts");
    if (s != WHARF_OK)
        return s;
    r->req = req;
    r->issues = W->json->writer(req);
    s = open_file(r, url);
    if (s == WHARF_OK)
        s = read_groups(r);
    if (s == WHARF_OK)
        s = judge_file(r);
    if (s == WHARF_OK) {
        contacts_events->cause(req, import_id, 0, false);
        if (overwrite && r->n_good)
            s = delete_all(req, &deleted);
    }
    if (s == WHARF_OK)
        s = write_rows(r, ids);
    if (s == WHARF_OK)
        s = tell(r, import_id, deleted);
    if (s == WHARF_OK)
        s = answer(r, ids, deleted);
    if (r->fd >= 0)
        close(r->fd);
    return s;
}

static bool is_group(const wharf_json *body)
{
    const wharf_json *type = W->json->get(body, "type");
    wharf_str s;

    return type && W->json->text(type, &s) && wharf_same(s, WHARF_S("group"));
}

/* {"type": "group"} of older clients: a group of contacts. */
static wharf_status as_group(wharf_req *req, const wharf_json *body, const wharf_json **ret)
{
    wharf_out *out = W->json->writer(req);

    W->json->open(out, NULL, '{');
    for (const wharf_json *m = W->json->at(body, 0); m; m = W->json->next(m)) {
        if (!wharf_same(W->json->key(m), WHARF_S("type")) && !wharf_same(W->json->key(m), WHARF_S("resource")))
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
    W->req->created(req, W->mem->format(req, "/v1/%s/%s", group ? "groups" : "contacts", W->res->id(rec).p));
    out = W->req->respond(req, 201, group ? "Group created" : "Contact created");
    W->res->encode(req, out, NULL, rec);
    return WHARF_OK;
}
