/* wharf/service/events.h - what happens after an event was committed: service "wharf.events",
 * version 1.7 (docs/internals/events.md).
 *
 * The server's event processor gives every committed event its number (gapless per organization)
 * and its body, in chunks, in one transaction with what the plugins' *steps* make of them. An
 * event is processed once; a step that fails is tried again by itself. Residents (a job with the
 * policy {"resident": true}, docs/internals/jobs.md) do what lasts: sending, polling, waiting.
 * Rules of this header: wharf/plugin.h. A function without a tag is [worker]. */
#ifndef WHARF_SERVICE_EVENTS_H
#define WHARF_SERVICE_EVENTS_H

#include "wharf/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A code that the live stream answers with; the module events declares it. */
#define ERR_STREAM_TOO_MANY "stream.too_many"

/* A processed event, or one that is being processed. Made by the server; texts live as long as
 * the request it was given to, "" is none. Members are appended only: ask with WHARF_HAS before
 * using newer ones. */
typedef struct wharf_event {
    wharf_head head;
    wharf_str id, type, organization, location_id, resource_type, resource_id, batch_id;
    wharf_str actor_type, actor_id, actor_name, request_id, traceparent;
    int64_t sequence; /* 1, 2, 3 ... in the organization, without holes */
    int64_t timestamp_us, created_at_us, expires_at_us;
    uint32_t depth; /* 0, or that of the causing workflow run + 1 */
    bool disable_webhooks;
    bool system; /* its type is one: no wildcard takes it */
    bool supersedable; /* its type is one: a newer one replaces a waiting older one */
    bool data_truncated;
    /* docs/spec/07-events-and-webhooks.md section 4: the same bytes whenever they are read. The
     * body is without the parts that not all see, unless for_reader() or read() gave the event. */
    wharf_str body, thin;
    /* Since 1.2. JSON array of the locations of the row that it tells of; "[]": of none, it is
     * everybody's. Empty: not known; then it is for those who reach every location. */
    wharf_str locations;
    /* Since 1.5. Of an event that for_reader() made for one reader: which parts its body has, for
     * with_parts(); empty: it has no parts, or they are left out. */
    wharf_str seen;
} wharf_event;

/* A type of the catalogue. */
typedef struct wharf_event_type {
    wharf_head head;
    wharf_str type, description, resource_type, module;
    bool system, supersedable, deprecated;
    wharf_str schema; /* "/v1/schemas/events/shipment.updated" */
    wharf_str example; /* JSON of data */
} wharf_event_type;

enum wharf_step_outcome { WHARF_STEP_COMPLETED = 0, WHARF_STEP_SKIPPED = 1 };

/* A step that runs for each processed event. fn is called with events of one organization, in
 * the order of their sequence, inside the processor's transaction: plugin SQL sees that
 * organization, resources may be written, jobs enqueued. It works on sets (one statement for
 * all), does no waiting, and is idempotent by (event, step, target), because a failed call is
 * made again for each of its events: after 1 s, 5 s, 30 s, 2 min and 10 min. A failure takes
 * back the writes of this call and nothing else. outcomes has n elements, all
 * WHARF_STEP_COMPLETED. */
typedef struct wharf_event_step {
    wharf_head head;
    const char *name; /* as shown in the event's `steps`: "webhooks_list" */
    wharf_status (*fn)(
        wharf_req *req, const wharf_event *const *events, size_t n, uint8_t *outcomes, void *arg);
    void *arg;
} wharf_event_step;

typedef struct wharf_event_reader wharf_event_reader;

