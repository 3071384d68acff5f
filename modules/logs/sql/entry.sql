-- wharf: order=last
-- Shows the kernel's change log as a resource (spec 01 section 13), and who may see a line
-- (section 7 'records'). The rows stay where they are: the view gives them the columns that
-- every resource has. It runs with the rights of who asks, so that plugin SQL can't read through
-- it what its role does not see.
CREATE OR REPLACE VIEW logs.entry WITH (security_invoker = true) AS
SELECT c.organization_id, c.id, c.created_at, c.created_at AS updated_at, actor_id AS created_by,
    NULL::text AS updated_by,
    NULL::timestamptz(3) AS deleted_at, 1::bigint AS version, resource, resource_id, parent_id,
        action, changes, message,
    COALESCE(images, '[]') AS images, visibility,
    jsonb_build_object('type', actor_type, 'id', actor_id, 'name', actor_name) AS actor,
    actor_id, request_id, event_id, batch_id, location_id, encode(s.prev_hash, 'hex') AS prev_hash,
    encode(s.hash, 'hex') AS hash,
    s.sequence, jsonb_path_query_array(changes, '$[*].field') AS changed_fields,
    wharf.recorded_locations(locations, location_id) AS access_locations,
    audience AS access_audience
FROM wharf.change_log c
LEFT JOIN wharf.log_seal s ON s.organization_id = c.organization_id AND s.created_at = c.created_at
    AND s.log_id = c.id;
