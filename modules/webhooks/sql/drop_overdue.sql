-- Drops, once a minute, what was held too long, or belongs to who was disabled two days ago.
-- Returns how many deliveries were dropped.
CREATE OR REPLACE FUNCTION webhooks.drop_overdue() RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog AS $$
DECLARE
    at timestamptz := wharf.now();
    w record;
    n bigint := 0;
BEGIN
    FOR w IN
        SELECT k.organization_id AS org, k.id, k.deleted_at IS NOT NULL AS gone,
            k.status = 'disabled' AND k.disabled_at <= at - interval '48 hours' AS over,
            webhooks.held_since_48h(k.organization_id, k.id, at) AS queued_before
        FROM webhooks.webhook k
            JOIN webhooks.runtime r ON r.organization_id = k.organization_id AND r.webhook_id = k.id
        WHERE EXISTS (SELECT FROM webhooks.queue q
            WHERE q.organization_id = k.organization_id AND q.webhook_id = k.id)
            AND (k.deleted_at IS NOT NULL OR r.held_since IS NOT NULL OR k.status <> 'enabled'
                OR EXISTS (SELECT FROM webhooks.hold h
                    WHERE h.organization_id = k.organization_id AND h.webhook_id = k.id))
    LOOP
        IF w.gone THEN -- an event was processed while it was deleted
            n := n + webhooks.drop_waiting(w.org, w.id, 'webhook_deleted', NULL);
        ELSIF w.over THEN
            n := n + webhooks.drop_waiting(w.org, w.id, 'webhook_disabled_48h', NULL);
        ELSIF w.queued_before IS NOT NULL THEN
            n := n + webhooks.drop_waiting(w.org, w.id, 'held_too_long', w.queued_before);
        END IF;
    END LOOP;
    DELETE FROM webhooks.hold h WHERE h.until_at < at - interval '40 days';
    DELETE FROM webhooks.bucket b WHERE b.minute < at - interval '49 hours';
    RETURN n;
END
$$;
