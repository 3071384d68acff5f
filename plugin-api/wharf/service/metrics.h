/* wharf/service/metrics.h - what a module counts, and how much is asked: service
 * "wharf.metrics", version 1.1 (docs/spec/01-platform.md section 17 'Metrics').
 *
 * GET /metrics shows it for the whole server, all workers together. A server has room for 512
 * series of modules and hooks: so labels have few
 * values, and never hold an id. Rules of this header: wharf/plugin.h. */
#ifndef WHARF_SERVICE_METRICS_H
#define WHARF_SERVICE_METRICS_H

#include "wharf/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wharf_metrics_api {
    wharf_head head;
    /* Adds n >= 0 to the counter <name>_total, or a value to the histogram <name>. name: a-z,
     * 0-9 and _, at most 57 bytes, not lua_…; labels: as they stand in the text,
     * result="success",lane="direct", at most 150 bytes, or empty. False: the name is of the
     * other kind, or there is no room. [worker] */
    bool (*count)(wharf_req *req, wharf_str name, wharf_str labels, double n);
    bool (*observe)(wharf_req *req, wharf_str name, wharf_str labels, double value);
    /* How many requests this server has answered, all workers together, but for those to the
     * caller's own routes. Who works for long in the background sees by it whether clients ask
     * meanwhile. Since 1.1. [worker] */
    uint64_t (*requests)(wharf_req *req);
} wharf_metrics_api;

#ifdef __cplusplus
}
#endif
#endif
