-- Creates a print station with one printer, and of each change the line of the log, the event and
-- their place in the queue; the request has its line, too.
\set a random(1, 999999999)
\set b random(1, 999999999)
WITH x AS MATERIALIZED (
    SELECT lpad(:a::text, 9, '0') || lpad(:b::text, 9, '0') || lpad(:client_id::text, 4, '0') AS n,
        date_trunc('milliseconds', clock_timestamp()) AS at
),
print_station AS (
    INSERT INTO stations.print_station (
        organization_id, id, created_at, updated_at, created_by, updated_by, version, name,
        display_name, location_id, device_token, status, allow_all_users, allowed_users,
        configuration, push, metadata, managed, draining)
    SELECT
        :org::text, 'prnt_stn_' || x.n, x.at, x.at, :key::text, :key::text, 1, 'NEW-' || x.n,
        'New ' || x.n, :location::text, 'token-' || x.n, 'online', true, '[]'::jsonb, '{}'::jsonb,
        '{"driver": "stream", "status": "unknown", "last_delivery_at": null}'::jsonb, '{}'::jsonb,
        false, false
    FROM x
),
printer AS (
    INSERT INTO stations.printer (
        organization_id, station_id, id, position, created_at, updated_at, name, model, status,
        configuration, page_size, languages, state_reasons, status_changed_at)
    SELECT
        :org::text, 'prnt_stn_' || x.n, gen_random_uuid()::text, 0, x.at, x.at, 'Zebra', 'ZD421',
        'online', '{}'::jsonb, '{"label_4x6": true}'::jsonb, '[]'::jsonb, '[]'::jsonb, x.at
    FROM x
),
print_station_log AS (
    INSERT INTO wharf.change_log (
        organization_id, id, resource, resource_id, action, changes, actor_type, actor_id,
        actor_name, request_id, event_id, location_id, created_at)
    SELECT
        :org::text, 'log_' || x.n, 'print_station', 'prnt_stn_' || x.n, 'created', '[]'::jsonb,
        'api_key', :key::text, :key_name::text, 'req_' || x.n, 'evt_' || x.n, :location::text,
        x.at
    FROM x
),
print_station_event AS (
    INSERT INTO wharf.event (
        organization_id, id, type, "timestamp", location_id, resource_type, resource_id,
        actor_type, actor_id, actor_name, request_id, data, created_at, expires_at)
    SELECT
        :org::text, 'evt_' || x.n, 'print_station.created', x.at, :location::text,
        'print_station', 'prnt_stn_' || x.n, 'api_key', :key::text, :key_name::text,
        'req_' || x.n, :data_print_station::json, x.at, x.at + interval '30 days'
    FROM x
),
request AS (
    INSERT INTO wharf.request_log (
        organization_id, id, created_at, method, route, path, status, duration_ms, api_key_id, ip,
        idempotent_replayed, request_bytes, response_bytes, request_body, response_body, row_id,
        audience, areas)
    SELECT
        :org::text, 'req_' || x.n, x.at, 'POST', '/v1/cloud-printing/stations',
        '/v1/cloud-printing/stations', 201, 1.5, :key::text, '127.0.0.1', false,
        length(:body::text), length(:answer::text), :body::text, :answer::text,
        'prnt_stn_' || x.n, '[]'::jsonb, '["print_stations"]'::jsonb
    FROM x
)
INSERT INTO wharf.outbox (organization_id, created_at, log_id, event_id)
SELECT :org::text, x.at, 'log_' || x.n, 'evt_' || x.n FROM x;
