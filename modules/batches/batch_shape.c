/* batch_shape.c - an item as the write it asks for: which record is meant, and the body with
 * what properties and location_id add (spec 10 section 5). */
#include "batches.h"
#include "batches.gen.h"

static bool deletes(const struct batch_request *asked)
{
    return asked->action == ACTION_DELETE;
}

static void batch_shape_wrong(struct shaped *s, const char *code, wharf_str path, wharf_str message)
{
    s->code = code;
    s->path = path;
    s->message = message;
}

/* ---- which record ---- */

static void read_id(const struct batch_request *asked, const wharf_json *item, struct shaped *ret)
{
    const wharf_json *id = W->json->get(item, "id");

    ret->id = WHARF_S("");
    if (json_is_null(id))
        return;
    if (!W->json->text(id, &ret->id))
        batch_shape_wrong(
            ret, ERR_VALIDATION_FAILED, WHARF_S("id"), WHARF_S("id must be a string"));
    else if (!ret->id.n && deletes(asked))
        batch_shape_wrong(
            ret, ERR_VALIDATION_FAILED, WHARF_S("id"), WHARF_S("id must not be empty"));
}

/* Matches the items without an id that name their record by match_by. */
static wharf_status batch_shape_match_items(
    struct batch *b, const wharf_json *const *items, size_t n, struct shaped *ret)
{
    const wharf_json *filters = block_member(b->block, "match_by");
    wharf_str filter = filters ? json_text(filters, b->asked.match_by.p) : WHARF_S("");
    wharf_str *values = W->mem->alloc(b->req, (n + 1) * sizeof(*values)),
              *ids = W->mem->alloc(b->req, (n + 1) * sizeof(*ids));
    bool *several = W->mem->alloc(b->req, (n + 1) * sizeof(*several));
    size_t *of = W->mem->alloc(b->req, (n + 1) * sizeof(*of)), count = 0;
    wharf_status s;

    for (size_t i = 0; i < n; i++) {
        wharf_str value = json_text(items[i], b->asked.match_by.p);

        if (ret[i].code || ret[i].id.n || !value.n)
            continue;
        values[count] = intake_compared(b, WHARF_S(""), b->asked.match_by, value);
        of[count++] = i;
    }
    if (!count)
        return WHARF_OK;
    s = batches_kernel->match(b->req, b->asked.resource.p, filter.p, values, count, ids, several);
    for (size_t k = 0; s == WHARF_OK && k < count; k++) {
        ret[of[k]].id = ids[k];
        if (several[k])
            batch_shape_wrong(&ret[of[k]], ERR_REFERENCE_AMBIGUOUS, b->asked.match_by,
                W->mem->format(
                    b->req, "Several records have this %s; use the id", b->asked.match_by.p));
        else if (!ids[k].n && deletes(&b->asked))
            batch_shape_wrong(
                &ret[of[k]], ERR_NOT_FOUND, b->asked.match_by, WHARF_S("There is no such record"));
    }
    return s;
}

/* ---- the body ---- */

static void batch_shape_put_members(
    wharf_out *out, const wharf_json *object, const wharf_json *unless)
{
    for (const wharf_json *m = W->json->at(object, 0); m; m = W->json->next(m)) {
        if (!unless || !W->json->get(unless, W->json->key(m).p))
            W->json->put(out, W->json->key(m).p, val_json(m));
    }
}

static bool batch_shape_is_object(const wharf_json *v)
{
    return v && W->json->type(v) == WHARF_J_OBJECT;
}

/* Writes metadata, the only values that are merged by key: the item's keys win. */
static void put_metadata(wharf_out *out, const wharf_json *own, const wharf_json *defaults)
{
    W->json->open(out, "metadata", '{');
    batch_shape_put_members(out, own, NULL);
    batch_shape_put_members(out, defaults, own);
    W->json->close(out);
}

/* Returns the field that location_id of the batch fills: of creates that say no location
 * themselves. */
static const char *default_place(
    const struct batch *b, const wharf_json *item, const struct shaped *it)
{
    const char *place = b->asked.location_id.n && !it->id.n ? location_field(b->definition) : NULL;

    if (!place || W->json->get(item, place) ||
        (b->asked.properties && W->json->get(b->asked.properties, place)))
        return NULL;
    return place;
}

static void put_own(const struct batch_request *asked, wharf_out *out, const wharf_json *item,
    const struct shaped *it)
{
    const wharf_json *both = asked->properties ? W->json->get(asked->properties, "metadata") : NULL;

    for (const wharf_json *m = W->json->at(item, 0); m; m = W->json->next(m)) {
        wharf_str key = W->json->key(m);

        if (is(key, "id") && it->id.n)
            continue;
        if (is(key, "metadata") && batch_shape_is_object(m) && batch_shape_is_object(both))
            put_metadata(out, m, both);
        else
            W->json->put(out, key.p, val_json(m));
    }
}

static wharf_status batch_shape_compose(struct batch *b, const wharf_json *item, struct shaped *ret)
{
    const char *place = default_place(b, item, ret);
    bool plain = !b->asked.properties || !W->json->count(b->asked.properties);
    wharf_out *out;

    ret->body = item;
    if (plain && !place && (!ret->id.n || W->json->get(item, "id")))
        return WHARF_OK;
    out = W->json->builder(b->req);
    W->json->open(out, NULL, '{');
    if (ret->id.n)
        W->json->put(out, "id", val_text(ret->id));
    put_own(&b->asked, out, item, ret);
    if (b->asked.properties)
        batch_shape_put_members(out, b->asked.properties, item);
    if (place)
        W->json->put(out, place, val_text(b->asked.location_id));
    W->json->close(out);
    return W->json->result(b->req, out, &ret->body);
}

