-- Returns up to v_most rows of the outbox, of one organization after the other beginning behind
-- v_after, with their events and log lines, each kind by itself for the server to put together.
-- kind: o, all rows of the outbox of an organization (data: a line for each, of place, event, log
-- line and moment, - where there is none); behind it e, its events, and l, its lines (type: their
-- action, data: changes, previous_attributes: images). Events and lines of one moment are read from
-- the first id to the last that waits, which is fewer looks than one for each. Others of that
-- moment may be among them, but few: ids that were made one after the other are near each other,
-- and only those that begin the same are read as one range; the rest one by one. The organizations
-- stay locked until the end of the transaction, so that numbers become visible in their order and
-- without holes.
DROP FUNCTION IF EXISTS wharf.outbox_waiting(text, integer);
CREATE OR REPLACE FUNCTION wharf.outbox_waiting(v_after text, v_most integer) RETURNS TABLE (
    organization_id text, id text, created_at timestamptz, type text, "timestamp" timestamptz,
    location_id text, resource_type text,
    resource_id text, batch_id text, actor_type text, actor_id text, actor_name text,
    request_id text, depth integer, data text,
    previous_attributes text, data_truncated boolean, disable_webhooks boolean,
    expires_at timestamptz, traceparent text, sequence bigint, locations text, audience text,
    kind text, live_organization text, parent_id text, message text, visibility text, event_id text,
    parts text)
    LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
        SET enable_bitmapscan = off
    SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
    v_organization text := v_after;
    v_live text;
    v_left integer := v_most;
    v_round integer := 0;
    v_got integer;
    v_rows text;
    v_moments timestamptz[];
    v_events text[];
    v_lines text[];
BEGIN
    FOR i IN 1 .. 64 LOOP
        EXIT WHEN v_left <= 0;
        SELECT o.organization_id INTO v_organization FROM wharf.outbox o
            WHERE o.organization_id > v_organization
            AND (v_round = 0 OR o.organization_id <= v_after) ORDER BY o.organization_id LIMIT 1;
        IF v_organization IS NULL THEN
            EXIT WHEN v_round = 1 OR v_after = '';
            v_round := 1;
            v_organization := '';
            CONTINUE;
        END IF;
        CONTINUE WHEN NOT pg_try_advisory_xact_lock(
            hashtextextended('wharf.event:' || v_organization, 0));
        SELECT o.live_organization_id INTO v_live FROM wharf.organization o
            WHERE o.organization_id = v_organization AND o.id = v_organization;
        SELECT array_agg(q.created_at), array_agg(q.event_id), array_agg(q.log_id), count(*),
                string_agg(q.place || ' ' || COALESCE(q.event_id, '-') || ' '
                    || COALESCE(q.log_id, '-') || ' ' || q.created_at, E'\n')
            INTO v_moments, v_events, v_lines, v_got, v_rows
            FROM (SELECT o.ctid AS place, o.created_at, o.event_id, o.log_id FROM wharf.outbox o
                WHERE o.organization_id = v_organization ORDER BY o.position LIMIT v_left) q;
        CONTINUE WHEN v_got = 0; -- another processor took them before it let the organization go
        v_left := v_left - v_got;
        RETURN QUERY SELECT v_organization, NULL::text, NULL::timestamptz, NULL::text,
            NULL::timestamptz, NULL::text, NULL::text, NULL::text,
                NULL::text, NULL::text, NULL::text, NULL::text, NULL::text, NULL::integer, v_rows,
                NULL::text, NULL::boolean, NULL::boolean,
                NULL::timestamptz, NULL::text, NULL::bigint, NULL::text, NULL::text, 'o'::text,
                v_live, NULL::text, NULL::text, NULL::text, NULL::text, NULL::text;
        RETURN QUERY SELECT v_organization, e.id, e.created_at, e.type, e."timestamp",
            e.location_id, e.resource_type, e.resource_id,
                e.batch_id, e.actor_type, e.actor_id, e.actor_name, e.request_id, e.depth,
                e.data::text, e.previous_attributes::text,
                e.data_truncated, e.disable_webhooks, e.expires_at, e.traceparent, NULL::bigint,
                e.locations::text, e.audience::text, 'e'::text, NULL::text, NULL::text, NULL::text,
                NULL::text, NULL::text, e.parts::text
            FROM (SELECT u.moment, min(u.id COLLATE "C") AS low, max(u.id COLLATE "C") AS high
                FROM unnest(v_moments, v_events) u(moment, id) WHERE u.id IS NOT NULL
                    GROUP BY u.moment, left(u.id, -10)) m
            CROSS JOIN LATERAL (SELECT * FROM wharf.event x
                WHERE x.organization_id = v_organization AND x.created_at = m.moment
                AND x.id BETWEEN m.low AND m.high OFFSET 0) e;
        RETURN QUERY SELECT v_organization, l.id, l.created_at, l.action, NULL::timestamptz,
            l.location_id, l.resource, l.resource_id,
                l.batch_id, l.actor_type, l.actor_id, l.actor_name, l.request_id, NULL::integer,
                l.changes::text, l.images::text,
                NULL::boolean, NULL::boolean, NULL::timestamptz, NULL::text, NULL::bigint,
                NULL::text, NULL::text, 'l'::text, NULL::text,
                l.parent_id, l.message, l.visibility, l.event_id, NULL::text
            FROM (SELECT u.moment, min(u.id COLLATE "C") AS low, max(u.id COLLATE "C") AS high
                FROM unnest(v_moments, v_lines) u(moment, id) WHERE u.id IS NOT NULL
                    GROUP BY u.moment, left(u.id, -10)) m
            CROSS JOIN LATERAL (SELECT * FROM wharf.change_log x
                WHERE x.organization_id = v_organization AND x.created_at = m.moment
                AND x.id BETWEEN m.low AND m.high OFFSET 0) l;
    END LOOP;
END
$$;
