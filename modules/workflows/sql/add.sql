-- Adds runs to the queue. given: [{i id, w workflow, g trigger, t its type, k order key, l
-- location, b who caused it, d depth, x seed, v input as JSON text, e event, r resource, p pinned
-- version, h locations that its caller reaches, s "skipped" and c its code and message, y {value,
-- trigger} as JSON text where v and g are without something}], in the order in which they are to
-- run.
CREATE OR REPLACE FUNCTION workflows.add(org text, given json) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog
    SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
DECLARE
    at timestamptz(3) := wharf.now();
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('workflows.queue ' || org, 0));
    INSERT INTO workflows.run (organization_id, id, workflow_id, trigger, trigger_type, status, key,
        attempt, location_id, on_behalf_of, depth, seed,
        input, input_truncated, output_truncated, logs, error, created_at, updated_at, created_by,
        updated_by, line, due_at, order_key, event_id, resource_id,
        pinned, finished_at, input_large, reach, given)
    SELECT org, o.i, o.w, o.g, o.t, COALESCE(o.s, 'queued'), o.i, 0, o.l, o.b, o.d, o.x,
        CASE WHEN o.v IS NOT NULL THEN ('{"value":' || o.v || '}')::jsonb END, false, false, '[]',
            o.c::jsonb, at, at, o.b, o.b, nextval('workflows.line'),
        CASE WHEN o.s IS NOT NULL THEN NULL
            WHEN o.k IS NOT NULL
            AND (o.nth > 1 OR EXISTS (SELECT FROM workflows.run r WHERE r.organization_id = org
            AND r.workflow_id = o.w AND r.order_key = o.k
            AND r.status IN ('queued', 'waiting', 'running'))) THEN 'infinity' ELSE at END,
        o.k, o.e, o.r, o.p, CASE WHEN o.s IS NOT NULL THEN at END,
        COALESCE(octet_length(o.v), 0) > 65536 - 10 /* as {"value": …} */, o.h, o.y::jsonb
    FROM (SELECT g.*,
        CASE WHEN g.k IS NOT NULL THEN row_number() OVER (PARTITION BY g.w, g.k ORDER BY g.n) END
        AS nth
        FROM ROWS FROM (json_to_recordset(given)
            AS (i text, w text, g jsonb, t text, k text, l text, b text, d bigint, x text, v text,
                e text, r text, p bigint,
            s text, c text, h jsonb, y text)) WITH ORDINALITY
            AS g (i, w, g, t, k, l, b, d, x, v, e, r, p, s, c, h, y, n) ORDER BY g.n) o;
END
$$;
