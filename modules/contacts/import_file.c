/* import_file.c - a file of contacts is opened and judged row by row (spec 02 section 5). See
 * contact_import.h.
 *
 * Leaves to others: reading files (wharf.import), fetching them (wharf.fetch), writing the rows
 * (contact_import.c). */
#include <stdlib.h>
#include <unistd.h>

#include "contact_import.h"
#include "wharf/errors.h"

enum {
    NAME_MAX_LENGTH = 191, /* letters of a name */
    EMAIL_MAX = 254, /* letters of an e-mail address */
    ADDRESS_MAX = 512, /* letters of an address */
    KEY_MAX = 100, /* letters of a key of metadata */
    VALUE_MAX = 500 /* letters of a value of metadata */
};

/* ---- the file ---- */

static wharf_status close_at_end(struct reading *r, int fd)
{
    r->fd = dup(fd);
    return r->fd < 0 ? W->err->fail(r->req, ERR_FILE_NOT_AVAILABLE, "csv_url", NULL) : WHARF_OK;
}

static wharf_status import_file_too_large(wharf_req *req)
{
    const wharf_str said = W->mem->format(req,
        "A file has at most %d rows and %d MB; send larger ones to POST /v1/batches", ROWS_MAX,
        (int)(FILE_MAX / 1000000));

    return W->err->fail(req, ERR_BODY_TOO_LARGE, "csv_url", said.p);
}

/* Makes {"file": {"encoding": ...}} when the data URL has a charset. */
static wharf_status import_file_read_options(struct reading *r, wharf_str type)
{
    wharf_str charset = contacts_forms->type_param(r->req, type, "charset");
    wharf_out *out = W->json->builder(r->req);

    if (!charset.n)
        return WHARF_OK;
    W->json->open(out, NULL, '{');
    W->json->open(out, "file", '{');
    W->json->put(out, "encoding", wharf_text(charset));
    W->json->close(out);
    W->json->close(out);
    return W->json->result(r->req, out, &r->options);
}

wharf_status contact_file_open(struct reading *r, wharf_str url)
{
    const wharf_fetch_request ask = {.head = WHARF_HEAD(wharf_fetch_request),
        .url = url,
        .flags = WHARF_FETCH_TO_FILE,
        .redirects = 3,
        .max_bytes = FILE_MAX,
        .total_ms = 60000}; /* a file from the web may take */
    wharf_fetch *f;
    wharf_str type;
    wharf_status s;

    r->fd = -1;
    if (url.n > 5 && (!memcmp(url.p, "data:", 5) || !memcmp(url.p, "DATA:", 5))) {
        if (!contacts_forms->data_url(r->req, url, &type, &r->bytes))
            return W->err->fail(r->req, ERR_BATCH_BASE64_INVALID, "csv_url", NULL);
        return r->bytes.n > FILE_MAX ? import_file_too_large(r->req)
                                     : import_file_read_options(r, type);
    }
    s = contacts_web->get(r->req, &ask, "csv_url", &f);
    return s == WHARF_OK ? close_at_end(r, contacts_web->file(f)) : s;
}

wharf_import *file_rows(struct reading *r)
{
    return contacts_files->open(r->req, "contact", r->fd, r->bytes, r->options);
}

/* Tells whether the file is JSON, which has no columns: batches take it. */
static bool is_json(wharf_import *in)
{
    return wharf_same(contacts_files->info(in, "format"), WHARF_S("json"));
}

/* Tells what is wrong with the file as a whole. */
static wharf_status import_file_problem(struct reading *r, wharf_import *in)
{
    wharf_str code, message;

    if (is_json(in) || !contacts_files->problem(in, &code, &message))
        return W->err->fail(r->req, ERR_FILE_UNSUPPORTED_TYPE, "csv_url", NULL);
    if (wharf_same(code, WHARF_S(ERR_BATCH_HEADER_MISSING)))
        return W->err->fail(r->req, code.p, "Name", "%s", message.p);
    return W->err->fail(r->req, code.p, "csv_url", "%s", message.p);
}

