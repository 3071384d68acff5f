-- Deletes up to `most` lines of the request log that are over, and returns how many.
CREATE OR REPLACE FUNCTION wharf.expire_request_log(most integer) RETURNS integer
    LANGUAGE plpgsql AS $$
DECLARE
    o record;
    n integer;
    deleted integer := 0;
BEGIN
    FOR o IN
        SELECT w.organization_id AS org,
            wharf.now() - make_interval(
                days => wharf.log_days(s.settings, 'request_retain_days', 14)) AS before
        FROM wharf.organization w
        JOIN wharf.organization s ON s.organization_id = COALESCE(w.live_organization_id, w.id)
            AND s.id = s.organization_id
        WHERE w.id = w.organization_id
    LOOP
        EXIT WHEN deleted >= most;
        DELETE FROM wharf.request_log WHERE (organization_id, created_at, id) IN (
            SELECT organization_id, created_at, id FROM wharf.request_log
            WHERE organization_id = o.org AND created_at < o.before ORDER BY created_at
                LIMIT most - deleted);
        GET DIAGNOSTICS n = ROW_COUNT;
        deleted := deleted + n;
    END LOOP;
    RETURN deleted;
END
$$;
