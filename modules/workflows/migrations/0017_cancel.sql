-- wharf: phase=expand
-- A run that is told to end, and ends its attempt before it hears of it, does not wait for another one (docs/spec/08-workflows-and-lua.md section 7): its end and
-- the next claim look for such runs, the latter for those that were given back by whoever had them.

CREATE INDEX run_canceled ON workflows.run (organization_id) WHERE cancel AND status IN ('queued', 'waiting');

-- Under the lock of the queue.
CREATE FUNCTION workflows.drop_canceled(org text, moment timestamptz) RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog
    SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    ids text[];
    keys text[];
BEGIN
    WITH gone AS (
        UPDATE workflows.run r SET status = 'canceled', finished_at = moment, updated_at = moment, due_at = NULL,
            error = '{"code": "workflow.canceled", "message": "the run was canceled"}'
        WHERE r.organization_id = org AND r.cancel AND r.status IN ('queued', 'waiting') RETURNING r.workflow_id, r.order_key
    )
    SELECT array_agg(g.workflow_id), array_agg(g.order_key) INTO ids, keys FROM gone g;
    IF ids IS NOT NULL THEN
        PERFORM workflows.move_up(org, ids, keys, moment);
    END IF;
END
$$;

-- Takes up to `most` due runs of one workflow: of that whose first one is due for longest among those that may run one more at a time.
CREATE OR REPLACE FUNCTION workflows.claim(org text, its_worker text, most integer) RETURNS TABLE (
    id text, workflow_id text, version bigint, attempt bigint, retries bigint, trigger text, trigger_type text, location_id text, on_behalf_of text, depth bigint,
    seed text, event_id text, input text, created_us bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
    SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
    at timestamptz(3) := wharf.now();
    w record;
BEGIN
    PERFORM workflows.hold_queue(org);
    at := wharf.now();
    PERFORM workflows.drop_canceled(org, at);
    FOR w IN
        SELECT k.id, k.enabled, k.deleted_at, k.published_version, h.due_at FROM workflows.workflow k CROSS JOIN LATERAL (
            SELECT r.due_at FROM workflows.run r WHERE r.organization_id = org AND r.workflow_id = k.id AND r.status IN ('queued', 'waiting')
                ORDER BY r.due_at, r.line LIMIT 1) h
        WHERE k.organization_id = org AND h.due_at <= at ORDER BY h.due_at
    LOOP
        IF w.deleted_at IS NOT NULL OR NOT w.enabled THEN
            PERFORM workflows.drop_waiting(org, w.id, CASE WHEN w.enabled THEN 'canceled' ELSE 'skipped' END);
            CONTINUE;
        END IF;
        CONTINUE WHEN (SELECT count(DISTINCT r.worker) FROM workflows.run r WHERE r.organization_id = org AND r.workflow_id = w.id AND r.status = 'running')
            >= COALESCE((SELECT (v.options #>> '{concurrency,max}')::bigint FROM workflows.version v WHERE v.organization_id = org
                AND v.workflow_id = w.id AND v.number = w.published_version), 5);
        RETURN QUERY WITH taken AS (
            UPDATE workflows.run r SET status = 'running', worker = its_worker, lease_until = at + interval '60 seconds', attempt = r.attempt + 1,
                workflow_version = COALESCE(r.pinned, w.published_version), started_at = at
            WHERE r.ctid = ANY (ARRAY(SELECT s.ctid FROM workflows.run s WHERE s.organization_id = org AND s.workflow_id = w.id
                AND s.status IN ('queued', 'waiting') AND s.due_at <= at ORDER BY s.due_at, s.line LIMIT most FOR UPDATE))
            RETURNING r.*)
        SELECT t.id, t.workflow_id, t.workflow_version, t.attempt, t.retries, t.trigger::text, t.trigger_type, t.location_id, t.on_behalf_of, t.depth, t.seed,
            t.event_id, (t.input -> 'value')::text, (extract(epoch FROM t.created_at) * 1000000)::bigint
        FROM taken t ORDER BY t.due_at, t.line;
        RETURN;
    END LOOP;
END
$$;

CREATE OR REPLACE FUNCTION workflows.settle(org text, its_worker text, given json) RETURNS TABLE (workflow_id text, streak bigint, tell bigint, run_id text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
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
        SELECT e.*, p.place FROM json_to_recordset(given) AS e(i text, w text, n bigint, s text, at timestamptz, f timestamptz, ms bigint, q bigint, u jsonb, o jsonb,
            ot boolean, l jsonb, e jsonb, a jsonb, z bigint, again boolean)
        CROSS JOIN LATERAL (SELECT t.ctid AS place, t.status, t.worker, t.attempt FROM workflows.run t WHERE t.organization_id = org AND t.id = e.i
            LIMIT 1 FOR UPDATE) p
        WHERE p.status = 'running' AND p.worker = its_worker AND p.attempt = e.n
    ), kept AS (
        UPDATE workflows.run r SET status = CASE g.s WHEN 'released' THEN 'queued' ELSE g.s END, worker = NULL, lease_until = NULL, updated_at = moment,
            attempt = CASE g.s WHEN 'released' THEN r.attempt - 1 ELSE r.attempt END,
            started_at = CASE g.s WHEN 'released' THEN NULL ELSE g.at END, finished_at = g.f, duration_ms = g.ms, queued_ms = g.q, usage = g.u, output = g.o,
            output_truncated = COALESCE(g.ot, false), logs = COALESCE(g.l, '[]'), error = g.e,
            attempts = CASE WHEN g.a IS NULL THEN r.attempts ELSE r.attempts || g.a END,
            retries = r.retries + CASE WHEN g.again THEN 1 ELSE 0 END,
            due_at = CASE g.s WHEN 'released' THEN r.due_at WHEN 'waiting' THEN moment + g.z * interval '1 millisecond' END,
            input_truncated = g.s NOT IN ('released', 'waiting') AND r.input_large,
            input = CASE WHEN g.s NOT IN ('released', 'waiting') AND r.input_large THEN NULL ELSE r.input END
        FROM g WHERE g.s <> 'forgotten' AND r.ctid = g.place
        RETURNING r.workflow_id, r.order_key, g.s
    ), gone AS (
        DELETE FROM workflows.run r USING g WHERE g.s = 'forgotten' AND r.ctid = g.place
        RETURNING r.workflow_id, r.order_key, g.s
    ), over AS (
        SELECT * FROM kept WHERE s NOT IN ('released', 'waiting') UNION ALL SELECT * FROM gone
    )
    SELECT array_agg(o.workflow_id), array_agg(o.order_key) INTO ids, keys FROM over o WHERE o.order_key IS NOT NULL;
    PERFORM workflows.move_up(org, ids, keys, moment);
    PERFORM workflows.drop_canceled(org, moment);
END
$$;
