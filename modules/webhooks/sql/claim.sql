-- Takes what can be sent now, at most one delivery for each of the ids (of attempts). Webhooks take
-- turns; each gets an equal share of what there is room for, and what one does not need goes to the
-- others at the next call. wait_ms of the first row: until something is due. Each statement says
-- which months it can be about: those whose partitions are out of the question are not even opened,
-- and a claim of one delivery takes 440 µs instead of 630. (soon: clocks of two servers differ by
-- less than a day.)
DROP FUNCTION IF EXISTS webhooks.claim(text, text[]);
CREATE OR REPLACE FUNCTION webhooks.claim(its_server text, ids text[]) RETURNS TABLE (
    organization_id text, webhook_id text, version bigint, attempt_id text, started_at timestamptz,
    lane text, resource_type text,
    resource_id text, delivery_id text, delivery_at timestamptz, event_id text, event_type text,
    sequence bigint, attempt integer,
    retries integer, trigger text, superseded integer, traceparent text, body text,
    parts text, parts_seen text, parts_at integer)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog
    SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
    SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
    at timestamptz(3) := wharf.now();
    r webhooks.runtime;
    room integer := COALESCE(array_length(ids, 1), 0);
    used integer := 0;
    waiting integer;
    share integer;
    taken webhooks.queue[] := '{}';
    more webhooks.queue[];
    earliest timestamptz;
    latest timestamptz;
    soon timestamptz := at + interval '1 day';
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    -- Skips organizations with a webhook that another turn holds now: waiting here could be for a
    -- turn that waits for this one.
    WITH here AS MATERIALIZED (
        SELECT o.ctid AS place, o.organization_id, o.webhook_id FROM webhooks.poke o LIMIT 1000
            FOR UPDATE SKIP LOCKED
    ), who AS (
        SELECT DISTINCT s.organization_id, s.webhook_id FROM here s
    ), locked AS MATERIALIZED (
        SELECT k.ctid AS place, k.organization_id, k.webhook_id FROM who
            JOIN webhooks.runtime k ON k.organization_id = who.organization_id
            AND k.webhook_id = who.webhook_id FOR UPDATE OF k SKIP LOCKED
    ), gone AS (
        DELETE FROM webhooks.poke p WHERE p.ctid = ANY (ARRAY(SELECT s.place FROM here s
            WHERE EXISTS (SELECT FROM locked l
                WHERE l.organization_id = s.organization_id AND l.webhook_id = s.webhook_id)
                OR NOT EXISTS (SELECT FROM webhooks.runtime k
                    WHERE k.organization_id = s.organization_id AND k.webhook_id = s.webhook_id)))
    )
    UPDATE webhooks.runtime k SET next_due_at = LEAST(k.next_due_at, at) FROM locked l
        WHERE k.ctid = l.place;
    SELECT count(*) INTO waiting
        FROM (SELECT FROM webhooks.runtime k WHERE k.next_due_at <= at LIMIT 64) o;
    FOR r IN
        SELECT k.* FROM webhooks.runtime k WHERE k.next_due_at <= at ORDER BY k.served_at LIMIT 64
            FOR UPDATE SKIP LOCKED
    LOOP
        EXIT WHEN room - used <= 0;
        share := GREATEST(1, (room - used) / GREATEST(1, waiting));
        more := webhooks.serve(its_server, r, share, ids, used, at);
        used := used + cardinality(more);
        taken := taken || more;
        waiting := waiting - 1;
    END LOOP;
    IF used = 0 THEN
        RETURN;
    END IF;
    SELECT min(q.head_at), max(q.head_at) INTO earliest, latest FROM unnest(taken) AS q;
    RETURN QUERY
        SELECT q.organization_id, q.webhook_id, w.version, q.attempt_id, q.started_at::timestamptz,
            q.lane, q.resource_type, q.resource_id, d.id,
            d.created_at::timestamptz, d.event_id, d.event_type, d.sequence, q.attempts, q.retries,
            d.trigger, d.superseded, e.traceparent,
            CASE WHEN w.payload = 'thin'
                THEN h.head || '{"id":' || to_json(e.resource_id)::text || ',"object":'
                || to_json(e.resource_type)::text
                || ',"location_id":' || COALESCE(to_json(e.location_id)::text, 'null') || '}}'
            ELSE h.head || e.data::text || ',"previous_attributes":'
                || COALESCE(e.previous_attributes::text, 'null') || '}' END,
            CASE WHEN d.parts_seen IS NOT NULL AND w.payload <> 'thin' THEN e.parts::text END,
            d.parts_seen,
            CASE WHEN d.parts_seen IS NOT NULL
                THEN octet_length(h.head) + octet_length(e.data::text) - 1 END
        FROM unnest(taken) AS q
        CROSS JOIN LATERAL (SELECT * FROM webhooks.delivery k
            WHERE k.organization_id = q.organization_id AND k.created_at = q.head_at
            AND k.event_id = q.head_event AND k.webhook_id = q.webhook_id AND k.run_id = q.head_run
            AND k.created_at BETWEEN earliest AND latest LIMIT 1) d
        CROSS JOIN LATERAL (SELECT k.version, k.payload FROM webhooks.webhook k
            WHERE k.organization_id = q.organization_id
            AND k.id = q.webhook_id LIMIT 1) w
        LEFT JOIN LATERAL (SELECT * FROM wharf.event k
            WHERE k.organization_id = d.organization_id AND k.created_at = d.event_at
            AND k.id = d.event_id AND k.created_at <= soon LIMIT 1) e ON true
        LEFT JOIN LATERAL (SELECT k.head FROM wharf.event_done k
            WHERE k.organization_id = d.organization_id AND k.created_at = d.event_at
            AND k.event_id = d.event_id AND k.created_at <= soon LIMIT 1) h ON true;
END
$$;
