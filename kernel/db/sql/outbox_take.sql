-- Takes the rows at these places out of the outbox, and gives to each organization, locked by
-- outbox_waiting, so many numbers for events and for log lines. Returns the numbers before its
-- first ones, and the hash that its chain ends with.
CREATE OR REPLACE FUNCTION wharf.outbox_take(v_places tid[], v_organizations text[],
    v_events bigint[], v_lines bigint[])
    RETURNS TABLE (event_before bigint, line_before bigint, chain_hash text) LANGUAGE plpgsql
        SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    DELETE FROM wharf.outbox o WHERE o.ctid = ANY (v_places);
    RETURN QUERY WITH u AS (
        SELECT * FROM unnest(v_organizations, v_events, v_lines) WITH ORDINALITY
            AS u(organization, events, lines, nth)
    ), counted AS (
        INSERT INTO wharf.event_counter AS k (organization_id, sequence) SELECT u.organization,
            u.events FROM u WHERE u.events > 0
        ON CONFLICT (organization_id) DO UPDATE SET sequence = k.sequence + EXCLUDED.sequence
        RETURNING k.organization_id, k.sequence
    ), chained AS (
        INSERT INTO wharf.log_chain AS k (organization_id, sequence) SELECT u.organization, u.lines
            FROM u WHERE u.lines > 0
        ON CONFLICT (organization_id) DO UPDATE SET sequence = k.sequence + EXCLUDED.sequence
        RETURNING k.organization_id, k.sequence, k.hash
    )
    SELECT c.sequence - u.events, h.sequence - u.lines, encode(h.hash, 'hex')
    FROM u LEFT JOIN counted c ON c.organization_id = u.organization LEFT
        JOIN chained h ON h.organization_id = u.organization
    ORDER BY u.nth;
END
$$;