/* ---- columns ---- */

/* Writes letters and digits only, in lower case. Returns how many. */
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

/* Returns the field that columns of a use fill, also those with other names. NULL: such columns are
 * known by their names alone. */
static const char *path_of_use(enum use use)
{
    static const char *const paths[USES] = {[USE_NAME] = "name",
        [USE_FIRST] = "first_name",
        [USE_LAST] = "last_name",
        [USE_EMAIL] = "email",
        [USE_PHONE] = "phone",
        [USE_GROUPS] = "groups",
        [USE_ADDRESS] = "address.formatted_address"};

    return paths[use];
}

/* Returns the use of a column whose header is another name of a field. */
static enum use use_of_path(wharf_str path)
{
    for (int u = USE_NAME; u < USE_METADATA; u++) {
        const char *known = path_of_use((enum use)u);

        if (known && path.n && wharf_same(path, wharf_z(known)))
            return (enum use)u;
    }
    return USE_NONE;
}

static wharf_status import_file_read_columns(struct reading *r, wharf_import *in)
{
    bool has[USES] = {false}, own[USES] = {false};
    wharf_str header, path;

    for (r->n_columns = 0;
         r->n_columns < COLUMNS_MAX && contacts_files->column(in, r->n_columns, &header, &path);
         r->n_columns++) {
        struct column *c = &r->columns[r->n_columns];

        c->header = W->mem->dup(r->req, header.p, header.n);
        c->use = use_of(c->header, &c->key);
        if (c->use != USE_NONE && c->use != USE_METADATA && own[c->use])
            return W->err->fail(r->req, ERR_BATCH_HEADER_DUPLICATE, c->header.p, NULL);
        own[c->use] = c->use != USE_NONE;
        c->use = c->use == USE_NONE ? use_of_path(path) : c->use;
        has[c->use] = true;
    }
    if (!has[USE_NAME] && !(has[USE_FIRST] && has[USE_LAST]))
        return W->err->fail(r->req, ERR_BATCH_HEADER_MISSING, "Name", NULL);
    return WHARF_OK;
}

/* ---- groups by id or name ---- */

static int import_file_compare(wharf_str a, wharf_str b)
{
    int order = memcmp(a.p, b.p, a.n < b.n ? a.n : b.n);

    return order ? order : (a.n > b.n) - (a.n < b.n);
}

static int import_file_by_id(const void *x, const void *y)
{
    return import_file_compare(
        ((const struct group_name *)x)->id, ((const struct group_name *)y)->id);
}

static int import_file_by_name(const void *x, const void *y)
{
    return import_file_compare(
        ((const struct group_name *)x)->name, ((const struct group_name *)y)->name);
}

static wharf_status read_groups(struct reading *r)
{
    static const char sql[] =
        "SELECT id, name FROM contacts.contact_group"
        " WHERE organization_id = $1::text AND resource = 'contact' AND deleted_at IS NULL";
    wharf_val organization = wharf_text(W->req->organization(r->req)), v;
    const wharf_rows *rows;
    wharf_status s = W->db->query(r->req, sql, &organization, 1, &rows);

    if (s != WHARF_OK)
        return s;
    r->n_groups = W->db->count(rows);
    r->by_id = W->mem->alloc(r->req, (r->n_groups + 1) * sizeof(*r->by_id));
    r->by_name = W->mem->alloc(r->req, (r->n_groups + 1) * sizeof(*r->by_name));
    for (size_t i = 0; i < r->n_groups; i++) {
        W->db->value(rows, i, 0, WHARF_V_TEXT, &v);
        r->by_id[i].id = v.u.s;
        W->db->value(rows, i, 1, WHARF_V_TEXT, &v);
        r->by_id[i].name = text_lower(r->req, v.u.s);
    }
    memcpy(r->by_name, r->by_id, r->n_groups * sizeof(*r->by_name));
    qsort(r->by_id, r->n_groups, sizeof(*r->by_id), import_file_by_id);
    qsort(r->by_name, r->n_groups, sizeof(*r->by_name), import_file_by_name);
    return WHARF_OK;
}

