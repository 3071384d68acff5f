-- Keeps recordings. given: [{i run, n attempt, c is it complete, d its data}]. Writes nothing of
-- a run that somebody else has by now, or that is not kept.
CREATE OR REPLACE FUNCTION workflows.keep_recordings(org text, given json) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog
    SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off
        SET enable_mergejoin = off AS $$
BEGIN
    WITH g AS MATERIALIZED (SELECT *
        FROM json_to_recordset(given) AS e(i text, n bigint, c boolean, d json)), own AS (
        UPDATE workflows.run r SET replayable = g.c FROM g
        WHERE r.organization_id = org AND r.id = g.i AND r.attempt = g.n AND r.status <> 'running'
            RETURNING r.id
    )
    INSERT INTO workflows.recording (organization_id, run_id, data) SELECT org, g.i, g.d FROM g
        JOIN own ON own.id = g.i
    ON CONFLICT (organization_id, run_id) DO UPDATE SET data = EXCLUDED.data;
END
$$;
