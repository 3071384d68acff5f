/* lane_pack.c - see lane_pack.h. */
#include "db/lane_pack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_OID = 25, ARRAY_HEAD = 5 * 4, ELEMENT_HEAD = 4 };

size_t pack_bytes(const struct lane_job *job)
{
    size_t n = 0;

    for (size_t i = 0; i < job->n_args; i++)
        n += ELEMENT_HEAD + (job->args[i].p ? job->args[i].n : 0);
    return n;
}

static char *put_u32(char *p, uint32_t v)
{
    p[0] = (char)(v >> 24);
    p[1] = (char)(v >> 16);
    p[2] = (char)(v >> 8);
    p[3] = (char)v;
    return p + 4;
}

static char *put_element(char *p, const struct sql_arg *arg)
{
    if (!arg->p)
        return put_u32(p, UINT32_MAX);
    p = put_u32(p, (uint32_t)arg->n);
    memcpy(p, arg->p, arg->n);
    return p + arg->n;
}

void pack_params_fill(struct pack_params *p, const struct lane_job *job)
{
    size_t bytes = job->n_args * ARRAY_HEAD + pack_bytes(job);
    char *at;

    for (const struct lane_job *j = job->packed; j; j = j->next)
        bytes += pack_bytes(j);
    at = p->memory = malloc(bytes + 1);
    if (!at) {
        fputs("wharf: out of memory\n", stderr);
        abort();
    }
    for (size_t i = 0; i < job->n_args; i++) {
        const char *begin = at;

        p->values[i] = at;
        p->formats[i] = 1;
        at = put_u32(at, 1); /* dimensions */
        at = put_u32(at, 1); /* may hold NULLs */
        at = put_u32(at, TEXT_OID);
        at = put_u32(at, (uint32_t)job->n_packed + 1);
        at = put_u32(at, 1); /* counted from 1 */
        at = put_element(at, &job->args[i]);
        for (const struct lane_job *j = job->packed; j; j = j->next)
            at = put_element(at, &j->args[i]);
        p->lengths[i] = (int)(at - begin);
    }
}

bool pack_results_make(struct pack_results *r)
{
    char name[] = "place", one[] = "1";
    PGresAttDesc column = {.name = name, .typid = TEXT_OID, .typlen = -1, .atttypmod = -1};

    r->row = PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK);
    r->none = PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK);
    return r->row && r->none && PQsetResultAttrs(r->row, 1, &column) &&
           PQsetResultAttrs(r->none, 1, &column) && PQsetvalue(r->row, 0, 0, one, 1);
}
