/* paper_sizes.c - the table of spec 04 section 4, as built in: GET
 * /v1/cloud-printing/paper-sizes, and look-ups in it. */
#include <math.h>

#include "printing.h"

wharf_status paper_sizes(wharf_req *req, void *text)
{
    const wharf_json *table;
    wharf_status s = stations_host->json->parse(req, *(const wharf_str *)text, &table);

    if (s == WHARF_OK)
        W->json->put(W->req->respond(req, 200,
                         W->mem->format(req, "%zu paper sizes retrieved", W->json->count(table)).p),
            NULL, val_json(table));
    return s;
}

static double inches(const wharf_json *row, const char *key)
{
    const wharf_json *v = W->json->get(row, key);
    int64_t scaled = 0;

    return v && W->json->decimal(v, 4, &scaled) ? (double)scaled / 10000 : 0;
}

wharf_status papers_load(wharf_req *req, struct papers *ret)
{
    const wharf_json *table;
    wharf_status s = W->json->parse(req, *print_sizes, &table);

    ret->n = 0;
    if (s != WHARF_OK)
        return s;
    for (const wharf_json *row = W->json->at(table, 0); row && ret->n < PAPERS_MAX;
         row = W->json->next(row))
        ret->list[ret->n++] = (struct paper){
            json_text(row, "name"), inches(row, "width"), inches(row, "height")};
    return WHARF_OK;
}

const struct paper *paper_find(const struct papers *all, wharf_str name)
{
    static const wharf_str prefix = {"page_size_", 10};

    if (name.n > prefix.n && !memcmp(name.p, prefix.p, prefix.n))
        name = (wharf_str){name.p + prefix.n, name.n - prefix.n};
    for (size_t i = 0; i < all->n; i++) {
        if (same(all->list[i].name, name))
            return &all->list[i];
    }
    return NULL;
}

const struct paper *paper_twin(const struct papers *all, const struct paper *p)
{
    for (size_t i = 0; i < all->n; i++) {
        if (&all->list[i] != p && fabs(all->list[i].width - p->height) < 0.001 &&
            fabs(all->list[i].height - p->width) < 0.001)
            return &all->list[i];
    }
    return NULL;
}