static void need_id(const struct batch *b, struct shaped *ret)
{
    if (ret->code || ret->id.n)
        return;
    if (deletes(&b->asked) || block_has(b->block, "need_id", b->asked.action))
        batch_shape_wrong(ret, ERR_VALIDATION_FAILED,
            is(b->asked.match_by, "id") ? WHARF_S("id") : b->asked.match_by,
            WHARF_S("The item must say which record is meant"));
}

wharf_status shape_items(
    struct batch *b, const wharf_json *const *items, size_t n, struct shaped *ret)
{
    bool own = json_truth(block_member(b->block, "own_shape"));
    wharf_status s = WHARF_OK;

    for (size_t i = 0; i < n; i++) {
        ret[i] = (struct shaped){.id = WHARF_S("")};
        if (!own)
            read_id(&b->asked, items[i], &ret[i]);
    }
    if (!own && !is(b->asked.match_by, "id"))
        s = batch_shape_match_items(b, items, n, ret);
    for (size_t i = 0; s == WHARF_OK && i < n; i++) {
        if (!own)
            need_id(b, &ret[i]);
        if (!ret[i].code)
            s = batch_shape_compose(b, items[i], &ret[i]);
    }
    return s;
}

/* ---- properties of the request ---- */

static bool batch_shape_repeated(const wharf_json *list)
{
    wharf_str x, y;

    for (const wharf_json *a = W->json->at(list, 0); a; a = W->json->next(a)) {
        for (const wharf_json *c = W->json->next(a); c; c = W->json->next(c)) {
            if (W->json->text(a, &x) && W->json->text(c, &y) && same(x, y))
                return true;
        }
    }
    return false;
}

/* Checks {"set": ids} or {"add": ids} (spec 10 section 5). */
static void check_set(struct batch *b, const wharf_json *value, const char *path)
{
    const wharf_json *set = batch_shape_is_object(value) ? W->json->get(value, "set") : NULL;
    const wharf_json *add = batch_shape_is_object(value) ? W->json->get(value, "add") : NULL,
                     *list = set ? set : add;

    if (!list || (set && add) || W->json->count(value) != 1)
        W->err->add(
            b->req, ERR_BATCH_SET_ADD_EXCLUSIVE, path, "%s takes exactly one of set and add", path);
    else if (W->json->type(list) != WHARF_J_ARRAY)
        W->err->add(
            b->req, ERR_VALIDATION_FAILED, path, "%s must be an array of ids", set ? "set" : "add");
    else if (batch_shape_repeated(list))
        W->err->add(b->req, ERR_BATCH_DUPLICATE_IDS, path, NULL);
}

/* Tells those of its problems that are about what properties says: its members' own, and locations
 * out of reach. */
static void batch_shape_tell(struct batch *b, const wharf_many *many)
{
    wharf_str code, path, message;

    for (size_t i = 0; batches_many->problem(many, 0, i, &code, &path, &message); i++) {
        const char *dot = memchr(path.p, '.', path.n);
        wharf_str root = W->mem->dup(b->req, path.p, dot ? (size_t)(dot - path.p) : path.n);
        wharf_str at = W->mem->format(b->req, "properties.%s", path.p);
        bool set = property_is_set(definition_property(b->definition, root));

        if (is(code, ERR_LOCATION_ACCESS))
            W->err->add(b->req, code.p, path.p, "%s", message.p);
        else if (W->json->get(b->asked.properties, root.p) && set &&
                 is(batches_kernel->rule(many, 0, i), "reference"))
            W->err->add(b->req, ERR_BATCH_UNKNOWN_IDS,
                W->mem->format(b->req, "properties.%s", root.p).p, "%s", message.p);
        else if (W->json->get(b->asked.properties, root.p))
            W->err->add(b->req, ERR_VALIDATION_FAILED, at.p, "%s", message.p);
    }
}

wharf_status shape_check_properties(struct batch *b)
{
    const wharf_str none = WHARF_S("");
    const wharf_many *many;
    wharf_status s;

    if (!b->asked.properties)
        return WHARF_OK;
    if (W->json->get(b->asked.properties, "id"))
        W->err->add(
            b->req, ERR_BATCH_PROPERTIES_INVALID, "properties.id", "An id belongs to an item");
    for (const wharf_json *m = W->json->at(b->asked.properties, 0); m; m = W->json->next(m)) {
        wharf_str key = W->json->key(m);

        if (property_is_set(definition_property(b->definition, key)))
            check_set(b, m, W->mem->format(b->req, "properties.%s", key.p).p);
    }
    if (W->err->current(b->req) != WHARF_OK || json_truth(block_member(b->block, "own_shape")))
        return W->err->current(b->req);
    s = batches_kernel->check(
        b->req, b->asked.resource.p, "part", &none, &b->asked.properties, 1, &many);
    if (s == WHARF_OK)
        batch_shape_tell(b, many);
    return s == WHARF_OK ? W->err->current(b->req) : s;
}
