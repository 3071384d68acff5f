-- Takes up to `most` due runs of one workflow: of that whose first one is due for longest among
-- those that may run one more at a time. A run is its worker's for 60 seconds
-- (docs/spec/08-workflows-and-lua.md section 7), and for as long as that says again and again that
-- it goes on: what a worker had that was killed is taken over soon, and a run that takes its whole
-- minute is not.
CREATE OR REPLACE FUNCTION workflows.claim(org text, its_worker text, most integer) RETURNS TABLE (
    id text, workflow_id text, version bigint, attempt bigint, retries bigint, trigger text,
    trigger_type text, location_id text, on_behalf_of text, depth bigint,
    seed text, event_id text, input text, created_us bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog
    SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
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
        SELECT k.id, k.enabled, k.deleted_at, k.published_version, h.due_at
            FROM workflows.workflow k CROSS JOIN LATERAL (
            SELECT r.due_at FROM workflows.run r
                WHERE r.organization_id = org AND r.workflow_id = k.id
                AND r.status IN ('queued', 'waiting')
                ORDER BY r.due_at, r.line LIMIT 1) h
        WHERE k.organization_id = org AND h.due_at <= at ORDER BY h.due_at
    LOOP
        IF w.deleted_at IS NOT NULL OR NOT w.enabled THEN
            PERFORM workflows.drop_waiting(org, w.id,
                CASE WHEN w.enabled THEN 'canceled' ELSE 'skipped' END);
            CONTINUE;
        END IF;
        CONTINUE WHEN (SELECT count(DISTINCT r.worker) FROM workflows.run r
            WHERE r.organization_id = org AND r.workflow_id = w.id AND r.status = 'running')
            >= COALESCE((SELECT (v.options #>> '{concurrency,max}')::bigint FROM workflows.version v
                WHERE v.organization_id = org
                AND v.workflow_id = w.id AND v.number = w.published_version), 5);
        RETURN QUERY WITH taken AS (
            UPDATE workflows.run r
                SET status = 'running', worker = its_worker,
                lease_until = at + interval '60 seconds', attempt = r.attempt + 1,
                workflow_version = COALESCE(r.pinned, w.published_version), started_at = at
            WHERE r.ctid = ANY (
                ARRAY(SELECT s.ctid FROM workflows.run s
                    WHERE s.organization_id = org AND s.workflow_id = w.id
                AND s.status IN ('queued', 'waiting') AND s.due_at <= at ORDER BY s.due_at, s.line
                LIMIT most FOR UPDATE))
            RETURNING r.*)
        SELECT t.id, t.workflow_id, t.workflow_version, t.attempt, t.retries,
            COALESCE(t.given -> 'trigger', t.trigger)::text, t.trigger_type, t.location_id,
            t.on_behalf_of, t.depth, t.seed,
            t.event_id, (COALESCE(t.given, t.input) -> 'value')::text,
            (extract(epoch FROM t.created_at) * 1000000)::bigint
        FROM taken t ORDER BY t.due_at, t.line;
        RETURN;
    END LOOP;
END
$$;
