/* host.h - the tables of function pointers that plugins see (plugin-api/wharf/plugin.h), and
 * what stands behind their handles. */
#ifndef WHARF_HOST_HOST_H
#define WHARF_HOST_HOST_H

#include "host/registry.h"
#include "resource/engine.h"
#include "resource/out.h"
#include "resource/set.h"

struct wharf_many { /* handle: what became of many rows */
    struct write_set set;
};

/* Reads the page that is asked for, and tells the one that was read, for the table of the request
 * (host_page.c). */
wharf_status page_read(
    wharf_req *req, int64_t limit, int64_t most, int64_t *ret_page, int64_t *ret_limit);
void page_reported(wharf_req *req, int64_t page, int64_t limit, bool has_more);

/* Functions of the table of resources (host_encode.c). */
void row_encoded(wharf_req *req, wharf_out *out, const char *key, const wharf_rec *rec);
void rows_encoded(wharf_req *req, wharf_out *out, const wharf_rec *const *recs, size_t n);
bool resource_links(wharf_req *req, wharf_str resource, const char *link);

extern const wharf_host host_tables;
extern const wharf_mem_api host_mem;
extern const wharf_err_api host_err;
extern const wharf_log_api host_log;
extern const wharf_req_api host_req;
extern const wharf_json_api host_json;
extern const wharf_db_api host_db;
extern const wharf_res_api host_res;
extern const wharf_event_api host_event;
extern const struct wharf_channel_api host_channel; /* wharf/service/channel.h */
extern const struct wharf_http_api host_http; /* wharf/service/http.h */
extern const struct wharf_keys_api host_keys; /* wharf/service/keys.h */
extern const struct wharf_cron_api host_cron; /* wharf/service/cron.h */
extern const struct wharf_metrics_api host_metrics; /* wharf/service/metrics.h */
extern const struct wharf_many_api host_many; /* wharf/service/many.h */
extern const struct wharf_walk_api host_walk; /* wharf/service/walk.h */
extern const struct wharf_logs_api host_logs; /* wharf/service/logs.h */
extern const struct wharf_crypto_api host_crypto; /* wharf/service/crypto.h */
extern const struct wharf_schema_api host_schema; /* wharf/service/schema.h */
extern const struct wharf_text_api host_text; /* wharf/service/text.h */
extern const struct wharf_token_api host_token; /* wharf/service/token.h */
extern const struct wharf_events_api host_events; /* wharf/service/events.h */
extern const struct wharf_config_api host_config; /* wharf/service/config.h */

/* Makes rows that live as long as the request's memory of now; r belongs to them. */
const struct wharf_rows *host_rows(struct wharf_req *req, PGresult *r);
/* Returns the texts of a statement's arguments. */
struct sql_arg *host_args(struct arena *a, const wharf_val *args, size_t n_args);

/* Begins and ends plugin SQL, which runs as the role wharf_plugin with the organization set
 * (docs/decisions 11). */
wharf_status host_sql_begin(struct wharf_req *req);
void host_sql_end(struct wharf_req *req);

#endif
