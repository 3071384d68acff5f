/* scrub_job.c - reads each stored object now and then, slowly, and tells of those that are damaged
 * or lost: a job of the kernel, each ten minutes, once for the installation (spec 05 section 6.1;
 * docs/reference/files.md 'Scrubbing').
 *
 * Rows of files hold when their object was read last (read_at), what is wrong with it (damage),
 * and what the plugin was told of that (damage_told). So a run goes on where the one before
 * ended, and what could not be told is told by the next one. Leaves to others: calling plugins
 * (arrival.h), the gauge (job/queue.c), all at once (blob_check.c). */
#include <errno.h>
#include <openssl/evp.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "blob/arrival.h"
#include "blob/blob_digest.h"
#include "blob/blob_file.h"
#include "blob/blob_sample.h"
#include "blob/blob_store.h"
#include "job/job.h"
#include "resource/engine.h"
#include "util/log.h"
#include "util/str.h"
#include "util/time.h"
#include "wharf/service/blob.h"

enum {
    PORTION = 4 * 1024 * 1024, /* what is asked of the store at once */
    AGAIN_MOST = 100, /* damaged ones that one run reads again */
    TELL_AT_ONCE = 100, /* objects that are told of in one run */
    TROUBLES_MOST = 3, /* objects that could not be read; then the store is away */
    LOST_MOST = 100, /* with none that is there; then more than objects is wrong */
    SLICE_US = 100000, /* between two looks at whether the job shall end */
    RUN_US = 540000000, /* objects are begun for so long; nobody waits for a run */
    SECOND = 1000000
};
#define DAY_US 86400000000LL

const char file_scrub_policy[] = "{\"every\": \"10m\", \"retries\": 0, \"timeout\": \"15m\", "
                                 "\"transaction\": \"own\", \"background\": true}";

enum verdict { WHOLE, DAMAGED, LOST, TROUBLE, STOPPED };

struct scrub {
    struct wharf_req *req;
    struct blob_store *store;
    int64_t began_us, rate; /* monotonic; bytes per second */
    uint64_t bytes; /* read since it began */
    uint32_t steps; /* portions and waits: tells the job that it lives */
    unsigned objects, damaged, lost, troubles;
    bool stopped;
};

/* An object that is to be read. */
struct object {
    char hash[BLOB_HASH + 1], at[48]; /* at: when it was read last, as the database writes it */
    uint64_t size;
};

/* ---- the pace ---- */

static bool scrub_job_go_on(struct scrub *s)
{
    s->stopped = s->stopped || job_progress(s->req, ++s->steps, 0) != 0;
    return !s->stopped;
}

/* Waits until so many bytes more may have been read. Returns false when the job shall end. */
static bool pace(struct scrub *s, uint64_t n)
{
    int64_t due, left;

    s->bytes += n;
    due = s->began_us + (int64_t)((double)s->bytes * SECOND / (double)s->rate);
    while (scrub_job_go_on(s) && (left = due - clock_monotonic_us()) > 0) {
        struct timespec wait = {.tv_nsec = (left < SLICE_US ? left : SLICE_US) * 1000};

        nanosleep(&wait, NULL);
    }
    return !s->stopped;
}

/* ---- one object ---- */

static enum verdict scrub_job_verdict_of(enum blob_status status)
{
    return status == BLOB_OK        ? WHOLE
           : status == BLOB_ABSENT  ? LOST
           : status == BLOB_DAMAGED ? DAMAGED
                                    : TROUBLE;
}

/* Adds bytes of a descriptor to the digest. A disk that can't read them has lost them. */
static enum verdict scrub_job_feed(EVP_MD_CTX *digest, int fd, uint64_t at, uint64_t length)
{
    if (blob_digest_add(fd, at, length, &digest, 1))
        return WHOLE;
    return errno == 0 || errno == EIO ? DAMAGED : TROUBLE;
}

/* Reads all portions into the digest, as slowly as it shall be. */
static enum verdict read_portions(struct scrub *s, const struct object *o, EVP_MD_CTX *digest)
{
    enum verdict v = WHOLE;

