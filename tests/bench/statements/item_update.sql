-- Changes the metadata of an item, with the line of the log, the event, their place in the
-- queue and the line of the request.
\set n random(1, :rows)
\set a random(1, 999999999)
\set b random(1, 999999999)
WITH x AS MATERIALIZED (
    SELECT 'item_' || lpad(:n::text, 22, '0') AS id,
        lpad(:a::text, 9, '0') || lpad(:b::text, 9, '0') || lpad(:client_id::text, 4, '0') AS n,
        date_trunc('milliseconds', clock_timestamp()) AS at
),
r AS (
    UPDATE items.item t
    SET metadata = t.metadata || jsonb_build_object('bay', 'B' || x.n), version = t.version + 1,
        updated_at = x.at, updated_by = :key
    FROM x WHERE t.organization_id = :org AND t.id = x.id AND t.deleted_at IS NULL
),
item_log AS (
    INSERT INTO wharf.change_log (
        organization_id, id, resource, resource_id, action, changes, actor_type, actor_id,
        actor_name, request_id, event_id, locations, created_at)
    SELECT
        :org::text, 'log_' || x.n, 'item', x.id, 'updated', :changes::jsonb, 'api_key',
        :key::text, :key_name::text, 'req_' || x.n, 'evt_' || x.n, '[]'::jsonb, x.at
    FROM x
),
item_event AS (
    INSERT INTO wharf.event (
        organization_id, id, type, "timestamp", resource_type, resource_id,
        actor_type, actor_id, actor_name, request_id, data, previous_attributes, locations,
        created_at, expires_at)
    SELECT
        :org::text, 'evt_' || x.n, 'item.updated', x.at, 'item', x.id, 'api_key',
        :key::text, :key_name::text, 'req_' || x.n, :data_item::json, :previous::json,
        '[]'::jsonb, x.at, x.at + interval '30 days'
    FROM x
),
request AS (
    INSERT INTO wharf.request_log (
        organization_id, id, created_at, method, route, path, status, duration_ms, api_key_id, ip,
        idempotent_replayed, request_bytes, response_bytes, request_body, response_body, row_id,
        path_id, areas)
    SELECT
        :org::text, 'req_' || x.n, x.at, 'POST', '/v1/items/{item}',
        '/v1/items/' || x.id, 200, 1.5, :key::text, '127.0.0.1', false, length(:body::text),
        length(:answer::text), :body::text, :answer::text, x.id, x.id, '["items"]'::jsonb
    FROM x
)
INSERT INTO wharf.outbox (organization_id, created_at, log_id, event_id)
SELECT :org::text, x.at, 'log_' || x.n, 'evt_' || x.n FROM x;
