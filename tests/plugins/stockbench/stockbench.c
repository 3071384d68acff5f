/* stockbench.c - POST /v1/stockbench/apply: moves through the service items.stock, as modules use
 * it. */
#include "wharf/ext/items.h"

#define W stockbench_host
static const wharf_host *W;
#include "wharf/inline.h"

#include "stockbench.gen.h"

static const wharf_items_stock_api *stock;

static uint32_t flag(const wharf_json *move, const char *key, uint32_t bit)
{
    return json_truth(W->json->get(move, key)) ? bit : 0;
}

static void add(wharf_req *req, wharf_stock *group, const wharf_json *v, size_t i)
{
    static const char *const buckets[] = {"available", "reserved", "damaged", "manifested"};
    wharf_str reason = json_text(v, "reason");
    wharf_stock_move m = {.head = WHARF_HEAD(wharf_stock_move),
        .item_id = json_text(v, "item_id"),
        .location_id = json_text(v, "location_id"),
        .layout_id = json_text(v, "layout_id"),
        .lot_id = json_text(v, "lot_id"),
        .lot_number = json_text(v, "lot_number"),
        .bucket = 1 + (uint32_t)word_place(json_text(v, "bucket"), buckets, 3),
        .flags = flag(v, "set", WHARF_STOCK_SET) | flag(v, "find_layout", WHARF_STOCK_FIND_LAYOUT) |
                 flag(v, "archived_too", WHARF_STOCK_ARCHIVED_TOO),
        .reason = reason.n ? reason.p : NULL,
        .reason_code_id = WHARF_S(""),
        .note = json_text(v, "note"),
        .unit_id = WHARF_S(""),
        .path = W->mem->format(req, "moves.%zu", i).p};

    W->json->decimal(W->json->get(v, "quantity"), 4, &m.quantity);
    stock->move(group, &m);
}

static void answer(wharf_req *req, const wharf_stock *group, size_t n)
{
    wharf_out *out = W->req->respond(req, 200, "Stock moved");
    wharf_val v = wharf_val_of(WHARF_V_DEC);

    v.scale = 4;
    W->json->open(out, NULL, '{');
    W->json->put(out, "group_id", val_text(stock->group_id(group)));
    W->json->open(out, "moved", '[');
    for (size_t i = 0; i < n; i++) {
        wharf_stock_moved m = {.head = WHARF_HEAD(wharf_stock_moved)};

        stock->moved(group, i, &m);
        W->json->open(out, NULL, '{');
        W->json->put(out, "level_id", val_text(m.level_id));
        W->json->put(out, "layout_id", val_text(m.layout_id));
        W->json->put(out, "movement_id", val_text_or_null(m.movement_id));
        v.u.i = m.delta;
        W->json->put(out, "delta", v);
        v.u.i = m.balance;
        W->json->put(out, "balance", v);
        W->json->close(out);
    }
    W->json->close(out);
    W->json->close(out);
}

static wharf_status apply(wharf_req *req, void *arg)
{
    const wharf_json *body, *moves;
    wharf_stock_cause cause = {.head = WHARF_HEAD(wharf_stock_cause)};
    wharf_stock *group;
    size_t n = 0;
    wharf_status s = W->req->body(req, &body);

    if (s != WHARF_OK)
        return s;
    cause.reason = json_text(body, "reason").p;
    cause.source_type = json_text(body, "source_type");
    cause.source_id = json_text(body, "source_id");
    moves = W->json->get(body, "moves");
    s = stock->begin(req, &cause, &group);
    for (const wharf_json *v = W->json->at(moves, 0); v && s == WHARF_OK; v = W->json->next(v))
        add(req, group, v, n++);
    if (s == WHARF_OK)
        s = stock->apply(group);
    if (s == WHARF_OK)
        answer(req, group, n);
    return s;
}

static void declare(wharf_plugin *self, wharf_decl *d, const wharf_decl_api *api)
{
    static const char doc[] = "{\"summary\": \"Move stock\", \"location\": \"body\", "
                              "\"response\": {\"type\": \"object\"}}";
    const wharf_route route = {.head = WHARF_HEAD(wharf_route),
        .method = "POST",
        .path = "/v1/stockbench/apply",
        .scope = "items:write",
        .definition = {doc, sizeof(doc) - 1},
        .handler = apply};

    api->route(d, &route);
    api->errors(d, (wharf_str)ERRORS);
}

static wharf_status start(wharf_plugin *self, wharf_req *req)
{
    stock = W->service(self, "items.stock", 1, 0);
    return WHARF_OK;
}

const wharf_plugin_desc *wharf_plugin_entry_v1(const wharf_host *given)
{
    static const wharf_plugin_desc desc = {.head = WHARF_HEAD(wharf_plugin_desc),
        .manifest = MANIFEST,
        .declare = declare,
        .start = start};

    W = given;
    return &desc;
}