    for (uint64_t done = 0; v == WHOLE && done < o->size;) {
        uint64_t length = o->size - done < PORTION ? o->size - done : PORTION, at;
        int fd;

        v = scrub_job_verdict_of(blob_get(s->store, o->hash, done, length, &fd, &at));
        if (v != WHOLE)
            break;
        v = scrub_job_feed(digest, fd, at, length);
        close(fd);
        done += length;
        if (!pace(s, length))
            v = STOPPED;
    }
    return v;
}

static enum verdict scrub_job_compare(struct scrub *s, const struct object *o)
{
    unsigned char raw[EVP_MAX_MD_SIZE];
    char hex[BLOB_HASH + 1];
    uint64_t size;
    enum verdict v = scrub_job_verdict_of(blob_size(s->store, o->hash, &size));
    EVP_MD_CTX *digest;

    if (v != WHOLE)
        return v;
    if (size != o->size)
        return DAMAGED;
    digest = blob_digest_new(EVP_sha256());
    v = read_portions(s, o, digest);
    EVP_DigestFinal_ex(digest, raw, NULL);
    EVP_MD_CTX_free(digest);
    sodium_bin2hex(hex, sizeof(hex), raw, BLOB_HASH / 2);
    return v == WHOLE && strcmp(hex, o->hash) != 0 ? DAMAGED : v;
}

/* ---- rows ---- */

/* Runs a statement on its own. Returns NULL after it was logged. */
static PGresult *scrub_job_ask(
    struct scrub *s, const char *sql, const struct sql_arg *args, size_t n)
{
    struct db_error e;
    PGresult *r = db_run(s->req->thread->db, sql, args, n, &e);

    if (!r)
        log_write(WHARF_LOG_WARN, NULL, s->req->request_id, "blob.scrub", "%s", e.message);
    return r;
}

static struct sql_arg scrub_job_arg_of(const char *text)
{
    return (struct sql_arg){text, strlen(text)};
}

/* Takes the object of the first row, and frees the rows. Returns false when there is none. */
static bool scrub_job_take(PGresult *r, struct object *o)
{
    bool found = r && PQntuples(r) == 1;

    if (found) {
        snprintf(o->hash, sizeof(o->hash), "%s", PQgetvalue(r, 0, 0));
        o->size = strtoull(PQgetvalue(r, 0, 1), NULL, 10);
        snprintf(o->at, sizeof(o->at), "%s", PQgetvalue(r, 0, 2));
    }
    PQclear(r);
    return found;
}

/* Tells the operator what is new about an object, by the first of its files for which it is. r:
 * what scrub_job_note() wrote; files that were stored since may have been known as they are. */
static void log_verdict(const PGresult *r, const struct object *o, enum verdict v)
{
    const char *file, *organization, *before;
    int n = PQntuples(r), i = 0;

    while (i < n && PQgetvalue(r, i, 3)[0] != 't')
        i++;
    if (i == n)
        return;
    organization = PQgetvalue(r, i, 0);
    file = PQgetvalue(r, i, 1);
    before = PQgetvalue(r, i, 2);
    if (v == WHOLE)
        log_info("blob.mended", "the object %s is whole again: file %s of %s, %d files in all",
            o->hash, file, organization, n);
    else
        log_error(v == LOST ? "blob.lost" : "blob.damaged",
            "the object %s (%llu bytes) %s%s: file %s of %s, %d files in all", o->hash,
            (unsigned long long)o->size,
            v == LOST ? "is not in the store" : "does not have the bytes of its hash",
            *before ? ", which is not how it was" : "", file, organization, n);
}

/* Writes down what an object is. Rows that were stored after the look began are about another
 * object, and those that somebody has are left to the next run. */
static bool scrub_job_note(
    struct scrub *s, const struct object *o, enum verdict v, int64_t looked_us)
{
    static const char sql[] =
        "UPDATE wharf.file f SET read_at = $2::timestamptz, damage = $3 FROM (SELECT "
        "organization_id, id, damage FROM wharf.file WHERE hash = $1 AND state = 'stored' AND "
        "stored_at <= $2::timestamptz FOR UPDATE SKIP LOCKED) o WHERE f.organization_id = "
        "o.organization_id AND f.id = o.id RETURNING f.organization_id, f.id, "
        "coalesce(o.damage, ''), o.damage IS DISTINCT FROM f.damage";
    char now[ISO_MS_LEN + 1];
    struct sql_arg args[] = {scrub_job_arg_of(o->hash), scrub_job_arg_of(now), {NULL, 0}};
    PGresult *r;

