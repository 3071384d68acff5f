/* part.c - see part.h. */
#include "resource/part.h"

static const struct part *const *parts;
static size_t n_parts;

void parts_set(const struct part *const *list, size_t n)
{
    parts = list;
    n_parts = n;
    for (size_t i = 0; i < n; i++) {
        if (list[i]->n_services)
            offered_add(list[i]->services, list[i]->n_services);
    }
}

void parts_jobs(struct wharf_decl *d)
{
    d->plugin = NULL;
    for (size_t i = 0; i < n_parts; i++) {
        for (size_t k = 0; k < parts[i]->n_jobs; k++)
            d->own_job(d, parts[i]->jobs[k].name, parts[i]->jobs[k].fn, parts[i]->jobs[k].policy);
    }
}

void parts_checks(struct wharf_decl *d)
{
    d->plugin = NULL;
    for (size_t i = 0; i < n_parts; i++) {
        for (size_t k = 0; k < parts[i]->n_checks; k++)
            d->own_check(d, parts[i]->checks[k].area, parts[i]->checks[k].check);
    }
}

void parts_routes(struct wharf_decl *d)
{
    for (size_t i = 0; i < n_parts; i++) {
        if (parts[i]->routes)
            parts[i]->routes(d);
    }
}

void parts_link(struct engine *e)
{
    for (size_t i = 0; i < n_parts; i++) {
        if (parts[i]->link)
            parts[i]->link(e);
    }
}

bool parts_open(struct engine *e, const struct worker_boot *boot, wharf_str *ret_error)
{
    for (size_t i = 0; i < n_parts; i++) {
        if (parts[i]->open && !parts[i]->open(e, boot, ret_error))
            return false;
    }
    return true;
}

bool parts_start(struct engine *e, const struct worker_boot *boot, wharf_str *ret_error)
{
    for (size_t i = 0; i < n_parts; i++) {
        if (parts[i]->start && !parts[i]->start(e, boot, ret_error))
            return false;
    }
    return true;
}

void parts_ready(struct engine *e)
{
    for (size_t i = 0; i < n_parts; i++) {
        if (parts[i]->ready)
            parts[i]->ready(e);
    }
}

void parts_stop(struct engine *e)
{
    for (size_t i = n_parts; i-- > 0;) {
        if (parts[i]->stop)
            parts[i]->stop(e);
    }
}

void parts_close(struct engine *e)
{
    for (size_t i = n_parts; i-- > 0;) {
        if (parts[i]->close)
            parts[i]->close(e);
    }
}
