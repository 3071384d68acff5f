-- Settles runs that had no transaction, or failed. v_gone: as of job_leave; v_back: s = 'retry'
-- (d: milliseconds) or 'release' (given back, nothing counted). Need not reach the disk at once:
-- what is lost by a crash of the database is run once more.
CREATE OR REPLACE FUNCTION wharf.job_settle(v_worker text, v_gone json, v_back json) RETURNS void
    LANGUAGE plpgsql
    SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
DECLARE
    s record;
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    IF v_gone IS NOT NULL THEN
        PERFORM wharf.job_leave(v_worker, v_gone);
    END IF;
    FOR s IN SELECT *
        FROM json_to_recordset(COALESCE(v_back, '[]'))
        AS s(o text, id bigint, f bigint, s text, e text, d bigint) LOOP
        UPDATE wharf.job SET worker = NULL, leased_at = NULL,
            state = CASE WHEN s.s = 'retry' AND s.d > 0 THEN 'delayed' ELSE 'ready' END,
            run_at = CASE WHEN s.s = 'retry' THEN wharf.now() + make_interval(secs => s.d / 1000.0)
                ELSE run_at END,
            attempts = attempts + (s.s = 'retry')::integer,
            error = COALESCE(s.e, error)
        WHERE organization_id = s.o AND id = s.id AND worker = v_worker AND fence = s.f
            AND state = 'running';
    END LOOP;
END
$$;
