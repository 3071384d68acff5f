-- Deletes up to `most` events whose time has come, and returns how many. An event with a
-- delivery that is not final stays, at most 72 hours more.
CREATE OR REPLACE FUNCTION wharf.expire_events(most integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    over timestamptz := wharf.now();
    n integer;
BEGIN
    WITH gone AS (
        DELETE FROM wharf.event WHERE (organization_id, created_at, id) IN (
            SELECT e.organization_id, e.created_at, e.id FROM wharf.event e
                WHERE e.expires_at <= over
                AND (e.expires_at <= over - interval '72 hours'
                    OR NOT EXISTS (SELECT FROM wharf.event_delivery d
                    WHERE d.organization_id = e.organization_id AND d.event_id = e.id
                    AND d.state IN ('pending', 'in_flight', 'retrying', 'held')))
            LIMIT most)
        RETURNING organization_id, created_at, id
    ), done AS (
        DELETE FROM wharf.event_done
            WHERE (organization_id, created_at, event_id) IN (SELECT * FROM gone)
    )
    SELECT count(*) INTO n FROM gone;
    RETURN n;
END
$$;
