-- wharf: order=last
-- Shows the deliveries of events as rows that belong to an event, for its filters and its
-- answer.
CREATE OR REPLACE VIEW events.delivery WITH (security_invoker = true) AS
SELECT organization_id, event_id, webhook_id AS id, state, 0 AS position FROM wharf.event_delivery;
