-- wharf: phase=expand
-- The kernel's event records as a resource. The rows stay where they are: these views give them the columns that every resource has. They run
-- with the rights of who asks, so that plugin SQL can't read through them what its role does not see.

CREATE VIEW events.entry WITH (security_invoker = true) AS
SELECT organization_id, id, created_at, created_at AS updated_at, actor_id AS created_by, NULL::text AS updated_by,
    NULL::timestamptz(3) AS deleted_at, 1::bigint AS version, type, "timestamp", sequence, location_id, resource_type, resource_id, batch_id,
    jsonb_build_object('type', actor_type, 'id', actor_id, 'name', actor_name) AS actor, actor_id, request_id, depth::bigint AS depth,
    data, previous_attributes, data_truncated, disable_webhooks, COALESCE(steps, '[]') AS steps, processed_at, expires_at,
    CASE WHEN processed_at IS NULL THEN 'pending' ELSE 'processed' END AS status
FROM wharf.event_state;

-- For the filters webhook_id and delivery_status.
CREATE VIEW events.initial_delivery WITH (security_invoker = true) AS
SELECT organization_id, event_id, webhook_id AS id, webhook_id, 0 AS position FROM wharf.event_delivery WHERE initial;
CREATE VIEW events.delivery WITH (security_invoker = true) AS
SELECT organization_id, event_id, webhook_id AS id, state, 0 AS position FROM wharf.event_delivery;