    time_format_iso(looked_us, now);
    args[1].n = strlen(now);
    if (v != WHOLE)
        args[2] = scrub_job_arg_of(v == LOST ? "lost" : "damaged");
    r = scrub_job_ask(s, sql, args, 3);
    if (r)
        log_verdict(r, o, v);
    PQclear(r);
    return r != NULL;
}

/* Looks at an object; at a damaged one twice, as what was read may have been damaged on its way.
 * Returns whether to go on. */
static bool scrub_job_look(struct scrub *s, const struct object *o)
{
    int64_t looked_us = s->req->now_us;
    enum verdict v = scrub_job_compare(s, o);

    if (v == DAMAGED && !s->stopped)
        v = scrub_job_compare(s, o);
    if (v == STOPPED || s->stopped)
        return false;
    if (v == TROUBLE)
        return ++s->troubles < TROUBLES_MOST;
    s->objects++;
    s->damaged += v == DAMAGED;
    s->lost += v == LOST;
    if (!scrub_job_note(s, o, v, looked_us))
        return false;
    if (s->lost < LOST_MOST || s->lost < s->objects)
        return scrub_job_go_on(s);
    log_error("blob.scrub", "%u objects, and not one is in the store; see that it is the right one",
        s->objects);
    return false;
}

/* Reads objects that are known to be damaged or lost once more: they may have been mended. */
static bool look_again(struct scrub *s)
{
    static const char sql[] =
        "SELECT hash, size, read_at::text FROM wharf.file WHERE damage IS NOT NULL AND state = "
        "'stored' AND read_at < $1::timestamptz ORDER BY read_at, hash LIMIT 1";
    char began[ISO_MS_LEN + 1];
    struct object o;
    bool on = true;

    time_format_iso(s->req->now_us, began);
    for (int i = 0; on && i < AGAIN_MOST; i++) {
        const struct sql_arg arg = scrub_job_arg_of(began);

        if (!scrub_job_take(scrub_job_ask(s, sql, &arg, 1), &o))
            return true;
        on = scrub_job_look(s, &o);
    }
    return on;
}

/* Looks for some of the objects, once in the life of a process: a start with the wrong folder or
 * bucket is not told a month later. */
static bool look_for_some(struct scrub *s)
{
    unsigned char raw[BLOB_HASH / 2];
    char from[BLOB_HASH + 1];
    struct sql_arg arg;
    PGresult *r;
    bool on = true;

    if (atomic_exchange(&s->store->sampled, true))
        return true;
    randombytes_buf(raw, sizeof(raw));
    arg = scrub_job_arg_of(sodium_bin2hex(from, sizeof(from), raw, sizeof(raw)));
    r = scrub_job_ask(s, blob_sample_sql, &arg, 1);
    for (int i = 0; r && on && i < PQntuples(r); i++) {
        struct object o = {.size = strtoull(PQgetvalue(r, i, 1), NULL, 10)};
        uint64_t size;

        snprintf(o.hash, sizeof(o.hash), "%s", PQgetvalue(r, i, 0));
        if (blob_size(s->store, o.hash, &size) == BLOB_ABSENT)
            on = scrub_job_look(s, &o);
    }
    PQclear(r);
    return on;
}

/* Reads objects that were not read for blob.scrub_days, the oldest first. */
static void look_at_due(struct scrub *s)
{
    static const char sql[] =
        "SELECT hash, size, coalesce(read_at, stored_at)::text FROM wharf.file WHERE state = "
        "'stored' AND (coalesce(read_at, stored_at), hash) > ($1::timestamptz, $2) AND "
        "coalesce(read_at, stored_at) <= $3::timestamptz ORDER BY coalesce(read_at, stored_at), "
        "hash LIMIT 1";
    struct object o = {.at = "-infinity"};
    char before[ISO_MS_LEN + 1];

    time_format_iso(s->req->now_us - s->req->engine->config->blob_scrub_days * DAY_US, before);
    while (clock_monotonic_us() - s->began_us < RUN_US) {
        const struct sql_arg args[] = {
            scrub_job_arg_of(o.at), scrub_job_arg_of(o.hash), scrub_job_arg_of(before)};

        if (!scrub_job_take(scrub_job_ask(s, sql, args, 3), &o) || !scrub_job_look(s, &o))
            break;
    }
}

