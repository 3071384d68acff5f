-- Compares what a worker holds with the rows, after its connection was lost. Leases and ends are
-- not waited for on the disk, and answers get lost: so the rows may say of jobs that nobody runs
-- that they run here, and of those that run here that they wait. v_held: [{o organization, id, f
-- fence}], all that it holds. The first are given back. The second belong to nobody here; their
-- fence goes past this worker's, so that a lease that follows is not mistaken for it. Returns the
-- second.
CREATE OR REPLACE FUNCTION wharf.job_reconcile(v_worker text, v_held json) RETURNS SETOF bigint
    LANGUAGE plpgsql
    SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
DECLARE
    h record;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('wharf.job_lease', 0));
    UPDATE wharf.job j SET state = 'ready', worker = NULL, leased_at = NULL
    WHERE j.state = 'running' AND j.worker = v_worker
        AND NOT EXISTS (SELECT FROM json_to_recordset(v_held) AS k(o text, id bigint)
            WHERE k.o = j.organization_id AND k.id = j.id);
    FOR h IN SELECT * FROM json_to_recordset(v_held) AS k(o text, id bigint, f bigint) LOOP
        UPDATE wharf.job SET fence = h.f
            WHERE organization_id = h.o AND id = h.id AND state <> 'running' AND fence < h.f;
        IF NOT EXISTS (SELECT FROM wharf.job
            WHERE organization_id = h.o AND id = h.id AND state = 'running' AND worker = v_worker
            AND fence = h.f) THEN
            RETURN NEXT h.id;
        END IF;
    END LOOP;
END
$$;
