-- wharf: phase=expand
-- What a run was given, where it is not what is shown of it: values of secrets are taken out of `input` and `trigger` before they are written
-- (docs/spec/08-workflows-and-lua.md section 6), and the run, and who does it again, still get what was sent. {value, trigger}; null: as shown.

ALTER TABLE workflows.run ADD COLUMN given jsonb;

-- given: as in 0006, and y: {value, trigger} as JSON text, where v and g are without something.
CREATE OR REPLACE FUNCTION workflows.add(org text, given json) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog
    SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
DECLARE
    at timestamptz(3) := wharf.now();
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('workflows.queue ' || org, 0));
    INSERT INTO workflows.run (organization_id, id, workflow_id, trigger, trigger_type, status, key, attempt, location_id, on_behalf_of, depth, seed,
        input, input_truncated, output_truncated, logs, error, created_at, updated_at, created_by, updated_by, line, due_at, order_key, event_id, resource_id,
        pinned, finished_at, input_large, reach, given)
    SELECT org, o.i, o.w, o.g, o.t, COALESCE(o.s, 'queued'), o.i, 0, o.l, o.b, o.d, o.x,
        CASE WHEN o.v IS NOT NULL THEN ('{"value":' || o.v || '}')::jsonb END, false, false, '[]', o.c::jsonb, at, at, o.b, o.b, nextval('workflows.line'),
        CASE WHEN o.s IS NOT NULL THEN NULL WHEN o.k IS NOT NULL AND (o.nth > 1 OR EXISTS (SELECT FROM workflows.run r WHERE r.organization_id = org
            AND r.workflow_id = o.w AND r.order_key = o.k AND r.status IN ('queued', 'waiting', 'running'))) THEN 'infinity' ELSE at END,
        o.k, o.e, o.r, o.p, CASE WHEN o.s IS NOT NULL THEN at END, COALESCE(octet_length(o.v), 0) > 65536 - 10 /* as {"value": …} */, o.h, o.y::jsonb
    FROM (SELECT g.*, CASE WHEN g.k IS NOT NULL THEN row_number() OVER (PARTITION BY g.w, g.k ORDER BY g.n) END AS nth
        FROM ROWS FROM (json_to_recordset(given) AS (i text, w text, g jsonb, t text, k text, l text, b text, d bigint, x text, v text, e text, r text, p bigint,
            s text, c text, h jsonb, y text)) WITH ORDINALITY AS g (i, w, g, t, k, l, b, d, x, v, e, r, p, s, c, h, y, n) ORDER BY g.n) o;
END
$$;

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
        SELECT t.id, t.workflow_id, t.workflow_version, t.attempt, t.retries, COALESCE(t.given -> 'trigger', t.trigger)::text, t.trigger_type, t.location_id, t.on_behalf_of, t.depth, t.seed,
            t.event_id, (COALESCE(t.given, t.input) -> 'value')::text, (extract(epoch FROM t.created_at) * 1000000)::bigint
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
            input = CASE WHEN g.s NOT IN ('released', 'waiting') AND r.input_large THEN NULL ELSE r.input END,
            given = CASE WHEN g.s NOT IN ('released', 'waiting') AND r.input_large THEN NULL ELSE r.given END
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
