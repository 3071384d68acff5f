-- wharf: phase=expand
-- A worker that stands still (a stopped process, a machine that sleeps) keeps its transactions, with their locks, and no time limit of PostgreSQL ends one
-- that waits in the middle of a COPY or for somebody to read its rows. So whoever finds that its lease is over ends its connections too. client: the
-- name that the connections of one process have, and no others (db/conn.c); those of versions before this have none that begins so.
ALTER TABLE wharf.job_worker ADD COLUMN client text COLLATE "C";
ALTER TABLE wharf.job_worker ALTER COLUMN client SET DEFAULT current_setting('application_name');

-- Workers whose lease is over are lost; what they held, and those that are gone, is ready again. Returns the number of jobs.
CREATE OR REPLACE FUNCTION wharf.job_sweep() RETURNS integer LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
    v_lost text[];
    v_count integer;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('wharf.job_lease', 0));
    WITH lost AS (UPDATE wharf.job_worker SET lost = true WHERE NOT lost AND lease_until < wharf.now() RETURNING client)
    SELECT array_agg(client) INTO v_lost FROM lost WHERE starts_with(client, 'wharf_worker_');
    IF v_lost IS NOT NULL THEN
        PERFORM pg_terminate_backend(a.pid) FROM pg_stat_activity a
        WHERE a.application_name = ANY (v_lost) AND a.usename = current_user AND a.datname = current_database() AND a.pid <> pg_backend_pid();
    END IF;
    UPDATE wharf.job j SET state = 'ready', worker = NULL, leased_at = NULL
    WHERE j.state = 'running' AND NOT EXISTS (SELECT FROM wharf.job_worker w WHERE w.id = j.worker AND NOT w.lost);
    GET DIAGNOSTICS v_count = ROW_COUNT;
    RETURN v_count;
END
$$;
