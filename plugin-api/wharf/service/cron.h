/* wharf/service/cron.h - schedules of five fields in time zones: service "wharf.cron", version
 * 1.0 (docs/spec/08-workflows-and-lua.md section 3).
 *
 * A schedule is minute, hour, day of the month, month, day of the week, or @hourly and its like;
 * a zone is a name of the system's database, empty for UTC. What clock changes skip is due once
 * at the first minute after them; what comes twice, at the first. All functions are [any] but
 * for what takes a request. Rules of this header: wharf/plugin.h. */
#ifndef WHARF_SERVICE_CRON_H
#define WHARF_SERVICE_CRON_H

#include "wharf/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wharf_cron_api {
    wharf_head head;
    /* NULL: both are good; else why one is not, a static text */
    const char *(*problem)(wharf_str schedule, wharf_str zone);
    /* The first moment after that one. False: one of both is not good. */
    bool (*next)(wharf_str schedule, wharf_str zone, int64_t after_us, int64_t *ret_us);
    /* The last moment up to that one. False: there was none, or one of both is not good. */
    bool (*last)(wharf_str schedule, wharf_str zone, int64_t at_us, int64_t *ret_us);
    /* what a clock there shows: "2026-03-29T03:00:00+02:00". [worker] */
    wharf_str (*local)(wharf_req *req, wharf_str zone, int64_t at_us);
} wharf_cron_api;

#ifdef __cplusplus
}
#endif
#endif
