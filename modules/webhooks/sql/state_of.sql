-- Returns the state of a delivery as it is now: in_flight and held follow from its queue and its
-- webhook.
CREATE OR REPLACE FUNCTION webhooks.state_of(d webhooks.delivery) RETURNS text
    LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN CASE
        WHEN d.status NOT IN ('pending', 'retrying') THEN d.status
        WHEN EXISTS (
            SELECT FROM webhooks.queue q
            WHERE q.organization_id = d.organization_id AND q.webhook_id = d.webhook_id
                AND q.lane = d.lane AND q.resource_type = d.resource_type
                AND q.resource_id = d.resource_id AND q.in_flight AND q.head_id = d.id
        ) THEN 'in_flight'
        WHEN webhooks.is_held(d.organization_id, d.webhook_id) THEN 'held'
        ELSE d.status
    END;
END
$$;
