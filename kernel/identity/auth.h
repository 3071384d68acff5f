/* auth.h - who is asking: API keys, principals, scopes, location access.
 *
 * docs/spec/01-platform.md sections 5 to 7. Keys are found by hash; principals are cached per
 * process for at most 5 s and dropped at once when the database says that something changed
 * (NOTIFY wharf_auth). Leaves to others: the endpoints that manage keys, rate limits. */
#ifndef WHARF_IDENTITY_AUTH_H
#define WHARF_IDENTITY_AUTH_H

#include <libpq-fe.h>
#include <stdatomic.h>

#include "query/query.h"
#include "util/network.h"

enum { AREAS_MAX = 64, KEY_HASH = 32 };
enum scope_level { SCOPE_NONE, SCOPE_READ, SCOPE_WRITE };

/* The areas known to this process; an area's number indexes principal.levels. Built at start,
 * then read-only. */
struct area_resource {
    const char *name;
    int area; /* -1: anybody's who may read what tells of it */
};
struct areas {
    const char *names[AREAS_MAX];
    size_t count;
    /* resources and the scopes that read them; set when all definitions are there */
    const struct area_resource *resources;
    size_t n_resources;
};
/* Returns the number of the area, which is added when it is new (only at start). Returns -1 when
 * the table is full. */
int area_number(struct areas *a, const char *name);
int area_find(const struct areas *a, wharf_str name);

/* Limits of requests that a key or an organization has of its own; -1: that of the settings. */
struct own_rate {
    int64_t rate, burst;
};
struct own_limits {
    struct own_rate key, write, organization;
    int64_t concurrency;
};

struct principal { /* immutable once made; counted */
    _Atomic unsigned refs;
    struct arena *arena;
    wharf_str organization;
    wharf_str key_id, key_name, last4;
    wharf_str actor_type; /* "user", "device", "api_key" */
    wharf_str actor_id, actor_name; /* the principal, else the key */
    wharf_str role;
    bool test_mode;
    uint8_t levels[AREAS_MAX]; /* enum scope_level, key's and principal's met */
    struct access access;
    const struct network *networks; /* the key works from these only; none: from anywhere */
    size_t n_networks;
    int64_t expires_at_us; /* kernel clock; INT64_MAX: never */
    struct own_limits limits;
    int event_days; /* settings.events.expire_after of the organization */
    /* "location:create 815 shipment:update 815": writes with hooks of the organization
     * (services/lua/lua_tenant.h), each with the transaction that wrote it; p NULL: not known */
    wharf_str hooks;
    /* objects of the organization whose data it works on; NULL: not known */
    const struct wharf_json *settings, *profile;
    /* settings.api.datetime_format: enum datetime_format of resource/request.h */
    uint8_t datetime_format;
    _Atomic bool noted; /* its use was put on the list of auth_used() */
    const char *refusal; /* NULL, or the code every request gets: "api_key.revoked" ... */
};
/* Makes a principal in a that may do nothing: one reference, all texts empty, never expiring. The
 * caller says who it is. `arena` is set only by whoever gives the arena to the principal. */
struct principal *principal_new(struct arena *a);
void principal_ref(struct principal *p);
void principal_unref(struct principal *p); /* NULL is accepted */
bool principal_may_see(const struct principal *p, wharf_str location_id);
/* Tells whether the principal may read rows of this resource. For a name that no definition has:
 * only when it reads all that there are. */
bool principal_reads(const struct principal *p, wharf_str resource);
/* Computes, in a, what the principal reads and reaches, after its levels or locations were changed
 * (docs/spec/01-platform.md section 7 'records'). */
void principal_settle(const struct areas *areas, struct principal *p, struct arena *a);

/* The key text of a request: SVC-API-KEY, else X-API-KEY, else Authorization: Bearer. NULL
 * members are absent. */
struct auth_headers {
    const char *svc_api_key, *x_api_key, *authorization;
};
/* Hashes the key of the request. Returns false and a code ("api_key.missing", "api_key.invalid")
 * when no database read is needed to refuse. */
bool auth_key_hash(const struct auth_headers *h, const char *pepper,
    unsigned char ret_hash[KEY_HASH], const char **ret_code);

struct auth_cache;
struct auth_cache *auth_cache_new(void);
void auth_cache_free(struct auth_cache *c);
/* Returns a reference to the cached principal, or NULL when it must be read. [any] */
struct principal *auth_cache_get(
    struct auth_cache *c, const unsigned char hash[KEY_HASH], int64_t now_us);
/* Returns a number that each auth_cache_clear() raises: ask before a principal is read. [any] */
unsigned auth_cache_generation(struct auth_cache *c);
/* Takes a reference. Keeps nothing when the cache was cleared since generation was asked for:
 * what was read then may be older than the change that cleared it. */
void auth_cache_put(struct auth_cache *c, const unsigned char hash[KEY_HASH], struct principal *p,
    unsigned generation, int64_t now_us);
void auth_cache_clear(struct auth_cache *c);
/* Notes that a key was used: once per cached principal. auth_used_take() empties the list: ids
 * of organizations and keys as two PostgreSQL arrays (false: nothing was noted), to be written
 * down by the process's side thread, never by a request. */
void auth_used(struct auth_cache *c, struct principal *p);
bool auth_used_take(struct auth_cache *c, struct buf *ret_organizations, struct buf *ret_keys);
/* Takes that list and writes it with pg (used.c). [side thread] */
void auth_used_write(struct auth_cache *c, PGconn *pg);

/* Makes the principal of the installation itself: all areas, all locations of one organization;
 * actor sys. It is in the arena, not counted. */
struct principal *principal_system(struct arena *a, wharf_str organization);
/* Returns the days of settings.events.expire_after ("days_90"); those of an organization that has
 * not set it for "" and any other text. */
int principal_event_days(const char *expire_after);
/* The one statement that reads everything about a key; $1 = hash as hex ("\\x..."), $2 = now
 * (ISO). */
extern const char auth_lookup_sql[];
/* the same; $1 = the live organization, $2 = the key's id */
extern const char auth_lookup_id_sql[];
/* the same of a user without a key; $1 = the live organization, $2 = the user's id */
extern const char auth_lookup_user_sql[];
/* Makes a principal from that statement's result. Never returns NULL: an unknown key gives one
 * with refusal "api_key.invalid". */
struct principal *auth_principal(const struct areas *areas, const PGresult *result, int64_t now_us);

#endif
