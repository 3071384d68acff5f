-- wharf: phase=expand
-- Who may see a line, and a request (spec 01 section 7 'records').
CREATE OR REPLACE VIEW logs.entry WITH (security_invoker = true) AS
SELECT c.organization_id, c.id, c.created_at, c.created_at AS updated_at, actor_id AS created_by, NULL::text AS updated_by,
    NULL::timestamptz(3) AS deleted_at, 1::bigint AS version, resource, resource_id, parent_id, action, changes, message,
    COALESCE(images, '[]') AS images, visibility, jsonb_build_object('type', actor_type, 'id', actor_id, 'name', actor_name) AS actor,
    actor_id, request_id, event_id, batch_id, location_id, encode(s.prev_hash, 'hex') AS prev_hash, encode(s.hash, 'hex') AS hash,
    s.sequence, jsonb_path_query_array(changes, '$[*].field') AS changed_fields,
    wharf.recorded_locations(locations, location_id) AS access_locations, audience AS access_audience
FROM wharf.change_log c
LEFT JOIN wharf.log_seal s ON s.organization_id = c.organization_id AND s.created_at = c.created_at AND s.log_id = c.id;

CREATE OR REPLACE VIEW logs.request WITH (security_invoker = true) AS
SELECT organization_id, id, created_at, created_at AS updated_at, principal_id AS created_by, NULL::text AS updated_by,
    NULL::timestamptz(3) AS deleted_at, 1::bigint AS version, method, route, path, query, status::bigint AS status, code, duration_ms,
    api_key_id, principal_id, ip, user_agent, client_request_id, idempotency_key, idempotent_replayed, request_bytes, response_bytes,
    request_body, response_body, row_id, path_id, parent_id,
    audience AS access_audience, reach AS access_reach, areas AS access_areas
FROM wharf.request_log;
