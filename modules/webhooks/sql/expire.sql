-- Deletes up to `most` rows of each kind whose event has expired; returns how many there were.
CREATE OR REPLACE FUNCTION webhooks.expire(most integer) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
    at timestamptz := wharf.now();
    a integer;
    d integer;
BEGIN
    DELETE FROM webhooks.attempt WHERE (organization_id, created_at, id) IN (
        SELECT o.organization_id, o.created_at, o.id FROM webhooks.attempt o
            WHERE o.expires_at <= at AND o.status <> 'in_progress' LIMIT most);
    GET DIAGNOSTICS a = ROW_COUNT;
    DELETE FROM webhooks.delivery
        WHERE (organization_id, created_at, event_id, webhook_id, run_id) IN (
        SELECT o.organization_id, o.created_at, o.event_id, o.webhook_id, o.run_id
            FROM webhooks.delivery o
        WHERE o.expires_at <= at AND o.status NOT IN ('pending', 'retrying') LIMIT most);
    GET DIAGNOSTICS d = ROW_COUNT;
    PERFORM wharf.drop_partitions('webhooks.attempt'::regclass, at - interval '400 days');
    PERFORM wharf.drop_partitions('webhooks.delivery'::regclass, at - interval '400 days');
    RETURN a + d;
END
$$;
