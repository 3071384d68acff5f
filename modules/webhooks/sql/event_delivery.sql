-- wharf: order=last
-- Tells the kernel of the deliveries of events, in place of its own empty view.
CREATE OR REPLACE VIEW wharf.event_delivery AS
    SELECT d.organization_id, d.event_id || '' AS event_id, d.webhook_id,
        webhooks.state_of(d) COLLATE "C" AS state, d.trigger = 'automatic' AS initial,
        (d.attempts > 0
            OR EXISTS (SELECT FROM webhooks.queue q
            WHERE q.organization_id = d.organization_id AND q.webhook_id = d.webhook_id
            AND q.lane = d.lane AND q.resource_type = d.resource_type
            AND q.resource_id = d.resource_id AND q.in_flight AND q.head_id = d.id)) AS attempted
    FROM webhooks.delivery d;
