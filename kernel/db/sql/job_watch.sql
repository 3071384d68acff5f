-- Notes how far running jobs are, and returns those of the worker that are to be cancelled.
CREATE OR REPLACE FUNCTION wharf.job_watch(v_worker text, v_progress json) RETURNS SETOF bigint
    LANGUAGE plpgsql
    SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
DECLARE
    s record;
BEGIN
    FOR s IN SELECT *
        FROM json_to_recordset(COALESCE(v_progress, '[]'))
        AS s(o text, id bigint, f bigint, d bigint, t bigint) LOOP
        PERFORM set_config('synchronous_commit', 'off', true);
        UPDATE wharf.job SET progress_done = s.d, progress_total = NULLIF(s.t, 0)
        WHERE organization_id = s.o AND id = s.id AND worker = v_worker AND fence = s.f
            AND state = 'running';
    END LOOP;
    RETURN QUERY SELECT id FROM wharf.job WHERE state = 'running' AND worker = v_worker AND cancel;
END
$$;