/* Finds a group by its id, or by a name that no other has. */
static const struct group_name *find_group(const struct reading *r, wharf_str text)
{
    const struct group_name key = {text, text_lower(r->req, text)},
                            *last = r->by_name + r->n_groups, *g;

    g = r->n_groups ? bsearch(&key, r->by_id, r->n_groups, sizeof(key), import_file_by_id) : NULL;
    if (g || !r->n_groups)
        return g;
    g = bsearch(&key, r->by_name, r->n_groups, sizeof(key), import_file_by_name);
    if (g && ((g > r->by_name && import_file_by_name(g, g - 1) == 0) ||
                 (g + 1 < last && import_file_by_name(g, g + 1) == 0)))
        return NULL;
    return g;
}

const wharf_json *file_json(const struct reading *r, wharf_str cell)
{
    const wharf_json *value = NULL;

    if (W->json->parse(r->req, cell, &value) == WHARF_OK)
        return value;
    W->err->clear(r->req); /* it is a text that begins so */
    return NULL;
}

/* Finds the groups of a cell that is JSON, as exports write it: [{"id":…,"name":…}]. */
static bool json_groups(const struct reading *r, const wharf_json *list, struct ids *ids)
{
    for (const wharf_json *e = W->json->at(list, 0); e; e = W->json->next(e)) {
        wharf_str s;
        const struct group_name *g;

        if (!W->json->text(e, &s))
            s = json_text(e, "id");
        g = s.n ? find_group(r, s) : NULL;
        if (!g)
            return false;
        if (!ids_have(ids, g->id))
            ids->p[ids->n++] = g->id;
    }
    return true;
}

