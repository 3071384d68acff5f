-- Deletes up to `most` rows of each log that have expired, and what is only of use for a day;
-- returns how many there were.
CREATE OR REPLACE FUNCTION integrations.expire(most integer) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
    over timestamptz := wharf.now();
    n integer;
    total integer := 0;
BEGIN
    DELETE FROM integrations.outgoing WHERE (organization_id, created_at, id) IN (
        SELECT o.organization_id, o.created_at, o.id FROM integrations.outgoing o
            WHERE o.expires_at <= over AND NOT EXISTS (
            SELECT FROM integrations.waiting w
                WHERE w.organization_id = o.organization_id AND w.id = o.id) LIMIT most);
    GET DIAGNOSTICS n = ROW_COUNT;
    total := n;
    DELETE FROM integrations.incoming WHERE (organization_id, created_at, id) IN (
        SELECT o.organization_id, o.created_at, o.id FROM integrations.incoming o
            WHERE o.expires_at <= over LIMIT most);
    GET DIAGNOSTICS n = ROW_COUNT;
    total := total + n;
    DELETE FROM integrations.seen
        WHERE ctid = ANY (
        ARRAY(SELECT o.ctid FROM integrations.seen o WHERE o.at <= over - interval '24 hours'
            LIMIT most));
    GET DIAGNOSTICS n = ROW_COUNT;
    total := total + n;
    DELETE FROM integrations.failure f WHERE f.at < over - interval '25 hours';
    PERFORM wharf.drop_partitions('integrations.outgoing'::regclass, over - interval '400 days');
    PERFORM wharf.drop_partitions('integrations.incoming'::regclass, over - interval '400 days');
    RETURN total;
END
$$;
