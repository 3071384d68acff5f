-- Checks the links from first to last (NULL: to the end of the chain): each row's hash, that it
-- follows the one before it, and that the rows next to both ends are there. bad_id: the first row
-- that is not as it was sealed or is missing; the last one that is left when the end was cut off.
-- To the end also what was put in: rows that nobody sealed and that do not wait for it.
CREATE OR REPLACE FUNCTION wharf.verify_log(org text, first bigint, last bigint, OUT checked bigint,
    OUT bad boolean, OUT bad_id text)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    head wharf.log_chain;
    line record;
    at bigint; -- of the row before
    before bytea;
    until bigint;
BEGIN
    checked := 0;
    bad := false;
    SELECT * INTO head FROM wharf.log_chain WHERE organization_id = org;
    IF NOT FOUND THEN
        SELECT true, s.log_id INTO bad, bad_id FROM wharf.log_seal s WHERE s.organization_id = org
            ORDER BY s.sequence LIMIT 1;
        IF bad IS NULL AND last IS NULL THEN
            SELECT true, c.id INTO bad, bad_id FROM wharf.change_log c WHERE c.organization_id = org
                AND NOT EXISTS (SELECT FROM wharf.outbox o
                    WHERE o.organization_id = org AND o.log_id = c.id)
                ORDER BY c.created_at, c.id LIMIT 1;
        END IF;
        bad := COALESCE(bad, false);
        RETURN;
    END IF;
    first := GREATEST(first, head.base_sequence + 1);
    until := LEAST(COALESCE(last, head.sequence) + 1, head.sequence);
    at := first - 1;
    IF at <= head.base_sequence THEN
        at := head.base_sequence;
        before := head.base_hash;
    ELSE
        SELECT s.hash INTO before FROM wharf.log_seal s
            WHERE s.organization_id = org AND s.sequence = at
            AND EXISTS (SELECT FROM wharf.change_log c
                WHERE c.organization_id = org AND c.created_at = s.created_at AND c.id = s.log_id);
    END IF;
    -- Without a last one also what stands behind the end of the chain: nothing may.
    FOR line IN
        SELECT s.log_id, s.sequence, s.prev_hash, s.hash,
            CASE WHEN c.id IS NOT NULL THEN wharf.log_hash(s.prev_hash, c) END AS found
        FROM wharf.log_seal s
        LEFT JOIN wharf.change_log c ON c.organization_id = s.organization_id
            AND c.created_at = s.created_at AND c.id = s.log_id
        WHERE s.organization_id = org AND s.sequence >= first
            AND (s.sequence <= until OR last IS NULL)
        ORDER BY s.sequence, s.created_at, s.log_id
    LOOP
        bad_id := line.log_id;
        IF line.sequence <> at + 1 OR line.prev_hash IS DISTINCT FROM before
            OR line.sequence > head.sequence
            OR line.hash IS DISTINCT FROM line.found THEN
            bad := true;
            RETURN;
        END IF;
        at := line.sequence;
        before := line.hash;
        checked := checked + (line.sequence <= COALESCE(last, head.sequence))::integer;
    END LOOP;
    bad := at < until OR (at = head.sequence AND before <> head.hash);
    IF NOT bad THEN
        bad_id := NULL;
    END IF;
    IF NOT bad AND last IS NULL THEN
        SELECT true, c.id INTO bad, bad_id FROM wharf.change_log c WHERE c.organization_id = org
            AND NOT EXISTS (SELECT FROM wharf.log_seal s
                WHERE s.organization_id = org AND s.created_at = c.created_at AND s.log_id = c.id)
            AND NOT EXISTS (SELECT FROM wharf.outbox o
                WHERE o.organization_id = org AND o.log_id = c.id)
            ORDER BY c.created_at, c.id LIMIT 1;
        bad := COALESCE(bad, false);
    END IF;
END
$$;
