-- wharf: phase=expand
-- Whether an input is too large to be kept is known when it is written (docs/spec/08-workflows-and-lua.md section 7): to make a text of it again cost
-- settle() a third of its time. And what was claimed behind a run that takes long is given back while it runs.

ALTER TABLE workflows.run ADD COLUMN input_large boolean NOT NULL DEFAULT false;

-- given: [{i id, w workflow, g trigger, t its type, k order key, l location, b who caused it, d depth, x seed, v input as JSON text, e event, r resource,
-- p pinned version, s "skipped" and c its code and message}], in the order in which they are to run.
CREATE OR REPLACE FUNCTION workflows.add(org text, given json) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog
    SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
DECLARE
    at timestamptz(3) := wharf.now();
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('workflows.queue ' || org, 0));
    INSERT INTO workflows.run (organization_id, id, workflow_id, trigger, trigger_type, status, key, attempt, location_id, on_behalf_of, depth, seed,
        input, input_truncated, output_truncated, logs, error, created_at, updated_at, created_by, updated_by, line, due_at, order_key, event_id, resource_id,
        pinned, finished_at, input_large)
    SELECT org, o.i, o.w, o.g, o.t, COALESCE(o.s, 'queued'), o.i, 0, o.l, o.b, o.d, o.x,
        CASE WHEN o.v IS NOT NULL THEN ('{"value":' || o.v || '}')::jsonb END, false, false, '[]', o.c::jsonb, at, at, o.b, o.b, nextval('workflows.line'),
        CASE WHEN o.s IS NOT NULL THEN NULL WHEN o.k IS NOT NULL AND (o.nth > 1 OR EXISTS (SELECT FROM workflows.run r WHERE r.organization_id = org
            AND r.workflow_id = o.w AND r.order_key = o.k AND r.status IN ('queued', 'waiting', 'running'))) THEN 'infinity' ELSE at END,
        o.k, o.e, o.r, o.p, CASE WHEN o.s IS NOT NULL THEN at END, octet_length(o.v) > 65536 - 10 -- as {"value": …}
    FROM (SELECT g.*, CASE WHEN g.k IS NOT NULL THEN row_number() OVER (PARTITION BY g.w, g.k ORDER BY g.n) END AS nth
        FROM ROWS FROM (json_to_recordset(given) AS (i text, w text, g jsonb, t text, k text, l text, b text, d bigint, x text, v text, e text, r text, p bigint,
            s text, c text)) WITH ORDINALITY AS g (i, w, g, t, k, l, b, d, x, v, e, r, p, s, c, n) ORDER BY g.n) o;
END
$$;

-- given: as above and [{n attempt, at, f (its end), ms, q queued milliseconds, u usage, o output, ot, l logs, e error, a the attempt as it is shown, z milliseconds to wait, again: it failed}];
-- s may also be "waiting", "released" (never begun) and "forgotten" (over, and not to be kept). Answers as tally.
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
        SELECT * FROM json_to_recordset(given) AS e(i text, w text, n bigint, s text, at timestamptz, f timestamptz, ms bigint, q bigint, u jsonb, o jsonb, ot boolean,
            l jsonb, e jsonb, a jsonb, z bigint, again boolean)
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
        FROM g WHERE g.s <> 'forgotten' AND r.organization_id = org AND r.id = g.i AND r.status = 'running' AND r.worker = its_worker AND r.attempt = g.n
        RETURNING r.workflow_id, r.order_key, g.s
    ), gone AS (
        DELETE FROM workflows.run r USING g WHERE g.s = 'forgotten' AND r.organization_id = org AND r.id = g.i AND r.status = 'running'
            AND r.worker = its_worker AND r.attempt = g.n RETURNING r.workflow_id, r.order_key, g.s
    ), over AS (
        SELECT * FROM kept WHERE s NOT IN ('released', 'waiting') UNION ALL SELECT * FROM gone
    )
    SELECT array_agg(o.workflow_id), array_agg(o.order_key) INTO ids, keys FROM over o WHERE o.order_key IS NOT NULL;
    PERFORM workflows.move_up(org, ids, keys, moment);
END
$$;

-- Claimed and not begun; ids: an array of texts.
CREATE FUNCTION workflows.release(org text, its_worker text, ids json) RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog
    SET enable_seqscan = off AS $$
    UPDATE workflows.run r SET status = 'queued', worker = NULL, lease_until = NULL, attempt = r.attempt - 1, started_at = NULL
    FROM json_array_elements_text(ids) AS g(i)
    WHERE r.organization_id = org AND r.id = g.i AND r.status = 'running' AND r.worker = its_worker
$$;
