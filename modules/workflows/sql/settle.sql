-- Settles runs. given: as of add, and [{n attempt, at, f (its end), ms, q queued milliseconds, u
-- usage, o output, ot, l logs, e error, a the attempt as it is shown, z milliseconds to wait,
-- again: it failed}]; s may also be "waiting", "released" (never begun) and "forgotten" (over, and
-- not to be kept). Answers as tally. Ends are written by the place of each row, which its key
-- finds: a join by key and status alike reads all running rows for each end.
CREATE OR REPLACE FUNCTION workflows.settle(org text, its_worker text, given json)
    RETURNS TABLE (workflow_id text, streak bigint, tell bigint, run_id text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog
    SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
    SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
    moment timestamptz(3);
    ids text[];
    keys text[];
BEGIN
    RETURN QUERY SELECT * FROM workflows.tally(org, given);
    PERFORM workflows.hold_queue(org);
    moment := wharf.now();
    WITH g AS MATERIALIZED (
        SELECT e.*, p.place
            FROM json_to_recordset(given)
            AS e(i text, w text, n bigint, s text, at timestamptz, f timestamptz, ms bigint,
            q bigint, u jsonb, o jsonb,
            ot boolean, l jsonb, e jsonb, a jsonb, z bigint, again boolean)
        CROSS JOIN LATERAL (SELECT t.ctid AS place, t.status, t.worker, t.attempt
            FROM workflows.run t WHERE t.organization_id = org AND t.id = e.i
            LIMIT 1 FOR UPDATE) p
        WHERE p.status = 'running' AND p.worker = its_worker AND p.attempt = e.n
    ), kept AS (
        UPDATE workflows.run r
            SET status = CASE g.s WHEN 'released' THEN 'queued' ELSE g.s END, worker = NULL,
            lease_until = NULL, updated_at = moment,
            attempt = CASE g.s WHEN 'released' THEN r.attempt - 1 ELSE r.attempt END,
            started_at = CASE g.s WHEN 'released' THEN NULL ELSE g.at END, finished_at = g.f,
            duration_ms = g.ms, queued_ms = g.q, usage = g.u, output = g.o,
            output_truncated = COALESCE(g.ot, false), logs = COALESCE(g.l, '[]'), error = g.e,
            attempts = CASE WHEN g.a IS NULL THEN r.attempts ELSE r.attempts || g.a END,
            retries = r.retries + CASE WHEN g.again THEN 1 ELSE 0 END,
            due_at = CASE g.s WHEN 'released' THEN r.due_at
                WHEN 'waiting' THEN moment + g.z * interval '1 millisecond' END,
            input_truncated = g.s NOT IN ('released', 'waiting') AND r.input_large,
            input = CASE WHEN g.s NOT IN ('released', 'waiting') AND r.input_large THEN NULL
                ELSE r.input END,
            given = CASE WHEN g.s NOT IN ('released', 'waiting') AND r.input_large THEN NULL
                ELSE r.given END
        FROM g WHERE g.s <> 'forgotten' AND r.ctid = g.place
        RETURNING r.workflow_id, r.order_key, g.s
    ), gone AS (
        DELETE FROM workflows.run r USING g WHERE g.s = 'forgotten' AND r.ctid = g.place
        RETURNING r.workflow_id, r.order_key, g.s
    ), over AS (
        SELECT * FROM kept WHERE s NOT IN ('released', 'waiting') UNION ALL SELECT * FROM gone
    )
    SELECT array_agg(o.workflow_id), array_agg(o.order_key) INTO ids, keys FROM over o
        WHERE o.order_key IS NOT NULL;
    PERFORM workflows.move_up(org, ids, keys, moment);
    PERFORM workflows.drop_canceled(org, moment);
END
$$;
