-- wharf: order=last
-- Shows the first deliveries of events, for the filters webhook_id and delivery_status.
CREATE OR REPLACE VIEW events.initial_delivery WITH (security_invoker = true) AS
SELECT organization_id, event_id, webhook_id AS id, webhook_id, 0 AS position
    FROM wharf.event_delivery WHERE initial;