bool file_groups(const struct reading *r, wharf_str cell, wharf_out *out)
{
    const wharf_json *list = cell.n && cell.p[0] == '[' ? file_json(r, cell) : NULL;
    const char *p = cell.p, *end = cell.p + cell.n;
    struct ids ids = {W->mem->alloc(r->req, (cell.n / 2 + 2) * sizeof(*ids.p)), 0};

    if (list && !json_groups(r, list, &ids))
        return false;
    while (!list && p < end) {
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

enum { SEEN_SLOTS = 65536, ROOM = 65536, ALIGN = 16 };
_Static_assert(SEEN_SLOTS >= 2 * ROWS_MAX, "a table that is half empty is searched in a few steps");

struct room {
    struct room *next;
    _Alignas(ALIGN) char bytes[ROOM];
};

/* Allocates n bytes, a few KiB at most. Returns NULL when there is no memory, which is told. */
static void *keep_bytes(struct reading *r, size_t n)
{
    char *p;

    n = (n + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    if (r->room_left < n) {
        struct room *more = malloc(sizeof(*more));

        if (!more) {
            W->err->fail(r->req, ERR_OVERLOADED, NULL, NULL);
            return NULL;
        }
        more->next = r->rooms;
        r->rooms = more;
        r->room = more->bytes;
        r->room_left = ROOM;
    }
    p = r->room;
    r->room += n;
    r->room_left -= n;
    return p;
}

void file_close(struct reading *r)
{
    while (r->rooms) {
        struct room *next = r->rooms->next;

        free(r->rooms);
        r->rooms = next;
    }
    if (r->fd >= 0)
        close(r->fd);
    r->fd = -1;
}

/* Returns true when the text was there before. An e-mail or phone that is good is short. The hash
 * is keyed: who sends the file can not make them meet. */
static bool met_before(struct reading *r, struct seen *seen, wharf_str s)
{
    for (size_t i = contacts_forms->hash(s) & (seen->cap - 1);; i = (i + 1) & (seen->cap - 1)) {
        if (!seen->slots[i].p) {
            char *p = keep_bytes(r, s.n + 1);

            if (p)
                seen->slots[i] = (wharf_str){memcpy(p, s.p, s.n), s.n};
            return false;
        }
        if (wharf_same(seen->slots[i], s))
            return true;
    }
}

static size_t import_file_length(wharf_str s)
{
    size_t n = 0;

    for (size_t i = 0; i < s.n; i++)
        n += ((unsigned char)s.p[i] & 0xC0) != 0x80;
    return n;
}

wharf_str file_cell(const struct reading *r, wharf_import *in, enum use use)
{
    const char *path = path_of_use(use);
    size_t column;

    for (size_t i = 0; i < r->n_columns && !path; i++) {
        if (r->columns[i].use == use)
            return contacts_files->cell(in, i);
    }
    return path ? contacts_files->text(in, wharf_z(path), &column) : WHARF_S("");
}

wharf_str file_name(const struct reading *r, wharf_import *in)
{
    wharf_str name = file_cell(r, in, USE_NAME), first = file_cell(r, in, USE_FIRST),
              last = file_cell(r, in, USE_LAST);

    if (name.n || !(first.n + last.n))
        return name;
    return W->mem->format(r->req, "%.*s%s%.*s", (int)first.n, first.p, first.n && last.n ? " " : "",
        (int)last.n, last.p);
}

static bool import_file_type_is(wharf_str s, const char *word)
{
    char text[16];

    return s.n < sizeof(text) && bare(s, text, sizeof(text)) == strlen(word) && !strcmp(text, word);
}

bool file_group_row(const struct reading *r, wharf_import *in)
{
    return import_file_type_is(file_cell(r, in, USE_TYPE), "group");
}

/* Judges which columns have a bad cell, in their order; of a missing name both of its halves. */
static void import_file_judge(struct reading *r, wharf_import *in, bool bad[COLUMNS_MAX])
{
    wharf_str name = file_name(r, in), phone;
    bool no_name = !name.n || import_file_length(name) > NAME_MAX_LENGTH, whole = false;

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
            cell = email_bare(cell);
            bad[i] = cell.n && (import_file_length(cell) > EMAIL_MAX || !contacts_org->email(cell));
            break;
        case USE_PHONE:
            bad[i] = cell.n && !contacts_org->phone_in(r->req, r->country, cell, &phone);
            break;
        case USE_TYPE:
            bad[i] = cell.n && !import_file_type_is(cell, "person") &&
                     !import_file_type_is(cell, "group");
            break;
        case USE_GROUPS:
            bad[i] = cell.n && !file_groups(r, cell, NULL);
            break;
        case USE_ADDRESS:
            bad[i] = import_file_length(cell) > ADDRESS_MAX;
            break;
        case USE_METADATA:
            bad[i] = cell.n && (import_file_length(cell) > VALUE_MAX ||
                                   import_file_length(r->columns[i].key) > KEY_MAX);
            break;
        case USE_NONE:
        case USES:
            break;
        }
    }
}

static void import_file_repeated(struct reading *r, wharf_import *in, bool bad[COLUMNS_MAX])
{
    size_t email_at, phone_at;
    wharf_str form, email = contacts_files->text(in, WHARF_S("email"), &email_at),
                    phone = contacts_files->text(in, WHARF_S("phone"), &phone_at);

    if (email.n)
        bad[email_at] = met_before(r, &r->emails, text_lower(r->req, email_bare(email)));
    if (phone.n && contacts_org->phone_in(r->req, r->country, phone, &form))
        bad[phone_at] = met_before(r, &r->phones, form);
}

static bool any(const bool bad[COLUMNS_MAX], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (bad[i])
            return true;
    }
    return false;
}

