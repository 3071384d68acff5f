/* seal_check.c - the check logs.chain of `wharf verify`: the change log of each organization is as
 * it was sealed (docs/reference/logs.md). The chain is walked in SQL, as for
 * GET /v1/logs/verify: db/sql/verify_log.sql. */
#include "event/seal_check.h"

#include <stdlib.h>

static wharf_status take_chain(wharf_verify *v, const wharf_val *values, size_t n, void *arg)
{
    const wharf_verify_api *api = arg;
    wharf_str id = values[3].type == WHARF_V_TEXT ? values[3].u.s : values[0].u.s;

    (void)n;
    api->looked(v, strtoull(values[1].u.s.p, NULL, 10));
    if (values[2].u.s.p[0] == 't')
        api->fault(v, values[0].u.s, id,
            "is not as it was sealed, or was put in, or the line before it is missing, or it is "
            "the "
            "last one left of a log whose end was cut off");
    return WHARF_OK;
}

static wharf_status check_chains(wharf_verify *v, const wharf_verify_api *api, void *arg)
{
    static const char sql[] =
        "SELECT o.id, l.checked, l.bad, l.bad_id FROM (SELECT id FROM wharf.organization UNION "
        "SELECT "
        "organization_id FROM wharf.log_chain UNION SELECT organization_id FROM wharf.log_seal) o "
        "CROSS JOIN LATERAL wharf.verify_log(o.id, 1, NULL) l";

    (void)arg;
    return api->each(v, sql, NULL, 0, take_chain, (void *)api);
}

const wharf_check seal_check = {.head = WHARF_HEAD(wharf_check),
    .name = "chain",
    .summary = "The change log of each organization is as it was sealed.",
    .remedy = "Somebody wrote into the database beside the server. Keep a copy of the database, "
              "and compare the lines around this one with a backup (docs/reference/logs.md).",
    .rows = "log lines",
    .run = check_chains};
