-- Runs a parked or canceled job once more, with all its tries, before the others of its line.
-- False: there is no such job.
CREATE OR REPLACE FUNCTION wharf.job_retry(v_id bigint) RETURNS boolean LANGUAGE sql AS $$
    WITH gone AS (DELETE FROM wharf.job_past WHERE id = $1 AND state <> 'done' RETURNING *),
    back AS (INSERT
        INTO wharf.job (organization_id, id, queue, lane, key, state, run_at, args, actor_type,
            actor_id, request_id, created_at)
        SELECT organization_id, id, queue, lane, key, 'ready', wharf.now(), args, actor_type,
            actor_id, request_id, created_at FROM gone
        RETURNING 1)
    SELECT count(*) = 1 FROM back
$$;
