-- wharf: order=last
-- Shows the kernel's request log as a resource, as logs.entry shows the change log.
CREATE OR REPLACE VIEW logs.request WITH (security_invoker = true) AS
SELECT organization_id, id, created_at, created_at AS updated_at, principal_id AS created_by,
    NULL::text AS updated_by,
    NULL::timestamptz(3) AS deleted_at, 1::bigint AS version, method, route, path, query,
        status::bigint AS status, code, duration_ms,
    api_key_id, principal_id, ip, user_agent, client_request_id, idempotency_key,
    idempotent_replayed, request_bytes, response_bytes,
    request_body, response_body, row_id, path_id, parent_id,
    audience AS access_audience, reach AS access_reach, areas AS access_areas
FROM wharf.request_log;
