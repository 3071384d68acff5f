-- Creates a group: its row, and of each change the line of the log, the event and their place in
-- the queue; the request has its line, too.
\set a random(1, 999999999)
\set b random(1, 999999999)
WITH x AS MATERIALIZED (
    SELECT lpad(:a::text, 9, '0') || lpad(:b::text, 9, '0') || lpad(:client_id::text, 4, '0') AS n,
        date_trunc('milliseconds', clock_timestamp()) AS at
),
contact_group AS (
    INSERT INTO contacts.contact_group (
        organization_id, id, created_at, updated_at, created_by, updated_by, version, name,
        resource, members, children, metadata)
    SELECT
        :org::text, 'grp_' || x.n, x.at, x.at, :key::text, :key::text, 1, 'New ' || x.n,
        'contact', '{"primary": [], "children": []}'::jsonb, '[]'::jsonb, '{}'::jsonb
    FROM x
),
group_log AS (
    INSERT INTO wharf.change_log (
        organization_id, id, resource, resource_id, action, changes, actor_type, actor_id,
        actor_name, request_id, event_id, created_at, locations)
    SELECT
        :org::text, 'log_' || x.n, 'group', 'grp_' || x.n, 'created', '[]'::jsonb, 'api_key',
        :key::text, :key_name::text, 'req_' || x.n, 'evt_' || x.n, x.at, '[]'::jsonb
    FROM x
),
group_event AS (
    INSERT INTO wharf.event (
        organization_id, id, type, "timestamp", resource_type, resource_id, actor_type, actor_id,
        actor_name, request_id, data, created_at, expires_at, locations)
    SELECT
        :org::text, 'evt_' || x.n, 'group.created', x.at, 'group', 'grp_' || x.n, 'api_key',
        :key::text, :key_name::text, 'req_' || x.n, :data_group::json, x.at,
        x.at + interval '30 days', '[]'::jsonb
    FROM x
),
request AS (
    INSERT INTO wharf.request_log (
        organization_id, id, created_at, method, route, path, status, duration_ms, api_key_id, ip,
        idempotent_replayed, request_bytes, response_bytes, request_body, response_body, row_id,
        areas)
    SELECT
        :org::text, 'req_' || x.n, x.at, 'POST', '/v1/groups', '/v1/groups', 201, 1.5, :key::text,
        '127.0.0.1', false, length(:body::text), length(:answer::text), :body::text,
        :answer::text, 'grp_' || x.n, '["groups"]'::jsonb
    FROM x
)
INSERT INTO wharf.outbox (organization_id, created_at, log_id, event_id)
SELECT :org::text, x.at, 'log_' || x.n, 'evt_' || x.n FROM x;