typedef struct wharf_events_api {
    wharf_head head;
    /* [declare] */
    void (*step)(wharf_decl *d, const wharf_event_step *s);

    /* The event's body, parsed once for all steps. */
    wharf_status (*parsed)(wharf_req *req, const wharf_event *e, const wharf_json **ret_body);
    /* Processed events of the request's organization that are not expired, by id and in the
     * order asked for; NULL for the others. At most 1,000. */
    wharf_status (*read)(
        wharf_req *req, const wharf_str *ids, size_t n, const wharf_event *const **ret_events);
    /* Those after a sequence, oldest first, at most `most` (1 to 1,000), created in [since_us,
     * until_us). For making up what was missed: whoever hands them on asks sees() for each.
     * read() leaves out what the caller may not see. */
    wharf_status (*range)(wharf_req *req, int64_t since_us, int64_t until_us,
        int64_t after_sequence, size_t most, const wharf_event *const **ret_events, size_t *ret_n);

    /* The catalogue: types of the loaded modules, ordered by name. [any] */
    size_t (*type_count)(const wharf_plugin *self);
    /* the caller sets head */
    bool (*type_at)(const wharf_plugin *self, size_t i, wharf_event_type *ret_type);
    bool (*type_find)(const wharf_plugin *self, wharf_str type, wharf_event_type *ret_type);
    /* Does a subscription take the type? pattern: a type, "shipment.*" or "*"; the last two take
     * no system type. [any] */
    bool (*matches)(const wharf_plugin *self, wharf_str pattern, wharf_str type);
    /* Is it a type of the catalogue, "*", or the object of at least one type and ".*"? [any] */
    bool (*pattern_known)(const wharf_plugin *self, wharf_str pattern);

    /* From here on the request's changes belong to this: a batch (lane `batch`; "" none), a
     * workflow's depth, events without webhooks. */
    void (*cause)(wharf_req *req, wharf_str batch_id, uint32_t depth, bool disable_webhooks);

    /* Residents and jobs of the installation: acts for this organization until the next call; ""
     * for none. Only between transactions. */
    wharf_status (*act_for)(wharf_req *req, wharf_str organization);
    /* Residents: waits until wake() was called somewhere, events were processed somewhere, one
     * of this request's fetches is over, the kernel clock was moved, or wait_ms have passed.
     * Returns at once when that was so since the last call. While the server ends
     * (req->cancelled) no call takes more than 10 ms. */
    void (*wait)(wharf_req *req, int64_t wait_ms);
    /* After the request's commit (at once without a transaction) the residents of all processes
     * are woken. */
    void (*wake)(wharf_req *req);
    /* [declare] The live stream as GET route at path, for keys with the scope
     * (docs/internals/events.md); tokens: kind of wharf.token that opens it. */
    void (*stream)(wharf_decl *d, const char *path, const char *scope, const char *tokens);

    /* Since 1.1. Residents: a statement in a transaction of its own, on another connection,
     * while the caller goes on. One at a time; wait() returns when it is over. sql and args are
     * copied. It sees the organization that the resident acts for now. */
    wharf_status (*side_statement)(
        wharf_req *req, const char *sql, const wharf_val *args, size_t n_args);
    /* Is it over? Then true, once, and how it went: WHARF_OK means committed, with rows that
     * live as long as memory asked for now; else a problem was added. False while it runs, and
     * when there is none. */
    bool (*side_statement_over)(
        wharf_req *req, wharf_status *ret_status, const wharf_rows **ret_rows);
    /* How often wait() was given news - wake(), events processed, clock moved - in this run: who
     * works beside a statement sees what came since it was asked for. */
    uint64_t (*news)(wharf_req *req);

    /* Since 1.2. May the caller subscribe to the pattern? Its read scopes must cover the
     * resources of all types that it takes. Adds scope_access with each missing one. */
    wharf_status (*need_pattern)(wharf_req *req, wharf_str pattern);
    /* Fills ret_readers with the rights of n subscriptions: of each those of the key with which
     * it was made, as they are now, also when the key is over. An empty key_id stands for the
     * installation's rights. A key that does not exist sees nothing. Costs one statement for
     * each different key. They live as long as memory asked for now. */
    wharf_status (*readers)(
        wharf_req *req, const wharf_str *key_ids, size_t n, const wharf_event_reader **ret_readers);
    /* May it see the event: its type by scopes, its row by locations and audience? */
    bool (*sees)(const wharf_event_reader *reader, const wharf_event *e);

    /* Since 1.3. The batch that the request's changes belong to; empty: none. */
    wharf_str (*batch)(const wharf_req *req);

    /* Since 1.4. For how many days events of the request's organization are kept
     * (settings.events.expire_after; docs/spec/07-events-and-webhooks.md section 1). */
    int (*days_kept)(wharf_req *req);

    /* Since 1.5. The event as this reader may see it, with the parts of its data that it sees;
     * NULL: it may not see it. Whoever hands an event on asks for it, instead of sees().
     * locations: array of the only ones that the receiver is for; NULL or []: all of the
     * reader's. */
    const wharf_event *(*for_reader)(wharf_req *req, const wharf_event_reader *reader,
        const wharf_json *locations, const wharf_event *e);
    /* Puts these parts of an event (its column) into its body, as `seen` says, which was kept: at
     * is where the data's last brace stands. */
    wharf_str (*with_parts)(
        wharf_req *req, wharf_str body, size_t at, wharf_str parts, wharf_str seen);

    /* Since 1.6. As readers(), with the rights of users by role and locations. Who is not active
     * sees nothing. Users see nothing of a test organization: they stand with the live one. */
    wharf_status (*user_readers)(wharf_req *req, const wharf_str *user_ids, size_t n,
        const wharf_event_reader **ret_readers);

    /* Since 1.7. From here on nobody whom the request's changes concern is to be told of them,
     * such as the recipients of shipments: a batch with notify_customer false. Asked by the modules
     * whose rows these are. */
    void (*silence)(wharf_req *req, bool quiet);
    bool (*silent)(const wharf_req *req);
} wharf_events_api;

#ifdef __cplusplus
}
#endif
#endif
