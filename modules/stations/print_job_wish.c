/* print_job_wish.c - reads the configuration of a print job as it was sent (spec 04 section 7,
 * 'configuration'). What becomes of it is in print_job_create.c and print_job_paper.c. */
#include <math.h>
#include <stdlib.h>

#include "print_job_plan.h"

enum { RANGES_MAX = 1000 }; /* ranges of pages */

wharf_str wish_text(const struct plan *p, const char *key)
{
    return json_text(p->wish, key);
}

bool wish_truth(const struct plan *p, const char *key, bool fallback)
{
    const wharf_json *v = p->wish ? W->json->get(p->wish, key) : NULL;

    return json_is_null(v) ? fallback : json_truth(v);
}

int64_t wish_int(const struct plan *p, const char *key, int64_t fallback)
{
    const wharf_json *v = p->wish ? W->json->get(p->wish, key) : NULL;
    int64_t i;

    return v && W->json->integer(v, &i) ? i : fallback;
}

double wish_number(const wharf_json *v, double fallback)
{
    int64_t scaled;

    return v && W->json->decimal(v, 12, &scaled) ? round((double)scaled / 1e8) / 1e4 : fallback;
}

double wish_scaling(const struct plan *p)
{
    return wish_number(p->wish ? W->json->get(p->wish, "scaling") : NULL, 1);
}

const char *const wish_fit_words[4] = {"none", "shrink", "fit", "fill"};

uint32_t wish_fit(const struct plan *p)
{
    wharf_str fit = wish_text(p, "fit");

    if (!fit.n)
        print_config->text(print_self, "fit", &fit);
    for (uint32_t i = 0; i < 4; i++) {
        if (is(fit, wish_fit_words[i]))
            return i;
    }
    return WHARF_RENDER_NONE;
}

bool wish_custom(const struct plan *p)
{
    wharf_str size = wish_text(p, "paper_size");

    return is(size, "page_size_custom") || is(size, "custom");
}

wharf_status wish_ranges(wharf_req *req, struct plan *p)
{
    wharf_str text = wish_text(p, "page_ranges");
    const char *at = text.p;

    if (wish_truth(p, "print_all_pages", true))
        return WHARF_OK;
    if (!text.n)
        return wrong(req, "configuration.page_ranges",
            "page_ranges says which pages when print_all_pages is false");
    p->ranges = W->mem->alloc(req, RANGES_MAX * sizeof(*p->ranges));
    while (*at && p->n_ranges < RANGES_MAX) {
        unsigned long from, to;
        char *end;

        from = strtoul(at, &end, 10);
        at = end + strspn(end, " ");
        to = from;
        if (*at == '-') {
            at++;
            at += strspn(at, " ");
            to = *at && *at != ',' ? strtoul(at, &end, 10) : UINT32_MAX;
            at = *at && *at != ',' ? end + strspn(end, " ") : at;
        }
        if (!from || to < from)
            return wrong(req, "configuration.page_ranges",
                "page_ranges is a list of pages and ranges from 1 on, such as 1-3,5,9-");
        p->ranges[p->n_ranges++] = (wharf_render_range){
            from < UINT32_MAX ? (uint32_t)from : UINT32_MAX,
            to < UINT32_MAX ? (uint32_t)to : UINT32_MAX};
        at += *at == ',';
        at += strspn(at, " ");
    }
    return WHARF_OK;
}

uint32_t wish_pages(const struct plan *p)
{
    uint32_t n = 0;

    for (uint32_t page = 1; page <= p->document.info.pages; page++) {
        bool in = p->n_ranges == 0;

        for (uint32_t i = 0; i < p->n_ranges && !in; i++)
            in = page >= p->ranges[i].from && page <= p->ranges[i].to;
        n += in;
    }
    return n;
}
