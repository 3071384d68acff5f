-- Creates a location with its first layout, and of each change the line of the log, the event and
-- their place in the queue; the request has its line, too.
\set a random(1, 999999999)
\set b random(1, 999999999)
WITH x AS MATERIALIZED (
    SELECT lpad(:a::text, 9, '0') || lpad(:b::text, 9, '0') || lpad(:client_id::text, 4, '0') AS n,
        date_trunc('milliseconds', clock_timestamp()) AS at
),
location AS (
    INSERT INTO locations.location (
        organization_id, id, created_at, updated_at, created_by, updated_by, version, name,
        address, formatted_address, active, operating_hours, operating_hours_display, holidays,
        service_levels, pickup_types, settings, groups_changes, default_layout_id, metadata)
    SELECT
        :org::text, 'loc_' || x.n, x.at, x.at, :key::text, :key::text, 1, 'New ' || x.n,
        :address::jsonb, '1 Main St, Springfield, IL 62701, US', true, :hours::jsonb,
        :hours_display::jsonb, '[]'::jsonb, '[]'::jsonb, '[]'::jsonb, '{}'::jsonb, 0,
        'lay_' || x.n, '{}'::jsonb
    FROM x
),
layout AS (
    INSERT INTO locations.layout (
        organization_id, id, location_id, name, root_id, nested_name, is_default, checksum,
        created_at, updated_at, created_by, updated_by)
    SELECT
        :org::text, 'lay_' || x.n, 'loc_' || x.n, 'Default', 'lay_' || x.n, 'Default', true,
        :layout_checksum::text, x.at, x.at, :key::text, :key::text
    FROM x
),
location_log AS (
    INSERT INTO wharf.change_log (
        organization_id, id, resource, resource_id, action, changes, actor_type, actor_id,
        actor_name, request_id, event_id, location_id, created_at)
    SELECT
        :org::text, 'log_' || x.n, 'location', 'loc_' || x.n, 'created', '[]'::jsonb, 'api_key',
        :key::text, :key_name::text, 'req_' || x.n, 'evt_' || x.n, 'loc_' || x.n, x.at
    FROM x
),
location_event AS (
    INSERT INTO wharf.event (
        organization_id, id, type, "timestamp", location_id, resource_type, resource_id,
        actor_type, actor_id, actor_name, request_id, data, created_at, expires_at)
    SELECT
        :org::text, 'evt_' || x.n, 'location.created', x.at, 'loc_' || x.n, 'location',
        'loc_' || x.n, 'api_key', :key::text, :key_name::text, 'req_' || x.n,
        :data_location::json, x.at, x.at + interval '30 days'
    FROM x
),
request AS (
    INSERT INTO wharf.request_log (
        organization_id, id, created_at, method, route, path, status, duration_ms, api_key_id, ip,
        idempotent_replayed, request_bytes, response_bytes, request_body, response_body, row_id,
        areas)
    SELECT
        :org::text, 'req_' || x.n, x.at, 'POST', '/v1/locations', '/v1/locations', 201, 1.5,
        :key::text, '127.0.0.1', false, length(:body::text), length(:answer::text), :body::text,
        :answer::text, 'loc_' || x.n, '["locations"]'::jsonb
    FROM x
)
INSERT INTO wharf.outbox (organization_id, created_at, log_id, event_id)
SELECT :org::text, x.at, 'log_' || x.n, 'evt_' || x.n FROM x;
