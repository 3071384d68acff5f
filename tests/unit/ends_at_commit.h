/* ends_at_commit.h - a table whose rows end their own session at the commit: statements that are a
 * transaction of their own have their answers, and FATAL comes in place of the answer to their
 * Sync. Used by db_conn.c and db_lane.c. */
#ifndef WHARF_TESTS_ENDS_AT_COMMIT_H
#define WHARF_TESTS_ENDS_AT_COMMIT_H

#define ENDS_AT_COMMIT                                                                             \
    "CREATE TABLE ends_at_commit (name text);"                                                     \
    "CREATE FUNCTION end_session() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM "          \
    "pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$;"                                 \
    "CREATE CONSTRAINT TRIGGER ends AFTER INSERT ON ends_at_commit DEFERRABLE INITIALLY DEFERRED " \
    "FOR EACH ROW EXECUTE FUNCTION end_session()"

#endif