void file_issue(struct reading *r, size_t row, const bool bad[COLUMNS_MAX])
{
    uint16_t *columns = keep_bytes(r, COLUMNS_MAX * sizeof(*columns));
    size_t n = 0;

    if (!columns)
        return;
    for (size_t i = 0; i < r->n_columns; i++) {
        if (bad[i])
            columns[n++] = (uint16_t)i;
    }
    r->room -= (COLUMNS_MAX - (n + 7) / 8 * 8) * sizeof(*columns); /* what it did not need */
    r->room_left += (COLUMNS_MAX - (n + 7) / 8 * 8) * sizeof(*columns);
    r->issues[r->n_issues++] = (struct issue){row, n, columns};
}

/* Marks the column that a problem of the file names by its field, or by its header. */
static void blame(
    const struct reading *r, const wharf_import *in, wharf_str named, bool bad[COLUMNS_MAX])
{
    wharf_str header, path;

    for (size_t i = 0; i < r->n_columns && contacts_files->column(in, i, &header, &path); i++)
        bad[i] |= named.n && (wharf_same(named, path) || wharf_same(named, header));
}

static void judge_row(struct reading *r, wharf_import *in)
{
    bool bad[COLUMNS_MAX] = {false}, broken;
    wharf_str code, path, message;
    wharf_scope *scope;

    scope = W->mem->scope_begin(r->req);
    broken = contacts_files->row_error(in, 0, &code, &path, &message);
    import_file_judge(r, in, bad);
    for (size_t i = 0; contacts_files->row_error(in, i, &code, &path, &message); i++)
        blame(r, in, path, bad);
    if (!broken && !any(bad, r->n_columns))
        import_file_repeated(r, in, bad); /* only rows that are good count as the first */
    r->good[r->n_rows] = !broken && !any(bad, r->n_columns);
    if (r->good[r->n_rows])
        r->n_good++;
    else
        file_issue(r, r->n_rows, bad);
    r->n_rows++;
    W->mem->scope_end(r->req, scope);
}

void file_keep_warnings(struct reading *r, const wharf_import *in)
{
    wharf_str code, message;

    for (r->n_warnings = 0; r->n_warnings < WARNINGS_MAX &&
                            contacts_files->warning(in, r->n_warnings, &code, &message);
         r->n_warnings++) {
        r->warnings[r->n_warnings].code = W->mem->dup(r->req, code.p, code.n);
        r->warnings[r->n_warnings].message = W->mem->dup(r->req, message.p, message.n);
    }
}

wharf_status file_judge(struct reading *r)
{
    wharf_import *in;
    uint32_t event;
    wharf_status s = contacts_org->country(r->req, &r->country);

    if (s == WHARF_OK)
        s = read_groups(r);
    if (s != WHARF_OK)
        return s;
    r->emails = (struct seen){W->mem->alloc(r->req, SEEN_SLOTS * sizeof(wharf_str)), SEEN_SLOTS};
    r->phones = (struct seen){W->mem->alloc(r->req, SEEN_SLOTS * sizeof(wharf_str)), SEEN_SLOTS};
    r->good = W->mem->alloc(r->req, ROWS_MAX * sizeof(*r->good));
    r->issues = W->mem->alloc(r->req, ROWS_MAX * sizeof(*r->issues));
    in = file_rows(r);
    for (bool first = true; (event = contacts_files->next(in)) == WHARF_IMPORT_ROW; first = false) {
        if (first)
            s = is_json(in) ? import_file_problem(r, in) : import_file_read_columns(r, in);
        if (s != WHARF_OK)
            return s;
        if (r->n_rows == ROWS_MAX)
            return import_file_too_large(r->req);
        judge_row(r, in);
        s = W->err->current(r->req);
    }
    if (s == WHARF_OK && event == WHARF_IMPORT_FAILED)
        s = import_file_problem(r, in);
    else if (s == WHARF_OK && !r->n_rows)
        s = W->err->fail(r->req, ERR_BATCH_DATA_EMPTY, "csv_url", NULL);
    file_keep_warnings(r, in);
    contacts_files->close(in);
    return s;
}
