-- wharf: order=last
-- Shows the kernel's event records as a resource, and who may see one (spec 01 section 7
-- 'records'). The rows stay where they are: the view gives them the columns that every resource
-- has. It runs with the rights of who asks, so that plugin SQL can't read through it what its
-- role does not see.
CREATE OR REPLACE VIEW events.entry WITH (security_invoker = true) AS
SELECT organization_id, id, created_at, created_at AS updated_at, actor_id AS created_by,
    NULL::text AS updated_by,
    NULL::timestamptz(3) AS deleted_at, 1::bigint AS version, type, "timestamp", sequence,
        location_id, resource_type, resource_id, batch_id,
    jsonb_build_object('type', actor_type, 'id', actor_id, 'name', actor_name) AS actor, actor_id,
    request_id, depth::bigint AS depth,
    data, previous_attributes, data_truncated, disable_webhooks, COALESCE(steps, '[]') AS steps,
    processed_at, expires_at,
    CASE WHEN processed_at IS NULL THEN 'pending' ELSE 'processed' END AS status,
    wharf.recorded_locations(locations, location_id) AS access_locations,
    audience AS access_audience, parts AS access_parts
FROM wharf.event_state;
