-- Marks workers whose lease is over as lost; what they held, and what workers that are gone
-- held, is ready again. Returns the number of jobs.
CREATE OR REPLACE FUNCTION wharf.job_sweep() RETURNS integer LANGUAGE plpgsql
    SET enable_seqscan = off AS $$
DECLARE
    v_lost text[];
    v_count integer;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('wharf.job_lease', 0));
    WITH lost AS (UPDATE wharf.job_worker SET lost = true
        WHERE NOT lost AND lease_until < wharf.now() RETURNING client)
    SELECT array_agg(client) INTO v_lost FROM lost WHERE starts_with(client, 'wharf_worker_');
    IF v_lost IS NOT NULL THEN
        PERFORM pg_terminate_backend(a.pid) FROM pg_stat_activity a
        WHERE a.application_name = ANY (v_lost) AND a.usename = current_user
            AND a.datname = current_database() AND a.pid <> pg_backend_pid();
    END IF;
    UPDATE wharf.job j SET state = 'ready', worker = NULL, leased_at = NULL
    WHERE j.state = 'running'
        AND NOT EXISTS (SELECT FROM wharf.job_worker w WHERE w.id = j.worker AND NOT w.lost);
    GET DIAGNOSTICS v_count = ROW_COUNT;
    RETURN v_count;
END
$$;
