-- wharf: phase=expand
-- Taking from the outbox in two steps, so that wide rows are neither sorted nor kept by the database on their way: reading them, and, when
-- the server has counted, giving them numbers. wharf.outbox_claim (0006) did both and stays for servers of the version before.

-- Up to v_most rows of the outbox, of one organization after the other beginning behind v_after, with their events and log lines. The
-- organizations stay locked until the end of the transaction, so that numbers become visible in their order and without holes. log_text
-- is what is to be hashed behind the hash of the line before. The plan is made while tables may be empty and kept for as long as the
-- session: LIMIT 1 makes of each look-up one of one row, whatever is believed then.
CREATE FUNCTION wharf.outbox_read(v_after text, v_most integer) RETURNS TABLE (
    organization_id text, id text, created_at timestamptz, type text, "timestamp" timestamptz, location_id text, resource_type text,
    resource_id text, batch_id text, actor_type text, actor_id text, actor_name text, request_id text, depth integer, data text,
    previous_attributes text, data_truncated boolean, disable_webhooks boolean, expires_at timestamptz, traceparent text, sequence bigint,
    live_organization text, place tid, log_id text, log_at timestamptz, log_text text)
    LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off
    SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
    v_organization text := v_after;
    v_live text;
    v_left integer := v_most;
    v_got integer;
    v_round integer := 0;
BEGIN
    FOR i IN 1 .. 64 LOOP
        EXIT WHEN v_left <= 0;
        SELECT o.organization_id INTO v_organization FROM wharf.outbox o WHERE o.organization_id > v_organization
            AND (v_round = 0 OR o.organization_id <= v_after) ORDER BY o.organization_id LIMIT 1;
        IF v_organization IS NULL THEN
            EXIT WHEN v_round = 1 OR v_after = '';
            v_round := 1;
            v_organization := '';
            CONTINUE;
        END IF;
        CONTINUE WHEN NOT pg_try_advisory_xact_lock(hashtextextended('wharf.event:' || v_organization, 0));
        SELECT o.live_organization_id INTO v_live FROM org.organization o WHERE o.organization_id = v_organization AND o.id = v_organization;
        RETURN QUERY SELECT v_organization, e.id, e.created_at, e.type, e."timestamp", e.location_id, e.resource_type, e.resource_id,
                e.batch_id, e.actor_type, e.actor_id, e.actor_name, e.request_id, e.depth, e.data::text, e.previous_attributes::text,
                e.data_truncated, e.disable_webhooks, e.expires_at, e.traceparent, NULL::bigint, v_live, q.place, l.id, q.created_at, l.text
            FROM (SELECT o.ctid AS place, o.position, o.created_at, o.event_id, o.log_id FROM wharf.outbox o
                WHERE o.organization_id = v_organization ORDER BY o.position LIMIT v_left) q
            LEFT JOIN LATERAL (SELECT * FROM wharf.event x WHERE x.organization_id = v_organization AND x.created_at = q.created_at
                AND x.id = q.event_id LIMIT 1) e ON true
            LEFT JOIN LATERAL (SELECT x.id, wharf.canonical_log(x) AS text FROM wharf.change_log x
                WHERE x.organization_id = v_organization AND x.created_at = q.created_at AND x.id = q.log_id LIMIT 1) l ON true
            ORDER BY q.position;
        GET DIAGNOSTICS v_got = ROW_COUNT;
        v_left := v_left - v_got;
    END LOOP;
END
$$;

-- Takes the rows at these places out of the outbox, and gives to each organization, locked by outbox_read, so many numbers for events and
-- for log lines: those before its first, and the hash that its chain ends with.
CREATE FUNCTION wharf.outbox_take(v_places tid[], v_organizations text[], v_events bigint[], v_lines bigint[])
    RETURNS TABLE (event_before bigint, line_before bigint, chain_hash text) LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    DELETE FROM wharf.outbox o WHERE o.ctid = ANY (v_places);
    RETURN QUERY WITH u AS (
        SELECT * FROM unnest(v_organizations, v_events, v_lines) WITH ORDINALITY AS u(organization, events, lines, nth)
    ), counted AS (
        INSERT INTO wharf.event_counter AS k (organization_id, sequence) SELECT u.organization, u.events FROM u WHERE u.events > 0
        ON CONFLICT (organization_id) DO UPDATE SET sequence = k.sequence + EXCLUDED.sequence
        RETURNING k.organization_id, k.sequence
    ), chained AS (
        INSERT INTO wharf.log_chain AS k (organization_id, sequence) SELECT u.organization, u.lines FROM u WHERE u.lines > 0
        ON CONFLICT (organization_id) DO UPDATE SET sequence = k.sequence + EXCLUDED.sequence
        RETURNING k.organization_id, k.sequence, k.hash
    )
    SELECT c.sequence - u.events, h.sequence - u.lines, encode(h.hash, 'hex')
    FROM u LEFT JOIN counted c ON c.organization_id = u.organization LEFT JOIN chained h ON h.organization_id = u.organization
    ORDER BY u.nth;
END
$$;
