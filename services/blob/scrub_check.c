/* scrub_check.c - the check files.damaged of `wharf verify`: what the job that scrubs has found
 * (scrub_job.c), without reading anything of the store. */
#include "blob/blob_check.h"

#include <stdlib.h>

#include "host/host_verify.h"

static wharf_status scrub_check_tell(wharf_verify *v, const wharf_val *values, size_t n, void *arg)
{
    (void)n;
    (void)arg;
    verify_api.fault(v, values[0].u.s, values[1].u.s, "its bytes are %s, as was seen at %s (%s)",
        values[3].u.s.p, values[4].u.s.p, values[2].u.s.p);
    return WHARF_OK;
}

static wharf_status scrub_check_count(wharf_verify *v, const wharf_val *values, size_t n, void *arg)
{
    (void)n;
    (void)arg;
    verify_api.looked(v, strtoull(values[0].u.s.p, NULL, 10));
    return WHARF_OK;
}

static wharf_status damaged(wharf_verify *v, const wharf_verify_api *api, void *arg)
{
    static const char count_sql[] = "SELECT count(*) FROM wharf.file WHERE state = 'stored'",
                      sql[] = "SELECT organization_id, id, hash, damage, read_at::text FROM "
                              "wharf.file WHERE damage IS NOT NULL ORDER BY hash, id";
    wharf_status s = api->each(v, count_sql, NULL, 0, scrub_check_count, NULL);

    (void)arg;
    return s == WHARF_OK ? api->each(v, sql, NULL, 0, scrub_check_tell, NULL) : s;
}

const wharf_check blob_damaged = {.head = WHARF_HEAD(wharf_check),
    .name = "damaged",
    .summary = "The scrub has found no stored file damaged or lost.",
    .remedy = "Store a file with the same bytes again, or take the object from a backup; the next "
              "scrub, within ten minutes, finds it whole.",
    .rows = "stored files",
    .run = damaged};