/* ---- telling ---- */

/* Tells the plugin of a file, which has its rows first, and notes what it was told. */
static void scrub_job_tell_one(struct scrub *s, const PGresult *r, int i)
{
    static const char sql[] = "UPDATE wharf.file SET damage_told = damage WHERE organization_id = "
                              "$1 AND id = $2 AND damage IS NOT DISTINCT FROM $3";
    struct wharf_req *req = s->req;
    wharf_str organization = str_z(PQgetvalue(r, i, 0)), id = str_z(PQgetvalue(r, i, 1));
    const char *damage = PQgetisnull(r, i, 3) ? NULL : PQgetvalue(r, i, 3);
    const struct sql_arg args[] = {
        {organization.p, organization.n}, {id.p, id.n}, {damage, damage ? strlen(damage) : 0}};
    wharf_status status = req_begin(req);

    if (status == WHARF_OK)
        status = arrival_tell_damage(req, str_z(PQgetvalue(r, i, 2)), organization, id,
            !damage                       ? WHARF_BLOB_WHOLE
            : strcmp(damage, "lost") == 0 ? WHARF_BLOB_LOST
                                          : WHARF_BLOB_DAMAGED);
    if (status == WHARF_OK && !req_query(req, sql, args, 3))
        status = WHARF_UNAVAILABLE;
    if (status == WHARF_OK)
        status = req_commit(req);
    else
        req_rollback(req);
    if (status != WHARF_OK)
        log_write(WHARF_LOG_WARN, NULL, req->request_id, "blob.scrub",
            "%s could not be told of file %s; the next run does", PQgetvalue(r, i, 2), id.p);
    req_clear_problems(&req->problems);
}

/* Tells plugins what they do not know, each row once in a run. */
static void scrub_job_tell_all(struct scrub *s)
{
    static const char sql[] =
        "SELECT organization_id, id, plugin, damage FROM wharf.file WHERE damage IS DISTINCT FROM "
        "damage_told AND (organization_id, id) > ($1, $2) ORDER BY organization_id, id LIMIT 100";
    char organization[64] = "", id[64] = "";
    int n = TELL_AT_ONCE;

    while (n == TELL_AT_ONCE && !s->stopped) {
        const struct sql_arg args[] = {scrub_job_arg_of(organization), scrub_job_arg_of(id)};
        PGresult *r = scrub_job_ask(s, sql, args, 2);

        n = r ? PQntuples(r) : 0;
        for (int i = 0; i < n && scrub_job_go_on(s); i++) {
            struct req_scope scope = req_scope_begin(s->req);

            scrub_job_tell_one(s, r, i);
            req_scope_end(s->req, &scope);
        }
        if (n) {
            snprintf(organization, sizeof(organization), "%s", PQgetvalue(r, n - 1, 0));
            snprintf(id, sizeof(id), "%s", PQgetvalue(r, n - 1, 1));
        }
        PQclear(r);
    }
}

wharf_status file_scrub_job(struct wharf_req *req, void *arg)
{
    struct scrub s = {.req = req,
        .store = req->engine->blobs,
        .began_us = clock_monotonic_us(),
        .rate = req->engine->config->blob_scrub_rate};

    (void)arg;
    if (!req->engine->config->blob_scrub_days)
        return WHARF_OK;
    if (blob_probe(s.store) == ENOENT) {
        log_error("blob.scrub", "the folder of files is gone; nothing is looked at");
        return WHARF_OK;
    }
    scrub_job_tell_all(&s);
    if (look_for_some(&s) && look_again(&s))
        look_at_due(&s);
    scrub_job_tell_all(&s);
    if (s.objects)
        log_info("blob.scrubbed", "%u objects, %llu bytes: %u damaged, %u lost", s.objects,
            (unsigned long long)s.bytes, s.damaged, s.lost);
    return WHARF_OK;
}
