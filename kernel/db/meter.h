/* meter.h - how many connections of this process are busy, and how long statements take: for
 * /metrics.
 *
 * docs/spec/01-platform.md section 17 (db_pool_in_use, db_query_duration_seconds). A process
 * that sets no meter measures nothing. */
#ifndef WHARF_DB_METER_H
#define WHARF_DB_METER_H

#include <libpq-fe.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct db_meter {
    _Atomic int64_t *in_use;
    void (*observe)(void *arg, int64_t us); /* [any] */
    void *arg;
};

/* Sets the meter of the process. Must be called once, before other threads use the database. */
void db_meter_set(const struct db_meter *m);
/* Counts a connection that libpq made, NULL too, and returns it: what every connection has, its two
 * buffers above all (MEMORY_DATABASE). libpq tells nobody when a large answer makes them grow.
 * db_meter_close() ends it. [any] */
PGconn *db_meter_open(PGconn *pg);
void db_meter_close(PGconn *pg); /* NULL is accepted */
/* Counts a large result that is kept (MEMORY_RESULTS), and returns it. db_meter_clear() frees it.
 * [any] */
PGresult *db_meter_keep(PGresult *r);
void db_meter_clear(PGresult *r);
/* Notes that a connection is busy from now on, or no longer. *counted is the connection's own; 0
 * at first. */
void db_meter_busy(bool *counted, bool busy);
/* Notes whether a connection could be made. *refused is the connection's own, 0 at first; it is
 * noted as made, too, before its owner is freed. [any] */
void db_meter_connected(unsigned *refused, bool connected);
/* Tells whether the last try of some connection failed. [any] */
bool db_meter_refused(void);
/* Forgets all tries that failed: the database takes connections again. [any] */
void db_meter_forget_refused(void);
void db_meter_statement(int64_t us); /* as its sender saw it */

#endif
