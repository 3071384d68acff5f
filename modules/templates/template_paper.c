/* template_paper.c - what the build embeds of schemas/: sizes of pages by name, those of
 * templates and those of schemas/paper-sizes.json, which print jobs use as well; and the stock
 * files (spec 05 section 9.1). */
#include <strings.h>

#include "templates.h"
#include "templates.gen.h"

enum { PAPERS_MAX = 64 };

static const wharf_str embedded = EMBEDDED;

/* Filled by papers_start(), before anything of this module runs. */
static struct paper papers[PAPERS_MAX] = {
    {"A4", 595, 842}, {"letter", 612, 792}, {"4x6", 288, 432}, {"a6", 298, 420}};
static size_t n_papers = 4;

wharf_str keep_text(wharf_str s)
{
    char *p = W->mem->plugin_alloc(templates_self, s.n + 1);

    memcpy(p, s.p, s.n);
    p[s.n] = 0;
    return (wharf_str){p, s.n};
}

wharf_status embedded_read(wharf_req *req, const wharf_json **ret)
{
    return W->json->parse(req, embedded, ret);
}

static const struct paper *template_paper_find(const char *name)
{
    for (size_t i = 0; i < n_papers; i++) {
        if (!strcasecmp(name, papers[i].name))
            return &papers[i];
    }
    return NULL;
}

wharf_status papers_start(wharf_req *req)
{
    const wharf_json *all;
    wharf_status s = embedded_read(req, &all);

    for (const wharf_json *row = s == WHARF_OK ? W->json->at(W->json->get(all, "paper-sizes"), 0)
                                               : NULL;
         row && n_papers < PAPERS_MAX; row = W->json->next(row)) {
        wharf_str name = json_text(row, "name");

        if (!template_paper_find(
                name.p)) /* the first four have whole points, as the specification says */
            papers[n_papers++] = (struct paper){keep_text(name).p,
                json_number(req, W->json->get(row, "width"), 0) * POINTS,
                json_number(req, W->json->get(row, "height"), 0) * POINTS};
    }
    return s;
}

const struct paper *paper_at(size_t i)
{
    return i < n_papers ? &papers[i] : NULL;
}

const struct paper *paper_named(wharf_str name)
{
    static const wharf_str prefix = {"page_size_", 10};

    if (name.n > prefix.n && !strncasecmp(name.p, prefix.p, prefix.n))
        return template_paper_find(name.p + prefix.n);
    return template_paper_find(name.p);
}
