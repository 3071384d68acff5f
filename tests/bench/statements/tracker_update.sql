-- Changes the metadata of a tracker, with the line of the log, the event, their place in the
-- queue and the line of the request.
\set n random(1, :rows)
\set a random(1, 999999999)
\set b random(1, 999999999)
WITH x AS MATERIALIZED (
    SELECT 'track_' || lpad(:n::text, 22, '0') AS id,
        lpad(:a::text, 9, '0') || lpad(:b::text, 9, '0') || lpad(:client_id::text, 4, '0') AS n,
        date_trunc('milliseconds', clock_timestamp()) AS at
),
r AS (
    UPDATE trackers.tracker t
    SET metadata = t.metadata || jsonb_build_object('bay', 'B' || x.n), version = t.version + 1,
        updated_at = x.at, updated_by = :key
    FROM x WHERE t.organization_id = :org AND t.id = x.id AND t.deleted_at IS NULL
),
tracker_log AS (
    INSERT INTO wharf.change_log (
        organization_id, id, resource, resource_id, action, changes, actor_type, actor_id,
        actor_name, request_id, event_id, location_id, created_at)
    SELECT
        :org::text, 'log_' || x.n, 'tracker', x.id, 'updated', :changes::jsonb, 'api_key',
        :key::text, :key_name::text, 'req_' || x.n, 'evt_' || x.n, :location::text, x.at
    FROM x
),
tracker_event AS (
    INSERT INTO wharf.event (
        organization_id, id, type, "timestamp", location_id, resource_type, resource_id,
        actor_type, actor_id, actor_name, request_id, data, previous_attributes, created_at,
        expires_at)
    SELECT
        :org::text, 'evt_' || x.n, 'tracker.updated', x.at, :location::text, 'tracker', x.id,
        'api_key', :key::text, :key_name::text, 'req_' || x.n, :data_tracker::json,
        :previous::json, x.at, x.at + interval '30 days'
    FROM x
),
request AS (
    INSERT INTO wharf.request_log (
        organization_id, id, created_at, method, route, path, status, duration_ms, api_key_id, ip,
        idempotent_replayed, request_bytes, response_bytes, request_body, response_body, row_id,
        path_id, areas)
    SELECT
        :org::text, 'req_' || x.n, x.at, 'POST', '/v1/trackers/{tracker}',
        '/v1/trackers/' || x.id, 200, 1.5, :key::text, '127.0.0.1', false, length(:body::text),
        length(:answer::text), :body::text, :answer::text, x.id, x.id, '["trackers"]'::jsonb
    FROM x
)
INSERT INTO wharf.outbox (organization_id, created_at, log_id, event_id)
SELECT :org::text, x.at, 'log_' || x.n, 'evt_' || x.n FROM x;
