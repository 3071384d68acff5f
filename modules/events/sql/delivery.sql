-- wharf: order=last
CREATE OR REPLACE VIEW events.delivery WITH (security_invoker = true) AS
SELECT organization_id, event_id, webhook_id AS id, state, 0 AS position FROM wharf.event_delivery;
