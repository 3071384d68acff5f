/* labelreader.c - a plugin that has pictures read by the service wharf.image and answers what came
 * of it. For tests/api/plugins/test_image_service.py. */
#include "labelreader.gen.h"
#include "wharf/plugin.h"
#include "wharf/service/blob.h"
#include "wharf/service/image.h"

static const wharf_host *host;
static const wharf_blob_api *blob;
static const wharf_image_api *image;

static void put_text(wharf_out *out, const char *key, wharf_str s)
{
    host->json->put(out, key, (wharf_val){.type = WHARF_V_TEXT, .u = {.s = s}});
}

static void put_z(wharf_out *out, const char *key, const char *z)
{
    wharf_str s = {z ? z : "", 0};

    while (z && z[s.n])
        s.n++;
    put_text(out, key, s);
}

static void put_number(wharf_out *out, const char *key, uint32_t n)
{
    host->json->put(out, key, (wharf_val){.type = WHARF_V_INT, .u = {.i = (int64_t)n}});
}

static void put_box(wharf_out *out, const wharf_image_box *b)
{
    host->json->open(out, "box", '[');
    put_number(out, NULL, b->x);
    put_number(out, NULL, b->y);
    put_number(out, NULL, b->w);
    put_number(out, NULL, b->h);
    host->json->close(out);
}

static void put_codes(wharf_out *out, const wharf_image_read *read)
{
    host->json->open(out, "codes", '[');
    for (uint32_t i = 0; i < read->n_codes; i++) {
        const wharf_image_code *c = &read->codes[i];

        host->json->open(out, NULL, '{');
        put_z(out, "symbology", c->symbology);
        put_text(out, "value", c->is_text ? c->value : WHARF_S(""));
        put_number(out, "orientation", c->orientation);
        put_box(out, &c->box);
        host->json->close(out);
    }
    host->json->close(out);
}

static void put_words(wharf_out *out, const wharf_image_read *read)
{
    host->json->open(out, "words", '[');
    for (uint32_t i = 0; i < read->n_words; i++) {
        host->json->open(out, NULL, '{');
        put_text(out, "text", read->words[i].text);
        put_number(out, "confidence", read->words[i].confidence);
        put_number(out, "line", read->words[i].line);
        put_box(out, &read->words[i].box);
        host->json->close(out);
    }
    host->json->close(out);
    host->json->open(out, "lines", '[');
    for (uint32_t i = 0; i < read->n_lines; i++)
        put_text(out, NULL, read->lines[i].text);
    host->json->close(out);
}

static wharf_status answer(
    wharf_req *req, const wharf_image_read *read, uint32_t verdict, wharf_str reason)
{
    wharf_out *out = host->req->respond(req, 200, "Read");

    host->json->open(out, NULL, '{');
    put_number(out, "verdict", verdict);
    put_text(out, "reason", reason);
    if (verdict == WHARF_IMAGE_GOOD) {
        put_z(out, "format", read->format);
        put_z(out, "engine", read->engine);
        put_z(out, "stopped", read->stopped);
        put_number(out, "whole", read->whole);
        put_number(out, "width", read->width);
        put_number(out, "height", read->height);
        put_number(out, "turn", read->turn);
        put_number(out, "turned_by", read->turned_by);
        put_number(out, "steps", read->n_steps);
        put_number(out, "rules", read->n_rules);
        put_number(out, "text_lines", read->figures.text_lines);
        put_codes(out, read);
        put_words(out, read);
    }
    host->json->close(out);
    return WHARF_OK;
}

static uint32_t number_of(const wharf_json *body, const char *key)
{
    int64_t n = 0;

    if (host->json->get(body, key))
        host->json->integer(host->json->get(body, key), &n);
    return (uint32_t)n;
}

/* {"image": a data URI or base64, "wants", "budget_ms", "languages"} */
static wharf_status read_picture(wharf_req *req, void *arg)
{
    wharf_image_wish wish = {.head = WHARF_HEAD(wharf_image_wish)};
    wharf_image_read read = {.head = WHARF_HEAD(wharf_image_read)};
    wharf_str text = {"", 0}, type, reason = {"", 0};
    const wharf_json *body;
    wharf_blob_writer *file;
    const char *fault = NULL;
    uint32_t verdict = WHARF_IMAGE_GOOD;
    wharf_status s;

    if (host->req->body(req, &body) != WHARF_OK)
        return WHARF_INVALID;
    if (host->json->get(body, "image"))
        host->json->text(host->json->get(body, "image"), &text);
    if (host->json->get(body, "languages"))
        host->json->text(host->json->get(body, "languages"), &wish.languages);
    wish.wants = number_of(body, "wants");
    wish.budget_ms = number_of(body, "budget_ms");
    s = blob->begin(req, 0, &file);
    if (s != WHARF_OK)
        return s;
    s = blob->write_text(req, file, text, &type, &fault);
    if (s == WHARF_OK)
        s = image->read(req, blob->written(file), &wish, &read, &verdict, &reason);
    else if (fault)
        s = host->err->fail(req, "labelreader.refused", NULL, "%s", fault);
    blob->abort(req, file);
    return s == WHARF_OK ? answer(req, &read, verdict, reason) : s;
}

static const wharf_route routes[] = {
    {ROUTE_READ, .handler = read_picture},
};

static void declare(wharf_plugin *self, wharf_decl *d, const wharf_decl_api *api)
{
    api->errors(d, (wharf_str)ERRORS);
    ROUTES(api, d, routes);
    blob = host->service(self, "wharf.blob", 1, 2);
    image = host->service(self, "wharf.image", 1, 0);
}

static const wharf_plugin_desc desc = {
    .head = WHARF_HEAD(wharf_plugin_desc), .manifest = MANIFEST, .declare = declare};

const wharf_plugin_desc *wharf_plugin_entry_v1(const wharf_host *h)
{
    host = h;
    return &desc;
}
