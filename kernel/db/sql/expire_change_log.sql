-- Deletes up to `most` lines of the change log that are over, and their seals, and returns how
-- many. Goes only from the beginning of each chain on, so that what is left is one chain still.
CREATE OR REPLACE FUNCTION wharf.expire_change_log(most integer) RETURNS integer
    LANGUAGE plpgsql AS $$
DECLARE
    o record;
    line record;
    deleted integer := 0;
BEGIN
    FOR o IN
        SELECT c.organization_id AS org,
            wharf.now() - make_interval(days => wharf.log_days(s.settings, 'retain_days', 365))
            AS before
        FROM wharf.log_chain c
        JOIN wharf.organization w ON w.organization_id = c.organization_id
            AND w.id = c.organization_id
        JOIN wharf.organization s ON s.organization_id = COALESCE(w.live_organization_id, w.id)
            AND s.id = s.organization_id
    LOOP
        EXIT WHEN deleted >= most;
        PERFORM FROM wharf.log_chain WHERE organization_id = o.org FOR UPDATE;
        FOR line IN
            SELECT created_at, log_id, sequence, hash FROM wharf.log_seal
            WHERE organization_id = o.org ORDER BY sequence LIMIT most - deleted
        LOOP
            EXIT WHEN line.created_at >= o.before;
            DELETE FROM wharf.change_log
                WHERE organization_id = o.org AND created_at = line.created_at AND id = line.log_id;
            DELETE FROM wharf.log_seal
                WHERE organization_id = o.org AND created_at = line.created_at
                AND log_id = line.log_id;
            UPDATE wharf.log_chain SET base_sequence = line.sequence, base_hash = line.hash
                WHERE organization_id = o.org;
            deleted := deleted + 1;
        END LOOP;
    END LOOP;
    RETURN deleted;
END
$$;
